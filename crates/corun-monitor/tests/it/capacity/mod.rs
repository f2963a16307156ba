//! Curves under a fake executor whose truth is known: does the stated range at 50 % hold it as often as it says?

use std::collections::BTreeMap;
use std::time::Duration;

use corun_measure::cores::Core;
use corun_measure::execution::ExecutionError;
use corun_measure::experiment::{ArmOutcome, BlockSchedule, Executor, Unobserved, run_experiment};
use corun_monitor::{AtHalf, CurveDesign, PredictedMachine, curve_of, predicted_curve, yields_of};
use corun_record::{
    Arm, Document, EndReason, Estimate, Evidence, FillingCurve, Metric, Observation, Prediction,
    Source, YieldSource,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Experiments of each truth.
const EXPERIMENTS: u32 = 2_000;

fn cores(count: u32, width: u32) -> Vec<Core> {
    let core = |core| {
        let cpus: Vec<u32> = (0..width).map(|it| core + it * count).collect();
        Core { online_siblings: cpus.clone(), cpus, core_type: None, numa_node: None }
    };
    (0..count).map(core).collect()
}

/// A machine whose second siblings add `adds`, and where each core that is busy slows all by `slows`.
#[derive(Debug, Clone, Copy)]
struct Truth {
    adds: f64,
    slows: f64,
    /// The deviation of a run, and the drift from one block to the next, on the log scale.
    noise: f64,
    drift: f64,
}

impl Truth {
    fn work(self, cores: u32, workers: u32) -> f64 {
        let [cores, workers] = [cores, workers].map(f64::from);
        (cores + self.adds * (workers - cores)) * (1.0 - self.slows * (cores - 1.0))
    }
}

struct Fake {
    truth: Truth,
    random: ChaCha8Rng,
    runs: u32,
}

impl Executor for Fake {
    fn run(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError> {
        self.runs += 1;
        let normal = (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0;
        let noise = normal * self.truth.noise + self.truth.drift * f64::from(self.runs);
        Ok(ArmOutcome {
            makespan: Duration::from_secs(1),
            throughput: self.truth.work(arm.cores, arm.workers) * noise.exp(),
            rates: BTreeMap::new(),
            latencies: BTreeMap::new(),
            workers: Vec::new(),
            evidence: Evidence { user_s: f64::from(arm.workers), ..Evidence::default() },
        })
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.runs.into())
    }
}

/// The share of experiments whose range at 50 % holds what cores first and siblings first really use, and the share that
/// ended before the last block.
fn coverage(truth: Truth) -> [f64; 2] {
    let design = CurveDesign::new(cores(2, 2));
    let full = truth.work(2, 4);
    let expected = [truth.work(2, 2), truth.work(1, 2)].map(|it| it / full);
    let (mut held, mut early) = (0, 0);
    for seed in 0..EXPERIMENTS {
        let schedule = BlockSchedule {
            seed: seed.into(),
            warmup: 0,
            fewest: 2,
            share: Duration::MAX,
            max_time: Duration::MAX,
        };
        let random = ChaCha8Rng::seed_from_u64(u64::from(seed) << 32);
        let mut fake = Fake { truth, random, runs: 0 };
        let mut stopping = AtHalf::new(&design, None, 0.02);
        let outcome =
            run_experiment(design.arms(), &schedule, &mut stopping, &mut fake, &mut Unobserved);
        let outcome = outcome.expect("nothing fails");
        let level = stopping.level_after(outcome.blocks);
        let curve = curve_of(&design, &outcome.samples, level);
        let [low, high] = curve.levels[4].range();
        held += u32::from(expected.iter().all(|it| low <= *it && *it <= high));
        early += u32::from(outcome.ending.reason == EndReason::TargetReached);
    }
    [held, early].map(|it| f64::from(it) / f64::from(EXPERIMENTS))
}

#[test]
fn the_range_at_half_holds_the_truth() {
    for truth in [
        Truth { adds: 0.25, slows: 0.05, noise: 0.03, drift: 0.0 },
        Truth { adds: 0.25, slows: 0.05, noise: 0.03, drift: 0.002 },
        // Siblings add as much as cores, so that both ends are one.
        Truth { adds: 1.0, slows: 0.0, noise: 0.03, drift: 0.0 },
        Truth { adds: -0.1, slows: 0.0, noise: 0.03, drift: 0.0 },
    ] {
        let [held, early] = coverage(truth);
        let chance = 4.0 * (0.95 * 0.05 / f64::from(EXPERIMENTS)).sqrt();
        assert!(held >= 0.95 - chance, "{truth:?}: {held}");
        assert!(held <= 0.999 || truth.adds == 1.0, "{truth:?}: {held}, so ranges are too wide");
        assert!(early > 0.9, "{truth:?}: {early}");
    }
}

#[test]
fn a_predicted_yield_gives_the_curve_of_as_many_cores() {
    let path =
        corun_testing::repository().join("crates/corun-page/tests/documents/prediction.json");
    let text = std::fs::read_to_string(path).expect("a document of the page's tests");
    let mut prediction = Prediction::from_json(&text).expect("a prediction");
    let is_yield =
        |it: &&mut Observation| it.metric == Metric::SmtYield && it.source == Source::Predicted;
    let seen = prediction.observations.iter_mut().find(is_yield).expect("a yield");
    let uncertain = seen.estimate;
    let smt_yield = Estimate { value: 1.4, low: 1.3, high: 1.5, ..uncertain };
    seen.estimate = smt_yield;
    let machine = PredictedMachine { cores: 4, smt_width: 2 };
    let curve = predicted_curve(&prediction, machine);
    let half = &curve.body.levels[4];
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(near(half.cores_first.value, 1.0 / smt_yield.value), "{half:?}");
    assert!(near(half.cores_first.low, 1.0 / smt_yield.high), "{half:?}");
    assert!(near(half.siblings_first.low, 0.5) && near(half.siblings_first.high, 0.5), "{half:?}");
    let is_ascending =
        |order: &FillingCurve| order.points.is_sorted_by(|a, b| a.used.value < b.used.value);
    assert!(curve.body.orders.iter().all(is_ascending), "{:?}", curve.body.orders);
    let yields = yields_of(&curve).expect("a yield");
    assert_eq!((yields.low, yields.high), (smt_yield.low, smt_yield.high));
    assert_eq!(yields.source, YieldSource::Predicted);
    assert_eq!(curve.caveats[0].kind, "predicted");
    let mut withheld = prediction.clone();
    let seen = withheld.observations.iter_mut().find(is_yield).expect("a yield");
    seen.estimate = Estimate { low: 0.2, high: 127.0, ..uncertain };
    assert_eq!(yields_of(&predicted_curve(&withheld, machine)), None, "orders of magnitude");
    prediction.not_predicted = Some("It waits for a disk.".to_owned());
    let without = predicted_curve(&prediction, machine);
    assert_eq!((without.body.answer.as_ref(), yields_of(&without)), (None, None));
    assert!(without.body.orders.is_empty() && without.body.levels.is_empty());
}
