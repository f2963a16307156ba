//! Small programs that say themselves what they do, and traces of them by every tracer.
//!
//! Stepping is checked against what the programs state, the other tracers against stepping: instruction
//! by instruction and access by access.

mod comparison;
mod program;
mod stepping;

use std::sync::atomic::AtomicBool;

use corun_trace::{Event, Marker, Recording, Target, ThreadId, TracePlan, Traced, Tracer, atomics};

use comparison::{Blind, compare};
use program::Program;

/// The programs whose traces are the same with every tracer, every time.
const DETERMINISTIC: &[&str] = &[
    "addressing",
    "atomics",
    "avx2",
    "avx512",
    "changed",
    "counting",
    "dispatch",
    "list",
    "matrix",
    "overwritten",
    "recursion",
    "segments",
    "sieve",
    "signals",
    "sort",
    "stack",
    "state",
    "strings",
];

/// The trace of a whole run, and how it ended.
fn traced(tracer: &dyn Tracer, program: &Program) -> (Recording, Traced) {
    let mut recording = Recording::default();
    let target = Target { program: program.file.clone(), ..Target::default() };
    let traced = tracer.trace(&target, TracePlan::Whole, &mut recording, &AtomicBool::new(false));
    (recording, traced.unwrap())
}

/// Checks that a tracer reports what stepping reports, but for what it is known not to see.
fn agrees_with_stepping(tracer: &dyn Tracer, blind: Blind) {
    let differences: Vec<_> = DETERMINISTIC
        .iter()
        .filter(|&&name| !(blind.avx512 && name == "avx512"))
        .filter(|&&name| !(blind.segments && name == "segments"))
        .filter_map(|name| Program::build(name))
        .filter_map(|program| {
            let (stepped, expected) = traced(&corun_trace::Ptrace, &program);
            let (found, counted) = traced(tracer, &program);
            assert_eq!(counted.ending, expected.ending, "{}", program.name);
            assert_eq!(counted.instructions, expected.instructions, "{}", program.name);
            let blind = Blind { frames: blind.frames && program.name == "signals", ..blind };
            let difference = compare(&stepped, &found, blind).err()?;
            Some(format!("{}:\n{difference}", program.name))
        })
        .collect();
    assert!(differences.is_empty(), "{}: {}", tracer.name(), differences.join("\n"));
}

#[test]
fn qemu_agrees_with_stepping() {
    if let Err(missing) = corun_trace::Qemu.ready() {
        return corun_testing::skip("trace by qemu", &missing.to_string());
    }
    let blind =
        Blind { prefetches: true, masked: true, frames: true, avx512: true, ..Blind::default() };
    agrees_with_stepping(&corun_trace::Qemu, blind);
}

#[test]
fn dynamorio_agrees_with_stepping() {
    #[cfg(not(feature = "dynamorio"))]
    corun_testing::skip("trace by dynamorio", "built without the feature dynamorio");
    #[cfg(feature = "dynamorio")]
    agrees_with_stepping(&corun_trace::DynamoRio, Blind { segments: true, ..Blind::default() });
}

/// The places among all threads that a thread's atomic instructions have; each comes right before its block.
fn places_of_atomics(recording: &Recording, thread: ThreadId) -> Vec<u64> {
    let mut places = Vec::new();
    let mut is_announced = false;
    for event in recording.events(thread) {
        match event {
            Event::Marker(it) if it.marker == Marker::Atomic => {
                places.push(it.order);
                is_announced = true;
            }
            Event::Marker(_) => is_announced = false,
            Event::Block { block, executed, .. } => {
                let are_atomic = atomics(&recording.blocks[block.0 as usize]);
                let is_atomic = are_atomic.iter().take(executed as usize).any(Option::is_some);
                assert!(is_atomic || !is_announced, "nothing atomic after {:?}", places.last());
                is_announced = false;
            }
        }
    }
    places
}

#[test]
fn atomic_instructions_of_several_threads_have_an_order() {
    let tracers: Vec<&dyn Tracer> = vec![
        &corun_trace::Ptrace,
        &corun_trace::Qemu,
        #[cfg(feature = "dynamorio")]
        &corun_trace::DynamoRio,
    ];
    for tracer in tracers.into_iter().filter(|tracer| tracer.ready().is_ok()) {
        let Some(program) = Program::build("threads") else { return };
        let (recording, _) = traced(tracer, &program);
        // Each adds one to the same place 500 times.
        let places = [1, 2].map(|thread| places_of_atomics(&recording, ThreadId(thread)));
        for places in &places {
            assert_eq!(places.len(), 500, "{}", tracer.name());
            assert!(places.is_sorted_by(|one, next| one < next), "{}: {places:?}", tracer.name());
        }
        let all: std::collections::HashSet<&u64> = places.iter().flatten().collect();
        assert_eq!(all.len(), 1000, "{}: each has its own", tracer.name());

        let Some(alone) = Program::build("atomics") else { return };
        let (recording, _) = traced(tracer, &alone);
        assert!(places_of_atomics(&recording, ThreadId(0)).is_empty(), "{}", tracer.name());
    }
}

#[test]
fn stepping_twice_gives_the_same() {
    agrees_with_stepping(&corun_trace::Ptrace, Blind::default());
}
