//! Beside: the recorded windows on a core whose other hardware threads are busy.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{PageSize, Placement, Progress, Stage};
use corun_sim::{
    Recording, Sibling, SimulatedWindows, SimulationError, in_parallel, simulate_windows,
    simulate_windows_beside,
};

use super::{FittedModel, RecordedRun, ThreadsRun};
use crate::{Core, Job, PredictError};

/// A placement with busy siblings, simulated.
pub(crate) struct BesideRun {
    /// The placement.
    pub(super) placement: Placement,
    /// Busy hardware threads of the core.
    pub(super) threads: u32,
    /// The field of the model that was changed, with its value; none for the model as it is.
    pub(super) setting: Option<String>,
    /// The windows.
    pub(super) windows: BesideWindows,
}

/// The windows of a placement.
#[derive(Default)]
pub(crate) struct BesideWindows {
    /// The program alone, where the model was changed.
    pub(super) alone: Option<SimulatedWindows>,
    /// The program beside its siblings, a result for each pass.
    pub(super) passes: Vec<SimulatedWindows>,
    /// The program beside copies that are spread over the run.
    pub(super) apart: Option<SimulatedWindows>,
    /// The other program alone.
    pub(super) other_alone: Option<SimulatedWindows>,
    /// The other program beside this one, a result for each pass.
    pub(super) other: Vec<SimulatedWindows>,
}

/// Passes of a run that was simulated whole: its interval comes from them.
const PASSES_OF_WHOLE: u32 = 4;
/// The golden ratio's fraction, whose multiples stay apart (Weyl): where the copies of such passes begin.
const APART: f64 = 0.618_033_988_749_895;

/// What a simulation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Alone,
    Pass,
    Apart,
    OtherAlone,
    Other,
}

/// A placement on a model.
struct Planned<'a> {
    placement: Placement,
    threads: u32,
    setting: Option<String>,
    model: &'a CoreModel,
}

/// One simulation.
struct Task<'a> {
    /// The number of its placement.
    planned: usize,
    role: Role,
    model: &'a CoreModel,
    counted: Recording<'a>,
    siblings: Vec<Sibling<'a>>,
    seed: u64,
}

impl BesideRun {
    /// Simulates every placement of the job on a core; none for a job that has none.
    pub(crate) fn of(
        job: &Job<'_>,
        core: &Core<'_>,
        (recorded, other): (&RecordedRun, Option<&RecordedRun>),
        fitted: &FittedModel,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Vec<Self>, PredictError> {
        let mut changed = Vec::new();
        for setting in &job.beside.what_if {
            let model = fitted.model.clone().with(std::slice::from_ref(setting));
            let name = format!("{}={}", setting.0, setting.1);
            changed.push((name, model.map_err(PredictError::Changed)?));
        }
        let mut plans = Vec::new();
        let runs_copies = |it: &&Placement| !ThreadsRun::has(job, core.model, recorded, **it);
        for &placement in job.beside.placements.iter().filter(runs_copies) {
            let plan = |setting: Option<&String>, model| Planned {
                placement,
                threads: threads(placement, &fitted.model, other.is_some()),
                setting: setting.cloned(),
                model,
            };
            plans.push(plan(None, &fitted.model));
            plans.extend(changed.iter().map(|(name, model)| plan(Some(name), model)));
        }
        let tasks: Vec<Task<'_>> = (0..)
            .zip(&plans)
            .flat_map(|(at, plan)| plan.tasks(at, recorded, other, job.beside.seed))
            .collect();
        let mut done =
            simulate((job.pages, job.jobs), core.timings, &tasks, progress, stop)?.into_iter();
        let mut runs: Vec<Self> = plans.into_iter().map(Self::empty).collect();
        for task in &tasks {
            let windows = &mut runs[task.planned].windows;
            let Some(result) = done.next() else { break };
            match task.role {
                Role::Alone => windows.alone = Some(result),
                Role::Pass => windows.passes.push(result),
                Role::Apart => windows.apart = Some(result),
                Role::OtherAlone => windows.other_alone = Some(result),
                Role::Other => windows.other.push(result),
            }
        }
        Ok(runs)
    }

    fn empty(plan: Planned<'_>) -> Self {
        let Planned { placement, threads, setting, .. } = plan;
        Self { placement, threads, setting, windows: BesideWindows::default() }
    }
}

impl<'a> Planned<'a> {
    fn tasks(
        &self,
        planned: usize,
        recorded: &'a RecordedRun,
        other: Option<&'a RecordedRun>,
        seed: u64,
    ) -> Vec<Task<'a>> {
        let task = |role, counted, siblings, seed| Task {
            planned,
            role,
            model: self.model,
            counted,
            siblings,
            seed,
        };
        let own = recording(recorded);
        let is_changed = self.setting.is_some();
        let mut tasks = Vec::new();
        if is_changed {
            tasks.push(task(Role::Alone, own, Vec::new(), seed));
        }
        let is_whole = |of: &RecordedRun| of.plan.windows().is_none();
        // A run without windows has its interval from where its siblings begin.
        let begins = |of: &RecordedRun| -> Vec<f64> {
            match is_whole(of) {
                true => (1..=PASSES_OF_WHOLE).map(|it| (f64::from(it) * APART).fract()).collect(),
                false => vec![0.0],
            }
        };
        if let Some(other_run) = other {
            let other = recording(other_run);
            let beside = |it, begin| vec![Sibling { recording: it, begin, is_copy: false }];
            for begin in begins(recorded) {
                tasks.push(task(Role::Pass, own, beside(other, begin), seed));
            }
            tasks.push(task(Role::OtherAlone, other, Vec::new(), seed));
            for begin in begins(other_run) {
                tasks.push(task(Role::Other, other, beside(own, begin), seed));
            }
            return tasks;
        }
        let copies = |begin: f64| -> Vec<Sibling<'a>> {
            let copy = |number: u32| Sibling {
                recording: own,
                begin: (f64::from(number) * begin).fract(),
                is_copy: true,
            };
            (1..self.threads).map(copy).collect()
        };
        for (seed, begin) in (seed..).zip(begins(recorded)) {
            tasks.push(task(Role::Pass, own, copies(begin), seed));
        }
        if !is_whole(recorded) && !is_changed {
            let apart = copies(1.0 / f64::from(self.threads.max(2)));
            tasks.push(task(Role::Apart, own, apart, seed));
        }
        tasks
    }
}

/// The recorded part of the busiest thread's run.
fn recording(recorded: &RecordedRun) -> Recording<'_> {
    Recording {
        trace: &recorded.trace,
        thread: recorded.thread,
        total: recorded.thread_instructions,
    }
}

/// Busy hardware threads of each core in a placement.
fn threads(placement: Placement, model: &CoreModel, is_pair: bool) -> u32 {
    match placement {
        _ if is_pair => 2,
        Placement::Full(Some(threads)) => threads.min(model.smt_width),
        _ => model.smt_width,
    }
}

/// All simulations, several at a time, in their order.
fn simulate(
    (pages, jobs): (PageSize, usize),
    timings: &TimingTable,
    tasks: &[Task<'_>],
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Vec<SimulatedWindows>, PredictError> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let recorded = |task: &Task<'_>| {
        let own = task.counted.trace.threads().iter().find(|it| it.id == task.counted.thread);
        own.map_or(0, |it| it.instructions)
    };
    let all: u64 = tasks.iter().map(recorded).sum();
    progress.begin(Stage::new("simulating beside siblings", "instructions", all));
    let results = in_parallel(jobs, tasks.len(), |at| {
        let task = &tasks[at];
        let reported = AtomicU64::new(0);
        let goes_on = |done: u64, _: u64| {
            progress.advance(done.saturating_sub(reported.swap(done, Ordering::Relaxed)));
            !stop.load(Ordering::Relaxed)
        };
        let result = if task.siblings.is_empty() {
            let Recording { trace, thread, .. } = task.counted;
            simulate_windows(task.model, timings, trace, thread, pages, goes_on)
        } else {
            simulate_windows_beside(
                task.model,
                timings,
                task.counted,
                &task.siblings,
                pages,
                task.seed,
                goes_on,
            )
        };
        progress.advance(recorded(task).saturating_sub(reported.load(Ordering::Relaxed)));
        result
    });
    let simulated = |result: Result<Option<SimulatedWindows>, SimulationError>| {
        result?.ok_or(PredictError::Interrupted { during: "simulated" })
    };
    results.into_iter().map(simulated).collect()
}
