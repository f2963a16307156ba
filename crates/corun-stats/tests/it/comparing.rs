//! Are equal runs rarely called changed, and changed ones found?
//!
//! Each comparison is of two simulated runs with an A/A twin in each block, after a history of 0, 3 or 10 equal runs;
//! what a run shares (page colours, layout, clock) moves all of its samples. The tables of `docs/comparing.md` are what
//! `cargo test -p corun-stats --test it comparing -- --nocapture` prints.

use corun_stats::{
    BetweenRuns, Bounds, Estimate, RunValue, Verdict, change_points, judge, level_of_each,
    noise_floor, since_last_change, steady, unpaired,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};

use crate::simulation::tally::{check, seed, share};
use crate::simulation::{Drift, Machine, Noise};

/// Comparisons where the true share comes close to a limit.
const COMPARISONS: u64 = 10_000;
const FEW_COMPARISONS: u64 = 2_000;
const SERIES: u64 = 4_000;
/// Error rate of `corun compare --over-time`.
const ERROR_RATE: f64 = 0.04;
const BLOCKS: u32 = 10;
const HISTORIES: [usize; 3] = [0, 3, 10];

/// Shift of all samples of a run, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shift {
    /// Not at all.
    None,
    /// Normally, with this deviation.
    Normal(f64),
    /// By Student's t with three degrees of freedom, of this scale.
    HeavyTails(f64),
    /// Half of the runs by this much.
    TwoModes(f64),
    /// One run in ten by this much.
    RareMode(f64),
    /// Each run by a normal step of this deviation from the one before.
    Wander(f64),
}

impl Shift {
    fn of_next_run(self, level: &mut f64, random: &mut ChaCha8Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(random);
        match self {
            Self::None => 0.0,
            Self::Normal(deviation) => deviation * normal,
            Self::HeavyTails(scale) => {
                let heavy = StudentT::new(3.0).expect("3 is positive");
                scale * Distribution::<f64>::sample(&heavy, random)
            }
            Self::TwoModes(apart) => {
                if random.random_bool(0.5) {
                    apart
                } else {
                    0.0
                }
            }
            Self::RareMode(apart) => {
                if random.random_bool(0.1) {
                    apart
                } else {
                    0.0
                }
            }
            Self::Wander(step) => {
                *level += step * normal;
                *level
            }
        }
    }
}

/// A machine on which runs are made.
#[derive(Debug, Clone, Copy)]
struct Condition {
    noise: Noise,
    drift: Drift,
    shift: Shift,
}

const fn condition(noise: Noise, drift: Drift, shift: Shift) -> Condition {
    Condition { noise, drift, shift }
}

/// Shifts up to a deviation of 2 %.
const CONDITIONS: [Condition; 15] = [
    condition(Noise::Normal, Drift::Still, Shift::None),
    condition(Noise::Normal, Drift::Still, Shift::Normal(0.005)),
    condition(Noise::Normal, Drift::Still, Shift::Normal(0.01)),
    condition(Noise::Normal, Drift::Still, Shift::Normal(0.02)),
    condition(Noise::Normal, Drift::Still, Shift::HeavyTails(0.005)),
    condition(Noise::Normal, Drift::Still, Shift::HeavyTails(0.01)),
    condition(Noise::Normal, Drift::Still, Shift::TwoModes(0.01)),
    condition(Noise::Normal, Drift::Still, Shift::TwoModes(0.03)),
    condition(Noise::Normal, Drift::Still, Shift::RareMode(0.02)),
    condition(Noise::Normal, Drift::Still, Shift::Wander(0.003)),
    condition(Noise::Normal, Drift::Linear, Shift::Normal(0.01)),
    condition(Noise::Normal, Drift::RandomWalk, Shift::Normal(0.01)),
    condition(Noise::HeavyTails, Drift::Still, Shift::Normal(0.01)),
    condition(Noise::ClockPerRun, Drift::Still, Shift::Normal(0.01)),
    condition(Noise::Outliers, Drift::Still, Shift::Normal(0.01)),
];

/// A run of one arm: its value, and the largest effect that its identical arms can show by noise alone.
#[derive(Debug, Clone, Copy)]
struct SimulatedRun {
    value: RunValue,
    noise_floor: f64,
}

fn run(condition: Condition, log: f64, replication: u64) -> SimulatedRun {
    let mut machine = Machine::new(condition.noise, condition.drift, seed(), replication);
    let blocks: Vec<[f64; 2]> = (0..BLOCKS).map(|_| machine.block([log, log])).collect();
    let means: Vec<f64> = blocks.iter().map(|[own, twin]| (own + twin) / 2.0).collect();
    let twins: Vec<f64> = blocks.iter().map(|[own, twin]| own - twin).collect();
    SimulatedRun {
        value: stored(&steady(&means, 0.95, false).expect("finite values")),
        noise_floor: noise_floor(&twins).expect("finite values"),
    }
}

/// The estimate as a document gives it back.
fn stored(estimate: &Estimate) -> RunValue {
    let [value, low, high] = estimate.ratio();
    let found = RunValue::of_interval(value, [low, high], estimate.level, estimate.blocks);
    found.expect("a positive value")
}

/// Comparison of two runs after a history.
#[derive(Debug, Clone, Copy)]
struct Compared {
    verdict: Verdict,
    estimate: Estimate,
}

fn compared(history: &[SimulatedRun], pair: [SimulatedRun; 2], level: f64) -> Compared {
    judged(&between(history), pair, level)
}

fn between(history: &[SimulatedRun]) -> BetweenRuns {
    let history: Vec<RunValue> = history.iter().map(|run| run.value).collect();
    BetweenRuns::of_history(&[since_last_change(&history).to_vec()])
}

fn judged(between: &BetweenRuns, pair: [SimulatedRun; 2], level: f64) -> Compared {
    let estimate = unpaired(&pair[0].value, &pair[1].value, between, level).expect("an estimate");
    let noise_floor = pair[0].noise_floor.max(pair[1].noise_floor);
    let verdict = judge(&estimate, Bounds { practical: 0.0, noise_floor });
    Compared { verdict, estimate }
}

/// Equal runs: earlier ones, and two to compare.
fn runs(condition: Condition, earlier: usize, replication: u64) -> Vec<SimulatedRun> {
    let mut random = ChaCha8Rng::seed_from_u64(seed() ^ 1);
    random.set_stream(replication);
    let mut level = 0.0;
    (0..earlier + 2)
        .map(|index| {
            let shift = condition.shift.of_next_run(&mut level, &mut random);
            run(condition, shift, replication * 64 + index as u64)
        })
        .collect()
}

/// The earlier runs, and the last two.
fn split(runs: &[SimulatedRun]) -> (&[SimulatedRun], [SimulatedRun; 2]) {
    let (history, pair) = runs.split_last_chunk().expect("two runs");
    (history, *pair)
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Helps | Verdict::Hurts)
}

#[test]
fn equal_runs_are_rarely_called_changed() {
    assert_all(CONDITIONS.into_iter().flat_map(|condition| {
        HISTORIES.map(|earlier| {
            let claims = share(COMPARISONS, |replication| {
                let runs = runs(condition, earlier, replication);
                let (history, pair) = split(&runs);
                is_change(compared(history, pair, 0.95).verdict)
            });
            check(&format!("changed, {condition:?}, {earlier} earlier runs"), claims, 0.0..=0.055)
        })
    }));
}

/// Equal runs after a history in whose midst the program became slower.
#[test]
fn a_change_within_the_history_raises_no_false_alarms() {
    const EARLIER: u64 = 14;
    let claims = |deviation: f64, step: f64| {
        let machine = condition(Noise::Normal, Drift::Still, Shift::Normal(deviation));
        share(COMPARISONS, |replication| {
            let mut random = ChaCha8Rng::seed_from_u64(seed() ^ 5);
            random.set_stream(replication);
            let runs: Vec<SimulatedRun> = (0..EARLIER + 2)
                .map(|index| {
                    let level = if index < EARLIER / 2 { 0.0 } else { step };
                    let shift = machine.shift.of_next_run(&mut 0.0, &mut random);
                    run(machine, level + shift, replication * 64 + index)
                })
                .collect();
            let (earlier, pair) = runs.split_at(EARLIER as usize);
            is_change(compared(earlier, [pair[0], pair[1]], 0.95).verdict)
        })
    };
    let cells = [(0.01, 0.03), (0.01, 0.1), (0.02, 0.1), (0.02, 0.3)];
    assert_all(cells.map(|(deviation, step)| {
        let what = format!("changed, normal {deviation}, after a step of {step} in the history");
        check(&what, claims(deviation, step), 0.0..=0.055)
    }));
}

/// A history without a change is used whole, but for the share that the permutation test errs in; one with a large
/// change is cut there.
#[test]
fn a_history_is_cut_where_it_changed_alone() {
    let cut = |step: f64, replication: u64| {
        let mut logs = series(Shift::Normal(0.01), 20, replication);
        logs[10..].iter_mut().for_each(|log| *log += step);
        let runs: Vec<RunValue> =
            logs.into_iter().map(|log| RunValue { log, standard_error: 0.0, blocks: 10 }).collect();
        runs.len() - since_last_change(&runs).len()
    };
    assert_all([
        check("cut, no step", share(SERIES, |it| cut(0.0, it) > 0), 0.0..=0.065),
        check("cut, step of 10 %", share(FEW_COMPARISONS, |it| cut(0.1, it) >= 10), 0.99..=1.0),
    ]);
}

/// Without the variance between runs the checks above fail, so they can fail.
#[test]
fn the_interval_within_runs_alone_raises_false_alarms() {
    let machine = condition(Noise::Normal, Drift::Still, Shift::Normal(0.01));
    let claims = share(FEW_COMPARISONS, |replication| {
        let pair = [0, 1].map(|index| {
            let mut level = 0.0;
            let mut random = ChaCha8Rng::seed_from_u64(seed() ^ 2);
            random.set_stream(2 * replication + index);
            let shift = machine.shift.of_next_run(&mut level, &mut random);
            run(machine, shift, 2 * replication + index)
        });
        let estimate =
            unpaired(&pair[0].value, &pair[1].value, &BetweenRuns::none(), 0.95).unwrap();
        let noise_floor = pair[0].noise_floor.max(pair[1].noise_floor);
        is_change(judge(&estimate, Bounds { practical: 0.0, noise_floor }))
    });
    check("changed, blocks alone", claims, 0.0..=0.055).unwrap_err();
}

/// Several observations of the same two runs, which share what the runs share.
#[test]
fn several_observations_share_the_error_rate() {
    const OBSERVATIONS: u64 = 8;
    let level = level_of_each(0.95, OBSERVATIONS as usize);
    let condition = condition(Noise::Normal, Drift::Still, Shift::Normal(0.01));
    assert_all(HISTORIES.map(|earlier| {
        let claims = share(FEW_COMPARISONS, |replication| {
            let mut random = ChaCha8Rng::seed_from_u64(seed() ^ 3);
            random.set_stream(replication);
            let mut none = 0.0;
            let shifts: Vec<f64> = (0..earlier + 2)
                .map(|_| condition.shift.of_next_run(&mut none, &mut random))
                .collect();
            (0..OBSERVATIONS).any(|observation| {
                let runs: Vec<SimulatedRun> = (0..)
                    .zip(&shifts)
                    .map(|(index, &shift)| {
                        let stream = (replication * OBSERVATIONS + observation) * 64 + index;
                        run(condition, shift, stream)
                    })
                    .collect();
                let pair = [runs[earlier], runs[earlier + 1]];
                is_change(compared(&runs[..earlier], pair, level).verdict)
            })
        });
        check(&format!("any of 8 changed, {earlier} earlier runs"), claims, 0.0..=0.055)
    }));
}

/// What is found of true changes; no limit is promised but that 10 % is found with a history.
#[test]
fn true_changes_are_found() {
    const PERCENT: [u32; 3] = [2, 5, 10];
    for shift in [Shift::Normal(0.002), Shift::Normal(0.005), Shift::Normal(0.01)] {
        let condition = condition(Noise::Normal, Drift::Still, shift);
        for earlier in [0, 3, 10, 30] {
            // The same runs, of which the last is changed by more and more.
            let (mut any, mut beyond) = ([0_u32; 3], [0_u32; 3]);
            for replication in 0..FEW_COMPARISONS {
                let runs = runs(condition, earlier, replication);
                let (history, [base, other]) = split(&runs);
                let between = between(history);
                for (at, percent) in PERCENT.into_iter().enumerate() {
                    let log = other.value.log + (f64::from(percent) / 100.0).ln_1p();
                    let other = SimulatedRun { value: RunValue { log, ..other.value }, ..other };
                    let seen = judged(&between, [base, other], 0.95);
                    let is_shown = seen.verdict == Verdict::Helps;
                    any[at] += u32::from(is_shown);
                    beyond[at] += u32::from(is_shown && seen.estimate.low > 0.02_f64.ln_1p());
                }
            }
            for (at, percent) in PERCENT.into_iter().enumerate() {
                let of_all = |count: u32| 100.0 * f64::from(count) / FEW_COMPARISONS as f64;
                let (any, beyond) = (of_all(any[at]), of_all(beyond[at]));
                eprintln!(
                    "power, {shift:?}, {earlier} earlier runs, {percent} %: {any:.1} %, beyond 2 %: {beyond:.1} %"
                );
                assert!(percent < 10 || earlier < 10 || any > 90.0, "{any}");
            }
        }
    }
}

/// Series of equal runs, in which a change of level is rarely seen.
#[test]
fn series_of_equal_runs_rarely_have_a_change() {
    let shifts =
        [Shift::Normal(0.01), Shift::HeavyTails(0.01), Shift::TwoModes(0.03), Shift::RareMode(0.1)];
    assert_all(shifts.into_iter().flat_map(|shift| {
        [8, 30].map(|runs| {
            let marked = share(SERIES, |replication| {
                let logs = series(shift, runs, replication);
                !change_points(&logs, ERROR_RATE, replication).is_empty()
            });
            check(&format!("marked, {shift:?}, {runs} runs"), marked, 0.0..=0.055)
        })
    }));
}

#[test]
fn changes_of_a_series_are_marked_where_they_are() {
    for percent in [2, 5, 10] {
        for after in [15, 25] {
            let found = share(500, |replication| {
                let mut logs = series(Shift::Normal(0.01), 30, replication);
                logs[after..].iter_mut().for_each(|log| *log += f64::from(percent) / 100.0);
                let changes = change_points(&logs, ERROR_RATE, replication);
                changes.iter().any(|change| change.index.abs_diff(after) <= 2)
            });
            eprintln!(
                "marked, change of {percent} % after {after} of 30 runs: {:.1} %",
                found * 100.0
            );
            assert!(percent < 5 || found > 0.9, "{percent} % after {after}: {found}");
        }
    }
}

fn series(shift: Shift, runs: usize, replication: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed() ^ 4);
    random.set_stream(replication);
    let mut level = 0.0;
    (0..runs).map(|_| shift.of_next_run(&mut level, &mut random)).collect()
}

fn assert_all(checks: impl IntoIterator<Item = Result<(), String>>) {
    let failed: Vec<String> = checks.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
