//! The blocks of a sweep: each runs every candidate that is still of interest once, in random order, and
//! the best one twice (A/A).
//!
//! Like [`crate::experiment`] it knows neither processes nor clocks.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Arm, EndReason, Ending, Goal, Sample, Workload};
use corun_stats::best_of_several::SharedLevel;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::contest::Score;
use super::grid::{Family, Grid, Point};
use super::objective::log_score;
use super::search::{ANALYSES, Conclusion, Rules, Search};
use crate::execution::ExecutionError;
use crate::experiment::{ArmOutcome, Executor};
use crate::foreign_load;

/// The confidence of an answer, all comparisons and analyses together.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Points are added while so many more blocks fit into the time.
const MIN_BLOCKS_LEFT: u32 = 4;
/// Factor of time after which a candidate with fixed work is ended: it is not the answer.
const TOO_SLOW: u32 = 20;
/// But not before this, in which an interruption of the machine may fall.
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);
/// The least that a run is given.
const SHORTEST_RUN: Duration = Duration::from_millis(1);
/// A worker that waits for its CPU gets a twentieth of it at least.
const MAX_WAITED: f64 = 0.95;
/// A program that uses less of its CPUs than this leaves them idle.
const USES_ITS_CPUS: f64 = 0.9;

/// The part of the design that the blocks need.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepSchedule {
    /// Goal of the sweep.
    pub goal: Goal,
    /// Of equal candidates, choose the one with the most workers.
    pub most_workers: bool,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// A run does a fixed amount of work, so that a longer one is a slower one.
    pub fixed_total: bool,
    /// The CPUs that a quota has time for.
    pub quota: Option<u32>,
    /// The seed of every random order.
    pub seed: u64,
    /// Uncounted runs of the first candidate before the first block.
    pub warmup: u32,
    /// No block is begun that would probably end later than this.
    pub max_time: Duration,
}

/// Is notified of how the sweep goes.
pub trait SweepObserver {
    /// The sweep is about to begin; `started` is RFC 3339.
    fn sweep_begins(&mut self, _started: &str, _workload: &Workload) {}
    /// An arm is about to run in block `block`; `None` while warming up.
    fn arm_starts(&mut self, _block: Option<u32>, _arm: &Arm) {}
    /// A block is finished; its samples are given.
    fn block_is_finished(&mut self, _samples: &[Sample], _elapsed: Duration) {}
    /// After a block: the best arm so far, and how many are left.
    fn block_ends(&mut self, _blocks: u32, _best: &Arm, _running: usize, _elapsed: Duration) {}
}

/// A candidate of a finished sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateOutcome {
    /// Arm of the candidate.
    pub arm: Arm,
    /// The blocks in which it ran.
    pub blocks: u32,
    /// Why it did not run to its end, if it did not.
    pub failure: Option<String>,
    /// `ln(it / the chosen one)` of what the goal is about.
    pub beside_chosen: Option<corun_stats::Estimate>,
}

/// Outcome of a sweep.
#[derive(Debug)]
pub struct SweepOutcome {
    /// The candidates, in the order in which they joined.
    pub tried: Vec<CandidateOutcome>,
    /// The answer, by index of `tried`; `None` where no block was finished.
    pub conclusion: Option<Conclusion>,
    /// The best may also lie at numbers that there was no time, or no room, to try.
    pub is_cut_short: bool,
    /// Every sample of every finished block.
    pub samples: Vec<Sample>,
    /// Finished blocks.
    pub blocks: u32,
    /// Why the sweep ended.
    pub ending: Ending,
    /// The largest difference that two identical runs can show by noise alone, on the log scale.
    pub noise_floor: Option<f64>,
    /// The failure that ended it, if one did.
    pub failure: Option<ExecutionError>,
}

/// Runs blocks until the answer is known, or the clock or the user ends it.
///
/// A candidate that fails (a program that takes only powers of two) leaves the sweep; the others go on.
///
/// # Errors
/// If every candidate fails, the system does, or the user interrupts before the first block is finished.
pub fn run_sweep(
    grid: &Grid,
    schedule: &SweepSchedule,
    executor: &mut dyn Executor,
    observer: &mut dyn SweepObserver,
) -> Result<SweepOutcome, ExecutionError> {
    executor.limit_runs(schedule.max_time);
    let warm = warm_up(grid, schedule, executor, observer)?;
    let leaves_cpus_idle = warm.is_some_and(|warm| warm.leaves_cpus_idle);
    let rules = Rules {
        shared: SharedLevel { confidence: CONFIDENCE, analyses: ANALYSES.len() as u32 },
        practical: schedule.practical.ln_1p(),
        most_workers: schedule.most_workers,
        quota: schedule.quota,
        leaves_cpus_idle,
    };
    let sweep = Sweep {
        grid,
        schedule,
        search: Search::new(grid, rules),
        random: ChaCha8Rng::seed_from_u64(schedule.seed),
        samples: Vec::new(),
        failures: BTreeMap::new(),
        first_failure: None,
        durations: BTreeMap::new(),
        is_scored: false,
    };
    match warm.and_then(|warm| sweep.too_long(warm.took, executor.elapsed())) {
        Some(sentence) => Ok(sweep.end(0, EndReason::TimeUp, sentence, None)),
        None => sweep.run(executor, observer),
    }
}

/// Result of the warm-up.
#[derive(Debug, Clone, Copy)]
struct Warm {
    leaves_cpus_idle: bool,
    took: Duration,
}

/// Runs a worker on each core, uncounted; `None` where nothing was run, or that number does not run.
fn warm_up(
    grid: &Grid,
    schedule: &SweepSchedule,
    executor: &mut dyn Executor,
    observer: &mut dyn SweepObserver,
) -> Result<Option<Warm>, ExecutionError> {
    let arm = grid.arm(Point { family: Family::Dealt, workers: grid.cores() });
    let mut warm = None;
    for _ in 0..schedule.warmup {
        observer.arm_starts(None, &arm);
        let since = executor.elapsed();
        match executor.run(&arm) {
            Ok(outcome) => {
                let leaves_cpus_idle = cpu_share(&outcome, &arm) < USES_ITS_CPUS;
                let took = executor.elapsed().saturating_sub(since);
                warm = Some(Warm { leaves_cpus_idle, took });
            }
            Err(error) if is_of_the_candidate(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(warm)
}

/// The CPU time of an outcome over what other work left of its CPUs.
fn cpu_share(outcome: &ArmOutcome, arm: &Arm) -> f64 {
    let evidence = &outcome.evidence;
    let used = evidence.user_s + evidence.system_s;
    let left = 1.0 - evidence.cpu_wait.unwrap_or(0.0).min(MAX_WAITED);
    used / (outcome.makespan.as_secs_f64() * f64::from(arm.workers) * left)
}

/// True if only this number of workers failed, so that another may do.
fn is_of_the_candidate(error: &ExecutionError) -> bool {
    matches!(error, ExecutionError::Failed { .. } | ExecutionError::Timeout { .. })
}

struct Sweep<'a> {
    grid: &'a Grid,
    schedule: &'a SweepSchedule,
    search: Search<'a>,
    random: ChaCha8Rng,
    samples: Vec<Sample>,
    failures: BTreeMap<usize, String>,
    first_failure: Option<ExecutionError>,
    /// Duration of the last run of each candidate.
    durations: BTreeMap<usize, Duration>,
    /// A sample has shown what the goal is about.
    is_scored: bool,
}

impl SweepOutcome {
    /// Of a sweep that had no time to begin.
    pub(crate) fn not_begun(sentence: String) -> Self {
        Self {
            tried: Vec::new(),
            conclusion: None,
            is_cut_short: true,
            samples: Vec::new(),
            blocks: 0,
            ending: Ending { reason: EndReason::TimeUp, sentence },
            noise_floor: None,
            failure: None,
        }
    }
}

impl Sweep<'_> {
    fn run(
        mut self,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<SweepOutcome, ExecutionError> {
        let last = ANALYSES.last().copied().unwrap_or(0);
        for block in 0..last {
            let before = self.samples.len();
            let left = self.schedule.max_time.saturating_sub(executor.elapsed());
            if block > 0 && self.block_time() > left {
                let sentence = self.time_up(block);
                return Ok(self.end(block, EndReason::TimeUp, sentence, None));
            }
            match self.run_block(block, executor, observer) {
                Ok(()) => {}
                Err(ExecutionError::Timeout { .. }) if block > 0 => {
                    let sentence = self.time_up(block);
                    return Ok(self.end(block, EndReason::TimeUp, sentence, None));
                }
                Err(ExecutionError::Timeout { arm, .. }) => {
                    let allowed = humantime::format_duration(self.schedule.max_time);
                    let sentence = format!(
                        "the time allowed ({allowed}) was used up during the first run of {arm}"
                    );
                    return Ok(self.end(0, EndReason::TimeUp, sentence, None));
                }
                Err(ExecutionError::Interrupted) if block > 0 => {
                    let sentence = format!("interrupted; {} kept", blocks_are(block));
                    return Ok(self.end(block, EndReason::Interrupted, sentence, None));
                }
                Err(error) if block > 0 => {
                    let sentence = format!("a run failed; {} kept", blocks_are(block));
                    return Ok(self.end(block, EndReason::Failed, sentence, Some(error)));
                }
                Err(error) => return Err(error),
            }
            observer.block_is_finished(&self.samples[before..], executor.elapsed());
            if self.search.running().is_empty()
                && let Some(error) = self.first_failure.take()
            {
                if block == 0 {
                    return Err(error);
                }
                let sentence = format!("every candidate failed; {} kept", blocks_are(block));
                return Ok(self.end(block, EndReason::Failed, sentence, Some(error)));
            }
            if !self.is_scored {
                return Err(ExecutionError::NotCounted(goal_of(self.schedule.goal)));
            }
            let blocks = block + 1;
            let is_planned = ANALYSES.contains(&blocks);
            if is_planned {
                self.search.judge();
            }
            if let Some(best) = self.search.twin() {
                let running = self.search.running().len();
                observer.block_ends(blocks, &self.arm(best), running, executor.elapsed());
            }
            let left = self.schedule.max_time.saturating_sub(executor.elapsed());
            let has_time = self.block_time() * MIN_BLOCKS_LEFT <= left;
            let has_grown = has_time && self.search.explore();
            if is_planned && !has_grown && self.search.is_settled() {
                let what = match self.search.untried().is_empty() {
                    true => "the answer was known",
                    false => "the best of the candidates that were tried was known",
                };
                let sentence = format!("{what} at the analysis after {blocks} blocks");
                return Ok(self.end(blocks, EndReason::TargetReached, sentence, None));
            }
        }
        let sentence = format!("all {last} planned blocks were done");
        Ok(self.end(last, EndReason::BlocksDone, sentence, None))
    }

    fn arm(&self, index: usize) -> Arm {
        self.grid.arm(self.search.point(index))
    }

    /// Runs each candidate once and the best so far twice. Nothing is noted before the block's end.
    fn run_block(
        &mut self,
        block: u32,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<(), ExecutionError> {
        let running = self.search.running();
        let twin = self.search.twin().or(running.first().copied());
        let mut order: Vec<(usize, bool)> = running.into_iter().map(|it| (it, false)).collect();
        order.extend(twin.map(|index| (index, true)));
        order.shuffle(&mut self.random);
        let mut finished: Vec<(usize, Sample)> = Vec::new();
        for (position, (index, is_twin)) in order.into_iter().enumerate() {
            if self.failures.contains_key(&index) {
                continue;
            }
            let arm = self.arm(index);
            observer.arm_starts(Some(block), &arm);
            let since = executor.elapsed();
            if block == 0 {
                // Later blocks begin only where they probably end in time.
                executor.limit_runs(self.schedule.max_time.saturating_sub(since).max(SHORTEST_RUN));
            }
            let outcome = match executor.run(&arm) {
                Ok(outcome) => outcome,
                Err(error)
                    if is_of_the_candidate(&error) && !self.is_out_of_time(&error, executor) =>
                {
                    self.search.fail(index);
                    self.failures.insert(index, error.to_string());
                    self.first_failure.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.durations.insert(index, executor.elapsed().saturating_sub(since));
            if self.schedule.fixed_total {
                executor.limit_runs((outcome.makespan * TOO_SLOW).max(SHORTEST_LIMIT));
            }
            if let Some(why) = displacement(&outcome) {
                self.search.fail(index);
                self.failures.insert(index, why);
                continue;
            }
            let id = if is_twin { twin_id(&arm) } else { arm.id };
            finished.push((index, outcome.into_sample(block, position as u32, id)));
        }
        for (index, sample) in finished {
            let arm = self.arm(index);
            if let Some(log) = log_score(self.schedule.goal, &sample) {
                let lost = foreign_load::lost_share(&sample, &arm);
                self.search.note(index, block, Score { log, lost });
                self.is_scored = true;
            }
            self.samples.push(sample);
        }
        Ok(())
    }

    /// Probable duration of the next block.
    fn block_time(&self) -> Duration {
        let running = self.search.running();
        let known: Vec<Duration> =
            running.iter().filter_map(|index| self.durations.get(index)).copied().collect();
        let sum: Duration = known.iter().sum();
        // One that never ran takes what the others take in the mean, and so does the twin.
        let mean = sum / known.len().max(1) as u32;
        sum + mean * (running.len() - known.len() + 1) as u32
    }

    /// Why not even a block fits into the time, judging by how long one run took.
    fn too_long(&self, run: Duration, spent: Duration) -> Option<String> {
        let runs = self.search.running().len() as u32 + 1;
        let left = self.schedule.max_time.saturating_sub(spent);
        (run * runs > left).then(|| {
            let seconds = |time: Duration| humantime::format_duration(Duration::from_secs(time.as_secs() + 1));
            format!(
                "a block of {runs} runs takes about {}, and an answer three blocks: allow {} by --max-time, or give the command less work",
                seconds(run * runs),
                seconds(run * runs * 3 + spent),
            )
        })
    }

    /// True if a run was ended because the time allowed is over, and not because the candidate is slow.
    fn is_out_of_time(&self, error: &ExecutionError, executor: &dyn Executor) -> bool {
        let is_over = executor.elapsed() >= self.schedule.max_time;
        is_over && matches!(error, ExecutionError::Timeout { .. })
    }

    fn time_up(&self, blocks: u32) -> String {
        let allowed = humantime::format_duration(self.schedule.max_time);
        format!("the time allowed ({allowed}) was used up after {}", blocks_are(blocks))
    }

    fn end(
        self,
        blocks: u32,
        reason: EndReason,
        sentence: String,
        failure: Option<ExecutionError>,
    ) -> SweepOutcome {
        let conclusion = self.search.conclude();
        let chosen = conclusion.as_ref().map(|conclusion| conclusion.chosen);
        let tried = self.search.points().enumerate().map(|(index, point)| CandidateOutcome {
            arm: self.grid.arm(point),
            blocks: self.search.blocks(index),
            failure: self.failures.get(&index).cloned(),
            beside_chosen: chosen
                .filter(|&chosen| chosen != index)
                .and_then(|chosen| self.search.difference(index, chosen)),
        });
        SweepOutcome {
            tried: tried.collect(),
            noise_floor: self.search.noise_floor(),
            is_cut_short: !self.search.untried().is_empty(),
            conclusion,
            samples: self.samples,
            blocks,
            ending: Ending { reason, sentence },
            failure,
        }
    }
}

/// The id that the second sample of an arm in a block has.
pub(crate) fn twin_id(arm: &Arm) -> String {
    format!("{}.aa", arm.id)
}

/// Why an outcome is not one of its arm, if its workers left their CPUs.
fn displacement(outcome: &ArmOutcome) -> Option<String> {
    let left = outcome.evidence.displaced.iter().find(|it| it.left_its_place())?;
    Some(format!(
        "expected the workers on the CPUs of the arm, found worker {} elsewhere: the program sets its affinity itself",
        left.worker
    ))
}

/// Goal of a sample, in words.
fn goal_of(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "throughput",
        Goal::Latency => "latency",
        Goal::Energy => "energy",
    }
}

fn blocks_are(blocks: u32) -> String {
    match blocks {
        1 => "1 finished block".to_owned(),
        blocks => format!("{blocks} finished blocks"),
    }
}
