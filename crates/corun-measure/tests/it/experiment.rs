//! The block loop under a fake executor: order, randomisation, stopping, interruption, kept work.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_measure::execution::ExecutionError;
use corun_measure::experiment::{
    ArmOutcome, BlockSchedule, Executor, ExperimentOutcome, FEWEST_BLOCKS, FEWEST_CYCLES, Stopping,
    Unobserved, resume_experiment, run_experiment,
};
use corun_record::{Arm, EndReason, Ending, Evidence, Placement, Sample, SmtState};

/// Notes what ran; each run takes a second of its own clock, unless something else is said.
#[derive(Default)]
struct Fake {
    /// Duration of a run that does not take a second, by the number of the run.
    seconds: BTreeMap<usize, u64>,
    clock: Duration,
    ran: Vec<String>,
    /// The CPUs that each run had to pin its workers to.
    pinned: Vec<Vec<u32>>,
    /// Answer instead of success, by the number of the run.
    failure: BTreeMap<usize, fn() -> ExecutionError>,
}

impl Executor for Fake {
    fn run(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError> {
        if let Some(failure) = self.failure.get(&self.ran.len()) {
            return Err(failure());
        }
        self.clock += Duration::from_secs(self.seconds.get(&self.ran.len()).copied().unwrap_or(1));
        self.ran.push(arm.id.clone());
        self.pinned.push(arm.cpus.clone());
        Ok(ArmOutcome {
            makespan: Duration::from_secs(1),
            rates: Default::default(),
            latencies: Default::default(),
            throughput: f64::from(arm.workers),
            workers: Vec::new(),
            evidence: Evidence::default(),
        })
    }

    fn elapsed(&self) -> Duration {
        self.clock
    }
}

/// Stops after a number of blocks, or never before the maximum.
struct After {
    enough: Option<u32>,
    maximum: u32,
    analyses: Vec<u32>,
}

impl Stopping for After {
    fn maximum(&self) -> u32 {
        self.maximum
    }

    fn analyse(&mut self, blocks: u32, samples: &[Sample]) -> Option<String> {
        assert_eq!(samples.len() as u32, blocks * ARMS.len() as u32);
        self.analyses.push(blocks);
        (Some(blocks) == self.enough).then(|| "enough".to_owned())
    }
}

const ARMS: [&str; 4] = ["single", "spread", "stacked", "free"];

fn arms() -> Vec<Arm> {
    ARMS.iter()
        .map(|id| Arm {
            id: (*id).to_owned(),
            ..Arm::new(id.parse().unwrap_or(Placement::Single), 1, 1, pins(id))
        })
        .collect()
}

/// CPUs by which an arm can be distinguished from the others.
fn pins(id: &str) -> Vec<u32> {
    let position = ARMS.iter().position(|arm| *arm == id).unwrap_or(ARMS.len());
    vec![position as u32; position]
}

fn schedule(seed: u64) -> BlockSchedule {
    BlockSchedule {
        seed,
        warmup: 0,
        fewest: FEWEST_BLOCKS,
        share: Duration::from_secs(1_000_000),
        max_time: Duration::from_secs(1_000_000),
    }
}

/// As [`schedule`], with so many warm-up runs and this limit.
fn limited(warmup: u32, seconds: u64) -> BlockSchedule {
    let limit = Duration::from_secs(seconds);
    BlockSchedule { warmup, share: limit, max_time: limit, ..schedule(1) }
}

/// Runs arms that never reach their target, and gives the blocks done, the ending and the time it took.
fn until_the_limit(arms: &[Arm], schedule: &BlockSchedule, fake: &mut Fake) -> (u32, Ending, u64) {
    let mut stopping = Counted(100);
    let done = run_experiment(arms, schedule, &mut stopping, fake, &mut Unobserved).unwrap();
    assert_eq!(done.samples.len(), done.blocks as usize * arms.len());
    assert!(done.failure.is_none());
    (done.blocks, done.ending, fake.clock.as_secs())
}

fn until(enough: Option<u32>, maximum: u32) -> After {
    After { enough, maximum, analyses: Vec::new() }
}

#[test]
fn every_block_runs_every_arm_once_in_its_own_order() {
    let mut fake = Fake::default();
    let done =
        run_experiment(&arms(), &schedule(1), &mut until(None, 40), &mut fake, &mut Unobserved)
            .unwrap();
    assert_eq!(done.ending.reason, EndReason::BlocksDone);
    let mut orders: Vec<Vec<&str>> = Vec::new();
    for block in fake.ran.chunks(ARMS.len()) {
        orders.push(block.iter().map(String::as_str).collect());
        let mut sorted = block.to_vec();
        sorted.sort();
        let mut all = ARMS;
        all.sort_unstable();
        assert_eq!(sorted, all);
    }
    for arm in ARMS {
        for position in 0..ARMS.len() {
            assert!(
                orders.iter().any(|order| order[position] == arm),
                "{arm} never ran at position {position} in 40 blocks"
            );
        }
    }
}

#[test]
fn the_seed_decides_the_order_and_the_samples_record_it() {
    let order = |seed| {
        let mut fake = Fake::default();
        let done = run_experiment(
            &arms(),
            &schedule(seed),
            &mut until(None, 9),
            &mut fake,
            &mut Unobserved,
        )
        .unwrap();
        let recorded: Vec<String> = done.samples.iter().map(|it| it.arm.clone()).collect();
        assert_eq!(recorded, fake.ran);
        for (index, sample) in done.samples.iter().enumerate() {
            assert_eq!(sample.block as usize, index / ARMS.len());
            assert_eq!(sample.position as usize, index % ARMS.len());
        }
        fake.ran
    };
    assert_eq!(order(7), order(7));
    assert_ne!(order(7), order(8));
}

#[test]
fn every_run_is_given_the_cpus_of_its_own_arm() {
    let mut fake = Fake::default();
    run_experiment(&arms(), &schedule(3), &mut until(None, 5), &mut fake, &mut Unobserved).unwrap();
    assert_eq!(fake.ran.len(), 20);
    for (arm, pinned) in fake.ran.iter().zip(&fake.pinned) {
        assert_eq!(*pinned, pins(arm));
    }
}

#[test]
fn warming_up_runs_each_arm_and_counts_nothing() {
    let mut with_twin = arms();
    with_twin.push(Arm {
        id: "spread.aa".to_owned(),
        twin_of: Some("spread".to_owned()),
        ..with_twin[1].clone()
    });
    let mut fake = Fake::default();
    let two = BlockSchedule { warmup: 2, ..schedule(1) };
    let mut never = until(None, 0);
    let done = run_experiment(&with_twin, &two, &mut never, &mut fake, &mut Unobserved).unwrap();
    assert_eq!(fake.ran, [ARMS, ARMS].concat());
    assert!(done.samples.is_empty());
}

#[test]
fn it_analyses_after_every_block_and_stops_when_the_rule_says_so() {
    let mut stopping = until(Some(3), 100);
    let mut fake = Fake::default();
    let done =
        run_experiment(&arms(), &schedule(1), &mut stopping, &mut fake, &mut Unobserved).unwrap();
    assert_eq!(stopping.analyses, [1, 2, 3]);
    assert_eq!((done.blocks, done.ending.reason), (3, EndReason::TargetReached));
    assert_eq!(done.ending.sentence, "enough");
}

#[test]
fn no_block_begins_that_would_end_after_the_time_allowed() {
    let mut fake = Fake::default();
    let (blocks, ending, _) = until_the_limit(&arms(), &limited(0, 11), &mut fake);
    assert_eq!((blocks, ending.reason), (2, EndReason::TimeUp));
    assert_eq!(ending.sentence, "the time allowed (11s) was used up after 2 blocks");
    assert_eq!(fake.ran.len(), 8);
}

#[test]
fn what_cannot_end_in_time_ends_as_soon_as_that_is_known() {
    // Four runs of warm-up and eight of two blocks: twelve seconds.
    let mut fake = Fake::default();
    let (blocks, ending, took) = until_the_limit(&arms(), &limited(1, 11), &mut fake);
    assert_eq!((blocks, ending.reason, took), (0, EndReason::TimeUp, 2));
    insta::assert_snapshot!(
        ending.sentence,
        @"the time allowed (11s) is too short: 2 blocks and what comes before them are 12 runs and take about 12s"
    );
    let (blocks, ending, took) = until_the_limit(&arms(), &limited(1, 12), &mut Fake::default());
    assert_eq!((blocks, ending.reason, took), (2, EndReason::TimeUp, 12));
}

#[test]
fn without_a_warm_up_the_first_block_says_it() {
    let mut fake = Fake::default();
    let (blocks, _, took) = until_the_limit(&arms(), &limited(0, 7), &mut fake);
    assert_eq!((blocks, took), (0, 2));
}

#[test]
fn one_run_is_enough_where_there_is_no_time_for_another() {
    let mut fake = Fake { seconds: (0..99).map(|run| (run, 6)).collect(), ..Fake::default() };
    let (blocks, ending, took) = until_the_limit(&arms(), &limited(1, 10), &mut fake);
    assert_eq!((blocks, took), (0, 6));
    assert!(ending.sentence.ends_with("are 12 runs and take about 72s"), "{}", ending.sentence);
}

#[test]
fn a_first_run_that_fills_caches_does_not_decide() {
    let mut fake = Fake { seconds: [(0, 9)].into(), ..Fake::default() };
    let (blocks, _, took) = until_the_limit(&arms(), &limited(1, 20), &mut fake);
    assert_eq!((blocks, took), (2, 20));
}

#[test]
fn an_arm_that_is_slower_than_the_others_is_known_when_it_has_run() {
    // The last of four arms takes twenty seconds in its warm-up.
    let mut fake = Fake { seconds: [(3, 20)].into(), ..Fake::default() };
    let (blocks, ending, took) = until_the_limit(&arms(), &limited(1, 60), &mut fake);
    assert_eq!((blocks, took), (0, 23));
    assert!(ending.sentence.ends_with("take about 69s"), "{}", ending.sentence);
}

#[test]
fn a_block_that_has_begun_ends_and_none_begins_after_the_limit() {
    // The first block takes longer than its warm-up had promised.
    let slow = || Fake { seconds: (4..8).map(|run| (run, 4)).collect(), ..Fake::default() };
    let (blocks, ending, took) = until_the_limit(&arms(), &limited(1, 15), &mut slow());
    assert_eq!((blocks, ending.reason, took), (1, EndReason::TimeUp, 20));
    assert_eq!(ending.sentence, "the time allowed (15s) was used up after 1 block");
    let (blocks, _, took) = until_the_limit(&arms(), &limited(1, 21), &mut slow());
    assert_eq!((blocks, took), (2, 24), "the second block began in time");
}

#[test]
fn the_fewest_blocks_may_take_longer_than_their_share() {
    let mut fake = Fake::default();
    let share = BlockSchedule { share: Duration::from_secs(1), ..limited(1, 20) };
    let (blocks, ending, took) = until_the_limit(&arms(), &share, &mut fake);
    assert_eq!((blocks, ending.reason, took), (2, EndReason::TimeUp, 12));
}

#[test]
fn a_run_that_takes_longer_than_all_the_time_is_a_lack_of_time() {
    let failing = || {
        let mut fake = Fake::default();
        fake.failure
            .insert(2, || ExecutionError::Timeout { arm: "stacked".to_owned(), seconds: 60.0 });
        fake
    };
    let (blocks, ending, _) = until_the_limit(&arms(), &limited(1, 60), &mut failing());
    assert_eq!((blocks, ending.reason), (0, EndReason::TimeUp));
    assert_eq!(ending.sentence, "one run of stacked takes longer than the time allowed (60s)");
    let longer = limited(1, 61);
    let failed = run_experiment(&arms(), &longer, &mut Counted(9), &mut failing(), &mut Unobserved);
    assert!(matches!(failed, Err(ExecutionError::Timeout { .. })), "the user's own --timeout");
}

#[test]
fn cycles_of_switching_smt_are_limited_too() {
    // Six cycles of eight runs, and three in each after a change of SMT: 66 seconds.
    let six = |seconds| BlockSchedule { fewest: FEWEST_CYCLES, ..limited(1, seconds) };
    let arms = switched_arms();
    let (blocks, ending, took) = until_the_limit(&arms, &six(65), &mut Fake::default());
    assert_eq!((blocks, ending.reason, took), (0, EndReason::TimeUp, 2));
    assert!(ending.sentence.ends_with("are 66 runs and take about 66s"), "{}", ending.sentence);
    let (blocks, _, took) = until_the_limit(&arms, &six(66), &mut Fake::default());
    assert_eq!((blocks, took), (6, 66));
}

#[test]
fn an_interruption_keeps_finished_blocks_and_drops_the_unfinished_one() {
    let mut fake = Fake::default();
    fake.failure.insert(10, || ExecutionError::Interrupted);
    let done =
        run_experiment(&arms(), &schedule(1), &mut until(None, 100), &mut fake, &mut Unobserved)
            .unwrap();
    assert_eq!((done.blocks, done.ending.reason), (2, EndReason::Interrupted));
    assert_eq!(done.samples.len(), 8);
    assert!(done.failure.is_none());
}

#[test]
fn blocks_that_go_on_are_those_that_would_have_followed() {
    const BLOCKS: u32 = 9;
    let a_block = arms().len();
    let order = |outcome: &ExperimentOutcome| {
        let place = |sample: &Sample| (sample.block, sample.position, sample.arm.clone());
        outcome.samples.iter().map(place).collect::<Vec<_>>()
    };
    let run = |finished: &[Sample], mut stopping: After| {
        let (mut fake, finished) = (Fake::default(), finished.to_vec());
        let done = resume_experiment(
            &arms(),
            &schedule(1),
            finished,
            &mut stopping,
            &mut fake,
            &mut Unobserved,
        );
        (done.unwrap(), fake.ran.len())
    };
    let (whole, _) = run(&[], until(None, BLOCKS));
    for first in 0..=BLOCKS as usize {
        let (done, ran) = run(&whole.samples[..first * a_block], until(None, BLOCKS));
        assert_eq!((order(&done), done.blocks), (order(&whole), BLOCKS), "after {first} blocks");
        assert_eq!(ran, (BLOCKS as usize - first) * a_block);
    }
    // The analysis after the last finished block, which the process that ended did not come to.
    let (done, ran) = run(&whole.samples[..4 * a_block], until(Some(4), BLOCKS));
    assert_eq!((done.ending.reason, done.blocks, ran), (EndReason::TargetReached, 4, 0));
}

#[test]
fn a_failure_keeps_finished_blocks_and_is_reported() {
    let mut fake = Fake::default();
    fake.failure.insert(5, || ExecutionError::NotFound("gone".into()));
    let done =
        run_experiment(&arms(), &schedule(1), &mut until(None, 100), &mut fake, &mut Unobserved)
            .unwrap();
    assert_eq!((done.blocks, done.ending.reason), (1, EndReason::Failed));
    assert!(matches!(done.failure, Some(ExecutionError::NotFound(_))));
}

#[test]
fn trouble_in_the_first_block_leaves_nothing_to_report() {
    let mut fake = Fake::default();
    fake.failure.insert(1, || ExecutionError::Interrupted);
    let error =
        run_experiment(&arms(), &schedule(1), &mut until(None, 100), &mut fake, &mut Unobserved)
            .unwrap_err();
    assert!(matches!(error, ExecutionError::Interrupted));
}

/// `free` and `spread` with SMT on and off, each with its twin.
fn switched_arms() -> Vec<Arm> {
    let base = arms();
    let mut all = Vec::new();
    for (state, suffix) in [(SmtState::On, ""), (SmtState::Off, "/smt-off")] {
        for arm in [&base[1], &base[3]] {
            let id = format!("{}{suffix}", arm.id);
            let twin = Arm {
                id: format!("{id}.aa"),
                twin_of: Some(id.clone()),
                smt: Some(state),
                ..arm.clone()
            };
            all.push(Arm { id, smt: Some(state), ..arm.clone() });
            all.push(twin);
        }
    }
    all
}

#[test]
fn a_cycle_is_on_off_off_on_with_twins_in_the_second_period_of_a_state() {
    let mut fake = Fake::default();
    let arms = switched_arms();
    let mut stopping = Counted(20);
    let done =
        run_experiment(&arms, &schedule(1), &mut stopping, &mut fake, &mut Unobserved).unwrap();
    let mut firsts = std::collections::BTreeSet::new();
    for cycle in fake.ran.chunks(arms.len()) {
        let periods: Vec<(bool, bool)> =
            cycle.iter().map(|id| (id.contains("/smt-off"), id.ends_with(".aa"))).collect();
        let expected = [(false, false), (true, false), (true, true), (false, true)];
        assert_eq!(periods, expected.map(|period| [period; 2]).concat());
        let mut sorted = cycle.to_vec();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), arms.len(), "{cycle:?}");
        firsts.insert(cycle[0].clone());
    }
    assert_eq!(firsts.len(), 2, "the order within a period is random");
    assert_eq!(done.samples.len(), 20 * arms.len());
}

#[test]
fn what_runs_first_after_a_switch_is_not_counted() {
    let mut fake = Fake::default();
    let one = BlockSchedule { warmup: 1, ..schedule(1) };
    let arms = switched_arms();
    let done = run_experiment(&arms, &one, &mut Counted(1), &mut fake, &mut Unobserved).unwrap();
    // Three changes of state (none, on, off, on) cost a run each: off goes on into off.
    assert_eq!(fake.ran.len(), arms.len() + 3);
    assert_eq!(done.samples.len(), arms.len());
    assert_eq!(fake.ran[0], fake.ran[1], "the arm that comes first warms up");
}

/// Runs so many blocks and never analyses.
struct Counted(u32);

impl Stopping for Counted {
    fn maximum(&self) -> u32 {
        self.0
    }

    fn analyse(&mut self, _: u32, _: &[Sample]) -> Option<String> {
        None
    }
}
