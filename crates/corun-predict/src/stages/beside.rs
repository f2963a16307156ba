//! Beside: the recorded windows on a core, alone and with other hardware threads that are busy.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use corun_model::CoreModel;
use corun_record::{Placement, Progress};
use corun_sim::{SampledRun, Sibling, SimulatedWindows, SimulationError, WindowSimulation};

use super::simulate::{SimulatedRun, simulate};
use super::{FittedModel, RecordedRun, ThreadsRun};
use crate::limit::until;
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
    /// True if one of these is missing, since the time was over: one pass alone does not tell how much passes differ.
    pub(super) is_cut: bool,
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
    /// The share of the other program's windows that was not simulated.
    pub(super) missing_of_other: f64,
}

/// Passes of a run that was simulated whole: its interval comes from them.
const PASSES_OF_WHOLE: u32 = 4;
/// The golden ratio's fraction, whose multiples stay apart (Weyl): where the copies of such passes begin.
const APART: f64 = 0.618_033_988_749_895;

/// Role of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Alone,
    Pass,
    Apart,
    OtherAlone,
    Other,
}

/// The results with those of other windows of the same run.
fn with(
    one: Option<SimulatedWindows>,
    other: Option<SimulatedWindows>,
) -> Option<SimulatedWindows> {
    Some(one?.with_recording(other?))
}

impl BesideWindows {
    /// These windows and those of another recording of the same run.
    fn with(self, other: Self) -> Self {
        let passes = |one: Vec<SimulatedWindows>, other: Vec<SimulatedWindows>| {
            one.into_iter().zip(other).map(|(one, other)| one.with_recording(other)).collect()
        };
        Self {
            is_cut: self.is_cut || other.is_cut,
            alone: with(self.alone, other.alone),
            passes: passes(self.passes, other.passes),
            apart: with(self.apart, other.apart),
            other_alone: with(self.other_alone, other.other_alone),
            other: passes(self.other, other.other),
            missing_of_other: self.missing_of_other,
        }
    }
}

/// A placement on a model.
struct Planned<'a> {
    placement: Placement,
    threads: u32,
    setting: Option<String>,
    model: &'a CoreModel,
}

/// A simulation for a placement: whose windows, beside which siblings, with which seed.
struct Task<'a> {
    role: Role,
    counted: &'a SampledRun<'a>,
    siblings: Vec<Sibling<'a>>,
    seed: u64,
}

/// The recorded parts of the program's run, and of the other program's.
#[derive(Clone, Copy)]
pub(crate) struct SampledRuns<'a> {
    pub(crate) own: &'a SampledRun<'a>,
    pub(crate) other: Option<&'a SampledRun<'a>>,
}

/// The windows on a core, in all ways that a job asks for.
pub(crate) struct CoreRuns {
    /// The program alone.
    pub(crate) alone: SimulatedRun,
    /// The placements of the job; none for a job that has none.
    pub(crate) beside: Vec<BesideRun>,
    /// The share of the windows that was not simulated before the time was over.
    pub(crate) missing: f64,
}

impl CoreRuns {
    /// True if something was not simulated, since the time was over.
    pub(crate) fn is_cut(&self) -> bool {
        self.missing > 0.0 || self.beside.iter().any(BesideRun::is_cut)
    }

    /// These windows and those of another recording of the same run.
    pub(crate) fn with(self, other: Self) -> Self {
        let pairs = self.beside.into_iter().zip(other.beside);
        let both = |(one, other): (BesideRun, BesideRun)| BesideRun {
            windows: one.windows.with(other.windows),
            ..one
        };
        let beside = pairs.map(both).collect();
        Self { alone: self.alone.with(other.alone), beside, missing: self.missing }
    }

    /// Simulates the windows on a core, alone and beside siblings, at the same time; the seed chooses how far apart copies
    /// are.
    pub(crate) fn of(
        (job, seed): (&Job<'_>, u64),
        core: &Core<'_>,
        recorded: &RecordedRun,
        runs: SampledRuns<'_>,
        fitted: &FittedModel,
        (ends, progress, stop): (Instant, &dyn Progress, &AtomicBool),
    ) -> Result<Self, PredictError> {
        let mut changed = Vec::new();
        for setting in &job.beside.what_if {
            let model = fitted.model.clone().with(std::slice::from_ref(setting));
            let name = format!("{}={}", setting.0, setting.1);
            changed.push((name, model.map_err(PredictError::Model)?));
        }
        let mut plans = Vec::new();
        let runs_copies = |it: &&Placement| !ThreadsRun::has(job, core.model, recorded, **it);
        // Where nothing was recorded of the other program, nothing is known beside it.
        let is_known = job.beside.other.is_some() == runs.other.is_some();
        for &placement in job.beside.placements.iter().filter(|it| is_known && runs_copies(it)) {
            let plan = |setting: Option<&String>, model| Planned {
                placement,
                threads: threads(placement, &fitted.model, runs.other.is_some()),
                setting: setting.cloned(),
                model,
            };
            plans.push(plan(None, &fitted.model));
            plans.extend(changed.iter().map(|(name, model)| plan(Some(name), model)));
        }
        let tasks: Vec<Vec<Task<'_>>> = plans.iter().map(|plan| plan.tasks(runs, seed)).collect();
        let of = |model, counted, siblings, seed| {
            WindowSimulation::new((model, core.timings), counted, siblings, job.pages, seed)
        };
        let alone = of(&fitted.model, runs.own, Vec::new(), seed)?;
        let beside = plans.iter().zip(&tasks).flat_map(|(plan, tasks)| {
            tasks.iter().map(|it| of(plan.model, it.counted, it.siblings.clone(), it.seed))
        });
        let beside = beside.collect::<Result<Vec<_>, SimulationError>>()?;
        let all: Vec<&WindowSimulation<'_>> = std::iter::once(&alone).chain(&beside).collect();
        let simulated = until(ends, stop, |stop| simulate(job.jobs, &all, progress, stop))?;
        let mut done = simulated.runs.into_iter().zip(simulated.missing);
        let (alone, missing) = done.next().expect("one is alone");
        let alone = alone.ok_or(PredictError::Interrupted { during: "simulated" })?;
        let mut beside: Vec<BesideRun> = plans.into_iter().map(BesideRun::empty).collect();
        for (run, tasks) in beside.iter_mut().zip(&tasks) {
            for (task, (simulated, missing)) in tasks.iter().zip(&mut done) {
                match simulated {
                    Some(SimulatedRun { windows, .. }) => {
                        run.windows.put(task.role, windows, missing);
                    }
                    None => run.windows.is_cut = true,
                }
            }
        }
        if alone.windows.together.instructions == 0 {
            return Err(PredictError::TooShort { total: recorded.instructions });
        }
        Ok(Self { alone, beside, missing })
    }
}

impl BesideWindows {
    fn put(&mut self, role: Role, windows: SimulatedWindows, missing: f64) {
        if role == Role::OtherAlone {
            self.missing_of_other = missing;
        }
        match role {
            Role::Alone => self.alone = Some(windows),
            Role::Pass => self.passes.push(windows),
            Role::Apart => self.apart = Some(windows),
            Role::OtherAlone => self.other_alone = Some(windows),
            Role::Other => self.other.push(windows),
        }
    }
}

impl BesideRun {
    /// True if something of it was not simulated, since the time was over.
    pub(crate) fn is_cut(&self) -> bool {
        self.windows.is_cut || self.windows.missing_of_other > 0.0
    }

    fn empty(plan: Planned<'_>) -> Self {
        let Planned { placement, threads, setting, .. } = plan;
        Self { placement, threads, setting, windows: BesideWindows::default() }
    }
}

impl Planned<'_> {
    fn tasks<'a>(&self, runs: SampledRuns<'a>, seed: u64) -> Vec<Task<'a>> {
        let task = |role, counted, siblings, seed| Task { role, counted, siblings, seed };
        let own = runs.own;
        let is_changed = self.setting.is_some();
        let mut tasks = Vec::new();
        if is_changed {
            tasks.push(task(Role::Alone, own, Vec::new(), seed));
        }
        let is_whole =
            |of: &SampledRun<'_>| of.recording().trace.opening().plan.windows().is_none();
        // A run without windows has its interval from where its siblings begin.
        let begins = |of: &SampledRun<'_>| -> Vec<f64> {
            match is_whole(of) {
                true => (1..=PASSES_OF_WHOLE).map(|it| (f64::from(it) * APART).fract()).collect(),
                false => vec![0.0],
            }
        };
        if let Some(other) = runs.other {
            let beside = |recording, begin| vec![Sibling { recording, begin, is_copy: false }];
            for begin in begins(own) {
                tasks.push(task(Role::Pass, own, beside(other.recording(), begin), seed));
            }
            tasks.push(task(Role::OtherAlone, other, Vec::new(), seed));
            for begin in begins(other) {
                tasks.push(task(Role::Other, other, beside(own.recording(), begin), seed));
            }
            return tasks;
        }
        let copies = |begin: f64| -> Vec<Sibling<'a>> {
            let copy = |number: u32| Sibling {
                recording: own.recording(),
                begin: (f64::from(number) * begin).fract(),
                is_copy: true,
            };
            (1..self.threads).map(copy).collect()
        };
        for (seed, begin) in (seed..).zip(begins(own)) {
            tasks.push(task(Role::Pass, own, copies(begin), seed));
        }
        if !is_whole(own) && !is_changed {
            let apart = copies(1.0 / f64::from(self.threads.max(2)));
            tasks.push(task(Role::Apart, own, apart, seed));
        }
        tasks
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
