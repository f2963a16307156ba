//! Threads: a program with several threads of one process, placed on cores as workers, their waits replayed.
//!
//! All threads are recorded at the same time, in windows of the recording: a window holds what every thread did between two
//! moments, so that who waits for whom is in it. Each window is simulated in both placements that are compared, and counts for
//! as long as all of its workers run: where the recording cut one off, the others would have gone on beside it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{Estimate, Placement, Progress, Stage};
use corun_sim::thread_mapping::{MappingRequest, ThreadMapping, map_threads};
use corun_sim::{
    PlacedWorker, Process, Setup, Simulated, SimulationError, Unwatched, in_parallel,
    simulate_together,
};
use corun_stats::student_t;
use corun_trace::format::Trace;
use corun_trace::{ProcessContext, Target, ThreadId, TracePlan, count_quietly, trace_quietly};

use super::{FittedModel, RecordedRun};
use crate::estimate::{LEVEL, over};
use crate::request::{FollowedTarget, command_target};
use crate::{Core, Job, PredictError, Sampling};

/// Instructions of a run that is recorded whole, all threads together.
const SHORT: u64 = 20_000_000;
/// Windows of a longer one, and instructions of each.
const WINDOWS: u64 = 3;
const LENGTH: u64 = 4_000_000;
/// As `corun simulate` has them; no two workers of these placements take turns.
const SLICE_MS: f64 = 3.0;
const SWITCH_US: f64 = 2.0;

/// A program that takes the number of its threads.
pub struct Workers {
    /// Command line, in which `{workers}` stands for their number.
    pub argv: Vec<std::ffi::OsString>,
    /// Environment, in which `{workers}` stands for it, too, and its folder and standard input.
    pub context: ProcessContext,
    /// True if each worker does a share of its own, and not a part of a fixed total.
    pub per_worker: bool,
}

impl Workers {
    /// The program with so many threads.
    pub(crate) fn target(&self, workers: u32) -> Result<Target, PredictError> {
        command_target(&self.argv, &self.context, Some(workers)).map_err(PredictError::Trace)
    }
}

/// Recording of the threads of a program.
pub(crate) struct ThreadTraces {
    /// By the number of workers that was given to the program; 0 for one that takes none.
    by_workers: BTreeMap<u32, Windows>,
}

/// Windows of one run.
struct Windows {
    traces: Vec<Trace>,
    /// Instructions of the whole run, all threads together.
    total: u64,
    /// True if the run was recorded whole, so that who ends early does so in the program.
    is_whole: bool,
}

/// Threads in a placement, and the same in the one that it is compared with.
pub(crate) struct ThreadsRun {
    /// The placement.
    pub(super) placement: Placement,
    /// Workers on each core.
    pub(super) threads: u32,
    /// The field of the model that was changed, with its value; none for the model as it is.
    pub(super) setting: Option<String>,
    /// Slowdown of a worker against one beside idle siblings.
    pub(super) slowdown: Estimate,
    /// The workers in the reference, ...
    pub(super) alone: Vec<Simulated>,
    /// ... and in the placement.
    pub(super) beside: Vec<Simulated>,
}

/// A placement to simulate, and what it is compared with.
struct Compared {
    placement: Placement,
    threads: u32,
    /// Traces by their number of workers, placements, and cores.
    reference: (u32, Placement, usize),
    subject: (u32, Placement, usize),
    /// Work of a worker in the placement, over that of one in the reference.
    share: f64,
}

impl ThreadTraces {
    /// True if the job needs none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_workers.is_empty()
    }

    /// Records what the job's placements need of a program with threads; nothing for one that runs as copies.
    pub(crate) fn of(
        job: &Job<'_>,
        recorded: &RecordedRun,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        let mut by_workers = BTreeMap::new();
        for core in &job.cores {
            for it in compared(job, core.model, recorded) {
                for workers in [it.reference.0, it.subject.0] {
                    if by_workers.contains_key(&workers) {
                        continue;
                    }
                    let target = match &job.beside.workers {
                        // The job's target is the program with one worker.
                        Some(own) if workers > 1 => followed(job, own.target(workers)?, stop)?,
                        _ => job.target.clone(),
                    };
                    by_workers.insert(workers, Windows::of(job, &target, progress, stop)?);
                }
            }
        }
        Ok(Self { by_workers })
    }
}

/// The program that does the work of a command with several workers.
fn followed(job: &Job<'_>, target: Target, stop: &AtomicBool) -> Result<Target, PredictError> {
    let which = ("The program with several workers", job.from);
    let found = FollowedTarget::of(target, which, job.limit.measuring_ends(), stop)?;
    Ok(found.target)
}

impl Windows {
    fn of(
        job: &Job<'_>,
        target: &Target,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        progress.begin(Stage::new("counting instructions of threads", "", None));
        let total = count_quietly(target, &job.tracer, stop).map_err(PredictError::Trace)?;
        let mut traces = Vec::new();
        let plans = plans(total, job.sampling == Sampling::Whole);
        let is_whole = plans == [TracePlan::Whole];
        for plan in plans {
            let part = (plan, None);
            let traced = trace_quietly(target, part, &job.tracer, Vec::new(), progress, stop);
            let (outcome, bytes) = traced.map_err(PredictError::Trace)?;
            PredictError::check_ending(target, &outcome.traced)?;
            traces.push(Trace::from_bytes(bytes).map_err(PredictError::Format)?);
        }
        let is_empty = |trace: &Trace| trace.threads().iter().all(|it| it.instructions == 0);
        traces.retain(|trace| !is_empty(trace));
        match traces.is_empty() {
            true => Err(PredictError::TooShort { total }),
            false => Ok(Self { traces, total, is_whole }),
        }
    }
}

/// The windows of a run of so many instructions, each in the middle of an equal part.
fn plans(total: u64, is_whole: bool) -> Vec<TracePlan> {
    if is_whole || total <= SHORT {
        return vec![TracePlan::Whole];
    }
    let part = total / WINDOWS;
    let window = |at: u64| TracePlan::Window {
        skip: at * part + part.saturating_sub(LENGTH) / 2,
        length: Some(LENGTH.min(part)),
    };
    (0..WINDOWS).map(window).collect()
}

/// Comparisons for a program with threads.
fn compared(job: &Job<'_>, model: &CoreModel, recorded: &RecordedRun) -> Vec<Compared> {
    let width = model.smt_width;
    let busy = Process::of(&recorded.trace).workers.len() as u32;
    let workers = job.beside.workers.as_ref();
    let of = |placement: &Placement| match (*placement, workers) {
        (Placement::Full(count), Some(own)) => {
            let threads = count.unwrap_or(width).min(width);
            // A worker of a fixed total does less, the more there are.
            let share = if own.per_worker { 1.0 } else { 1.0 / f64::from(threads) };
            Some(Compared {
                placement: *placement,
                threads,
                reference: (1, Placement::Spread(None), 1),
                subject: (threads, Placement::Full(count), 1),
                share,
            })
        }
        (Placement::Packed(_), Some(_)) => Some(packed(*placement, width, (width, width))),
        (Placement::Packed(_), None) if busy > 1 => Some(packed(*placement, width, (0, busy))),
        _ => None,
    };
    job.beside.placements.iter().filter_map(of).collect()
}

/// As many threads on all hardware threads of fewer cores, against a core each; from one trace.
fn packed(placement: Placement, width: u32, (trace, threads): (u32, u32)) -> Compared {
    let cores = threads.div_ceil(width) as usize;
    Compared {
        placement,
        threads: width.min(threads),
        reference: (trace, Placement::Spread(None), threads as usize),
        subject: (trace, Placement::Full(None), cores),
        share: 1.0,
    }
}

/// A window in a placement.
struct Task<'t> {
    trace: &'t Trace,
    model: &'t CoreModel,
    placement: Placement,
    cores: usize,
    /// The most threads that are workers.
    workers: usize,
}

/// The workers of a window, simulated.
type SimulatedThreads = Vec<PlacedWorker>;

impl ThreadsRun {
    /// True if threads of one process are what a placement has, and not copies.
    pub(crate) fn has(
        job: &Job<'_>,
        model: &CoreModel,
        recorded: &RecordedRun,
        placement: Placement,
    ) -> bool {
        compared(job, model, recorded).iter().any(|it| it.placement == placement)
    }

    /// Simulates every placement of the job that threads of a process have, on a core and with each changed field.
    pub(crate) fn of(
        job: &Job<'_>,
        core: &Core<'_>,
        (recorded, traces): (&RecordedRun, &ThreadTraces),
        fitted: &FittedModel,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Vec<Self>, PredictError> {
        let all = compared(job, core.model, recorded);
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let mut models = vec![(None, fitted.model.clone())];
        for setting in &job.beside.what_if {
            let model = fitted.model.clone().with(std::slice::from_ref(setting));
            let name = format!("{}={}", setting.0, setting.1);
            models.push((Some(name), model.map_err(PredictError::Model)?));
        }
        let mut runs = Vec::new();
        for (setting, model) in &models {
            for it in &all {
                progress.begin(Stage::new("simulating threads together", "", None));
                let of = |(workers, placement, cores): (u32, Placement, usize)| {
                    let windows = &traces.by_workers[&workers];
                    let tasks = windows.traces.iter().map(|trace| Task {
                        trace,
                        model,
                        placement,
                        cores,
                        workers: slots(placement, cores, model),
                    });
                    let tasks: Vec<Task<'_>> = tasks.collect();
                    let done = simulate(job, core.timings, &tasks, stop)?;
                    Ok::<_, PredictError>((windows, done))
                };
                let (windows, done) = of(it.reference)?;
                let (before, alone) = (time(windows, &done, None), workers_of(done));
                let (windows, done) = of(it.subject)?;
                let (after, beside) = (time(windows, &done, ipc(&alone)), workers_of(done));
                runs.push(Self {
                    placement: it.placement,
                    threads: it.threads,
                    setting: setting.clone(),
                    slowdown: over(&after, &before).scaled(1.0 / it.share),
                    alone,
                    beside,
                });
            }
        }
        Ok(runs)
    }
}

/// All windows, several at a time.
fn simulate(
    job: &Job<'_>,
    timings: &TimingTable,
    tasks: &[Task<'_>],
    stop: &AtomicBool,
) -> Result<Vec<SimulatedThreads>, PredictError> {
    let (pages, seed) = (job.pages, job.beside.seed);
    let done = in_parallel(job.jobs, tasks.len(), |at| {
        let task = &tasks[at];
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let processes = [process(task)];
        let mapping = mapping(task, processes[0].workers.len());
        let setup = Setup {
            model: task.model,
            timings,
            processes: &processes,
            mapping: &mapping,
            warm_up: 0,
            length: None,
            slice_ms: SLICE_MS,
            switch_us: SWITCH_US,
            pages,
            seed,
            offsets: &[],
            first_turn: 0,
            own_code: false,
        };
        simulate_together(setup, 0, 1, &Unwatched).map(Some)
    });
    let of_window = |phase: Result<Option<corun_sim::Phase>, SimulationError>| {
        let phase = phase?.ok_or(PredictError::Interrupted { during: "simulated" })?;
        Ok(phase.workers)
    };
    done.into_iter().map(of_window).collect()
}

/// The places that a placement has for workers.
fn slots(placement: Placement, cores: usize, model: &CoreModel) -> usize {
    placement.slots(cores, model.smt_width as usize).map_or(0, |slots| slots.len())
}

/// A process whose busiest threads are workers, as many as there are places for; the others have cores of their own.
fn process<'t>(task: &Task<'t>) -> Process<'t> {
    let mut process = Process::of(task.trace);
    let work = |id: &ThreadId| {
        let own = task.trace.threads().iter().find(|it| it.id == *id);
        std::cmp::Reverse(own.map_or(0, |it| it.instructions))
    };
    process.workers.sort_by_key(work);
    let spare = process.workers.split_off(task.workers.min(process.workers.len()));
    process.workers.sort();
    process.others.extend(spare);
    process
}

/// Mapping of so many workers; fewer than there are places for leave hardware threads idle.
fn mapping(task: &Task<'_>, workers: usize) -> ThreadMapping {
    let wanted = MappingRequest {
        cores: Some(task.cores),
        smt_width: task.model.smt_width as usize,
        workers,
        repeats: false,
    };
    map_threads(task.placement, wanted).unwrap_or_default()
}

fn workers_of(windows: Vec<SimulatedThreads>) -> Vec<Simulated> {
    windows.into_iter().flatten().map(|one| one.simulated).collect()
}

/// Instructions a cycle of a worker that has its core for itself; none if nothing was simulated.
fn ipc(alone: &[Simulated]) -> Option<f64> {
    let instructions: u64 = alone.iter().map(|one| one.instructions).sum();
    let cycles: u64 = alone.iter().map(|one| one.cycles).sum();
    (cycles > 0).then(|| instructions as f64 / cycles as f64)
}

/// The cycles of the whole run, from those of its windows: each instruction of any thread takes as long as in the windows. A
/// worker that the recording left alone at the end of a window goes at `ipc`, or as it did before.
fn time(windows: &Windows, done: &[SimulatedThreads], ipc: Option<f64>) -> Estimate {
    let rate = |(trace, workers): (&Trace, &SimulatedThreads)| {
        let instructions: u64 = trace.threads().iter().map(|thread| thread.instructions).sum();
        let spans: Vec<Span> = workers.iter().map(Span::of).collect();
        match windows.is_whole {
            true => makespan(&spans) / instructions.max(1) as f64,
            false => rate_of_all(&spans, instructions, ipc),
        }
    };
    let rates: Vec<f64> = windows.traces.iter().zip(done).map(rate).collect();
    mean_rate(&rates).scaled(windows.total as f64)
}

/// Work of a worker in a window, and when. Cycles count from the beginning of what is recorded: before workers begin, the
/// program starts them.
#[derive(Debug, Clone, Copy)]
struct Span {
    begin: f64,
    end: f64,
    instructions: f64,
}

impl Span {
    fn of(worker: &PlacedWorker) -> Self {
        let (begin, end) = worker.retired_within;
        let instructions = worker.instructions as f64;
        Self { begin: begin as f64, end: end as f64, instructions }
    }
}

/// Cycles up to the last worker's end.
fn makespan(spans: &[Span]) -> f64 {
    spans.iter().map(|it| it.end).fold(1.0, f64::max)
}

/// Cycles of an instruction of any thread while all workers run: up to the end of the first that ends.
fn rate_of_all(spans: &[Span], instructions: u64, ipc: Option<f64>) -> f64 {
    let end = spans.iter().map(|it| it.end).fold(f64::INFINITY, f64::min);
    let after = |it: &Span| {
        let own = it.instructions / (it.end - it.begin).max(1.0);
        ((it.end - end).max(0.0) * ipc.unwrap_or(own)).min(it.instructions)
    };
    let left = instructions as f64 - spans.iter().map(after).sum::<f64>();
    match end.is_finite() && left > 0.0 {
        true => end.max(1.0) / left,
        false => makespan(spans) / instructions.max(1) as f64,
    }
}

/// The mean of rates with its t interval on the log scale.
fn mean_rate(rates: &[f64]) -> Estimate {
    let count = rates.len().max(1) as f64;
    let value = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate / value).ln().powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
    let reach = student_t(LEVEL, rates.len() as u32).unwrap_or(0.0) * error;
    Estimate {
        value,
        low: value * (-reach).exp(),
        high: value * reach.exp(),
        level: LEVEL,
        blocks: rates.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_windows_in_the_middle_of_equal_parts() {
        assert_eq!(plans(SHORT, false), [TracePlan::Whole]);
        assert_eq!(plans(u64::MAX, true), [TracePlan::Whole]);
        let windows = plans(60_000_000, false);
        let skips: Vec<u64> = windows
            .iter()
            .map(|plan| match plan {
                TracePlan::Window { skip, length: Some(LENGTH) } => *skip,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(skips, [8_000_000, 28_000_000, 48_000_000]);
    }

    #[test]
    fn threads_that_are_packed_share_half_as_many_cores() {
        let it = packed(Placement::Packed(None), 2, (0, 4));
        assert_eq!((it.threads, it.reference.2, it.subject.2), (2, 4, 2));
        let odd = packed(Placement::Packed(None), 2, (0, 3));
        assert_eq!((odd.reference.2, odd.subject.2), (3, 2));
    }

    #[test]
    fn a_window_counts_while_all_workers_run() {
        let span = |end, instructions| Span { begin: 0.0, end, instructions };
        // Each executes one instruction in two cycles beside the other, and one a cycle alone.
        let both = [span(1000.0, 500.0), span(2000.0, 1500.0)];
        assert_eq!(rate_of_all(&both, 2000, Some(1.0)), 1.0);
        let equal = [span(1000.0, 500.0), span(1000.0, 500.0)];
        assert_eq!(rate_of_all(&equal, 1000, Some(1.0)), 1.0);
        // On cores of their own the one that is left goes on as before.
        let apart = [span(500.0, 500.0), span(1500.0, 1500.0)];
        assert_eq!(rate_of_all(&apart, 2000, None), 0.5);
        // Nobody else is there.
        assert_eq!(rate_of_all(&[span(500.0, 500.0)], 500, None), 1.0);
        // Who begins late is started by somebody first.
        let late = Span { begin: 600.0, ..span(1000.0, 400.0) };
        assert_eq!((makespan(&[late]), rate_of_all(&[late], 1000, None)), (1000.0, 1.0));
        assert_eq!(makespan(&both), 2000.0);
    }

    #[test]
    fn equal_windows_leave_no_doubt_and_unequal_ones_do() {
        let sure = mean_rate(&[0.5, 0.5, 0.5]);
        assert_eq!((sure.value, sure.low, sure.high), (0.5, 0.5, 0.5));
        let unsure = mean_rate(&[0.4, 0.5, 0.6]);
        assert!(unsure.low < 0.4 && unsure.high > 0.6, "{unsure:?}");
        assert_eq!(mean_rate(&[0.7]).high, 0.7);
    }
}
