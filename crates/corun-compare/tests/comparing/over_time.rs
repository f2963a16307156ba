//! Runs of a workload in the order of time.

use corun_compare::{Named, TrendError, TrendRequest, trend};
use corun_record::{ChangeAnswer, Metric, Trend};
use serde_json::Value;

use crate::made_up::run;
use crate::{named, waiting, with_caveat};

fn request() -> TrendRequest {
    TrendRequest {
        workload: None,
        metrics: Vec::new(),
        arms: Vec::new(),
        error_rate: 0.05,
        practical: 0.02,
    }
}

/// Twenty runs that are slower from the thirteenth on, when another kernel was booted.
fn history() -> Vec<Named> {
    let document = |index: u32| -> Value {
        let shift = 1.0 + 0.002 * f64::from(index * 7 % 5);
        let level = if index < 12 { 10.0 } else { 9.4 };
        let mut document = run(index, [level * shift, 12.0 * shift]);
        if index >= 12 {
            document["machine"]["kernel"] = "6.2.0".into();
        }
        document
    };
    // Runs are given in any order.
    (0..20).rev().map(|index| named(&format!("run{index}"), &document(index))).collect()
}

fn found(runs: &[Named], request: &TrendRequest) -> Trend {
    trend(runs, request).unwrap_or_else(|error| panic!("{error}")).0
}

/// With `--prepare` that empties the caches a program takes longer, which is no change of the program.
#[test]
fn runs_that_were_prepared_otherwise_are_not_mixed() {
    let runs: Vec<Named> = (0..24)
        .map(|index| {
            let is_prepared = index % 2 == 0;
            let mut document = run(index, if is_prepared { [5.0, 6.0] } else { [10.0, 12.0] });
            document["workload"]["prepare"] = match is_prepared {
                true => serde_json::json!(["./drop", "caches"]),
                false => serde_json::json!([]),
            };
            named(&format!("run{index}"), &document)
        })
        .collect();
    let (shown, caveats) = trend(&runs, &request()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(shown.runs.len(), 12);
    assert!(shown.series.iter().all(|it| it.changes.is_empty()), "{shown:?}");
    let [caveat] = &caveats[..] else { panic!("{caveats:?}") };
    assert!(caveat.sentence.starts_with("12 runs are left out"), "{caveat:?}");
    assert!(caveat.sentence.contains("which is nothing"), "{caveat:?}");
}

#[test]
fn what_failed_or_was_disturbed_marks_no_change_and_that_is_said() {
    let failed = |index| with_caveat(run(index, [1.0, 1.2]), "failed-runs", "All runs failed.");
    let disturbed = |index| waiting(run(index, [5.0, 6.0]), 0.5);
    let document = |index: u32| match index {
        0..6 => run(index, [10.0, 12.0]),
        6..12 => disturbed(index),
        _ => failed(index),
    };
    let runs: Vec<Named> =
        (0..15).map(|index| named(&format!("run{index}"), &document(index))).collect();
    let (shown, caveats) = trend(&runs, &request()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(shown.runs.len(), 12, "failed runs are left out");
    for series in &shown.series {
        assert_eq!(series.changes, [], "{series:?}");
        let judged = series.points.iter().filter(|point| !point.disturbed).count();
        assert_eq!((series.points.len(), judged), (12, 6), "{series:?}");
    }
    let kinds: Vec<&str> = caveats.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["failed-runs", "foreign-load"]);
    let (_, few) = trend(&runs[..3], &request()).expect("three runs");
    assert!(few.iter().any(|it| it.kind == "few-runs"), "{few:?}");
}

#[test]
fn a_workload_is_called_by_its_first_words_as_in_the_list_of_runs() {
    let runs = [named("a", &run(1, [10.0, 12.0])), named("b", &run(2, [10.0, 12.0]))];
    for name in ["./solver", "./solver input", "solver"] {
        let request = TrendRequest { workload: Some(name.to_owned()), ..request() };
        assert_eq!(found(&runs, &request).runs.len(), 2, "{name}");
    }
    let part = TrendRequest { workload: Some("./solv".to_owned()), ..request() };
    assert!(matches!(trend(&runs, &part), Err(TrendError::NoSuchWorkload { .. })));
}

#[test]
fn a_change_of_level_is_marked_beside_what_else_was_new() {
    let trend = found(&history(), &request());
    assert_eq!(trend.runs[0].name, "run0");
    assert_eq!(trend.runs[12].changed, ["kernel: 6.1.0 became 6.2.0"]);
    let of = |metric, arm: &str| {
        trend.series.iter().find(|it| it.metric == metric && it.arm == arm).expect("a series")
    };
    let slower = of(Metric::Throughput, "spread");
    assert_eq!(slower.changes.len(), 1);
    let change = slower.changes[0];
    assert_eq!((change.point, change.answer), (12, ChangeAnswer::Worse));
    assert!((change.ratio - 0.94).abs() < 0.005, "{change:?}");
    assert_eq!(of(Metric::Throughput, "full").changes, []);
    assert_eq!(of(Metric::SmtYield, "full").changes[0].answer, ChangeAnswer::Higher);
    assert!(trend.series.iter().all(|it| it.metric != Metric::Makespan));
}

#[test]
fn series_are_those_that_were_asked_for() {
    let only = TrendRequest {
        metrics: vec![Metric::Makespan],
        arms: vec!["full".to_owned()],
        ..request()
    };
    let series = found(&history(), &only).series;
    assert_eq!(series.len(), 1);
    assert_eq!((series[0].metric, series[0].points.len()), (Metric::Makespan, 20));
    let none = TrendRequest { arms: vec!["stacked".to_owned()], ..request() };
    assert!(matches!(trend(&history(), &none), Err(TrendError::NothingInCommon)));
}

#[test]
fn runs_of_several_workloads_need_a_name() {
    let mut other = run(30, [10.0, 12.0]);
    other["workload"]["command"] = serde_json::json!(["./other"]);
    let runs: Vec<Named> = history().into_iter().chain([named("other", &other)]).collect();
    let error = trend(&runs, &request()).unwrap_err().to_string();
    assert_eq!(error, "expected runs of one workload, found runs of ./other, ./solver input");
    let solver = TrendRequest { workload: Some("./solver input".to_owned()), ..request() };
    assert_eq!(found(&runs, &solver).runs.len(), 20);
    let absent = TrendRequest { workload: Some("fib".to_owned()), ..request() };
    assert!(matches!(trend(&runs, &absent), Err(TrendError::NoSuchWorkload { .. })));
}

#[test]
fn a_run_that_is_given_twice_counts_once() {
    let mut runs = history();
    runs.extend(history());
    assert_eq!(found(&runs, &request()).runs.len(), 20);
}
