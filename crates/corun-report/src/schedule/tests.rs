use corun_record::{ScheduledCost, ScheduledInterval, ScheduledMachine, ScheduledTimeline};
use serde_json::json;

use super::*;

/// A run of one load under one policy, with a half of it left undone if it is not finished.
fn run(load: &str, policy: &str, makespan_s: f64, throughput: f64) -> ScheduledRun {
    serde_json::from_value(json!({
        "policy": policy, "load": load, "seed": 1, "finished": throughput > 0.0,
        "makespan_s": makespan_s, "operation": "", "operations": 3, "throughput": throughput,
        "utilization": 0.75, "fairness": 1.0, "cpu_share": 0.5, "tasks": 3, "switches": 7,
        "migrations": { "same_core": 1, "same_cache": 2, "elsewhere": 0 }, "longest_wait_s": 0.5,
        "wake_up": null, "latency": null, "cpus": [], "cores": []
    }))
    .expect("a run")
}

fn of(runs: Vec<ScheduledRun>) -> Schedule {
    Schedule {
        simulated_machine: ScheduledMachine {
            title: "test: 1 package, 2 cores, 4 logical CPUs".to_owned(),
            packages: 1,
            cores: 2,
            logical_cpus: 4,
            smt_width: 2,
        },
        siblings: "each takes 1.6 times as long beside a sibling".to_owned(),
        costs: vec![ScheduledCost { name: "switch".to_owned(), nanoseconds: 1_500 }],
        runs,
        timelines: Vec::new(),
    }
}

#[test]
fn policies_stand_beside_each_other_for_each_load() {
    let policies = ["cfs", "pinned", "smt-off"];
    let loads = ["batch:jobs=3,work=1s", "tbench:clients=2,requests=50"];
    let runs = loads.iter().flat_map(|load| policies.map(|policy| run(load, policy, 2.0, 1.5)));
    let schedule = of(runs.collect());
    let text = schedule_to_terminal(&schedule, 120);
    assert!(text.starts_with("test: 1 package, 2 cores, 4 logical CPUs; each takes 1.6 times"));
    assert!(text.contains("Costs: switch 1.50 µs."), "{text}");
    // Of each policy a line in the overview, and one for each load.
    for policy in ["cfs", "pinned", "smt-off"] {
        let begins = |line: &&str| line.trim_start().starts_with(policy);
        assert_eq!(text.lines().filter(begins).count(), 3, "{policy}:\n{text}");
    }
    let csv = schedule_to_csv(&schedule);
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.lines().all(|line| line.matches(',').count() >= 23), "{csv}");
}

#[test]
fn shares_are_listed_as_top_lists_them() {
    let of_shares = |shares: Vec<f64>| {
        let run = ScheduledRun { shares, ..run("batch:jobs=3,work=1s", "cfs", 2.0, 1.5) };
        schedule_to_terminal(&of(vec![run]), 120)
    };
    let text = of_shares(vec![0.7, 0.66, 0.64]);
    assert!(text.contains("\n  cfs: 70 %, 66 %, 64 %\n"), "{text}");
    assert!(!of_shares(vec![0.5; 17]).contains("Share of a CPU"), "too many to be read");
}

#[test]
fn nothing_is_compared_with_nothing() {
    let load = "batch:jobs=3,work=1s";
    let schedule = of(vec![run(load, "cfs", 0.001, 0.0), run(load, "pinned", 0.001, 0.0)]);
    let text = schedule_to_terminal(&schedule, 120);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    let pinned = text.lines().find(|line| line.trim_start().starts_with("pinned")).unwrap();
    let cells: Vec<&str> = pinned.split_whitespace().collect();
    assert!(cells.contains(&"-"), "{text}");
    assert!(text.contains("*: not all was done"), "{text}");
}

#[test]
fn a_shortened_timeline_has_no_more_intervals_than_pixels() {
    let interval = |slice: u64| ScheduledInterval {
        cpu: 0,
        task: slice % 2,
        program: 0,
        begin_ns: slice * 100,
        end_ns: slice * 100 + 100,
    };
    let timeline = ScheduledTimeline {
        load: "batch:jobs=3".to_owned(),
        policy: "cfs".to_owned(),
        cpus: vec![0],
        cores: vec![vec![0]],
        programs: vec!["job".to_owned()],
        intervals: (0..10_000).map(interval).collect(),
        makespan_ns: 1_000_000,
    };
    assert!(shortened_timeline(&timeline, 5_000).intervals.len() <= 1_000);
    assert_eq!(shortened_timeline(&timeline, 10_000), timeline);
}
