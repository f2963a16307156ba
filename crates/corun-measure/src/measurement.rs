//! A measurement from request to run: lay arms out, calibrate, run the experiment, analyse.

use std::path::Path;
use std::time::{Duration, SystemTime};

use corun_machine::evidence::FrequencyControl;
use corun_machine::switch::SmtSwitch;
use corun_machine::{Machine, ProcessorState, RootFiles, SystemFiles};
use corun_record::{
    Actionable, Arm, Caveat, Design, Document, Ending, Estimate, Exit, MachineSummary, Metric,
    Placement, Run, Sample, Workload,
};
use corun_workload::Row;

use crate::analysis::{self, AnalysisRequest, Workers};
use crate::cores::{Core, usable_cores, why_no_siblings};
use crate::execution::{ExecutionError, Interrupt, LocalExecutor, calibrate};
use crate::experiment::{
    BlockSchedule, Executor, ExperimentOutcome, FEWEST_BLOCKS, FEWEST_CYCLES, Observer, not_begun,
    resume_experiment,
};
use crate::file_content;
use crate::initial_state::InitialState;
use crate::layout::{Layout, LayoutError, LayoutRequest};
use crate::request::{Request, RequestError};
use crate::resume::{Differs, Earlier};
use crate::slurm_binding;
use crate::stopping::PlannedAnalyses;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The request is not valid.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Nothing can be laid out here.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// An arm failed.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// An earlier run cannot be resumed.
    #[error(transparent)]
    Differs(#[from] Differs),
}

impl Actionable for MeasureError {
    fn exit(&self) -> Exit {
        match self {
            Self::Request(error) => error.exit(),
            Self::Layout(error) => error.exit(),
            Self::Execution(error) => error.exit(),
            Self::Differs(error) => error.exit(),
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Request(error) => error.next_step(),
            Self::Layout(error) => error.next_step(),
            Self::Execution(error) => error.next_step(),
            Self::Differs(error) => error.next_step(),
        }
    }
}

/// Everything that is ready to be measured.
pub struct Measurement<'a> {
    request: &'a Request,
    machine: &'a Machine,
    layout: Layout,
    description: Workload,
    executor: LocalExecutor,
    /// Time that a run should take, where its size can follow.
    sample_time: Option<Duration>,
    /// The parameter that is then a program's number of operations.
    sized_by: Option<&'static str>,
    workers: Workers,
    /// The fewest operations of a worker in one run.
    least_operations: u64,
    /// The row of a published suite that the workload is.
    row: Option<Row>,
    /// Limits of trust before anything has run.
    caveats: Vec<Caveat>,
    /// The time that the fewest blocks may take.
    limit: Duration,
    started: SystemTime,
    /// Earlier measurements of the same run.
    earlier: Option<Earlier>,
}

impl<'a> Measurement<'a> {
    /// Resolves the request on this machine; nothing is run yet. A request that switches SMT comes
    /// with the switch, and with the machine as it is with SMT on.
    ///
    /// # Errors
    /// If the request is not valid or cannot be laid out here.
    pub fn prepare(
        request: &'a Request,
        machine: &'a Machine,
        interrupt: Interrupt,
        smt: Option<SmtSwitch>,
    ) -> Result<Self, MeasureError> {
        Self::prepare_in(&InitialState::observe(), request, machine, interrupt, smt)
    }

    /// Preparation of a run that continues where it ended early.
    ///
    /// # Errors
    /// As for [`prepare`](Self::prepare), and if anything is not as it was.
    pub fn prepare_again(
        earlier: Earlier,
        request: &'a Request,
        machine: &'a Machine,
        interrupt: Interrupt,
        smt: Option<SmtSwitch>,
    ) -> Result<Self, MeasureError> {
        let state = InitialState::observe();
        Self::prepare_as(&state, Some(earlier), request, machine, interrupt, smt)
    }

    /// Preparation in a state that was observed before corun changed anything itself.
    ///
    /// # Errors
    /// As for [`prepare`](Self::prepare).
    pub fn prepare_in(
        initial_state: &InitialState,
        request: &'a Request,
        machine: &'a Machine,
        interrupt: Interrupt,
        smt: Option<SmtSwitch>,
    ) -> Result<Self, MeasureError> {
        Self::prepare_as(initial_state, None, request, machine, interrupt, smt)
    }

    fn prepare_as(
        initial_state: &InitialState,
        earlier: Option<Earlier>,
        request: &'a Request,
        machine: &'a Machine,
        interrupt: Interrupt,
        mut smt: Option<SmtSwitch>,
    ) -> Result<Self, MeasureError> {
        let mut resolved = request.resolve()?;
        file_content::describe(&mut resolved.description, &resolved.work.task);
        let cores: Vec<Core> = initial_state.idlest_first(usable_cores(machine));
        let cores = match &earlier {
            Some(earlier) => earlier.first(cores),
            None => cores,
        };
        let (cores, divided) = resolved.divide(cores, request.cores)?;
        let layout = Layout::new(
            &cores,
            &LayoutRequest {
                placements: request.placements.clone(),
                listed: request.listed.clone(),
                skip_impossible: request.skip_impossible,
                cores: request.cores,
                core_type: request.core_type.clone(),
                variant: resolved.variant,
                taken_by_smt_off: smt.as_mut().map(SmtSwitch::taken_by_off),
                no_siblings: why_no_siblings(machine, &cores),
            },
        )?;
        let mut caveats = initial_state.caveats();
        let variable = |name: &str| std::env::var(name).ok();
        caveats.extend(slurm_binding::caveat(variable, &machine.allowed(), &machine.online()));
        caveats.extend(initial_state.choice(&cores, &layout.arms));
        caveats.extend(divided);
        let mut executor = LocalExecutor::new(resolved.work, cores, interrupt, smt)?;
        if let Some(Earlier { run, spent, .. }) = &earlier {
            executor.spent_before(*spent);
            executor.set_operations(run.workload.operations as u64);
        }
        if let Some(earlier) = &earlier {
            let machine = machine_summary(machine, Path::new("/"));
            earlier.check(&machine, &resolved.description, resolved.sized_by, &layout.arms)?;
            caveats.extend(earlier.caveats(&resolved.description));
        }
        let started = earlier.as_ref().and_then(Earlier::started);
        Ok(Self {
            request,
            machine,
            layout,
            description: resolved.description,
            executor,
            sample_time: resolved.sample_time,
            sized_by: resolved.sized_by,
            workers: resolved.workers,
            least_operations: resolved.least_operations,
            row: resolved.row,
            caveats,
            limit: request.max_time,
            started: started.unwrap_or_else(SystemTime::now),
            earlier,
        })
    }

    /// Lets the fewest blocks take longer than the request's time, up to `limit`: for one of several experiments,
    /// whose share of the time was planned without knowing how long its runs take.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit: limit.max(self.request.max_time), ..self }
    }

    /// The arms, twins included.
    pub fn arms(&self) -> &[Arm] {
        &self.layout.arms
    }

    /// The arm that is calibrated to find how many operations take the time wanted: the first, or where workers only
    /// work together, the first with two. Arms whose workers take turns come last: a waiter that keeps
    /// the CPU for its slice makes a short run look long.
    fn calibrated_on(&self) -> Option<&Arm> {
        let arms = &self.layout.arms;
        let together = || arms.iter().filter(|arm| arm.workers > 1);
        let at_once = || together().find(|arm| arm.placement != Placement::Stacked);
        let of_several = || at_once().or_else(|| together().next());
        let chosen = if self.workers == Workers::Together { of_several() } else { None };
        chosen.or_else(|| arms.first())
    }

    /// Finds how many operations take the time wanted, where that can be chosen.
    fn calibrate(&mut self) -> Result<(), ExecutionError> {
        if let (Some(sample_time), Some(arm)) = (self.sample_time, self.calibrated_on().cloned()) {
            // The experiment itself needs most of the time.
            let deadline = self.limit / 4;
            let (seconds, least) = (sample_time.as_secs_f64(), self.least_operations);
            calibrate(&mut self.executor, &arm, seconds, least, deadline)?;
        }
        Ok(())
    }

    /// Measures. A failure after the first block comes beside what was finished before it.
    ///
    /// # Errors
    /// If an arm fails or the user interrupts before the first block is finished.
    pub fn run(
        mut self,
        observer: &mut dyn Observer,
    ) -> Result<(Run, Option<ExecutionError>), MeasureError> {
        let earlier = self.earlier.take();
        let seed = match &earlier {
            Some(earlier) => earlier.run.design.seed,
            None => self.request.seed.unwrap_or_else(|| corun_stats::fresh_seed(self.started)),
        };
        let schedule = BlockSchedule {
            seed,
            warmup: self.request.warmup,
            fewest: if self.request.smt_switch { FEWEST_CYCLES } else { FEWEST_BLOCKS },
            share: self.request.max_time,
            max_time: self.limit,
        };
        let mut planned = PlannedAnalyses::new(self.request, &self.layout.arms);
        self.executor.limit_runs(self.limit);
        let is_again = earlier.is_some();
        let finished = earlier.map_or_else(Vec::new, |earlier| earlier.run.samples);
        let outcome = match if is_again { Ok(()) } else { self.calibrate() } {
            Ok(()) => {
                observer.run_begins(&self.record(seed, &planned));
                let (arms, executor) = (&self.layout.arms, &mut self.executor);
                resume_experiment(arms, &schedule, finished, &mut planned, executor, observer)
            }
            Err(failure) => not_begun(failure, &schedule),
        };
        let not_restored = self.executor.restore_smt().err();
        let outcome = match (outcome, not_restored) {
            // A machine that did not come back matters more than why the experiment failed.
            (Err(_), Some(not_restored)) => return Err(not_restored.into()),
            (Err(failed), None) => return Err(failed.into()),
            (Ok(outcome), not_restored) => {
                ExperimentOutcome { failure: not_restored.or(outcome.failure), ..outcome }
            }
        };
        let level = planned.level_at(outcome.blocks);
        let question = AnalysisRequest {
            practical: self.request.practical,
            level,
            seed,
            mode: self.description.mode,
            workers: self.workers,
            row: self.row,
        };
        let analysis = analysis::analyse(
            &self.layout.arms,
            &outcome.samples,
            &question,
            self.machine.hypervisor.as_deref(),
        );
        let (arms, warmup) = (&self.layout.arms, self.request.warmup);
        let first_run = self.executor.first_run_caveat(arms, &outcome.samples, warmup);
        let before = self.record(seed, &planned);
        let run = Run {
            elapsed_s: self.executor.elapsed().as_secs_f64(),
            ending: outcome.ending,
            design: Design { blocks: outcome.blocks, ..before.design },
            observations: analysis.observations,
            verdicts: analysis.verdicts,
            caveats: [before.caveats, analysis.caveats, Vec::from_iter(first_run)].concat(),
            samples: outcome.samples,
            ..before
        };
        Ok((run, outcome.failure))
    }

    /// The run before its first block.
    fn record(&self, seed: u64, planned: &PlannedAnalyses) -> Run {
        let design = Design {
            seed,
            blocks: 0,
            warmup: self.request.warmup,
            cores: self.layout.cores.clone(),
            target: self.request.target,
            practical: self.request.practical,
            interim_analyses: planned.analyses(),
            max_time_s: self.request.max_time.as_secs_f64(),
        };
        let mut workload =
            Workload { operations: self.executor.operations(), ..self.description.clone() };
        if let Some(parameter) = self.sized_by {
            workload.parameters.insert(parameter.to_owned(), workload.operations.to_string());
        }
        Run {
            format: Run::FORMAT.to_owned(),
            version: Run::VERSION,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_seconds(self.started).to_string(),
            elapsed_s: self.executor.elapsed().as_secs_f64(),
            ending: Ending::interrupted(),
            workload,
            machine: machine_summary(self.machine, Path::new("/")),
            design,
            arms: self.layout.arms.clone(),
            not_possible: self.layout.not_possible.clone(),
            observations: Vec::new(),
            verdicts: Vec::new(),
            caveats: self.caveats.clone(),
            samples: Vec::new(),
        }
    }
}

/// The few facts of a machine that every result has; `root` is where the machine was read, `/` for this one.
pub fn machine_summary(machine: &Machine, root: &Path) -> MachineSummary {
    let online = machine.logical_cpus.iter().filter(|cpu| cpu.online);
    let cores = usable_cores(machine);
    let (frequency, state) = settings(machine, root);
    MachineSummary {
        host: host(root),
        cpu_model: machine.cpu_model.clone(),
        hypervisor: machine.hypervisor.clone(),
        kernel: kernel_setting(root, "osrelease"),
        online_cpus: online.clone().count() as u32,
        allowed_cpus: online.filter(|cpu| cpu.allowed).count() as u32,
        cores: cores.len() as u32,
        smt_width: cores.iter().map(|core| core.online_siblings.len() as u32).max().unwrap_or(1),
        caches: machine.cache_sizes(),
        smt_control: machine.smt.control.as_ref().map(ToString::to_string),
        smt_active: machine.smt.active,
        governors: frequency.governors.into_iter().collect(),
        frequency_drivers: frequency.drivers.into_iter().collect(),
        turbo: frequency.turbo,
        microcode: state.microcode,
        vulnerabilities: state.vulnerabilities,
    }
}

/// The name of the host whose files lie below `root`.
pub fn host(root: &Path) -> Option<String> {
    kernel_setting(root, "hostname")
}

fn kernel_setting(root: &Path, name: &str) -> Option<String> {
    let mut files = RootFiles::open(root).ok()?;
    let text = files.read(&format!("proc/sys/kernel/{name}")).ok()?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// Kernel's report on clocks, microcode and mitigations.
fn settings(machine: &Machine, root: &Path) -> (FrequencyControl, ProcessorState) {
    RootFiles::open(root).map_or_else(
        |_| Default::default(),
        |mut files| {
            let frequency = FrequencyControl::read(&mut files, &machine.allowed());
            (frequency, ProcessorState::read(&mut files))
        },
    )
}

/// Forecast: the headline so far, and the probable end of the experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// The headline's metric.
    pub metric: Metric,
    /// The headline so far.
    pub estimate: Estimate,
    /// The expected end, from the experiment's start.
    pub end: Duration,
}

/// Forecasts from the samples so far.
pub struct Forecaster {
    planned: PlannedAnalyses,
    max_time: Duration,
    /// The number of blocks that was asked for.
    blocks: Option<u32>,
}

impl Forecaster {
    /// A forecaster for these arms.
    pub fn new(request: &Request, arms: &[Arm]) -> Self {
        let planned = PlannedAnalyses::new(request, arms);
        Self { planned, max_time: request.max_time, blocks: request.blocks }
    }

    /// The time allowed.
    pub fn max_time(&self) -> Duration {
        self.max_time
    }

    /// When a number of blocks that was asked for is done, after so many of them.
    pub fn planned_end(&self, blocks: u32, elapsed: Duration) -> Option<Duration> {
        let end = elapsed.mul_f64(f64::from(self.blocks?) / f64::from(blocks.max(1)));
        Some(end.min(self.max_time))
    }

    /// The forecast after so many blocks; `None` while there is too little to say.
    pub fn forecast(&self, blocks: u32, samples: &[Sample], elapsed: Duration) -> Option<Forecast> {
        let (metric, estimate) = self.planned.headline(samples, blocks)?;
        let expected_blocks = self.planned.expected_blocks(samples, blocks);
        let end = elapsed.mul_f64(f64::from(expected_blocks.max(blocks)) / f64::from(blocks));
        Some(Forecast { metric, estimate, end: end.min(self.max_time) })
    }
}
