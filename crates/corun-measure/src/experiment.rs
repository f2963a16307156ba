//! The experiment: blocks of arms in random order, planned interim analyses, and when to stop.
//!
//! It knows neither processes nor clocks: an [`Executor`] runs an arm and reads the time, so a fake
//! one proves order, randomisation, stopping and interruption without running anything
//! (randomised interleaved trials: Abedi and Brecht 2017).

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Arm, EndReason, Ending, Evidence, Latency, Sample, SmtState, WorkerSample};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::execution::ExecutionError;

/// What one run of an arm gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmOutcome {
    /// T: from the common start until the last worker ended.
    pub makespan: Duration,
    /// X: work done per second by all workers.
    pub throughput: f64,
    /// Other counts of the same work, per second, by what is counted.
    pub rates: BTreeMap<String, f64>,
    /// How long parts of the work took, by kind.
    pub latencies: BTreeMap<String, Latency>,
    /// What each worker did.
    pub workers: Vec<WorkerSample>,
    /// What was seen beside the time.
    pub evidence: Evidence,
}

impl ArmOutcome {
    /// The sample of the arm with this id, run at this position of a block.
    pub(crate) fn into_sample(self, block: u32, position: u32, arm: String) -> Sample {
        Sample {
            block,
            position,
            arm,
            makespan_s: self.makespan.as_secs_f64(),
            throughput: self.throughput,
            rates: self.rates,
            latencies: self.latencies,
            workers: self.workers,
            evidence: self.evidence,
        }
    }
}

/// Runs arms, and knows how late it is.
pub trait Executor {
    /// Runs `arm` once, from the common start of its workers until the last one ended.
    ///
    /// # Errors
    /// If a worker fails, cannot be placed, or the user interrupts.
    fn run(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError>;

    /// Time since the executor was made.
    fn elapsed(&self) -> Duration;
}

/// Is notified of how the experiment goes; every method may be left empty.
pub trait Observer {
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

/// Blocks that are run however long they take: fewer give no interval.
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
    /// The fewest blocks, however long they take.
    pub fewest: u32,
    /// From then on, none is begun that would probably end later than this.
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
/// Once a block is finished, neither an interruption nor a failure loses it.
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
    if arms.iter().all(|arm| arm.smt.is_none()) {
        warm_up(arms, schedule.warmup, executor, observer)?;
    }
    let mut random = ChaCha8Rng::seed_from_u64(schedule.seed);
    let mut samples: Vec<Sample> = Vec::new();
    let begin = executor.elapsed();
    for block in 0..stopping.maximum() {
        let spent = executor.elapsed();
        if block >= schedule.fewest {
            let per_block = (spent - begin) / block;
            if spent + per_block > schedule.max_time {
                let sentence = format!(
                    "the time allowed ({:?}) was used up after {block} blocks",
                    schedule.max_time
                );
                return Ok(ended(samples, block, EndReason::TimeUp, sentence));
            }
        }
        match run_block(block, arms, schedule.warmup, &mut random, executor, observer) {
            Ok(of_block) => samples.extend(of_block),
            Err(ExecutionError::Interrupted) if block > 0 => {
                let sentence = format!("interrupted; {}", kept(block));
                return Ok(ended(samples, block, EndReason::Interrupted, sentence));
            }
            Err(error) if block > 0 => {
                let sentence = format!("an arm failed; {}", kept(block));
                let failed = ended(samples, block, EndReason::Failed, sentence);
                return Ok(ExperimentOutcome { failure: Some(error), ..failed });
            }
            Err(error) => return Err(error),
        }
        observer.block_ends(block + 1, &samples, executor.elapsed());
        if let Some(sentence) = stopping.analyse(block + 1, &samples) {
            return Ok(ended(samples, block + 1, EndReason::TargetReached, sentence));
        }
    }
    let blocks = stopping.maximum();
    let sentence = format!("all {blocks} planned blocks were done");
    Ok(ended(samples, blocks, EndReason::BlocksDone, sentence))
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

fn warm_up(
    arms: &[Arm],
    rounds: u32,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
) -> Result<(), ExecutionError> {
    for _ in 0..rounds {
        for arm in arms.iter().filter(|arm| arm.twin_of.is_none()) {
            observer.arm_starts(None, arm, executor.elapsed());
            executor.run(arm)?;
        }
    }
    Ok(())
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

fn run_block(
    block: u32,
    arms: &[Arm],
    warmup: u32,
    random: &mut ChaCha8Rng,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
) -> Result<Vec<Sample>, ExecutionError> {
    let order = order(arms, random);
    let mut samples = Vec::with_capacity(order.len());
    let mut smt = None;
    for (position, arm) in order.into_iter().enumerate() {
        // A switch disturbs the machine: what runs first after it is not counted.
        if arm.smt != smt {
            for _ in 0..warmup {
                observer.arm_starts(None, arm, executor.elapsed());
                executor.run(arm)?;
            }
            smt = arm.smt;
        }
        observer.arm_starts(Some(block), arm, executor.elapsed());
        let outcome = executor.run(arm)?;
        samples.push(outcome.into_sample(block, position as u32, arm.id.clone()));
    }
    Ok(samples)
}
