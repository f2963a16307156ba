//! Several workers at once: on cores of their own, as siblings on one core, or taking turns.
//!
//! What co-running costs depends on which parts of the programs meet, so that it is simulated several times:
//! each *phase* begins with the workers at other offsets of their programs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::OnceLock;

use corun_record::{PageSize, Progress, Stage};
use corun_trace::ThreadId;
use corun_trace::format::{FormatError, Trace};

use crate::core::{Deadlock, State};
use crate::error::SimulationError;
use crate::machine::Machine;
use crate::memory::Pages;
use crate::plausible;
use crate::replay::recorded::{Recorded, Replay};
use crate::replay::synchronisation::Synchronisation;
use crate::replay::synchronised::SynchronisedReplay;
use crate::replay::time_slices::{Slice, Slices, TimeSlicedSource};
use crate::simulate::Simulated;
use crate::thread_mapping::ThreadMapping;
use crate::uops::Lowering;
use corun_model::CoreModel;
use corun_model::timing::TimingTable;

/// A recorded process, of which any number of copies can be run.
#[derive(Debug, Clone)]
pub struct Process<'t> {
    /// Trace that it executed.
    pub trace: &'t Trace,
    /// Threads that are workers.
    pub workers: Vec<ThreadId>,
    /// Other threads, which start the workers and wait for them.
    pub others: Vec<ThreadId>,
    /// Read once, for all copies and phases.
    order: OnceLock<Synchronisation>,
}

/// Of the busiest thread's instructions, what a thread executes at least that is a worker.
const MIN_WORK: f64 = 0.2;

impl<'t> Process<'t> {
    /// All threads of a trace; those that execute next to nothing are no workers.
    pub fn of(trace: &'t Trace) -> Self {
        let most = trace.threads().iter().map(|thread| thread.instructions).max().unwrap_or(0);
        let works = |instructions: u64| instructions as f64 >= MIN_WORK * most as f64;
        let (workers, others): (Vec<_>, Vec<_>) =
            trace.threads().iter().partition(|thread| works(thread.instructions));
        let ids = |threads: Vec<&corun_trace::format::Thread>| {
            threads.into_iter().map(|thread| thread.id).collect::<Vec<_>>()
        };
        let (workers, others) = (ids(workers), ids(others));
        Self { trace, workers, others, order: OnceLock::new() }
    }

    /// The order that its threads keep, none of which has begun.
    fn order(&self) -> Result<Synchronisation, FormatError> {
        if let Some(known) = self.order.get() {
            return Ok(known.clone());
        }
        let threads = [&self.workers[..], &self.others].concat();
        let read = Synchronisation::of(self.trace, &threads)?;
        Ok(self.order.get_or_init(|| read).clone())
    }

    /// True if its threads wait for each other, so that it runs from its beginning to its end.
    pub fn is_ordered(&self) -> bool {
        self.workers.len() > 1
    }
}

/// Setup of the simulation.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a, 't> {
    /// The cores.
    pub model: &'a CoreModel,
    /// Their timing.
    pub timings: &'a TimingTable,
    /// The processes; workers are counted through all of them.
    pub processes: &'a [Process<'t>],
    /// Which worker runs where.
    pub mapping: &'a ThreadMapping,
    /// Instructions that fill caches and predictors and are not counted. Of processes with one worker.
    pub warm_up: u64,
    /// Instructions after them that are counted, over and over; all there are, if none.
    pub length: Option<u64>,
    /// Time slice of workers that take turns on a logical CPU, in milliseconds.
    pub slice_ms: f64,
    /// Duration of a context switch from one to the other, in microseconds.
    pub switch_us: f64,
    /// Page size of the data of all workers.
    pub pages: PageSize,
    /// Chooses where pages lie in memory.
    pub seed: u64,
    /// Begin of each worker of the mapping, in its order, as a part of its counted instructions; those that a
    /// phase has, if none.
    pub offsets: &'a [f64],
    /// The logical CPU of each core that has the first turn.
    pub first_turn: usize,
    /// True if each copy of a program has pages of its own for its code, too, as two programs have that
    /// differ in nothing but where they come from.
    pub own_code: bool,
}

/// One phase.
#[derive(Debug, Clone)]
pub struct Phase {
    /// By place in the mapping: cores, their logical CPUs, who takes turns there.
    pub workers: Vec<PlacedWorker>,
}

/// A worker in one phase.
#[derive(Debug, Clone)]
pub struct PlacedWorker {
    /// Number of the worker.
    pub worker: usize,
    /// The core.
    pub core: usize,
    /// The logical CPU of the core.
    pub cpu: usize,
    /// Begin, as a part of its counted instructions: workers that begin at one place count the same
    /// instructions in the same order, after the same warm-up. None of those that take turns.
    pub offset: Option<f64>,
    /// Counted instructions of its program.
    pub instructions: u64,
    /// Cycles in which it executes them; of an ordered process, from the beginning of its first worker
    /// to the end of its last.
    pub cycles: f64,
    /// The cycles in which its logical CPU first and last retired something.
    pub retired_within: (u64, u64),
    /// Counts of its logical CPU meanwhile.
    pub simulated: Simulated,
}

/// Rounds of slices that are counted, after one that is not.
const ROUNDS: usize = 1;
/// Instructions between two checks whether the slices that are counted are over.
const CHECK_INTERVAL: u64 = 1 << 16;
/// Rounds of the longest window, and instructions, that are simulated of a slice at most: by then caches and
/// predictors hold what the window touches, and the rest of the slice goes on at the same rate.
const SLICE_ROUNDS: u64 = 1000;
const SLICE_INSTRUCTIONS: u64 = 1 << 20;
/// The golden ratio's fraction, whose multiples stay apart (Weyl).
const APART: f64 = 0.618_033_988_749_895;

/// A logical CPU while it is simulated.
struct Cpu {
    core: usize,
    cpu: usize,
    workers: Vec<Place>,
    /// Counted instructions begin and end here.
    begin: u64,
    end: u64,
    state: Option<State>,
    is_finished: bool,
}

/// A worker at its place.
#[derive(Clone, Copy)]
struct Place {
    worker: usize,
    process: usize,
    thread: ThreadId,
    /// Which copy of the process.
    copy: usize,
    /// Begin, as a part of its counted instructions.
    offset: f64,
    /// Counted instructions, and where its region lies.
    begin: u64,
    length: u64,
}

/// Simulates the `phase`-th of so many phases; `progress` hears of the instructions of all workers.
///
/// # Errors
/// If a trace is damaged where it is read, or a core makes no progress.
pub fn simulate_together(
    setup: Setup<'_, '_>,
    phase: usize,
    phases: usize,
    progress: &dyn Progress,
) -> Result<Phase, SimulationError> {
    for process in setup.processes {
        process.trace.require_code()?;
        if process.workers.is_empty() {
            // A trace whose events are lost.
            return Err(process.trace.lacks(ThreadId(0)).into());
        }
    }
    let mut cpus = cpus(setup, phase as f64 / phases.max(1) as f64);
    progress.begin(Stage::new("simulating", "instructions", expected(setup, &cpus)));
    let mut machine = machine(setup, &cpus, progress)?;
    let mut targets: Vec<Vec<u64>> =
        setup.mapping.cores.iter().map(|core| vec![0; core.cpus.len()]).collect();
    targets.resize(machine.cores(), vec![u64::MAX]);
    for cpu in &cpus {
        targets[cpu.core][cpu.cpu] = cpu.begin;
    }
    let ran = run(&mut machine, &mut cpus, &mut targets);
    let placed = ran.map(|()| placed_workers(setup, &cpus, &machine));
    // Of a trace that could not be read on, no figure and no stop says anything.
    for source in machine.into_sources().into_iter().flatten() {
        source.into_programs().into_iter().try_for_each(|mut program| program.error())?;
    }
    let placed = placed?;
    let processes = setup.processes.iter();
    let are_ordered: Vec<bool> =
        processes.flat_map(|it| it.workers.iter().map(|_| it.is_ordered())).collect();
    for one in &placed {
        // A thread of an ordered process polls as often as it has to here, not as often as it was recorded.
        if !are_ordered[one.worker] {
            plausible::of_rate(one.instructions as f64, one.cycles, setup.model)?;
        }
        one.simulated.check(setup.model)?;
    }
    Ok(Phase { workers: placed })
}

/// Runs all workers to their ends.
fn run(
    machine: &mut Running<'_>,
    cpus: &mut [Cpu],
    targets: &mut [Vec<u64>],
) -> Result<(), Box<Deadlock>> {
    while cpus.iter().any(|cpu| !cpu.is_finished) {
        let Some((core, thread)) = machine.run(targets)? else { break };
        for cpu in cpus.iter_mut().filter(|cpu| cpu.core == core) {
            match thread {
                Some(thread) if thread == cpu.cpu => {
                    targets[core][thread] = cpu.reached(machine);
                }
                None => cpu.is_finished = true,
                _ => {}
            }
        }
    }
    Ok(())
}

type Running<'a> = Machine<TimeSlicedSource<Recorded<'a>>>;

impl Cpu {
    /// Next target, once its target is reached.
    fn reached(&mut self, machine: &Running<'_>) -> u64 {
        let state = machine.state(self.core, self.cpu);
        let retired = state.retired;
        if self.workers.len() > 1 {
            let slices = machine.source(self.core, self.cpu).done().len();
            if slices >= self.workers.len() && self.state.is_none() {
                self.state = Some(state);
            } else if slices >= self.workers.len() * (1 + ROUNDS) {
                self.finish(state);
                return u64::MAX;
            }
            return retired + CHECK_INTERVAL;
        }
        if self.state.is_none() && retired < self.end {
            self.state = Some(state);
            return self.end;
        }
        self.finish(state);
        u64::MAX
    }

    fn finish(&mut self, state: State) {
        self.state = Some(match &self.state {
            Some(begin) => state.since(begin),
            None => state,
        });
        self.is_finished = true;
    }
}

/// Begin of the worker with this number in the mapping in a phase (0 to 1).
fn offset(number: usize, phase: f64) -> f64 {
    match number {
        0 => 0.0,
        _ => (phase + (number - 1) as f64 * APART).fract(),
    }
}

/// The logical CPUs of the mapping, with their workers.
fn cpus(setup: Setup<'_, '_>, phase: f64) -> Vec<Cpu> {
    let all: Vec<(usize, ThreadId)> = (0..)
        .zip(setup.processes)
        .flat_map(|(process, it)| it.workers.iter().map(move |thread| (process, *thread)))
        .collect();
    let mut copies: HashMap<usize, usize> = HashMap::new();
    let mut number = 0;
    let mut place = |worker: usize| {
        let own = offset(number, phase);
        let offset = setup.offsets.get(number).copied().unwrap_or(own);
        number += 1;
        let (process, thread) = all[worker];
        let count = copies.entry(worker).or_insert(0);
        let copy = *count;
        *count += 1;
        let threads = setup.processes[process].trace.threads();
        let own = threads.iter().find(|it| it.id == thread);
        let (begin, end) = own.map_or((0, 0), |it| (it.begin(), it.end()));
        let begin = begin.saturating_add(setup.warm_up).min(end);
        let length = setup.length.unwrap_or(u64::MAX).min(end - begin);
        Place { worker, process, thread, copy, offset, begin, length }
    };
    let mut cpus = Vec::new();
    for (core, siblings) in setup.mapping.cores.iter().enumerate() {
        for (cpu, workers) in siblings.cpus.iter().enumerate() {
            let workers: Vec<Place> = workers.iter().map(|&worker| place(worker)).collect();
            let first = workers[0];
            let is_ordered = setup.processes[first.process].is_ordered();
            let (begin, end) = match (workers.len(), is_ordered) {
                (1, true) => (u64::MAX, u64::MAX),
                (1, false) => (setup.warm_up, setup.warm_up.saturating_add(recorded(setup, first))),
                _ => (CHECK_INTERVAL, u64::MAX),
            };
            // Of a program that is shorter than the warm-up nothing is counted.
            let is_finished = !is_ordered && workers.iter().any(|place| place.length == 0);
            cpus.push(Cpu { core, cpu, workers, begin, end, state: None, is_finished });
        }
    }
    cpus
}

/// Recorded instructions of a worker's region.
fn recorded(setup: Setup<'_, '_>, place: Place) -> u64 {
    let threads = setup.processes[place.process].trace.threads();
    let recorded = threads.iter().find(|it| it.id == place.thread).map_or(0, |it| it.instructions);
    place.length.min(recorded)
}

/// Instructions of all workers together, unless some take turns: how far a slice goes is not known before.
fn expected(setup: Setup<'_, '_>, cpus: &[Cpu]) -> Option<u64> {
    cpus.iter().try_fold(0_u64, |sum, cpu| match cpu.workers[..] {
        [place] => Some(sum.saturating_add(setup.warm_up + recorded(setup, place))),
        _ => None,
    })
}

/// The cores at rest, each worker's program where it begins.
fn machine<'a>(
    setup: Setup<'a, '_>,
    cpus: &[Cpu],
    progress: &'a dyn Progress,
) -> Result<Running<'a>, FormatError> {
    let mut orders: HashMap<(usize, usize), Rc<RefCell<Synchronisation>>> = HashMap::new();
    let mut numbers: HashMap<(usize, usize), u32> = HashMap::new();
    let lowering = || Lowering::new(setup.model, setup.timings);
    let mut recorded = |place: Place| {
        let process = &setup.processes[place.process];
        let instance = (place.process, place.copy);
        let next = numbers.len() as u32;
        let pages_of = |number| Pages::of(number, setup.seed, setup.pages).on(setup.model);
        let own = pages_of(*numbers.entry(instance).or_insert(next));
        let first = numbers.iter().filter(|((process, _), _)| *process == place.process);
        let first = first.map(|(_, number)| *number).min().unwrap_or(next);
        let pages = match setup.own_code {
            true => own,
            false => own.with_code_of(pages_of(first)),
        };
        let course = if process.is_ordered() {
            let order = match orders.entry(instance) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(place) => {
                    place.insert(Rc::new(RefCell::new(process.order()?))).clone()
                }
            };
            Replay::Synchronised(SynchronisedReplay::new(place.thread, order))
        } else {
            let (begin, end) = (place.begin, place.begin + place.length);
            let first = begin + (place.offset * place.length as f64) as u64;
            // What lies before it warms up, as it does where nothing goes round.
            Replay::Looping { begin, end, first: first.saturating_sub(setup.warm_up) }
        };
        Recorded::new(lowering(), process.trace, place.thread, pages, course, progress)
    };
    let slices = slices(setup);
    let mut cores: Vec<Vec<TimeSlicedSource<Recorded<'_>>>> = Vec::new();
    for cpu in cpus {
        let mut programs = Vec::new();
        for &place in &cpu.workers {
            programs.push(recorded(place)?);
        }
        cores.resize_with(cores.len().max(cpu.core + 1), Vec::new);
        // A process whose threads wait for each other runs from its beginning to its end, and no window of it repeats.
        let is_looping = |place: &&Place| !setup.processes[place.process].is_ordered();
        let longest = cpu.workers.iter().map(|place| place.length).max().unwrap_or(0);
        let most = match cpu.workers.iter().all(|place| is_looping(&place)) {
            true => longest.saturating_mul(SLICE_ROUNDS).max(SLICE_INSTRUCTIONS),
            false => u64::MAX,
        };
        cores[cpu.core].push(TimeSlicedSource::bounded(programs, slices, most));
    }
    // What starts the workers and waits for them takes nothing from them: it has cores of its own.
    let firsts: Vec<Place> = cpus.iter().flat_map(|cpu| &cpu.workers).copied().collect();
    for (index, place) in firsts.iter().enumerate() {
        let is_new =
            !firsts[..index].iter().any(|it| (it.process, it.copy) == (place.process, place.copy));
        let process = &setup.processes[place.process];
        for &thread in process.others.iter().filter(|_| is_new && process.is_ordered()) {
            cores.push(vec![TimeSlicedSource::new(
                vec![recorded(Place { thread, ..*place })?],
                slices,
            )]);
        }
    }
    let cores = cores.into_iter().map(|sources| (lowering().stack_update(), sources));
    let mut machine = Machine::new(setup.model, cores.collect());
    machine.begin_with(setup.first_turn);
    Ok(machine)
}

fn slices(setup: Setup<'_, '_>) -> Slices {
    Slices {
        cycles: (setup.slice_ms * setup.model.gigahertz * 1e6) as u64,
        switch: (setup.switch_us * setup.model.gigahertz * 1e3) as u64,
    }
}

/// Results of the workers.
fn placed_workers(setup: Setup<'_, '_>, cpus: &[Cpu], machine: &Running<'_>) -> Vec<PlacedWorker> {
    // An ordered process goes from the beginning of its first worker to the end of its last.
    let mut spans: HashMap<(usize, usize), (u64, u64)> = HashMap::new();
    for cpu in cpus {
        let (first, last) = machine.retired_within(cpu.core, cpu.cpu);
        for place in &cpu.workers {
            let span = spans.entry((place.process, place.copy)).or_insert((first, last));
            *span = (span.0.min(first), span.1.max(last));
        }
    }
    let switch = slices(setup).switch;
    let mut all = Vec::new();
    for cpu in cpus {
        let state = || machine.state(cpu.core, cpu.cpu);
        let state = cpu.state.clone().unwrap_or_else(state);
        let source = machine.source(cpu.core, cpu.cpu);
        for (turn, place) in cpu.workers.iter().enumerate() {
            let instructions = recorded(setup, *place);
            let cycles = if setup.processes[place.process].is_ordered() {
                let (first, last) = spans[&(place.process, place.copy)];
                (last - first) as f64
            } else if cpu.workers.len() > 1 {
                // Whole rounds, after the first.
                let (round, done) = (cpu.workers.len(), source.done());
                let slices = &done[round.min(done.len())..(round * (1 + ROUNDS)).min(done.len())];
                let own = slices.iter().filter(|slice| slice.program == turn);
                let own: f64 = own.map(|slice| slice.instructions(switch)).sum();
                let all: f64 = slices.iter().map(Slice::cycles).sum();
                all * instructions as f64 / own.max(1.0)
            } else {
                state.cycles as f64 * instructions as f64 / state.retired.max(1) as f64
            };
            let lowering = &source.programs()[turn].lowering;
            all.push(PlacedWorker {
                worker: place.worker,
                core: cpu.core,
                cpu: cpu.cpu,
                offset: (cpu.workers.len() == 1 && !setup.processes[place.process].is_ordered())
                    .then_some(place.offset),
                instructions,
                cycles,
                retired_within: machine.retired_within(cpu.core, cpu.cpu),
                simulated: Simulated::of(state.clone(), lowering),
            });
        }
    }
    all
}
