//! The scheduler model against what a kernel did: N jobs of 5 s on M CPUs, for N from 1 to 3 M.
//!
//! `recorded/*.csv` has the columns of `corun audit --only jobs --csv FILE`, one file for each machine;
//! `recorded/README.md` says how they were recorded, and how to record anew.

use std::collections::BTreeMap;

use corun_sched::Settings;

use crate::{load, run, settings};

const SEEDS: u64 = 24;
/// How far the model may be off, as a share of the kernel's figure.
const OFF: f64 = 0.03;

/// What is recorded of so many jobs.
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

/// Means over seeds, as the record has means over rounds.
fn modelled(policy: &str, topology: &str, jobs: u32) -> Figures {
    let load = load(&format!("batch:jobs={jobs},work=5s"));
    let mut sums = Figures::default();
    for seed in 0..SEEDS {
        let (outcome, intervals) =
            run(policy, &load, &Settings { seed, ..settings(topology, "1") });
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        for interval in &intervals {
            let end = ends.entry(interval.task).or_default();
            *end = interval.end.max(*end);
        }
        let shares = || ends.values().map(|&end| 5e9 / end as f64);
        sums.makespan += outcome.makespan as f64 / 1e9;
        sums.least += shares().fold(1.0, f64::min);
        sums.mean += shares().sum::<f64>() / f64::from(jobs);
        sums.greatest += shares().fold(0.0, f64::max);
    }
    let mean = |sum: f64| sum / SEEDS as f64;
    Figures {
        makespan: mean(sums.makespan),
        least: mean(sums.least),
        mean: mean(sums.mean),
        greatest: mean(sums.greatest),
    }
}

fn compare(policy: &str, topology: &str, text: &str) {
    let mut wrong = Vec::new();
    for (jobs, kernel) in recorded(text) {
        let model = modelled(policy, topology, jobs);
        println!("{policy} {topology} {jobs}: kernel {kernel:.3?}, model {model:.3?}");
        for (what, kernel, model) in [
            ("makespan", kernel.makespan, model.makespan),
            ("least share", kernel.least, model.least),
            ("mean share", kernel.mean, model.mean),
            ("greatest share", kernel.greatest, model.greatest),
        ] {
            let off = model / kernel - 1.0;
            if off.abs() > OFF {
                wrong.push(format!(
                    "{jobs} jobs: {what} {model:.3}, recorded {kernel:.3} ({off:+.3})"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{policy} on {topology}:\n{}", wrong.join("\n"));
}

#[test]
fn linux_6_1_on_two_cpus() {
    compare("cfs", "1x2x1", include_str!("recorded/linux-6.1.192-1x2x1.csv"));
}
