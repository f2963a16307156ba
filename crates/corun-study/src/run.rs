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
    Actionable, Caveat, Document, EndReason, Ending, Exit, Metric, Run, SmtState, StudyFigure,
    StudyResult, common_caveats,
};

use crate::column_error::errors;
use crate::confinement::{Confinement, confined};
use crate::counterpart::{StepOutcome, figures};
use crate::experiment::{Experiment, Rerun};
use crate::plan::{Host, PlannedArm, Setting, Sizes, StudyStep, plan};
use crate::prediction::SimulatedCycles;
use crate::selection::Selection;
use crate::shares::{MeasuredShares, SharesError};
use crate::sizes::{least_time, weight};
use crate::study::Study;

/// Settings of a study's run.
#[derive(Debug)]
pub struct Settings {
    /// Time limit.
    pub max_time: Duration,
    /// The rows that are wanted.
    pub selection: Selection,
    /// Cycles of programs on the core of the publication.
    pub cycles: SimulatedCycles,
    /// Options of switching SMT; `None`: it is left alone.
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
        is_out_of_time: false,
        held: None,
        caveats: Vec::new(),
    };
    let not_run = |(index, plan): (usize, &Result<StudyStep, String>)| match plan {
        _ if !settings.selection.has_experiment(index) => NOT_ASKED_FOR.to_owned(),
        Err(reason) => reason.clone(),
        Ok(_) => String::new(),
    };
    let mut outcomes: Vec<StepOutcome> =
        plans.iter().enumerate().map(not_run).map(StepOutcome::NotRun).collect();
    let steps = in_order(study, &plans, &settings.selection);
    runner.shares(study, steps.len(), &mut outcomes);
    for (place, Step { index, rerun, step }) in steps.iter().enumerate() {
        let left: u32 = steps[place..].iter().map(|it| weight(it.step)).sum();
        let remaining = settings.max_time.saturating_sub(begin.elapsed());
        let share = remaining.mul_f64(f64::from(weight(step)) / f64::from(left));
        runner.observer.experiment_starts(place + 1, steps.len(), &study.experiments[*index].id);
        outcomes[*index] = runner.experiment(rerun, step, share);
    }
    runner.release();
    let StudyRunner { runs, failure, is_interrupted, is_out_of_time, caveats: of_shares, .. } =
        runner;
    let (mut figures, impossible) = figures(study, &outcomes, &runs, &settings.cycles);
    let mut index = 0..;
    figures.retain(|_| index.next().is_some_and(|index| settings.selection.has_figure(index)));
    let caveats = common_caveats(&runs)
        .into_iter()
        .chain(of_shares)
        .chain(far_slower(&figures))
        .chain(impossible)
        .collect();
    let conclusions = study.conclusions.iter().filter_map(|it| it.answered(&figures)).collect();
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
        ending: match is_out_of_time && !is_interrupted {
            true => Ending {
                reason: EndReason::TimeUp,
                sentence: "the time allowed was too short for some of the rows".to_owned(),
            },
            false => Ending::of(is_interrupted),
        },
        machine: runs.first().map(|run| run.machine.clone()),
        caveats,
        errors: errors(&figures),
        figures,
        findings: if settings.selection.is_all() { study.recorded_findings() } else { Vec::new() },
        conclusions,
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

/// Figures measured with fewer blocks than planned.
fn cut_short(experiments: &[Experiment], outcomes: &[StepOutcome], runs: &[Run]) -> Vec<String> {
    let sentence = |(experiment, outcome): (&Experiment, &StepOutcome)| match outcome {
        StepOutcome::Ran { run, .. } => {
            let ending = &runs[*run].ending;
            let is_short =
                !matches!(ending.reason, EndReason::BlocksDone | EndReason::TargetReached);
            is_short.then(|| format!("{}: {}", experiment.id, ending.sentence))
        }
        StepOutcome::NotRun(_) | StepOutcome::Shares(_) => None,
    };
    experiments.iter().zip(outcomes).filter_map(sentence).collect()
}

/// Why a row has no measured value that was left out of the run.
const NOT_ASKED_FOR: &str = "it was not asked for (--only)";
/// Other work may have this part of the CPUs' time without a remark.
const OTHERS: f64 = 0.01;
/// A rate below this part of the published one is doubted.
const FAR_SLOWER: f64 = 0.02;

/// An experiment that is run.
struct Step<'a> {
    index: usize,
    rerun: &'a Rerun,
    step: &'a StudyStep,
}

/// The experiments that can be run and are wanted: first those that leave SMT as it is, then those that want one
/// state, each state once, then those that switch in cycles.
fn in_order<'a>(
    study: &'a Study,
    plans: &'a [Result<StudyStep, String>],
    selection: &Selection,
) -> Vec<Step<'a>> {
    let steps = study.experiments.iter().zip(plans).enumerate();
    let mut steps: Vec<Step<'a>> = steps
        .filter(|(index, _)| selection.has_experiment(*index))
        .filter_map(|(index, (experiment, plan))| {
            let (Ok(rerun), Ok(step)) = (&experiment.rerun, plan) else { return None };
            Some(Step { index, rerun, step })
        })
        .collect();
    steps.sort_by_key(|it| match it.step.setting {
        Setting::AsFound => 0,
        Setting::Whole(SmtState::On) => 1,
        Setting::Whole(SmtState::Off) => 2,
        Setting::Cycles => 3,
    });
    steps
}

/// Other work took time from jobs whose shares were measured.
fn others_had(id: &str, share: f64) -> Option<Caveat> {
    (share > OTHERS).then(|| {
        let sentence = format!(
            "{id}: other work had {} of the CPUs' time, which the jobs' shares lack.",
            corun_stats::percent(share)
        );
        Caveat::new("shared-with-others", sentence)
    })
}

/// Rates so far below the published ones that something else than the core must have decided them.
fn far_slower(figures: &[StudyFigure]) -> Option<Caveat> {
    let is_slower = |it: &&StudyFigure| {
        let ratio = it.ratio.filter(|_| it.metric == Metric::Throughput);
        ratio.is_some_and(|ratio| ratio.value < FAR_SLOWER)
    };
    let ids: Vec<&str> = figures.iter().filter(is_slower).map(|it| it.id.as_str()).collect();
    let (first, more) = ids.split_first()?;
    let others = match more.len() {
        0 => String::new(),
        1 => " and another rate".to_owned(),
        count => format!(" and {count} other rates"),
    };
    let sentence = format!(
        "{first}{others}: less than {} % of the published rate, which no newer core explains. Other work on this \
         machine, its disk or its container may have held them up: measure them again with --only {first}.",
        FAR_SLOWER * 100.0
    );
    Some(Caveat::new("far-slower", sentence))
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
    /// Some experiment has no figure for lack of time.
    is_out_of_time: bool,
    /// The switch while experiments share a state of SMT, and the machine as it was before.
    held: Option<(SmtSwitch, InitialState)>,
    /// Limits of trust in shares.
    caveats: Vec<Caveat>,
}

impl StudyRunner<'_> {
    /// Measures the shares of jobs, in that part of the time that their number has beside so many other experiments.
    fn shares(&mut self, study: &Study, others: usize, outcomes: &mut [StepOutcome]) {
        let wanted = study.experiments.iter().enumerate().filter_map(|(index, experiment)| {
            let is_wanted = self.settings.selection.has_experiment(index);
            Some((index, &experiment.id, experiment.shares.as_ref().filter(|_| is_wanted)?))
        });
        let mut possible = Vec::new();
        for (index, id, shares) in wanted {
            match shares.places(self.machine) {
                Ok(cpus) => possible.push((index, id, shares, cpus)),
                Err(reason) => outcomes[index] = StepOutcome::NotRun(reason),
            }
        }
        let count = possible.len();
        let each = self.settings.max_time / (count + others).max(1) as u32;
        for (number, (index, id, shares, cpus)) in possible.into_iter().enumerate() {
            if self.is_interrupted || self.interrupt.is_raised() {
                self.is_interrupted = true;
                outcomes[index] =
                    StepOutcome::NotRun("the study was interrupted before it".to_owned());
                continue;
            }
            self.observer.experiment_starts(number + 1, count, id);
            // A study of shares alone has all of the time.
            let time = if others == 0 { self.settings.max_time / count as u32 } else { each };
            let mut is_too_short = false;
            let measured =
                self.interrupt.again().map_err(|error| error.to_string()).and_then(|interrupt| {
                    let time = shares.time().min(time);
                    shares.measured(&cpus, interrupt, time).map_err(|error| {
                        is_too_short = matches!(error, SharesError::TooShort { .. });
                        error.to_string()
                    })
                });
            self.is_out_of_time |= is_too_short;
            outcomes[index] = match measured {
                Ok(MeasuredShares { shares, others }) => {
                    self.caveats.extend(others_had(id, others));
                    StepOutcome::Shares(shares)
                }
                Err(reason) => StepOutcome::NotRun(reason),
            };
        }
    }

    /// An experiment without a figure for lack of time.
    fn out_of_time(&mut self, reason: String) -> StepOutcome {
        self.is_out_of_time = true;
        StepOutcome::NotRun(reason)
    }

    fn experiment(&mut self, rerun: &Rerun, step: &StudyStep, share: Duration) -> StepOutcome {
        if self.is_interrupted || self.interrupt.is_raised() {
            self.is_interrupted = true;
            return StepOutcome::NotRun("the study was interrupted before it".to_owned());
        }
        if share.is_zero() {
            let reason = format!(
                "the time allowed ({:?}) was used up before it; give more with --max-time",
                self.settings.max_time
            );
            return self.out_of_time(reason);
        }
        let remaining = self.settings.max_time.saturating_sub(self.begin.elapsed());
        let least = least_time(step, rerun.least_run);
        if least > remaining {
            let reason = format!(
                "it takes {:.0} s at least, and {:.1} s of the time allowed were left; give more with --max-time",
                least.as_secs_f64().ceil(),
                remaining.as_secs_f64()
            );
            return self.out_of_time(reason);
        }
        match self.in_setting(rerun, step, share) {
            Ok((run, _)) if run.samples.is_empty() => {
                self.out_of_time(format!("{}; give more with --max-time", run.ending.sentence))
            }
            Ok((run, arms)) => {
                self.is_interrupted |= run.ending.is_interrupted();
                self.is_out_of_time |=
                    run.is_without_interval() && run.ending.reason == EndReason::TimeUp;
                self.runs.push(run);
                StepOutcome::Ran { run: self.runs.len() - 1, arms }
            }
            Err(error) if error.is_interruption() => {
                self.is_interrupted = true;
                StepOutcome::NotRun(
                    "it was interrupted before its first block was finished".to_owned(),
                )
            }
            Err(error) if error.is_timeout() => {
                self.out_of_time(format!("{error}; give more with --max-time"))
            }
            Err(error) => {
                let reason = match error.next_step() {
                    step if step.is_empty() => error.to_string(),
                    step => format!("{error}. {}", step.trim_end_matches('.')),
                };
                self.keep(error);
                StepOutcome::NotRun(reason)
            }
        }
    }

    /// Keeps the first failure that is not the machine's lack of something.
    fn keep(&mut self, error: RunError) {
        if self.failure.is_none() && error.exit() != Exit::NotPossible {
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
        let (Some(options), true) = (&self.settings.switch, step.setting != Setting::AsFound)
        else {
            let initial_state = InitialState::observe();
            return self.measured(rerun, step, share, self.machine, None, &initial_state);
        };
        let (mut switch, initial_state) = match self.held.take() {
            Some(held) => held,
            // Before corun itself switches SMT or keeps to a part of the machine.
            None => {
                let initial_state = InitialState::observe();
                (SmtSwitch::begin(options)?, initial_state)
            }
        };
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
        switch.verify()?;
        self.held = Some((switch, initial_state));
        measured
    }

    /// Brings SMT back where experiments shared a state of it. That it did not come back matters more than another
    /// failure.
    fn release(&mut self) {
        if let Some((switch, _)) = self.held.take()
            && let Err(error) = switch.restore()
        {
            self.failure = Some(error.into());
        }
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
    fn run_begins(&mut self, run: &Run) {
        self.0.run_begins(run);
    }

    fn arm_starts(&mut self, block: Option<u32>, arm: &corun_record::Arm, elapsed: Duration) {
        self.0.arm_starts(block, arm, elapsed);
    }

    fn block_ends(&mut self, blocks: u32, samples: &[corun_record::Sample], elapsed: Duration) {
        self.0.block_ends(blocks, samples, elapsed);
    }
}
