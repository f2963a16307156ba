//! The experiment: blocks of arms in random order, planned interim analyses, and when to stop.
//!
//! It knows neither processes nor clocks: an [`Executor`] runs an arm and reads the time, so a fake
//! one proves order, randomisation, stopping and interruption without running anything
//! (randomised interleaved trials: Abedi and Brecht 2017).

mod pace;

use std::time::Duration;

use corun_record::{Arm, EndReason, Ending, Run, Sample, SmtState};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::execution::ExecutionError;
pub use crate::execution::{ArmOutcome, Executor};
use pace::{LeastExperiment, Pace};

/// Is notified of how the experiment goes; every method may be left empty.
pub trait Observer {
    /// An experiment is about to begin, or to go on; the run is as complete as it can be before a block is finished.
    fn run_begins(&mut self, _run: &Run) {}
    /// An arm is about to run in block `block`; `None` while warming up.
    fn arm_starts(&mut self, _block: Option<u32>, _arm: &Arm, _elapsed: Duration) {}
    /// A block is finished; all samples so far are given.
    fn block_ends(&mut self, _blocks: u32, _samples: &[Sample], _elapsed: Duration) {}
}

/// Watches nothing.
#[derive(Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// When to analyse the data and when to stop.
pub trait Stopping {
    /// The most blocks that are ever run.
    fn maximum(&self) -> u32;
    /// After `blocks` blocks: a sentence on why the experiment may stop, or `None` to go on.
    fn analyse(&mut self, blocks: u32, samples: &[Sample]) -> Option<String>;
}

/// The fewest blocks of an experiment: fewer give no interval.
pub const FEWEST_BLOCKS: u32 = 2;
/// As [`FEWEST_BLOCKS`], for cycles of an experiment that switches SMT.
pub const FEWEST_CYCLES: u32 = 6;

/// The part of the design that the block loop needs.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSchedule {
    /// The seed of every random order.
    pub seed: u64,
    /// Uncounted runs of each arm before the first block.
    pub warmup: u32,
    /// The fewest blocks that are of use.
    pub fewest: u32,
    /// Beyond the fewest, no block is begun that would probably end later than this.
    pub share: Duration,
    /// The limit: no block is begun later, and none at all where the fewest would end later.
    pub max_time: Duration,
}

/// The finished blocks and why there are no more.
#[derive(Debug)]
pub struct ExperimentOutcome {
    /// Every sample of every finished block, in the order run.
    pub samples: Vec<Sample>,
    /// Finished blocks.
    pub blocks: u32,
    /// Why the experiment ended.
    pub ending: Ending,
    /// The failure that ended it, if one did.
    pub failure: Option<ExecutionError>,
}

/// Runs blocks until the stopping rule, the clock or the user ends it.
///
/// Once a block is finished, neither an interruption nor a failure loses it. Where the time allowed is too
/// short for the fewest blocks, the experiment ends as soon as that is known, with the blocks that it has,
/// perhaps none.
///
/// # Errors
/// If an arm fails, or the user interrupts, before the first block is finished.
pub fn run_experiment(
    arms: &[Arm],
    schedule: &BlockSchedule,
    stopping: &mut dyn Stopping,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
) -> Result<ExperimentOutcome, ExecutionError> {
    resume_experiment(arms, schedule, Vec::new(), stopping, executor, observer)
}

/// As [`run_experiment`], after blocks that were finished before, in the random orders that would have followed them.
///
/// # Errors
/// As [`run_experiment`], where no block was finished before.
pub fn resume_experiment(
    arms: &[Arm],
    schedule: &BlockSchedule,
    finished: Vec<Sample>,
    stopping: &mut dyn Stopping,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
) -> Result<ExperimentOutcome, ExecutionError> {
    let first = finished.last().map_or(0, |sample| sample.block + 1);
    let mut samples = finished;
    if first > 0
        && let Some(sentence) = stopping.analyse(first, &samples)
    {
        return Ok(ended(samples, first, EndReason::TargetReached, sentence));
    }
    let pace = Pace::new(arms, schedule);
    let mut runner = Runner { schedule, executor, observer, pace, is_judged: first > 0 };
    if (first == 0 || first < stopping.maximum())
        && arms.iter().all(|arm| arm.smt.is_none())
        && let Err(stop) = runner.warm_up(arms)
    {
        return stop.with(samples, first, schedule);
    }
    let mut random = ChaCha8Rng::seed_from_u64(schedule.seed);
    for _ in 0..first {
        order(arms, &mut random);
    }
    let begin = runner.executor.elapsed();
    for block in first..stopping.maximum() {
        if block > 0 && runner.is_late(block, block - first, begin) {
            return Stop::TimeUp.with(samples, block, schedule);
        }
        match runner.block(block, arms, &mut random) {
            Ok(of_block) => samples.extend(of_block),
            Err(stop) => return stop.with(samples, block, schedule),
        }
        runner.is_judged = true;
        runner.observer.block_ends(block + 1, &samples, runner.executor.elapsed());
        if let Some(sentence) = stopping.analyse(block + 1, &samples) {
            return Ok(ended(samples, block + 1, EndReason::TargetReached, sentence));
        }
    }
    let blocks = stopping.maximum();
    let sentence = format!("all {blocks} planned blocks were done");
    Ok(ended(samples, blocks, EndReason::BlocksDone, sentence))
}

/// The end of an experiment that could not begin, because a run before it failed.
///
/// # Errors
/// Failure, unless it was a lack of time.
pub(crate) fn not_begun(
    failure: ExecutionError,
    schedule: &BlockSchedule,
) -> Result<ExperimentOutcome, ExecutionError> {
    Stop::Failure(failure).with(Vec::new(), 0, schedule)
}

/// Why no more runs are made.
enum Stop {
    /// An arm failed, or the user interrupts.
    Failure(ExecutionError),
    /// The time allowed is used up.
    TimeUp,
    /// The time allowed is too short for the least possible experiment.
    TooShort(LeastExperiment),
}

impl From<ExecutionError> for Stop {
    fn from(failure: ExecutionError) -> Self {
        Self::Failure(failure)
    }
}

impl Stop {
    /// The end of an experiment with these finished blocks.
    fn with(
        self,
        samples: Vec<Sample>,
        blocks: u32,
        schedule: &BlockSchedule,
    ) -> Result<ExperimentOutcome, ExecutionError> {
        let allowed = whole_milliseconds(schedule.max_time);
        let time_up = |sentence| ended(Vec::new(), blocks, EndReason::TimeUp, sentence);
        let outcome = match self {
            Self::TimeUp => {
                let time = whole_milliseconds(schedule.share);
                time_up(format!("the time allowed ({time:?}) was used up after {}", count(blocks)))
            }
            Self::TooShort(LeastExperiment { runs, end }) => time_up(format!(
                "the time allowed ({allowed:?}) is too short: {} and what comes before them are {runs} runs and take about {:?}",
                count(schedule.fewest),
                rounded(end)
            )),
            Self::Failure(ExecutionError::Timeout { arm, seconds })
                if seconds >= schedule.max_time.as_secs_f64() =>
            {
                time_up(format!(
                    "one run of {arm} takes longer than the time allowed ({allowed:?})"
                ))
            }
            Self::Failure(ExecutionError::Interrupted) if blocks > 0 => {
                let sentence = format!("interrupted; {}", kept(blocks));
                ended(Vec::new(), blocks, EndReason::Interrupted, sentence)
            }
            Self::Failure(error) if blocks > 0 => {
                let sentence = format!("an arm failed; {}", kept(blocks));
                let failed = ended(Vec::new(), blocks, EndReason::Failed, sentence);
                ExperimentOutcome { failure: Some(error), ..failed }
            }
            Self::Failure(error) => return Err(error),
        };
        Ok(ExperimentOutcome { samples, ..outcome })
    }
}

fn ended(
    samples: Vec<Sample>,
    blocks: u32,
    reason: EndReason,
    sentence: String,
) -> ExperimentOutcome {
    ExperimentOutcome { samples, blocks, ending: Ending { reason, sentence }, failure: None }
}

fn kept(blocks: u32) -> String {
    match blocks {
        1 => "1 finished block is kept".to_owned(),
        blocks => format!("{blocks} finished blocks are kept"),
    }
}

fn count(blocks: u32) -> String {
    match blocks {
        1 => "1 block".to_owned(),
        blocks => format!("{blocks} blocks"),
    }
}

/// A time that is left of another, in digits that a reader can use.
fn whole_milliseconds(time: Duration) -> Duration {
    match u64::try_from(time.as_millis()) {
        Ok(milliseconds @ 1..) => Duration::from_millis(milliseconds),
        _ => time,
    }
}

/// A time in the digits that an estimate has: whole seconds, or tenths below ten.
fn rounded(time: Duration) -> Duration {
    let tenths = (time.as_secs_f64() * 10.0).round();
    let step = if tenths < 100.0 { 1.0 } else { 10.0 };
    Duration::from_millis(((tenths / step).round() * step) as u64 * 100)
}

/// State that every run of an experiment needs.
struct Runner<'a> {
    schedule: &'a BlockSchedule,
    executor: &'a mut dyn Executor,
    observer: &'a mut dyn Observer,
    pace: Pace<'a>,
    /// True if it is known that the time allowed has room for the fewest blocks.
    is_judged: bool,
}

impl<'a> Runner<'a> {
    fn warm_up(&mut self, arms: &'a [Arm]) -> Result<(), Stop> {
        for _ in 0..self.schedule.warmup {
            for arm in arms.iter().filter(|arm| arm.twin_of.is_none()) {
                self.run(None, arm)?;
            }
        }
        Ok(())
    }

    /// Runs an arm in a block, or to warm up.
    fn run(&mut self, block: Option<u32>, arm: &'a Arm) -> Result<ArmOutcome, Stop> {
        let begin = self.executor.elapsed();
        self.observer.arm_starts(block, arm, begin);
        let outcome = self.executor.run(arm)?;
        let spent = self.executor.elapsed();
        self.pace.note(arm, spent.saturating_sub(begin));
        if !self.is_judged {
            if let Some(least) = self.pace.too_long(spent) {
                return Err(Stop::TooShort(least));
            }
            self.is_judged = self.pace.is_known();
        }
        Ok(outcome)
    }

    /// True if block `block` comes too late, where the last `done` blocks before it began at `begin`.
    fn is_late(&self, block: u32, done: u32, begin: Duration) -> bool {
        let spent = self.executor.elapsed();
        let per_block = (spent - begin).checked_div(done).unwrap_or_default();
        spent >= self.schedule.max_time
            || (block >= self.schedule.fewest && spent + per_block > self.schedule.share)
    }

    fn block(
        &mut self,
        block: u32,
        arms: &'a [Arm],
        random: &mut ChaCha8Rng,
    ) -> Result<Vec<Sample>, Stop> {
        let order = order(arms, random);
        let mut samples = Vec::with_capacity(order.len());
        let mut smt = None;
        for (position, arm) in order.into_iter().enumerate() {
            // A switch disturbs the machine: what runs first after it is not counted.
            if arm.smt != smt {
                for _ in 0..self.schedule.warmup {
                    self.run(None, arm)?;
                }
                smt = arm.smt;
            }
            let outcome = self.run(Some(block), arm)?;
            samples.push(outcome.into_sample(block, position as u32, arm.id.clone()));
        }
        Ok(samples)
    }
}

/// The arms of one block in the order they run.
///
/// Where SMT is switched, a block is a cycle A B B A of periods: on, off, off, on. Each arm runs in
/// the first period of its state and its twin in the second, so that a steady drift of the machine
/// cancels in their mean.
fn order<'a>(arms: &'a [Arm], random: &mut ChaCha8Rng) -> Vec<&'a Arm> {
    let periods: &[(Option<SmtState>, Option<bool>)] = if arms.iter().all(|arm| arm.smt.is_none()) {
        &[(None, None)]
    } else {
        const ON: Option<SmtState> = Some(SmtState::On);
        const OFF: Option<SmtState> = Some(SmtState::Off);
        &[(ON, Some(false)), (OFF, Some(false)), (OFF, Some(true)), (ON, Some(true))]
    };
    let mut order = Vec::with_capacity(arms.len());
    for &(smt, twins) in periods {
        let is_in =
            |arm: &&Arm| arm.smt == smt && twins.is_none_or(|twins| arm.twin_of.is_some() == twins);
        let mut period: Vec<&Arm> = arms.iter().filter(is_in).collect();
        period.shuffle(random);
        order.extend(period);
    }
    order
}
