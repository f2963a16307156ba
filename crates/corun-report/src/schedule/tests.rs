use corun_record::Schedule;
use corun_sched::policy::PolicyEntry;
use corun_sched::{Costs, RunInterval, Scheduled, Settings, Slowdowns, Topology, load, schedule};

use super::*;

fn settings() -> Settings {
    Settings {
        topology: Topology::parse("1x2x2").unwrap(),
        slowdowns: Slowdowns::uniform("1.6".parse().unwrap()),
        costs: Costs { switch: 1_500, ..Costs::default() },
        seed: 1,
        until: None,
    }
}

fn of(loads: &[&str], policies: &[&str]) -> (Schedule, Vec<RunInterval>) {
    of_settings(loads, policies, settings())
}

fn of_settings(
    loads: &[&str],
    policies: &[&str],
    settings: Settings,
) -> (Schedule, Vec<RunInterval>) {
    let mut intervals = Vec::new();
    let mut runs = Vec::new();
    for text in loads {
        let load = load::find(text, |path| std::fs::read_to_string(path)).unwrap();
        for name in policies {
            let policy = PolicyEntry::find(name).unwrap();
            let outcome = schedule(&policy, &load, &settings, &mut intervals).unwrap();
            let topology = policy.topology(&settings.topology);
            let of =
                Scheduled { policy: policy.title(), load: &load, topology: &topology, seed: 1 };
            runs.push(outcome.record(&of));
        }
    }
    let schedule = corun_record::Schedule {
        siblings: "each takes 1.6 times as long beside a sibling".to_owned(),
        runs,
        ..super::new_schedule("test".to_owned(), &settings)
    };
    (schedule, intervals)
}

#[test]
fn policies_stand_beside_each_other_for_each_load() {
    let loads = ["batch:jobs=3,work=1s", "tbench:clients=2,requests=50"];
    let (schedule, _) = of(&loads, &["cfs", "pinned", "smt-off"]);
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
fn nothing_is_compared_with_nothing() {
    let settings = Settings { until: Some(1_000_000), ..settings() };
    let (schedule, _) = of_settings(&["batch:jobs=3,work=1s"], &["cfs", "pinned"], settings);
    let text = schedule_to_terminal(&schedule, 120);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    let pinned = text.lines().find(|line| line.trim_start().starts_with("pinned")).unwrap();
    let cells: Vec<&str> = pinned.split_whitespace().collect();
    assert!(cells.contains(&"-"), "{text}");
    assert!(text.contains("*: not all was done"), "{text}");
}

#[test]
fn a_picture_has_a_line_a_cpu_and_a_bar_a_stretch() {
    let (_, intervals) = of(&["batch:jobs=3,work=1s"], &["cfs"]);
    let settings = settings();
    let load = load::find("batch:jobs=3,work=1s", |path| std::fs::read_to_string(path)).unwrap();
    let mut chart = Chart {
        title: "cfs".to_owned(),
        topology: &settings.topology,
        load: &load,
        intervals: &intervals,
        makespan: 1_600_000_000,
    };
    let picture = gantt(&[chart.clone()]);
    assert_eq!(picture.matches("CPU ").count(), 4);
    assert_eq!(picture.matches("hsl(").count(), intervals.len());
    // Ten thousand slices of a CPU are no more than its pixels.
    let slice = |number: u64| RunInterval {
        begin: number * 100,
        end: number * 100 + 100,
        task: number % 2,
        ..intervals[0]
    };
    let many: Vec<RunInterval> = (0..10_000).map(slice).collect();
    (chart.intervals, chart.makespan) = (&many, 1_000_000);
    assert!(gantt(&[chart]).matches("hsl(").count() <= 1_000);
}
