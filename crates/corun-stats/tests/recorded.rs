//! Are equal runs of a real machine rarely called changed?
//!
//! `recorded/equal-runs.csv` holds runs of built-in workloads that nothing was changed between, one after another on a
//! virtual machine that others used at the same time; `scripts/record-equal-runs` made it.

mod simulation;

use std::collections::BTreeMap;

use corun_stats::{
    BetweenRuns, Bounds, ForeignLoad, RunValue, Verdict, judge, since_last_change, unpaired,
};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use simulation::tally::{check, seed};

#[derive(Debug, Clone)]
struct RecordedRun {
    value: RunValue,
    noise_floor: f64,
    load: ForeignLoad,
}

/// The runs of each arm of each workload, in their order.
fn recorded() -> BTreeMap<String, Vec<RecordedRun>> {
    let mut series: BTreeMap<String, Vec<RecordedRun>> = BTreeMap::new();
    for line in include_str!("recorded/equal-runs.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [workload, arm, _, value, low, high, level, blocks, floor, waits] = fields[..] else {
            panic!("{line}")
        };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let limits = [number(low), number(high)];
        let blocks = blocks.parse().expect("a count");
        let value = RunValue::of_interval(number(value), limits, number(level), blocks);
        let value = value.expect("a positive value");
        let waits = waits.split(' ').map(|wait| [Some(number(wait)), None]);
        let load = ForeignLoad::new(waits.collect());
        let run = RecordedRun { value, noise_floor: number(floor).ln_1p(), load };
        series.entry(format!("{workload} {arm}")).or_default().push(run);
    }
    series
}

/// As `corun compare` judges two runs of one arm.
fn is_called_changed(history: &[&RecordedRun], [base, other]: [&RecordedRun; 2]) -> bool {
    let history: Vec<RunValue> = history.iter().map(|run| run.value).collect();
    let between = BetweenRuns::of_history(&[since_last_change(&history).to_vec()]);
    let estimate = unpaired(&base.value, &other.value, &between, 0.95).expect("an estimate");
    let allowance = (base.load.allowance() - other.load.allowance()).abs();
    let noise_floor = base.noise_floor.max(other.noise_floor);
    let verdict = judge(&estimate.allowing(allowance), Bounds { practical: 0.0, noise_floor });
    let load_decides = base.load.decides() || other.load.decides();
    !load_decides && matches!(verdict, Verdict::Helps | Verdict::Hurts)
}

/// Every pair of runs, with earlier ones drawn from the rest.
#[test]
fn equal_runs_of_a_real_machine_are_rarely_called_changed() {
    let mut random = ChaCha8Rng::seed_from_u64(seed());
    for earlier in [0, 3, 10] {
        let (mut called, mut all) = (0_u32, 0_u32);
        for (name, runs) in recorded() {
            let mut own = (0_u32, 0_u32);
            for one in 0..runs.len() {
                for other in 0..runs.len() {
                    if one == other {
                        continue;
                    }
                    let rest = (0..runs.len()).filter(|it| ![one, other].contains(it));
                    let mut rest: Vec<usize> = rest.collect();
                    rest.shuffle(&mut random);
                    // They are judged in the order of time.
                    rest[..earlier].sort_unstable();
                    let history: Vec<&RecordedRun> =
                        rest[..earlier].iter().map(|&index| &runs[index]).collect();
                    own.0 += u32::from(is_called_changed(&history, [&runs[one], &runs[other]]));
                    own.1 += 1;
                }
            }
            eprintln!("{name}, {earlier} earlier runs: {} of {}", own.0, own.1);
            (called, all) = (called + own.0, all + own.1);
        }
        assert!(all >= 2_000, "{all}");
        let share = f64::from(called) / f64::from(all);
        check(&format!("recorded, {earlier} earlier runs"), share, 0.0..=0.05).unwrap();
    }
}

/// Why two runs are not compared by their blocks alone.
#[test]
fn equal_runs_differ_by_more_than_their_blocks_explain() {
    let (mut more, mut all) = (0, 0);
    for (name, runs) in recorded() {
        let mean = runs.iter().map(|run| run.value.log).sum::<f64>() / runs.len() as f64;
        let squares: f64 = runs.iter().map(|run| (run.value.log - mean).powi(2)).sum();
        let between = (squares / (runs.len() - 1) as f64).sqrt();
        let within: f64 = runs.iter().map(|run| run.value.standard_error.powi(2)).sum();
        let within = (within / runs.len() as f64).sqrt();
        eprintln!(
            "{name}: {} runs deviate by {:.1} %, their blocks explain {:.1} %",
            runs.len(),
            between * 100.0,
            within * 100.0
        );
        more += u32::from(between > within);
        all += 1;
    }
    assert!(more * 3 >= all * 2, "{more} of {all}");
}
