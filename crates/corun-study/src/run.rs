//! Running a study: one experiment after another within the time allowed, the machine narrowed or
//! SMT switched where the publication had it so, and everything back afterwards.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use corun_machine::switch::{SmtSwitch, SwitchError, SwitchOptions};
use corun_machine::{Machine, MachineError};
use corun_measure::execution::{ExecutionError, Interrupt};
use corun_measure::experiment::Observer;
use corun_measure::{InitialState, MeasureError, Measurement};
use corun_record::{
    Actionable, Document, EndReason, Ending, Exit, Run, SmtState, StudyResult, common_caveats,
};

use crate::confinement::{Confinement, confined};
use crate::counterpart::{StepOutcome, figures};
use crate::plan::{Host, PlannedArm, Setting, StudyStep, plan};
use crate::sizes::{Sizes, weight};
use crate::study::{Experiment, Rerun, Study};

/// How a study is run.
#[derive(Debug)]
pub struct Settings {
    /// How long it may take.
    pub max_time: Duration,
    /// How SMT is switched; `None`: it is left alone.
    pub switch: Option<SwitchOptions>,
    /// The seed of every random order; by default a fresh one for each experiment.
    pub seed: Option<u64>,
}

/// Is notified of how a study goes.
pub trait StudyObserver: Observer {
    /// Experiment `number` of `count` is about to be measured.
    fn experiment_starts(&mut self, number: usize, count: usize, id: &str);
}

/// A study that was run.
#[derive(Debug)]
pub struct StudyOutcome {
    /// Every figure with its counterpart.
    pub result: StudyResult,
    /// The first failure that was not the machine's lack of something.
    pub failure: Option<RunError>,
}

/// Why an experiment, or all of them, could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A measurement failed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// SMT could not be switched, or not back.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// The machine could not be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// With SMT as it was put, the experiment is not possible.
    #[error("{0}")]
    NotPlanned(String),
}

impl RunError {
    fn actionable(&self) -> Option<&dyn Actionable> {
        match self {
            Self::Measure(error) => Some(error),
            Self::Switch(error) => Some(error),
            Self::Machine(error) => Some(error),
            Self::NotPlanned(_) => None,
        }
    }

    fn is_interruption(&self) -> bool {
        matches!(self, Self::Measure(MeasureError::Execution(ExecutionError::Interrupted)))
    }
}

impl RunError {
    fn is_timeout(&self) -> bool {
        matches!(self, Self::Measure(MeasureError::Execution(ExecutionError::Timeout { .. })))
    }
}

impl Actionable for RunError {
    fn exit(&self) -> Exit {
        self.actionable().map_or(Exit::NotPossible, Actionable::exit)
    }

    fn next_step(&self) -> String {
        self.actionable().map_or_else(String::new, Actionable::next_step)
    }
}

/// Runs every experiment that is possible here.
///
/// # Errors
/// If the machine cannot be read, or SMT is to be switched and cannot be.
pub fn run_study(
    study: &Study,
    settings: &Settings,
    interrupt: &Interrupt,
    observer: &mut dyn StudyObserver,
) -> Result<StudyOutcome, RunError> {
    let begin = Instant::now();
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let machine = Machine::read(Path::new("/"))?;
    let with_smt_on = settings.switch.as_ref().map(machine_with_smt_on).transpose()?;
    let host = Host { machine: &machine, with_smt_on: with_smt_on.as_ref() };
    let plans = study.plans(&host);
    let mut runner = StudyRunner {
        begin,
        settings,
        interrupt,
        observer,
        machine: &machine,
        runs: Vec::new(),
        failure: None,
        is_interrupted: false,
    };
    let count = plans.iter().flatten().count();
    let mut number = 0;
    let mut outcomes = Vec::new();
    for (index, experiment) in study.experiments.iter().enumerate() {
        let (step, rerun) = match (&plans[index], &experiment.rerun) {
            (Ok(step), Ok(rerun)) => (step, rerun),
            (Err(reason), _) | (_, Err(reason)) => {
                outcomes.push(StepOutcome::NotRun(reason.clone()));
                continue;
            }
        };
        let left: u32 = plans[index..].iter().flatten().map(weight).sum();
        let remaining = settings.max_time.saturating_sub(begin.elapsed());
        let share = remaining.mul_f64(f64::from(weight(step)) / f64::from(left));
        number += 1;
        runner.observer.experiment_starts(number, count, &experiment.id);
        outcomes.push(runner.experiment(rerun, step, share));
    }
    let StudyRunner { runs, failure, is_interrupted, .. } = runner;
    let result = StudyResult {
        format: StudyResult::FORMAT.to_owned(),
        version: StudyResult::VERSION,
        corun_version: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.name.clone(),
        title: study.title.clone(),
        citation: study.citation.line(),
        published_on: study.machine.line(),
        started,
        elapsed_s: begin.elapsed().as_secs_f64(),
        max_time_s: settings.max_time.as_secs_f64(),
        ending: Ending::of(is_interrupted),
        machine: runs.first().map(|run| run.machine.clone()),
        caveats: common_caveats(&runs),
        figures: figures(study, &outcomes, &runs),
        findings: study.recorded_findings(),
        cut_short: cut_short(&study.experiments, &outcomes, &runs),
        runs,
    };
    Ok(StudyOutcome { result, failure })
}

/// The machine as it is with SMT on; everything is then again as it was.
fn machine_with_smt_on(options: &SwitchOptions) -> Result<Machine, RunError> {
    let mut switch = SmtSwitch::begin(options)?;
    switch.set(SmtState::On)?;
    let machine = Machine::read(Path::new("/"));
    switch.restore()?;
    Ok(machine?)
}

/// What was measured with fewer blocks than planned.
fn cut_short(experiments: &[Experiment], outcomes: &[StepOutcome], runs: &[Run]) -> Vec<String> {
    let sentence = |(experiment, outcome): (&Experiment, &StepOutcome)| match outcome {
        StepOutcome::Ran { run, .. } => {
            let ending = &runs[*run].ending;
            let is_short =
                !matches!(ending.reason, EndReason::BlocksDone | EndReason::TargetReached);
            is_short.then(|| format!("{}: {}", experiment.id, ending.sentence))
        }
        StepOutcome::NotRun(_) => None,
    };
    experiments.iter().zip(outcomes).filter_map(sentence).collect()
}

struct StudyRunner<'a> {
    begin: Instant,
    settings: &'a Settings,
    interrupt: &'a Interrupt,
    observer: &'a mut dyn StudyObserver,
    machine: &'a Machine,
    runs: Vec<Run>,
    failure: Option<RunError>,
    is_interrupted: bool,
}

impl StudyRunner<'_> {
    fn experiment(&mut self, rerun: &Rerun, step: &StudyStep, share: Duration) -> StepOutcome {
        if self.is_interrupted || self.interrupt.is_raised() {
            self.is_interrupted = true;
            return StepOutcome::NotRun("the study was interrupted before it".to_owned());
        }
        if share.is_zero() {
            return StepOutcome::NotRun(format!(
                "the time allowed ({:?}) was used up before it; give more with --max-time",
                self.settings.max_time
            ));
        }
        match self.in_setting(rerun, step, share) {
            Ok((run, _)) if run.samples.is_empty() => {
                StepOutcome::NotRun(format!("{}; give more with --max-time", run.ending.sentence))
            }
            Ok((run, arms)) => {
                self.is_interrupted |= run.ending.is_interrupted();
                self.runs.push(run);
                StepOutcome::Ran { run: self.runs.len() - 1, arms }
            }
            Err(error) if error.is_interruption() => {
                self.is_interrupted = true;
                StepOutcome::NotRun(
                    "it was interrupted before its first block was finished".to_owned(),
                )
            }
            Err(error) => {
                let reason = match error.next_step() {
                    _ if error.is_timeout() => format!("{error}; give more with --max-time"),
                    step if step.is_empty() => error.to_string(),
                    step => format!("{error}. {}", step.trim_end_matches('.')),
                };
                self.keep(error);
                StepOutcome::NotRun(reason)
            }
        }
    }

    /// Keeps the first failure that is not the machine's lack of something, or a lack of time.
    fn keep(&mut self, error: RunError) {
        if self.failure.is_none() && error.exit() != Exit::NotPossible && !error.is_timeout() {
            self.failure = Some(error);
        }
    }

    /// Runs a step with SMT as the step wants it.
    fn in_setting(
        &mut self,
        rerun: &Rerun,
        step: &StudyStep,
        share: Duration,
    ) -> Result<(Run, Vec<PlannedArm>), RunError> {
        // Before corun itself switches SMT or keeps to a part of the machine.
        let initial_state = InitialState::observe();
        let (Some(options), true) = (&self.settings.switch, step.setting != Setting::AsFound)
        else {
            return self.measured(rerun, step, share, self.machine, None, &initial_state);
        };
        let mut switch = SmtSwitch::begin(options)?;
        let Setting::Whole(state) = step.setting else {
            switch.set(SmtState::On)?;
            let machine = Machine::read(Path::new("/"))?;
            return self.measured(rerun, step, share, &machine, Some(switch), &initial_state);
        };
        switch.set(state)?;
        let machine = Machine::read(Path::new("/"))?;
        let host = Host { machine: &machine, with_smt_on: None };
        // In that state nothing needs switching any more, and there may be fewer CPUs.
        let measured = match plan(rerun, &host) {
            Ok(step) => self.measured(rerun, &step, share, &machine, None, &initial_state),
            Err(reason) => Err(RunError::NotPlanned(reason)),
        };
        let undisturbed = switch.verify();
        switch.restore()?;
        undisturbed?;
        measured
    }

    /// Measures a step on a part of the machine.
    fn measured(
        &mut self,
        rerun: &Rerun,
        step: &StudyStep,
        share: Duration,
        machine: &Machine,
        switch: Option<SmtSwitch>,
        initial_state: &InitialState,
    ) -> Result<(Run, Vec<PlannedArm>), RunError> {
        let system = |what| move |error| MeasureError::from(ExecutionError::System(what, error));
        let part = step.confine.as_ref().map(|cpus| confined(machine, cpus));
        let _confinement = step
            .confine
            .as_ref()
            .map(Confinement::begin)
            .transpose()
            .map_err(system("keep to a part of the machine"))?;
        let interrupt = self.interrupt.again().map_err(system("listen for an interruption"))?;
        let request =
            step.request(rerun, &Sizes::within(share, step, rerun.least_run), self.settings.seed);
        let machine = part.as_ref().unwrap_or(machine);
        let remaining = self.settings.max_time.saturating_sub(self.begin.elapsed());
        let (run, failure) =
            Measurement::prepare_in(initial_state, &request, machine, interrupt, switch)?
                .with_limit(remaining)
                .run(&mut Forwarding(&mut *self.observer))?;
        if let Some(failure) = failure {
            self.keep(MeasureError::from(failure).into());
        }
        Ok((run, step.arms.clone()))
    }
}

/// Reports to a study's observer what happens inside an experiment.
struct Forwarding<'a>(&'a mut dyn StudyObserver);

impl Observer for Forwarding<'_> {
    fn arm_starts(&mut self, block: Option<u32>, arm: &corun_record::Arm, elapsed: Duration) {
        self.0.arm_starts(block, arm, elapsed);
    }

    fn block_ends(&mut self, blocks: u32, samples: &[corun_record::Sample], elapsed: Duration) {
        self.0.block_ends(blocks, samples, elapsed);
    }
}
