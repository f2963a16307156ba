//! Made-up programs: loops of which one knows what they need, as traces.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::thread_mapping::{MappingRequest, ThreadMapping, map_threads};
use corun_sim::{Outcome, PageSize, Phase, Process, Setup, Unwatched, simulate_together};
use corun_trace::format::{Options, Trace, Writer};
use corun_trace::{Marker, OrderedMarker, Sink, decode};

/// A loop: its body, what each round touches in memory, how often it goes round, and where it lies.
pub(crate) struct Loop<'a> {
    pub body: &'a [u8],
    pub touches: &'a dyn Fn(u64) -> Vec<u64>,
    pub rounds: u64,
    pub at: u64,
}

impl Default for Loop<'_> {
    fn default() -> Self {
        Self { body: &[], touches: &|_| Vec::new(), rounds: 4000, at: 0x1000 }
    }
}

/// `dec rcx; jnz` to the beginning of so many bytes of code.
fn back(length: usize) -> Vec<u8> {
    let distance = -(length as i32 + 9);
    [&[0x48, 0xff, 0xc9, 0x0f, 0x85][..], &distance.to_le_bytes()].concat()
}

impl Loop<'_> {
    /// The loop as the trace of a program.
    pub(crate) fn trace(&self) -> Trace {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let code = [self.body, &back(self.body.len())].concat();
        let block = decode(self.at, &code).unwrap();
        let count = block.instructions.len() as u32;
        let block = writer.define(block).unwrap();
        let thread = writer.thread(1).unwrap();
        for round in 0..self.rounds {
            writer.execute(thread, block, count, &(self.touches)(round)).unwrap();
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }
}

/// A body over and over.
pub(crate) fn body(body: &[u8]) -> Trace {
    Loop { body, ..Loop::default() }.trace()
}

/// Phases of a placement; the first quarter of the first program only warms up.
pub(crate) fn simulated(
    model: &CoreModel,
    traces: &[&Trace],
    placement: &str,
    phases: usize,
) -> Outcome {
    let processes: Vec<Process<'_>> = traces.iter().map(|trace| Process::of(trace)).collect();
    let placement = placement.parse().unwrap();
    let wanted = MappingRequest {
        cores: None,
        smt_width: model.smt_width as usize,
        workers: traces.len(),
        repeats: true,
    };
    let mapping = map_threads(placement, wanted).unwrap();
    let first = traces[0].threads()[0].instructions;
    let phases =
        (0..phases).map(|phase| phase_of(model, &processes, &mapping, first / 4, (phase, phases)));
    Outcome { placement, phases: phases.collect(), matched: Vec::new() }
}

fn phase_of(
    model: &CoreModel,
    processes: &[Process<'_>],
    mapping: &ThreadMapping,
    warm_up: u64,
    (phase, phases): (usize, usize),
) -> Phase {
    let timings = timings(model);
    simulate_together(
        setup(model, &timings, processes, mapping, warm_up),
        phase,
        phases,
        &Unwatched,
    )
    .unwrap()
}

/// The timing of a model that comes with corun, read once in a test.
fn timings(model: &CoreModel) -> Rc<TimingTable> {
    thread_local! {
        static READ: RefCell<HashMap<String, Rc<TimingTable>>> = RefCell::default();
    }
    let read = || Rc::new(TimingTable::of(model).unwrap());
    READ.with_borrow_mut(|known| known.entry(model.name.clone()).or_insert_with(read).clone())
}

fn setup<'a, 't>(
    model: &'a CoreModel,
    timings: &'a TimingTable,
    processes: &'a [Process<'t>],
    mapping: &'a ThreadMapping,
    warm_up: u64,
) -> Setup<'a, 't> {
    Setup {
        model,
        timings,
        processes,
        mapping,
        warm_up,
        length: None,
        slice_ms: 0.01,
        switch_us: 1.0,
        pages: PageSize::Small,
        seed: 1,
        offsets: &[],
        first_turn: 0,
        own_code: false,
    }
}

/// The SMT yield of programs as siblings.
pub(crate) fn smt_yield(model: &CoreModel, traces: &[&Trace]) -> f64 {
    let [spread, full] = ["spread", "full@2"].map(|it| simulated(model, traces, it, 2));
    full.per_core(&spread).unwrap().mean
}

/// The SMT yield of two copies of a program, with or without pages of their own for the code of each.
pub(crate) fn yield_with_code(model: &CoreModel, trace: &Trace, own_code: bool) -> f64 {
    let processes = [Process::of(trace)];
    let timings = timings(model);
    let warm_up = trace.threads()[0].instructions / 4;
    let run = |placement: &str, mapping: ThreadMapping| {
        let setup = Setup { own_code, ..setup(model, &timings, &processes, &mapping, warm_up) };
        let phases =
            (0..2).map(|phase| simulate_together(setup, phase, 2, &Unwatched).unwrap()).collect();
        Outcome { placement: placement.parse().unwrap(), phases, matched: Vec::new() }
    };
    let spread = run("spread", vec![vec![vec![0]]].into());
    run("full@2", vec![vec![vec![0], vec![0]]].into()).per_core(&spread).unwrap().mean
}

/// Two workers as siblings, the second on the first logical CPU and the first turn the other's.
pub(crate) fn swapped(model: &CoreModel, traces: &[&Trace; 2]) -> Outcome {
    let processes: Vec<Process<'_>> = traces.iter().map(|trace| Process::of(trace)).collect();
    let first = traces[0].threads()[0].instructions;
    let mapping = vec![vec![vec![1], vec![0]]].into();
    let timings = timings(model);
    let setup = Setup { first_turn: 1, ..setup(model, &timings, &processes, &mapping, first / 4) };
    let phase = simulate_together(setup, 0, 1, &Unwatched).unwrap();
    let placement = corun_record::Placement::Full(Some(2));
    Outcome { placement, phases: vec![phase], matched: Vec::new() }
}

/// A branch that goes either way at random, and nothing that takes time.
pub(crate) fn guesses(rounds: u64) -> Trace {
    late_guesses(&[], rounds)
}

/// Late guesses after code that its condition, `rax`, waits for.
pub(crate) fn late_guesses(before: &[u8], rounds: u64) -> Trace {
    late_guesses_that_touch(before, rounds, &|_| Vec::new())
}

/// Late guesses with what the code before the branch touches in each round.
pub(crate) fn late_guesses_that_touch(
    before: &[u8],
    rounds: u64,
    touches: &dyn Fn(u64) -> Vec<u64>,
) -> Trace {
    let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
    // test rax, rax; jz to 0x2000; after it and there: jmp to the beginning
    let end = 0x1009 + before.len() as u64;
    let distance = (0x2000 - end) as i32;
    let branch = [before, &[0x48, 0x85, 0xc0, 0x0f, 0x84], &distance.to_le_bytes()].concat();
    let instructions = decode(0x1000, &branch).unwrap().instructions.len() as u32;
    let back =
        |from: u64| [&[0xe9][..], &((0x1000 - (from as i64 + 5)) as i32).to_le_bytes()].concat();
    let blocks = [(0x1000, branch), (end, back(end)), (0x2000, back(0x2000))];
    let blocks = blocks.map(|(at, code)| writer.define(decode(at, &code).unwrap()).unwrap());
    let thread = writer.thread(1).unwrap();
    let mut state = 1_u64;
    for round in 0..rounds {
        // A linear congruential generator (Knuth).
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let way = 1 + (state >> 63) as usize;
        writer.execute(thread, blocks[0], instructions, &touches(round)).unwrap();
        writer.execute(thread, blocks[way], 1, &[]).unwrap();
    }
    Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
}

/// Kind of handover from one thread to another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By {
    /// Each makes a system call.
    SystemCalls,
    /// The first exchanges a value at a place, for which the other one spins; it had tried so many times when it was recorded.
    Spinning(u64),
    /// The first stores a value, for which the other one polls by plain loads, likewise.
    Storing(u64),
    /// Both exchange something at places of their own, the second one over and over.
    Nothing,
}

/// A body over and over in two threads, the second of which was let in by the first when that had done its rounds, or
/// before.
pub(crate) fn handed_over(body: &[u8], rounds: u64, by: By, is_after: bool) -> Trace {
    let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
    let block = decode(0x1000, &[body, &back(body.len())].concat()).unwrap();
    let count = block.instructions.len() as u32;
    let block = writer.define(block).unwrap();
    // lock cmpxchg [rax], rdx; jnz to the beginning
    let exchange = decode(0x2000, &[0xf0, 0x48, 0x0f, 0xb1, 0x10, 0x75, 0xf9]).unwrap();
    let exchange = writer.define(exchange).unwrap();
    // mov [rax], rbx; then cmp qword ptr [rax], 0; je to its beginning
    let store = writer.define(decode(0x3000, &[0x48, 0x89, 0x18]).unwrap()).unwrap();
    let poll = decode(0x4000, &[0x48, 0x83, 0x38, 0x00, 0x74, 0xfa]).unwrap();
    let poll = writer.define(poll).unwrap();
    let threads = [1, 2].map(|number| writer.thread(number).unwrap());
    let mut orders = 0..;
    // What the second one does before the first, and then each.
    let mut does = |writer: &mut Writer<Vec<u8>>, number: usize, times: u64| {
        if let By::Storing(_) = by {
            let (block, count) = [(store, 1), (poll, 2)][number];
            for _ in 0..times {
                writer.execute(threads[number], block, count, &[0x8000]).unwrap();
            }
            return;
        }
        let (marker, place) = match by {
            By::SystemCalls => (Marker::SystemCall(202), None),
            By::Spinning(_) => (Marker::Atomic, Some(0x8000)),
            By::Nothing | By::Storing(_) => (Marker::Atomic, Some(0x8000 + 0x100 * number as u64)),
        };
        for _ in 0..times {
            let order = orders.next().unwrap();
            writer.mark(threads[number], OrderedMarker { order, marker }).unwrap();
            if let Some(place) = place {
                writer.execute(threads[number], exchange, 2, &[place]).unwrap();
            }
        }
    };
    let tried = match by {
        By::SystemCalls => 0,
        By::Spinning(times) | By::Storing(times) => times,
        By::Nothing => 3,
    };
    let work = |writer: &mut Writer<Vec<u8>>, number: usize| {
        for _ in 0..rounds {
            writer.execute(threads[number], block, count, &[]).unwrap();
        }
    };
    does(&mut writer, 1, tried);
    if is_after {
        work(&mut writer, 0);
        does(&mut writer, 0, 1);
    } else {
        does(&mut writer, 0, 1);
        work(&mut writer, 0);
    }
    does(&mut writer, 1, 1);
    work(&mut writer, 1);
    Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
}

/// Cycles of a process with two workers on two cores, from the beginning of the first to the end of both.
pub(crate) fn on_two_cores(model: &CoreModel, trace: &Trace) -> f64 {
    of_two_workers(model, trace, vec![vec![vec![0]], vec![vec![1]]].into())
}

/// Cycles on one logical CPU, the second worker first.
pub(crate) fn in_turns(model: &CoreModel, trace: &Trace) -> f64 {
    of_two_workers(model, trace, vec![vec![vec![1, 0]]].into())
}

fn of_two_workers(model: &CoreModel, trace: &Trace, mapping: ThreadMapping) -> f64 {
    let processes = [Process::of(trace)];
    let workers = phase_of(model, &processes, &mapping, 0, (0, 1)).workers;
    assert_eq!(workers[0].cycles, workers[1].cycles, "the process's time");
    workers[0].cycles
}

/// Jumps from each place to the next, and from the last to the first.
pub(crate) fn jumps(places: u64, rounds: u64, lies: impl Fn(u64) -> u64) -> Trace {
    let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
    let at = |place: u64| 0x40_0000 + lies(place);
    let blocks: Vec<_> = (0..places)
        .map(|place| {
            let distance = at((place + 1) % places) as i64 - (at(place) as i64 + 5);
            let jump = [&[0xe9][..], &(distance as i32).to_le_bytes()].concat();
            writer.define(decode(at(place), &jump).unwrap()).unwrap()
        })
        .collect();
    let thread = writer.thread(1).unwrap();
    for _ in 0..rounds {
        for &block in &blocks {
            writer.execute(thread, block, 1, &[]).unwrap();
        }
    }
    Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
}
