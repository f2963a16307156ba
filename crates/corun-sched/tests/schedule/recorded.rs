//! The scheduler model against what a kernel did: N jobs of 5 s on M CPUs, for N from 1 to 3 M.
//!
//! `recorded/*.csv` has the columns of `corun audit --only jobs --csv FILE`, one file for each machine;
//! `recorded/README.md` says how they were recorded, and how to record again.

use std::collections::BTreeMap;

use corun_sched::Settings;

use crate::{load, run, settings};

const SEEDS: u64 = 24;
/// Limit of the model's error, as a share of the kernel's figure.
const OFF: f64 = 0.03;
/// Rounds that each recorded mean is of.
const ROUNDS: f64 = 2.0;
/// A figure of a record, and its name.
type Figure = (&'static str, fn(&Figures) -> f64);
const FIGURES: [Figure; 4] = [
    ("makespan", |it| it.makespan),
    ("least share", |it| it.least),
    ("mean share", |it| it.mean),
    ("greatest share", |it| it.greatest),
];

/// Recorded figures of so many jobs.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    makespan: f64,
    least: f64,
    mean: f64,
    greatest: f64,
}

fn recorded(text: &str) -> BTreeMap<u32, Figures> {
    let mut rows: BTreeMap<u32, Figures> = BTreeMap::new();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.unwrap();
        let Some(jobs) = row["arm"].strip_prefix("free@") else { continue };
        let figures = rows.entry(jobs.parse().unwrap()).or_default();
        let value: f64 = row["value"].parse().unwrap();
        match row["figure"].as_str() {
            "until the last job has ended" => figures.makespan = value,
            "of a CPU for the job that got least" => figures.least = value,
            "of a CPU for each job" => figures.mean = value,
            "of a CPU for the job that got most" => figures.greatest = value,
            other => panic!("{other}"),
        }
    }
    rows
}

/// Figures of the model for one seed.
fn simulated(policy: &str, topology: &str, jobs: u32, seed: u64) -> Figures {
    let load = load(&format!("batch:jobs={jobs},work=5s"));
    let (outcome, intervals) = run(policy, &load, &Settings { seed, ..settings(topology, "1") });
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for interval in &intervals {
        let end = ends.entry(interval.task).or_default();
        *end = interval.end.max(*end);
    }
    let shares = || ends.values().map(|&end| 5e9 / end as f64);
    Figures {
        makespan: outcome.makespan as f64 / 1e9,
        least: shares().fold(1.0, f64::min),
        mean: shares().sum::<f64>() / f64::from(jobs),
        greatest: shares().fold(0.0, f64::max),
    }
}

/// The mean over seeds, and twice the standard error of its difference from a mean over [`ROUNDS`].
fn mean_and_error(of_seeds: &[f64]) -> (f64, f64) {
    let count = of_seeds.len() as f64;
    let mean = of_seeds.iter().sum::<f64>() / count;
    let variance = of_seeds.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, 2.0 * (variance / ROUNDS + variance / count).sqrt())
}

/// Compares the model with the record: their means may differ by [`OFF`] and twice the standard error of the difference.
fn compare(policy: &str, topology: &str, text: &str) {
    let (mut wrong, mut beyond, mut count) = (Vec::new(), Vec::new(), 0);
    for (jobs, kernel) in recorded(text) {
        let seeds: Vec<Figures> =
            (0..SEEDS).map(|seed| simulated(policy, topology, jobs, seed)).collect();
        for (what, of) in FIGURES {
            let (model, error) = mean_and_error(&seeds.iter().map(of).collect::<Vec<_>>());
            let (off, kernel) = ((model - of(&kernel)).abs(), of(&kernel));
            let row = format!(
                "{jobs} jobs: {what} {model:.3}, recorded {kernel:.3} ({:+.3}; two standard errors {:.3})",
                model / kernel - 1.0,
                error / kernel
            );
            println!("{policy} {topology} {row}");
            count += 1;
            if off > OFF * kernel {
                beyond.push(row.clone());
            }
            if off > OFF * kernel + error {
                wrong.push(row);
            }
        }
    }
    println!(
        "{policy} {topology}: {} of {count} figures more than 3 % off: {beyond:#?}",
        beyond.len()
    );
    assert!(wrong.is_empty(), "{policy} on {topology}:\n{}", wrong.join("\n"));
}

#[test]
fn linux_6_1_on_two_cpus() {
    compare("cfs", "1x2x1", include_str!("recorded/linux-6.1.192-1x2x1.csv"));
}

#[test]
fn linux_6_1_on_two_siblings() {
    compare("cfs", "1x1x2", include_str!("recorded/linux-6.1.192-1x1x2.csv"));
}

#[test]
fn linux_6_1_on_four_cpus() {
    compare("cfs", "1x4x1", include_str!("recorded/linux-6.1.192-1x4x1.csv"));
}

#[test]
fn linux_6_1_on_two_cores_with_siblings() {
    compare("cfs", "1x2x2", include_str!("recorded/linux-6.1.192-1x2x2.csv"));
}
