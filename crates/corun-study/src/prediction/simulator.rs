//! Programs traced on this machine and simulated on a core model, as `corun simulate --placement` does.
//!
//! A program runs with two numbers of operations: what the larger one executes more is its loop, without start and
//! end. Windows spread over the loop are recorded; threads that share memory are recorded as a whole, twice.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{PageSize, Placement};
use corun_sim::thread_mapping::{MappingRequest, ThreadMapping, map_threads};
use corun_sim::{Phase, PlacedWorker, Process, Setup, Unwatched, in_parallel, simulate_together};
use corun_trace::format::Trace;
use corun_trace::{Target, TracePlan, TracerSelection, choose_for, count_quietly, trace_quietly};
use corun_workload::{Job, Parameters};

use super::{CoreEngine, Cycles, SimulatedProgram, Work, WorkerLayout};

/// Simulates programs, each traced by the first tracer that works here.
#[derive(Debug, Clone)]
pub struct Simulator {
    /// The executable of corun, which runs built-in workloads in a process of their own.
    pub corun: PathBuf,
    /// Simulations side by side.
    pub jobs: usize,
}

/// Windows of a loop, and instructions of each.
const WINDOWS: u32 = 8;
const WINDOW: u64 = 40_000;
/// Of the recorded instructions, those that fill caches and predictors.
const WARM_UP: u64 = 80_000;
/// Least length of a loop, in instructions, so that windows lie apart and what is around it does not count.
const LOOP: u64 = 4 * WINDOWS as u64 * WINDOW;
/// Operations of a worker in the shorter run of threads that share memory: more than it does in the time in which the
/// tracing machine begins the next one.
const SHARED_OPERATIONS: u64 = 64_000;
/// Recordings of such threads of which one must have them all at work at the same time.
const TRIES: usize = 5;
/// Limit of the time for which each waits for the others in it, as a part of its time.
const MOST_WAITING: f64 = 0.1;
/// Offsets at which siblings meet.
const PHASES: usize = 4;
const MOST_OPERATIONS: u64 = 1 << 40;
/// As `corun simulate` has them.
const SLICE_MS: f64 = 3.0;
const SWITCH_US: f64 = 2.0;

impl CoreEngine for Simulator {
    fn cycles(
        &self,
        core: &str,
        program: &SimulatedProgram,
        layouts: &[WorkerLayout],
    ) -> Result<Vec<Cycles>, String> {
        let model = corun_model::find(core).map_err(|error| error.to_string())?;
        let timings = TimingTable::of(&model).map_err(|error| error.to_string())?;
        let core = Core { model: &model, timings: &timings, jobs: self.jobs };
        match program.threads {
            1 => self.of_copies(&core, program, layouts),
            _ => self.of_threads(&core, program, layouts),
        }
    }
}

/// Simulated core.
struct Core<'a> {
    model: &'a CoreModel,
    timings: &'a TimingTable,
    jobs: usize,
}

/// A program that was traced: its loop, and the instructions of an operation.
struct TracedLoop {
    trace: Trace,
    instructions: f64,
}

impl Simulator {
    /// Copies of a program with one worker.
    fn of_copies(
        &self,
        core: &Core<'_>,
        program: &SimulatedProgram,
        layouts: &[WorkerLayout],
    ) -> Result<Vec<Cycles>, String> {
        let TracedLoop { trace, instructions } = self.traced_loop(program)?;
        let busiest = trace.threads().iter().max_by_key(|thread| thread.instructions);
        let worker = busiest.ok_or("nothing was recorded")?.id;
        let mut process = Process::of(&trace);
        process.others.clear();
        process.workers = vec![worker];
        let processes = [process];
        let each = layouts.iter().map(|layout| {
            let (mapping, phases) = (core.mapping(*layout, 1)?, core.phases(*layout));
            let simulated = core.simulated(&processes, &mapping, WARM_UP, phases)?;
            let of_phase = |phase: &Phase| {
                let workers = phase.workers.iter();
                let each = workers.map(|one| one.cycles / one.instructions as f64 * instructions);
                each.sum::<f64>() / phase.workers.len() as f64
            };
            Ok(Cycles::of(simulated.iter().map(of_phase)))
        });
        each.collect()
    }

    /// Threads of one process. Where they ran one after the other while they were recorded, they wait for each other in the
    /// simulation and share nothing: then they are recorded again.
    fn of_threads(
        &self,
        core: &Core<'_>,
        program: &SimulatedProgram,
        layouts: &[WorkerLayout],
    ) -> Result<Vec<Cycles>, String> {
        for _ in 0..TRIES {
            if let Some(cycles) = self.of_recorded_threads(core, program, layouts)? {
                return Ok(cycles);
            }
        }
        Err("its threads ran one after the other each time that they were recorded".to_owned())
    }

    /// Cycles of one recording, from the beginning of the threads to their end: what twice as many operations take
    /// longer. None if some of them waited.
    fn of_recorded_threads(
        &self,
        core: &Core<'_>,
        program: &SimulatedProgram,
        layouts: &[WorkerLayout],
    ) -> Result<Option<Vec<Cycles>>, String> {
        let operations = [SHARED_OPERATIONS, 2 * SHARED_OPERATIONS];
        let traces = operations.map(|it| self.traced(program, it, TracePlan::Whole));
        let [short, long] = traces;
        let traces = [short?, long?];
        let mut each = Vec::new();
        for layout in layouts {
            let mut makespans = [0.0; 2];
            for (trace, makespan) in traces.iter().zip(&mut makespans) {
                let process = threads_of(trace, program.threads as usize)?;
                let mapping = core.mapping(*layout, process.workers.len())?;
                let simulated = core.simulated(&[process], &mapping, 0, 1)?;
                let workers: Vec<_> = simulated.iter().flat_map(|phase| &phase.workers).collect();
                if workers.iter().any(|one| waited(one) > MOST_WAITING * one.cycles) {
                    return Ok(None);
                }
                *makespan = workers.iter().map(|one| one.cycles).fold(0.0, f64::max);
            }
            let more = (makespans[1] - makespans[0]) / SHARED_OPERATIONS as f64;
            if more <= 0.0 {
                return Err("twice the operations took no longer".to_owned());
            }
            each.push(Cycles::of([more].into_iter()));
        }
        Ok(Some(each))
    }

    /// The windows of a loop.
    fn traced_loop(&self, program: &SimulatedProgram) -> Result<TracedLoop, String> {
        let least = least_operations(program);
        let alone = self.counted(program, least)?;
        let mut operations = least;
        loop {
            operations = operations.saturating_mul(10);
            if operations > MOST_OPERATIONS {
                return Err("its operations execute no instructions".to_owned());
            }
            let all = self.counted(program, operations)?;
            let more = all.saturating_sub(alone);
            if more < LOOP {
                continue;
            }
            let instructions = more as f64 / (operations - least) as f64;
            let total = (instructions * operations as f64) as u64;
            let rest = TracePlan::Samples {
                count: WINDOWS,
                length: WINDOW,
                warm_up: 0,
                total,
                seed: 0,
                look_back: 0,
                first_part: 0,
            };
            // What comes after the loop is short.
            let skip = all.saturating_sub(total);
            let plan = TracePlan::After { skip, warm_up: 0, rest: Box::new(rest) };
            let trace = self.traced(program, operations, plan)?;
            return Ok(TracedLoop { trace, instructions });
        }
    }

    fn counted(&self, program: &SimulatedProgram, operations: u64) -> Result<u64, String> {
        let target = self.target(program, operations)?;
        let chosen = choose_for(None, &target).map_err(|error| error.to_string())?;
        count_quietly(&target, &chosen, &AtomicBool::new(false)).map_err(|error| error.to_string())
    }

    fn traced(
        &self,
        program: &SimulatedProgram,
        operations: u64,
        plan: TracePlan,
    ) -> Result<Trace, String> {
        let target = self.target(program, operations)?;
        let chosen: TracerSelection<'_> =
            choose_for(None, &target).map_err(|error| error.to_string())?;
        let (part, stop) = ((plan, None), AtomicBool::new(false));
        let traced = trace_quietly(&target, part, &chosen, Vec::new(), &Unwatched, &stop);
        let (outcome, bytes) = traced.map_err(|error| error.to_string())?;
        match outcome.traced.ending {
            corun_trace::Ending::Exited(0) => {
                Trace::from_bytes(bytes).map_err(|error| error.to_string())
            }
            ending => Err(format!("it ended by {ending} under the tracer")),
        }
    }

    /// The process that does so many operations.
    fn target(&self, program: &SimulatedProgram, operations: u64) -> Result<Target, String> {
        let argv = match &program.work {
            Work::Command(words) => {
                let filled = |word: &String| word.replace("{operations}", &operations.to_string());
                words.iter().map(|word| filled(word).into()).collect()
            }
            Work::Workload { name, parameters } => {
                self.workload(name, parameters, program.threads, operations)?
            }
        };
        let (program, arguments) = argv.split_first().ok_or("it has no program")?;
        Target::find(program, arguments).map_err(|error| error.to_string())
    }

    fn workload(
        &self,
        name: &str,
        parameters: &[String],
        threads: u32,
        operations: u64,
    ) -> Result<Vec<OsString>, String> {
        let workload = corun_workload::find(name).map_err(|error| error.to_string())?;
        let parsed = Parameters::parse(workload.descriptor(), parameters.to_vec());
        let parsed = parsed.map_err(|error| error.to_string())?;
        let job =
            workload.prepare(&parsed, NonZeroUsize::MIN).map_err(|error| error.to_string())?;
        if let Job::Program(program) = job {
            let mut argv = program.argv;
            let size = program.size.ok_or("its number of operations cannot be set")?;
            argv[size.argument] = operations.to_string().into();
            return Ok(argv);
        }
        let (threads, operations) = (threads.to_string(), operations.to_string());
        let options = ["kernel-worker", "--workers", &threads, "--threads", &threads];
        let work = ["--operations", &operations, name].into_iter();
        let words = options.into_iter().chain(work).chain(parameters.iter().map(String::as_str));
        let words = words.map(OsString::from);
        Ok(std::iter::once(self.corun.clone().into()).chain(words).collect())
    }
}

impl Core<'_> {
    fn mapping(&self, layout: WorkerLayout, workers: usize) -> Result<ThreadMapping, String> {
        let wanted = MappingRequest {
            cores: Some(layout.cores as usize),
            smt_width: self.model.smt_width as usize,
            workers,
            repeats: workers == 1,
        };
        map_threads(layout.placement, wanted).map_err(|error| error.to_string())
    }

    /// Workers that have a core to themselves meet nobody.
    fn phases(&self, layout: WorkerLayout) -> usize {
        match layout.placement {
            Placement::Single | Placement::Spread(_) => 1,
            _ => PHASES,
        }
    }

    fn simulated(
        &self,
        processes: &[Process<'_>],
        mapping: &ThreadMapping,
        warm_up: u64,
        phases: usize,
    ) -> Result<Vec<Phase>, String> {
        let setup = Setup {
            model: self.model,
            timings: self.timings,
            processes,
            mapping,
            warm_up,
            length: None,
            slice_ms: SLICE_MS,
            switch_us: SWITCH_US,
            pages: PageSize::Small,
            seed: 1,
            offsets: &[],
            first_turn: 0,
            own_code: false,
        };
        let phases = in_parallel(self.jobs, phases, |phase| {
            simulate_together(setup, phase, phases, &Unwatched)
        });
        phases.into_iter().map(|phase| phase.map_err(|error| error.to_string())).collect()
    }
}

impl Cycles {
    fn of(phases: impl Iterator<Item = f64>) -> Self {
        let corun_sim::Spread { mean, low, high } = corun_sim::Spread::of(phases);
        Self { mean, low, high }
    }
}

/// Cycles that a worker waited for the others of its process.
fn waited(worker: &PlacedWorker) -> f64 {
    let of = worker.simulated.stack.cycles().filter(|(component, _)| *component == "waiting");
    of.map(|(_, cycles)| cycles).sum()
}

/// The threads of a trace that are workers: as many as there are, the busiest ones.
fn threads_of(trace: &Trace, workers: usize) -> Result<Process<'_>, String> {
    let mut by_work: BTreeMap<(u64, u32), corun_trace::ThreadId> = BTreeMap::new();
    for thread in trace.threads() {
        by_work.insert((thread.instructions, thread.id.0), thread.id);
    }
    // The first thread starts the others and waits for them.
    let mut others: Vec<_> = by_work.values().copied().filter(|id| id.0 == 0).collect();
    let mut chosen: Vec<_> =
        by_work.values().rev().copied().filter(|id| id.0 != 0).take(workers).collect();
    if chosen.len() < workers {
        return Err(format!("expected {workers} threads, found {}", chosen.len()));
    }
    chosen.sort();
    others.extend(by_work.values().copied().filter(|id| id.0 != 0 && !chosen.contains(id)));
    let mut process = Process::of(trace);
    (process.workers, process.others) = (chosen, others);
    Ok(process)
}

fn least_operations(program: &SimulatedProgram) -> u64 {
    match &program.work {
        Work::Workload { name, .. } => corun_workload::find(name)
            .map_or(1, |workload| workload.descriptor().least_operations.max(1)),
        Work::Command(_) => 1,
    }
}
