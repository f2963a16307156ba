//! A bench as one table: a row for each arm of each workload, and what follows from it.

use std::collections::BTreeMap;

use corun_record::{Arm, Bench, Metric, Mode, Observation, Run};

use super::ends;
use crate::figures::{interval, percent, ratio, seconds};
use crate::prose::{self, plural};
use crate::tables::{RateScale, Table};
use crate::terminal::{grid, wrap};

/// The bench as text for a terminal of this many columns.
pub fn bench_to_terminal(bench: &Bench, columns: u16) -> String {
    let mut text = String::new();
    if let Some(run) = bench.runs.first() {
        text.push_str(&format!("{}\n\n{}\n", prose::machine(&run.machine), rows(bench, columns)));
    }
    let shares: Vec<String> = bench.runs.iter().flat_map(shares).collect();
    if !shares.is_empty() {
        text.push('\n');
    }
    for line in shares {
        text.push_str(&wrap(&line, "", columns));
    }
    text.push_str(&ends(bench, columns));
    let caveats = caveats(bench);
    if !caveats.is_empty() {
        text.push_str("\nWhat limits trust:\n");
    }
    for line in caveats {
        text.push_str(&wrap(&format!("- {line}"), "  ", columns));
    }
    let runs: usize = bench.runs.iter().map(|run| run.samples.len()).sum();
    let course = format!(
        "{}, {runs} runs in {}; `corun bench show NAME` says what each does.",
        plural(bench.runs.len(), "workload"),
        seconds(bench.elapsed_s)
    );
    text.push('\n');
    text.push_str(&wrap(&course, "", columns));
    text
}

fn rows(bench: &Bench, columns: u16) -> String {
    let names = ["workload", "arm", "workers", "one operation", "rate", "", "compared"];
    let rows = bench.runs.iter().flat_map(|run| {
        let arms = run.arms.iter().filter(|arm| arm.twin_of.is_none());
        arms.enumerate().map(move |(index, arm)| row(run, arm, index == 0))
    });
    let table = Table { header: names.map(str::to_owned).to_vec(), rows: rows.collect() };
    grid(&table, columns)
}

fn row(run: &Run, arm: &Arm, is_first: bool) -> Vec<String> {
    let throughput = run.observation(Metric::Throughput, &arm.id);
    let scale = RateScale::of(run);
    let workers = match run.workload.mode {
        Mode::WorkersTotal => 1.0,
        Mode::Copies | Mode::WorkersPerWorker => f64::from(arm.workers),
    };
    let text = |form: &dyn Fn(&Observation) -> String| throughput.map_or("-".to_owned(), form);
    vec![
        if is_first { run.workload.name.clone() } else { String::new() },
        arm.id.clone(),
        arm.workers.to_string(),
        text(&|seen| seconds(workers / seen.estimate.value)),
        text(&|seen| format!("{} {}", scale.show(seen.estimate.value), scale.unit)),
        text(&|seen| format!("± {}", percent(seen.estimate.half_width()))),
        compared(run, arm).map_or_else(String::new, |seen| {
            format!(
                "{} {} ({})",
                seen.metric.name(),
                ratio(&seen.estimate),
                interval(&seen.estimate)
            )
        }),
    ]
}

/// What the arm is best compared by.
fn compared<'a>(run: &'a Run, arm: &Arm) -> Option<&'a Observation> {
    let judged = |seen: &&Observation| {
        run.verdicts.iter().any(|it| it.metric == seen.metric && it.arm == seen.arm)
    };
    let of_arm = || run.observations.iter().filter(|seen| seen.arm == arm.id);
    let own = of_arm().find(|seen| seen.metric == Metric::LeastShare);
    own.or_else(|| of_arm().find(judged))
        .or_else(|| of_arm().find(|seen| seen.metric == Metric::RelativeThroughput))
}

/// How the work was shared among workers that were counted over one window.
fn shares(run: &Run) -> Vec<String> {
    let counted =
        run.arms.iter().filter(|arm| run.observation(Metric::LeastShare, &arm.id).is_some());
    counted
        .map(|arm| {
            let shares: Vec<String> =
                mean_shares(run, &arm.id).iter().map(|share| percent(*share)).collect();
            let workers = arm.workers;
            format!(
                "{} {}: from the least to the most, the {workers} workers did {} of the work (an equal share is {}).",
                run.workload.name,
                arm.id,
                shares.join(", "),
                percent(1.0 / f64::from(workers))
            )
        })
        .collect()
}

/// The share of the slowest worker, of the next, and so on: means over the samples of an arm.
fn mean_shares(run: &Run, arm: &str) -> Vec<f64> {
    let samples: Vec<_> = run.samples.iter().filter(|sample| sample.arm == arm).collect();
    let mut sums: Vec<f64> = Vec::new();
    for sample in &samples {
        let mut rates: Vec<f64> =
            sample.workers.iter().map(|it| f64::from(it.runs) / it.seconds).collect();
        rates.sort_by(f64::total_cmp);
        let total: f64 = rates.iter().sum();
        sums.resize(rates.len(), 0.0);
        sums.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate / total);
    }
    sums.iter().map(|sum| sum / samples.len() as f64).collect()
}

/// The caveats of all runs, one line a kind: the first sentence of it, and of which others
/// something like it is true.
fn caveats(bench: &Bench) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for run in &bench.runs {
        for caveat in &run.caveats {
            let seen = (run.workload.name.as_str(), caveat.sentence.as_str());
            kinds.entry(&caveat.kind).or_default().push(seen);
        }
    }
    let line = |seen: Vec<(&str, &str)>| {
        let (workload, sentence) = seen[0];
        let others: Vec<&str> = seen[1..].iter().map(|it| it.0).collect();
        match seen.iter().all(|it| it.1 == sentence) && seen.len() == bench.runs.len() {
            true => sentence.to_owned(),
            false if others.is_empty() => format!("{workload}: {sentence}"),
            false => format!("{workload}: {sentence} Likewise: {}.", others.join(", ")),
        }
    };
    kinds.into_values().map(line).collect()
}
