//! Stepping against what the programs state, and against what the kernel does with them.

use std::sync::atomic::{AtomicBool, Ordering};

use corun_trace::{
    Block, BlockId, Ending, Event, Marker, OrderedMarker, Ptrace, Recording, Sink, SinkError,
    Target, ThreadId, TraceError, TracePlan, Tracer,
};

use super::comparison::{disassemble, located};
use super::program::Program;
use super::{DETERMINISTIC, traced};

const FIRST: ThreadId = ThreadId(0);

fn markers(recording: &Recording, thread: ThreadId) -> Vec<Marker> {
    let markers = recording.events(thread).filter_map(|event| match event {
        Event::Marker(OrderedMarker { marker, .. }) => Some(marker),
        Event::Block { .. } => None,
    });
    markers.collect()
}

#[test]
fn every_access_is_where_the_program_says() {
    let stating =
        ["addressing", "atomics", "avx2", "avx512", "segments", "stack", "state", "strings"];
    for program in stating.iter().filter_map(|name| Program::build(name)) {
        let (recording, traced) = traced(&Ptrace, &program);
        let (name, truth) = (&program.name, program.truth());
        assert_eq!(traced.ending, Ending::Exited(0), "{name}");
        let found = located(&recording, FIRST);
        for (at, expected) in truth.accesses.iter().enumerate() {
            let what = disassemble(&recording, expected.0);
            assert_eq!(found.get(at), Some(expected), "{name}, access {at}: {what}");
        }
        assert_eq!(
            found.len(),
            truth.accesses.len(),
            "{name}: accesses that the source does not state"
        );
    }
}

#[test]
fn every_instruction_is_counted_once() {
    let Some(program) = Program::build("counting") else { return };
    let (recording, traced) = traced(&Ptrace, &program);
    assert_eq!(Some(traced.instructions), program.truth().instructions);
    assert_eq!(recording.instructions(FIRST).count() as u64, traced.instructions);
}

#[test]
fn a_block_is_defined_once() {
    for program in DETERMINISTIC.iter().filter_map(|name| Program::build(name)) {
        let (recording, _) = traced(&Ptrace, &program);
        let mut blocks: Vec<_> =
            recording.blocks.iter().map(|block| (block.address, block.bytes())).collect();
        blocks.sort();
        blocks.dedup();
        assert_eq!(blocks.len(), recording.blocks.len(), "{}", program.name);
    }
}

#[test]
fn changed_code_is_another_block() {
    let Some(program) = Program::build("changed") else { return };
    let (recording, traced) = traced(&Ptrace, &program);
    assert_eq!(traced.ending, Ending::Exited(0));
    let is_one =
        |block: &&Block| block.address.is_multiple_of(4096) && block.instructions.len() == 3;
    let codes: Vec<_> =
        recording.blocks.iter().filter(is_one).map(|block| &block.bytes().unwrap()[..2]).collect();
    assert_eq!(codes, [[0xff, 0xc3], [0xff, 0xcb]]);
}

#[test]
fn signals_are_delivered_and_cut_blocks() {
    let Some(program) = Program::build("signals") else { return };
    let (recording, traced) = traced(&Ptrace, &program);
    assert_eq!(traced.ending, Ending::Exited(0), "its handlers have run");
    let signals = markers(&recording, FIRST).into_iter().filter_map(|marker| match marker {
        Marker::Signal(signal) => Some(signal),
        _ => None,
    });
    assert_eq!(signals.collect::<Vec<_>>(), [10, 11, 5]);
    let cut = recording.events(FIRST).find_map(|event| match event {
        Event::Block { block, executed, .. } => {
            let instructions = recording.blocks[block.0 as usize].instructions.len();
            (executed as usize != instructions).then_some((executed as usize, instructions))
        }
        Event::Marker(_) => None,
    });
    let (executed, instructions) = cut.expect("the fault is in the middle of a block");
    assert_eq!(executed + 1, instructions, "what faulted was begun and not executed");
}

#[test]
fn system_calls_are_reported_even_if_they_are_the_last_thing_done() {
    let Some(program) = Program::build("counting") else { return };
    let (recording, _) = traced(&Ptrace, &program);
    let begin = Marker::Begin { phase: corun_trace::Phase::Counted, skipped: 0 };
    assert_eq!(markers(&recording, FIRST), [begin, Marker::SystemCall(231), Marker::Ended]);
}

#[test]
fn all_threads_are_seen() {
    let Some(program) = Program::build("threads") else { return };
    let (recording, traced) = traced(&Ptrace, &program);
    assert_eq!(traced.ending, Ending::Exited(0), "they have counted to 1000");
    assert_eq!(recording.threads.len(), 3);
    for thread in [1, 2].map(ThreadId) {
        let after_clone = 2;
        assert_eq!(recording.instructions(thread).count(), after_clone + 1 + 500 * 5 + 3);
        assert_eq!(markers(&recording, thread).last(), Some(&Marker::Ended));
    }
    let threads = (0..3).map(ThreadId).map(|thread| recording.instructions(thread).count() as u64);
    assert_eq!(threads.sum::<u64>(), traced.instructions);
}

#[test]
fn children_run_untraced_and_exec_is_followed() {
    let Some(program) = Program::build("children") else { return };
    let (recording, traced) = traced(&Ptrace, &program);
    assert_eq!(traced.ending, Ending::Exited(7), "its child has ended as it should");
    assert_eq!(recording.threads.len(), 1);
    let markers = markers(&recording, FIRST);
    assert!(markers.iter().any(|marker| matches!(marker, Marker::Forked(_))), "{markers:?}");
    assert!(markers.contains(&Marker::Replaced), "{markers:?}");
    // What children did is the matter of the run before, `Survey`.
    assert_eq!(traced.remarks, [""; 0]);
}

#[test]
fn a_program_that_was_stopped_goes_on_when_continued() {
    let Some(program) = Program::build("stops") else { return };
    let (recording, traced) = traced(&Ptrace, &program);
    assert_eq!(traced.ending, Ending::Exited(0));
    assert!(markers(&recording, FIRST).contains(&Marker::Signal(19)));
}

#[test]
fn a_window_is_that_part_of_the_whole() {
    let Some(program) = Program::build("counting") else { return };
    let (whole, _) = traced(&Ptrace, &program);
    let mut window = Recording::default();
    let plan = TracePlan::Window { skip: 2500, length: Some(300) };
    let target = Target { program: program.file.clone(), ..Target::default() };
    let traced = Ptrace.trace(&target, plan, &mut window, &AtomicBool::new(false)).unwrap();
    let expected: Vec<_> = whole.instructions(FIRST).skip(2500).take(300).collect();
    assert_eq!(window.instructions(FIRST).collect::<Vec<_>>(), expected);
    assert_eq!(Some(traced.instructions), program.truth().instructions);
    let begin = Marker::Begin { phase: corun_trace::Phase::Counted, skipped: 2500 };
    assert_eq!(markers(&window, FIRST), [begin, Marker::Ended]);
}

/// Sets the flag when the program asks the kernel, or fails then.
struct Reacting<'a> {
    recording: Recording,
    stop: &'a AtomicBool,
    fails: bool,
}

impl Sink for Reacting<'_> {
    fn thread(&mut self, tid: u32) -> Result<ThreadId, SinkError> {
        self.recording.thread(tid)
    }

    fn define(&mut self, block: Block) -> Result<BlockId, SinkError> {
        self.recording.define(block)
    }

    fn execute(
        &mut self,
        thread: ThreadId,
        block: BlockId,
        executed: u32,
        values: &[u64],
    ) -> Result<(), SinkError> {
        self.recording.execute(thread, block, executed, values)
    }

    fn mark(&mut self, thread: ThreadId, marker: OrderedMarker) -> Result<(), SinkError> {
        if let Marker::SystemCall(_) = marker.marker {
            if self.fails {
                return Err(SinkError(std::io::ErrorKind::StorageFull.into()));
            }
            self.stop.store(true, Ordering::Release);
        }
        self.recording.mark(thread, marker)
    }
}

#[test]
fn a_sleeping_program_is_stopped_and_what_was_reported_is_kept() {
    let Some(program) = Program::build("sleeps") else { return };
    let stop = AtomicBool::new(false);
    let mut sink = Reacting { recording: Recording::default(), stop: &stop, fails: false };
    let target = Target { program: program.file, ..Target::default() };
    let traced = Ptrace.trace(&target, TracePlan::Whole, &mut sink, &stop).unwrap();
    assert_eq!(traced.ending, Ending::Interrupted);
    assert_eq!(sink.recording.instructions(FIRST).count(), 4);
}

#[test]
fn a_full_disk_ends_the_program() {
    let Some(program) = Program::build("sleeps") else { return };
    let stop = AtomicBool::new(false);
    let mut sink = Reacting { recording: Recording::default(), stop: &stop, fails: true };
    let target = Target { program: program.file, ..Target::default() };
    let error = Ptrace.trace(&target, TracePlan::Whole, &mut sink, &stop).unwrap_err();
    assert!(matches!(error, TraceError::Sink(_)), "{error}");
}

#[test]
fn what_is_no_program_is_refused() {
    for program in ["/nowhere/to/be/found", "/"] {
        let target = Target { program: program.into(), ..Target::default() };
        let mut sink = Recording::default();
        let error = Ptrace
            .trace(&target, TracePlan::Whole, &mut sink, &AtomicBool::new(false))
            .unwrap_err();
        assert!(matches!(error, TraceError::Program { .. }), "{error}");
    }
    assert_eq!(Ptrace.ready(), Ok(()));
}
