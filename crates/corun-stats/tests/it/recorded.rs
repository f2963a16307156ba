//! Are equal runs of a real machine rarely called changed?
//!
//! `recorded/equal-runs.csv` holds runs of built-in workloads that nothing was changed between, one after another on a
//! virtual machine that others used at the same time; `scripts/record-equal-runs` made it.

use std::collections::BTreeMap;

use corun_stats::{
    BetweenRuns, Bounds, ForeignLoad, RunValue, Unsettled, Verdict, judge, since_last_change,
    unpaired,
};

use crate::simulation::tally::check;

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
fn judged(history: &[RecordedRun], [base, other]: [&RecordedRun; 2]) -> Verdict {
    if base.load.decides() || other.load.decides() {
        return Verdict::Inconclusive(Unsettled::ForeignLoad);
    }
    let history: Vec<RunValue> = history.iter().map(|run| run.value).collect();
    let between = BetweenRuns::of_history(&[since_last_change(&history).to_vec()]);
    let estimate = unpaired(&base.value, &other.value, &between, 0.95).expect("an estimate");
    let allowance = (base.load.allowance() - other.load.allowance()).abs();
    let noise_floor = base.noise_floor.max(other.noise_floor);
    judge(&estimate.allowing(allowance), Bounds { practical: 0.0, noise_floor })
}

/// Every pair of runs, either of which may be the base, after those that were made directly before the first of them.
#[test]
fn equal_runs_of_a_real_machine_are_rarely_called_changed() {
    for earlier in [0, 3, 10] {
        let (mut called, mut loaded, mut all) = (0_u32, 0_u32, 0_u32);
        for runs in recorded().into_values() {
            for one in earlier..runs.len() {
                for other in one + 1..runs.len() {
                    let history = &runs[one - earlier..one];
                    for pair in [[one, other], [other, one]] {
                        let verdict = judged(history, pair.map(|index| &runs[index]));
                        let load = Verdict::Inconclusive(Unsettled::ForeignLoad);
                        called += u32::from(matches!(verdict, Verdict::Helps | Verdict::Hurts));
                        loaded += u32::from(verdict == load);
                        all += 1;
                    }
                }
            }
        }
        let undisturbed = all - loaded;
        eprintln!(
            "recorded, {earlier} earlier runs: of {all} pairs {loaded} are inconclusive for load, {called} of the other \
             {undisturbed} are called changed"
        );
        assert!(all >= 2_000 && undisturbed >= 200, "{all}, {undisturbed}");
        // Load that hides a change is no answer that it is none.
        let share = f64::from(called) / f64::from(undisturbed);
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
