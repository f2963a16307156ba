//! The runs of a sweep: one of few numbers, then blocks, each of which runs every candidate that is still compared
//! once, in random order, and the best one twice (A/A).
//!
//! Like [`crate::experiment`] it knows neither processes nor clocks.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Arm, EndReason, Ending, Goal, Sample, ScreeningRun, Workload};
use corun_stats::best_of_several::SharedLevel;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::contest::Score;
use super::grid::{Grid, Point};
use super::objective::log_score;
use super::outcome::{CandidateOutcome, SweepOutcome};
use super::screening::Screened;
use super::search::{ANALYSES, Rules, Search};
use crate::execution::ExecutionError;
use crate::experiment::{ArmOutcome, Executor};
use crate::foreign_load;

/// The confidence of an answer, all comparisons and analyses together.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Points are added while so many more blocks fit into the time.
const MIN_BLOCKS_LEFT: u32 = 4;
/// Runs of a block as it is expected before anything is known: two candidates, a placement, and the twin.
const RUNS_OF_A_BLOCK: u32 = 4;
/// Blocks of an answer, as expected before the noise is known.
const EXPECTED_BLOCKS: u32 = 8;
/// Factor of the shortest run that is allowed where the time may grow.
const GROWTH: u32 = 100;
/// A sweep that took so many times the best run, and this long, ends with the first answer that it has.
const LONG: (u32, Duration) = (35, Duration::from_secs(30));
/// A single run may take this part of the time, and what comes after it the rest.
const SCREENING_SHARE: u32 = 2;
/// Factor of time after which a single run is ended: that it is slower is all that is asked.
const SLOW: u32 = 2;
/// Factor of time after which a run of a block is ended: it is not the answer.
const TOO_SLOW: u32 = 20;
/// But not before so much more than the best run took, in which an interruption of the machine may fall.
const SHORTEST_LIMITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// The least that a run is given.
const SHORTEST_RUN: Duration = Duration::from_millis(1);
/// A worker that waits for its CPU gets a twentieth of it at least.
const MAX_WAITED: f64 = 0.95;
/// A program that uses less of its CPUs than this leaves them idle.
const USES_ITS_CPUS: f64 = 0.9;
/// Share of the CPUs above which other work leaves them not free.
const TAKEN: f64 = 0.05;

/// The work of a run, by which a longer one is a slower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkOfRun {
    /// As much for every number of workers.
    Fixed,
    /// As much for each worker.
    EachWorker,
    /// The program decides.
    Unknown,
}

/// The part of the design that the blocks need.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepSchedule {
    /// Goal of the sweep.
    pub goal: Goal,
    /// Of equal candidates, choose the one with the most workers.
    pub most_workers: bool,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// The work of a run.
    pub work: WorkOfRun,
    /// The CPUs that a quota has time for.
    pub quota: Option<u32>,
    /// The seed of every random order.
    pub seed: u64,
    /// Uncounted runs of the first candidate before the first block.
    pub warmup: u32,
    /// No block is begun that would probably end later than this.
    pub max_time: Duration,
    /// The time allowed grows with the time that a run takes.
    pub grows: bool,
}

/// Is notified of how the sweep goes.
pub trait SweepObserver {
    /// The sweep is about to begin; `started` is RFC 3339.
    fn sweep_begins(&mut self, _started: &str, _workload: &Workload) {}
    /// So many candidates are expected, and so much time for them; `allowed` is the most.
    fn sweep_is_planned(&mut self, _candidates: usize, _expected: Duration, _allowed: Duration) {}
    /// An arm is about to run in block `block`; `None` before the first.
    fn arm_starts(&mut self, _block: Option<u32>, _arm: &Arm) {}
    /// A block is finished; its samples are given.
    fn block_is_finished(&mut self, _samples: &[Sample], _elapsed: Duration) {}
    /// After a block: the best arm so far, and how many are left.
    fn block_ends(&mut self, _blocks: u32, _best: &Arm, _running: usize, _elapsed: Duration) {}
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
    let rules = Rules {
        shared: SharedLevel { confidence: CONFIDENCE, analyses: ANALYSES.len() as u32 },
        practical: schedule.practical.ln_1p(),
        most_workers: schedule.most_workers,
        quota: schedule.quota,
    };
    let mut sweep = Sweep {
        grid,
        schedule,
        search: Search::new(grid, rules),
        random: ChaCha8Rng::seed_from_u64(schedule.seed),
        samples: Vec::new(),
        screening: BTreeMap::new(),
        failures: BTreeMap::new(),
        first_failure: None,
        durations: BTreeMap::new(),
        best: None,
        is_scored: false,
    };
    if !schedule.grows {
        executor.limit_runs(schedule.max_time);
    }
    match sweep.warm_up(executor, observer) {
        Ok(None) => sweep.run(executor, observer),
        Ok(Some(sentence)) => Ok(sweep.end(0, EndReason::TimeUp, sentence, None)),
        Err(ExecutionError::Timeout { arm, .. }) => Ok(sweep.used_up_by(&arm)),
        Err(error) => Err(error),
    }
}

/// The candidates that a sweep of this grid probably has, before anything is run.
pub(crate) fn expected_candidates(grid: &Grid, quota: Option<u32>) -> usize {
    let shared = SharedLevel { confidence: CONFIDENCE, analyses: ANALYSES.len() as u32 };
    Search::new(grid, Rules { shared, practical: 0.0, most_workers: false, quota }).expected()
}

/// True if the program waited in a run while nothing else used its CPUs.
fn leaves_cpus_idle(outcome: &ArmOutcome, arm: &Arm) -> bool {
    let evidence = &outcome.evidence;
    let time = outcome.makespan.as_secs_f64() * f64::from(arm.workers);
    let used = (evidence.user_s + evidence.system_s) / time;
    let waited = evidence.cpu_wait.unwrap_or(0.0).min(MAX_WAITED);
    let stolen = evidence.steal_s.unwrap_or(0.0) / time;
    let taken = [waited, evidence.foreign_busy.unwrap_or(0.0), stolen];
    taken.into_iter().all(|share| share <= TAKEN) && used < USES_ITS_CPUS
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
    /// The run by which each candidate was screened.
    screening: BTreeMap<usize, ScreeningRun>,
    failures: BTreeMap<usize, String>,
    first_failure: Option<ExecutionError>,
    /// Duration of the last run of each candidate.
    durations: BTreeMap<usize, Duration>,
    /// The run that did the most work in a second.
    best: Option<BestRun>,
    /// A sample has shown what the goal is about.
    is_scored: bool,
}

/// The run that did the most work in a second, or was the shortest where that is the goal.
#[derive(Debug, Clone, Copy)]
struct BestRun {
    log: f64,
    makespan: Duration,
    workers: u32,
}

/// Outcome of one run.
enum OneRun {
    Done(Box<ArmOutcome>),
    /// It was ended because it was slow.
    Ended(Duration),
    /// It did not run to its end, so that another candidate may.
    Failed,
}

impl Sweep<'_> {
    /// Runs the first candidate, uncounted; says why if not even a block fits into the time.
    fn warm_up(
        &mut self,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<Option<String>, ExecutionError> {
        let Some(point) = self.search.next_to_screen() else { return Ok(None) };
        let begin = executor.elapsed();
        for run in 0..self.schedule.warmup {
            let since = executor.elapsed();
            let is_last = run + 1 == self.schedule.warmup;
            self.screen(point, is_last.then_some(true), executor, observer)?;
            let took = executor.elapsed().saturating_sub(since);
            if is_last && let Some(sentence) = self.too_long(took, executor.elapsed()) {
                return Ok(Some(sentence));
            }
        }
        if let (Some(best), true) = (self.best, executor.elapsed() > begin) {
            self.announce(best.makespan, self.search.expected(), observer);
        }
        Ok(None)
    }

    /// Tells the observer what the sweep will probably cost, by how long a run takes.
    fn announce(&self, run: Duration, candidates: usize, observer: &mut dyn SweepObserver) {
        let runs = candidates as u32 + EXPECTED_BLOCKS * RUNS_OF_A_BLOCK;
        let allowed = self.allowed();
        observer.sweep_is_planned(candidates, (run * runs).min(allowed), allowed);
    }

    /// The time allowed.
    fn allowed(&self) -> Duration {
        let grown = self.best.filter(|_| self.schedule.grows).map(|best| best.makespan * GROWTH);
        grown.map_or(self.schedule.max_time, |grown| grown.max(self.schedule.max_time))
    }

    /// True if the sweep took so long that an answer is better than a finer one.
    fn is_long(&self, elapsed: Duration) -> bool {
        let (times, least) = LONG;
        self.best.is_some_and(|best| elapsed > (best.makespan * times).max(least))
    }

    /// The time after which a run of so many workers is so many times slower than the best one; `None` where a longer
    /// one need not be worse.
    fn limit(&self, workers: u32, times: u32) -> Option<Duration> {
        let best = self.best?;
        let run = match (self.schedule.goal, self.schedule.work) {
            (Goal::Energy, _) | (_, WorkOfRun::Unknown) => return None,
            (Goal::Latency, _) | (Goal::Throughput, WorkOfRun::Fixed) => best.makespan,
            (Goal::Throughput, WorkOfRun::EachWorker) => {
                best.makespan.mul_f64(f64::from(workers) / f64::from(best.workers))
            }
        };
        let shortest = SHORTEST_LIMITS[usize::from(times > SLOW)];
        Some((run * times).max(run + shortest))
    }

    /// Runs an arm once, within the time after which it would be so many times slower than the best one.
    fn run_once(
        &mut self,
        index: usize,
        arm: &Arm,
        times: u32,
        executor: &mut dyn Executor,
    ) -> Result<OneRun, ExecutionError> {
        let limit = self.limit(arm.workers, times);
        executor.end_slow_runs(limit.unwrap_or(Duration::MAX));
        let since = executor.elapsed();
        let outcome = executor.run(arm);
        let took = executor.elapsed().saturating_sub(since);
        match outcome {
            Ok(outcome) => {
                self.durations.insert(index, took);
                if let Some(why) = displacement(&outcome) {
                    self.fail(index, why);
                    return Ok(OneRun::Failed);
                }
                self.note_best(&outcome, arm);
                Ok(OneRun::Done(Box::new(outcome)))
            }
            Err(ExecutionError::Timeout { seconds, .. })
                if limit.is_some_and(|limit| seconds >= limit.as_secs_f64() * 0.999) =>
            {
                Ok(OneRun::Ended(limit.unwrap_or_default()))
            }
            Err(error) if is_of_the_candidate(&error) && !self.is_out_of_time(&error, executor) => {
                self.fail(index, error.to_string());
                self.first_failure.get_or_insert(error);
                Ok(OneRun::Failed)
            }
            Err(error) => Err(error),
        }
    }

    fn fail(&mut self, index: usize, why: String) {
        self.search.fail(index);
        self.failures.insert(index, why);
    }

    fn note_best(&mut self, outcome: &ArmOutcome, arm: &Arm) {
        let log = match self.schedule.goal {
            Goal::Throughput | Goal::Energy => outcome.throughput.ln(),
            Goal::Latency => -outcome.makespan.as_secs_f64().ln(),
        };
        if log.is_finite() && self.best.is_none_or(|best| log > best.log) {
            let (makespan, workers) = (outcome.makespan, arm.workers);
            self.best = Some(BestRun { log, makespan, workers });
        }
    }

    /// Runs a point once and notes what it did: `Some(true)` as with empty caches, `None` not at all.
    fn screen(
        &mut self,
        point: Point,
        is_cold: Option<bool>,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<(), ExecutionError> {
        let arm = self.grid.arm(point);
        observer.arm_starts(None, &arm);
        let index = self.search.enter(point);
        let run = self.run_once(index, &arm, SLOW, executor)?;
        let Some(is_cold) = is_cold else { return Ok(()) };
        match run {
            OneRun::Done(outcome) => {
                if arm.workers == self.grid.cpus()
                    && !arm.cpus.is_empty()
                    && leaves_cpus_idle(&outcome, &arm)
                {
                    self.search.leaves_cpus_idle();
                }
                let seconds = outcome.makespan.as_secs_f64();
                let sample = outcome.into_sample(0, 0, arm.id.clone());
                let log = log_score(self.schedule.goal, &sample)
                    .ok_or_else(|| ExecutionError::NotCounted(goal_of(self.schedule.goal)))?;
                self.is_scored = true;
                let lost = foreign_load::lost_share(&sample, &arm).unwrap_or(0.0).min(MAX_WAITED);
                let lost = -(-lost).ln_1p();
                let run = Screened { log, lost, runs: 1, is_cold, is_ended: false };
                self.search.note_screened(index, run);
                self.screening.insert(index, ScreeningRun { seconds, is_ended: false });
            }
            OneRun::Ended(after) => {
                let Some(best) = self.best else { return Ok(()) };
                let whole = self.limit(arm.workers, 1).unwrap_or(after);
                let times = after.as_secs_f64() / whole.min(after).as_secs_f64().max(1e-9);
                let log = best.log - times.max(f64::from(SLOW)).ln();
                let run = Screened { log, lost: 0.0, runs: 1, is_cold, is_ended: true };
                self.search.note_screened(index, run);
                let seconds = after.as_secs_f64();
                self.screening.insert(index, ScreeningRun { seconds, is_ended: true });
            }
            OneRun::Failed => {}
        }
        Ok(())
    }

    /// Screens what may be learned from by one run, while there is time.
    fn screen_all(
        &mut self,
        until: Duration,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<(), ExecutionError> {
        while let Some(point) = self.search.next_to_screen() {
            if executor.elapsed() >= until && self.is_scored {
                break;
            }
            self.screen(point, Some(false), executor, observer)?;
        }
        Ok(())
    }

    fn run(
        mut self,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<SweepOutcome, ExecutionError> {
        let until = self.allowed() / SCREENING_SHARE;
        match self.screen_all(until, executor, observer) {
            Err(ExecutionError::Timeout { arm, .. }) => return Ok(self.used_up_by(&arm)),
            screened => screened?,
        }
        self.search.admit_first();
        if self.search.running().is_empty() {
            return Err(match self.first_failure.take() {
                Some(error) => error,
                None => ExecutionError::NotCounted(goal_of(self.schedule.goal)),
            });
        }
        if let Some(best) = self.best {
            self.announce(best.makespan, self.search.points().count(), observer);
        }
        let last = ANALYSES.last().copied().unwrap_or(0);
        for block in 0..last {
            let before = self.samples.len();
            let left = self.allowed().saturating_sub(executor.elapsed());
            if self.block_time() > left {
                let sentence = self.time_up(block);
                return Ok(self.end(block, EndReason::TimeUp, sentence, None));
            }
            match self.run_block(block, executor, observer) {
                Ok(()) => {}
                Err(ExecutionError::Timeout { .. }) => {
                    let sentence = self.time_up(block);
                    return Ok(self.end(block, EndReason::TimeUp, sentence, None));
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
            let blocks = block + 1;
            let is_planned = ANALYSES.contains(&blocks);
            if is_planned {
                self.search.judge();
            }
            if let Some(best) = self.search.leader() {
                let running = self.search.running().len();
                observer.block_ends(blocks, &self.arm(best), running, executor.elapsed());
            }
            let is_long = self.is_long(executor.elapsed()) && self.search.is_answered();
            if is_planned
                && (is_long || !self.has_grown(executor, observer)? && self.search.is_settled())
            {
                let what = match self.search.is_cut_short() {
                    false => "the answer was known",
                    true => "the best of the candidates that were tried was known",
                };
                let sentence = format!("{what} at the analysis after {blocks} blocks");
                return Ok(self.end(blocks, EndReason::TargetReached, sentence, None));
            }
        }
        let sentence = format!("all {last} planned blocks were done");
        Ok(self.end(last, EndReason::BlocksDone, sentence, None))
    }

    /// Screens what is newly of interest, and lets join what may yet be the answer, where there is time for it.
    fn has_grown(
        &mut self,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<bool, ExecutionError> {
        let left = self.allowed().saturating_sub(executor.elapsed());
        if self.block_time() * MIN_BLOCKS_LEFT > left {
            return Ok(false);
        }
        let until = executor.elapsed() + left / SCREENING_SHARE;
        match self.grow(until, executor, observer) {
            // What was finished is kept: the next block ends the sweep.
            Err(ExecutionError::Interrupted | ExecutionError::Timeout { .. }) => Ok(false),
            grown => grown,
        }
    }

    /// Screens and lets join until then. Before a settled answer is final, what only one run leaves out of it runs once
    /// more, as long as the sweep is not long.
    fn grow(
        &mut self,
        until: Duration,
        executor: &mut dyn Executor,
        observer: &mut dyn SweepObserver,
    ) -> Result<bool, ExecutionError> {
        self.screen_all(until, executor, observer)?;
        while !self.search.admit_doubtful() {
            let elapsed = executor.elapsed();
            let is_over = elapsed >= until || self.is_long(elapsed) || !self.search.is_settled();
            let Some(point) = self.search.next_to_confirm().filter(|_| !is_over) else {
                return Ok(false);
            };
            self.screen(point, Some(false), executor, observer)?;
        }
        Ok(true)
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
        let mut order: Vec<(usize, bool)> = running.into_iter().map(|it| (it, false)).collect();
        order.extend(self.search.twin().map(|index| (index, true)));
        order.shuffle(&mut self.random);
        let mut finished: Vec<(usize, Sample)> = Vec::new();
        for (position, (index, is_twin)) in order.into_iter().enumerate() {
            if self.failures.contains_key(&index) {
                continue;
            }
            let arm = self.arm(index);
            observer.arm_starts(Some(block), &arm);
            if block == 0 && !self.schedule.grows {
                // Later blocks begin only where they probably end in time.
                let left = self.schedule.max_time.saturating_sub(executor.elapsed());
                executor.limit_runs(left.max(SHORTEST_RUN));
            }
            match self.run_once(index, &arm, TOO_SLOW, executor)? {
                OneRun::Done(outcome) => {
                    let id = if is_twin { twin_id(&arm) } else { arm.id };
                    finished.push((index, outcome.into_sample(block, position as u32, id)));
                }
                OneRun::Ended(after) => {
                    let after = rounded(after);
                    let why = format!("ended after {after}, {TOO_SLOW} times as long as the best");
                    self.fail(index, why);
                }
                OneRun::Failed => {}
            }
        }
        for (index, sample) in finished {
            let arm = self.arm(index);
            if let Some(log) = log_score(self.schedule.goal, &sample) {
                let lost = foreign_load::lost_share(&sample, &arm);
                self.search.note(index, block, Score { log, lost });
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
        let twin = usize::from(self.search.twin().is_some());
        sum + mean * (running.len() - known.len() + twin) as u32
    }

    /// Why not even a block fits into the time, judging by how long one run took.
    fn too_long(&self, run: Duration, spent: Duration) -> Option<String> {
        let left = self.schedule.max_time.saturating_sub(spent);
        let block = run * RUNS_OF_A_BLOCK;
        (!self.schedule.grows && block > left).then(|| {
            let seconds = |time: Duration| {
                humantime::format_duration(Duration::from_secs(time.as_secs() + 1))
            };
            let candidates = self.search.expected() as u32;
            let runs = candidates + EXPECTED_BLOCKS * RUNS_OF_A_BLOCK;
            format!(
                "a block of {RUNS_OF_A_BLOCK} runs takes about {}, and {candidates} candidates about {}: allow that by --max-time, or give the command less work",
                seconds(block),
                seconds(run * runs + spent),
            )
        })
    }

    /// True if a run was ended because the time allowed is over, and not because the candidate is slow.
    fn is_out_of_time(&self, error: &ExecutionError, executor: &dyn Executor) -> bool {
        let is_over = executor.elapsed() >= self.allowed();
        is_over && matches!(error, ExecutionError::Timeout { .. })
    }

    /// The end of a sweep whose first runs took all of the time.
    fn used_up_by(self, arm: &str) -> SweepOutcome {
        let allowed = humantime::format_duration(self.allowed());
        let sentence =
            format!("the time allowed ({allowed}) was used up during the first run of {arm}");
        self.end(0, EndReason::TimeUp, sentence, None)
    }

    fn time_up(&self, blocks: u32) -> String {
        let allowed = humantime::format_duration(self.allowed());
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
            screening: self.screening.get(&index).copied(),
            failure: self.failures.get(&index).cloned(),
            beside_chosen: chosen
                .filter(|&chosen| chosen != index)
                .and_then(|chosen| self.search.difference(index, chosen)),
        });
        let more = conclusion.as_ref().and_then(|conclusion| conclusion.blocks_to_decide);
        let time_to_decide = more.map(|more| self.block_time() * more.saturating_sub(blocks));
        SweepOutcome {
            tried: tried.collect(),
            time_to_decide,
            allowed: self.allowed(),
            noise_floor: self.search.noise_floor(),
            is_cut_short: self.search.is_cut_short(),
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

/// A duration as a person would say it: whole seconds from ten on, tenths below.
pub(crate) fn rounded(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
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
