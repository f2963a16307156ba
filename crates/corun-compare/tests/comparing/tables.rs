//! Documents of several subjects: tables of predictions, benches and studies.

use corun_compare::{Named, TrendRequest, compare, trend};
use corun_record::{
    ChangeAnswer, ComparedObservation, Metric, Pairing, RunComparison, TrendSeries,
};
use serde_json::{Value, json};

use crate::made_up::{prediction, run};
use crate::{REQUEST, compared, named};

fn table(predictions: &[Value]) -> Value {
    json!({ "format": "corun-predictions", "version": 1, "corun_version": "0.1.0",
            "predictions": predictions })
}

fn bench(runs: &[Value]) -> Value {
    json!({ "format": "corun-bench", "version": 1, "corun_version": "0.1.0",
            "started": "2026-01-01T00:00:00Z", "elapsed_s": 1.0,
            "ending": { "reason": "completed", "sentence": "completed" },
            "runs": runs, "not_possible": [] })
}

/// Workload, metric and ratio of each row.
fn rows(comparison: &RunComparison, metric: Metric) -> Vec<(Option<&str>, f64)> {
    let is_it = |row: &&ComparedObservation| row.metric == metric;
    let rounded = |row: &'_ ComparedObservation| (row.ratio.value * 1000.0).round() / 1000.0;
    let all = comparison.observations.iter().filter(is_it);
    all.map(|row| (row.workload.as_deref(), rounded(row))).collect()
}

#[test]
fn predictions_are_compared_with_those_of_the_same_core_model() {
    let old = table(&[prediction("zen3", 1, 100.0), prediction("zen4", 1, 80.0)]);
    let new = table(&[prediction("zen4", 2, 88.0), prediction("zen3", 2, 120.0)]);
    let comparison = compared(&old, &new, &[]);
    assert_eq!(
        rows(&comparison, Metric::Cycles),
        [(Some("./solver input (zen3)"), 1.2), (Some("./solver input (zen4)"), 1.1)]
    );
    let one = table(&[prediction("zen2", 2, 88.0), prediction("zen4", 2, 88.0)]);
    let comparison = compared(&old, &one, &[]);
    assert_eq!(rows(&comparison, Metric::Cycles), [(Some("./solver input (zen4)"), 1.1)]);
    assert_eq!(comparison.not_compared[0].what, "./solver input (zen3)");
}

#[test]
fn a_trend_has_a_series_for_each_core_model() {
    let table = |index: u32| {
        let cycles = f64::from(index) + 100.0;
        table(&[prediction("zen3", index, cycles), prediction("zen4", index, cycles / 2.0)])
    };
    let runs: Vec<Named> = (1..4).map(|index| named("table", &table(index))).collect();
    let request = TrendRequest {
        workload: None,
        metrics: vec![Metric::Cycles],
        arms: Vec::new(),
        error_rate: 0.05,
        practical: 0.02,
    };
    let (trend, _) = trend(&runs, &request).unwrap_or_else(|error| panic!("{error}"));
    let described = |it: &TrendSeries| {
        let values = it.points.iter().map(|point| point.estimate.value);
        (it.core_model.clone().unwrap_or_default(), values.collect::<Vec<f64>>())
    };
    let found: Vec<_> = trend.series.iter().map(described).collect();
    assert_eq!(
        found,
        [
            ("zen3".to_owned(), vec![101.0, 102.0, 103.0]),
            ("zen4".to_owned(), vec![50.5, 51.0, 51.5])
        ]
    );
    assert!(trend.runs.iter().all(|run| run.changed.is_empty()), "{:?}", trend.runs);
}

#[test]
fn of_equal_runs_of_a_bench_the_nth_is_compared_with_the_nth() {
    let old = bench(&[run(1, [10.0, 12.0]), run(2, [20.0, 24.0])]);
    let new = bench(&[run(3, [11.0, 13.2]), run(4, [24.0, 28.8])]);
    let label = Some("./solver input");
    let comparison = compared(&old, &new, &[]);
    let ratios: Vec<f64> = rows(&comparison, Metric::Throughput).iter().map(|it| it.1).collect();
    assert_eq!(ratios, [1.1, 1.1, 1.2, 1.2]);
    // Those with the same arms come first.
    let mut single = run(3, [10.0, 12.0]);
    single["arms"].as_array_mut().expect("a list").truncate(2);
    single["observations"].as_array_mut().expect("a list").retain(|it| it["arm"] == "spread");
    let fewer = bench(&[single, run(4, [11.0, 13.2])]);
    let comparison = compared(&bench(&[run(1, [10.0, 12.0])]), &fewer, &[]);
    assert_eq!(rows(&comparison, Metric::Throughput), [(label, 1.1), (label, 1.1)]);
    // One that has other arms is better than none.
    let comparison = compared(&fewer, &bench(&[run(1, [10.0, 12.0]), run(2, [10.0, 12.0])]), &[]);
    assert_eq!(rows(&comparison, Metric::Throughput).len(), 3);
}

#[test]
fn runs_of_a_study_are_matched_by_their_experiment() {
    let study = |of: [&str; 2], runs: [Value; 2]| {
        let figure = |run: usize| {
            json!({ "id": of[run], "experiment": of[run], "metric": "throughput",
                    "unit": "operations/s", "run": run })
        };
        json!({ "format": "corun-study-result", "version": 1, "corun_version": "0.1.0",
                "study": "made-up", "title": "", "citation": "", "published_on": "",
                "started": "2026-01-01T00:00:00Z", "elapsed_s": 1.0, "max_time_s": 1.0,
                "ending": { "reason": "completed", "sentence": "completed" },
                "figures": [figure(0), figure(1)], "findings": [], "cut_short": [],
                "runs": runs })
    };
    let old = study(["one", "two"], [run(1, [10.0, 12.0]), run(2, [20.0, 24.0])]);
    let new = study(["two", "one"], [run(3, [24.0, 28.8]), run(4, [11.0, 13.2])]);
    let found = compared(&old, &new, &[]);
    let [one, two] = ["one", "two"].map(|it| format!("./solver input ({it})"));
    let [one, two] = [(Some(one.as_str()), 1.1), (Some(two.as_str()), 1.2)];
    assert_eq!(rows(&found, Metric::Throughput), [one, one, two, two]);
}

#[test]
fn exact_counts_and_predicted_figures_do_not_differ_from_run_to_run() {
    let old = prediction("zen3", 1, 100.0);
    let comparison = compared(&old, &prediction("zen3", 2, 100.0), &[]);
    let found = |metric| {
        let row = comparison.observations.iter().find(|row| row.metric == metric).expect("a row");
        (row.answer, row.pairing, row.run_deviation)
    };
    let exact = (ChangeAnswer::NoChange, Pairing::Simulated, None);
    assert_eq!(found(Metric::Instructions), exact);
    assert_eq!(found(Metric::Cycles), exact);
    // Measured beside it: as between any two runs.
    let (answer, pairing, deviation) = found(Metric::UserTime);
    assert_eq!((answer, pairing), (ChangeAnswer::Inconclusive, Pairing::BetweenRuns));
    assert!(deviation.is_some());
    let mut more = prediction("zen3", 2, 100.0);
    more["observations"][0]["estimate"] =
        json!({ "value": 1030.0, "low": 1030.0, "high": 1030.0, "level": 0.95, "blocks": 1 });
    let comparison = compared(&old, &more, &[]);
    let row = &comparison.observations[0];
    assert_eq!((row.metric, row.answer), (Metric::Instructions, ChangeAnswer::Worse));
    assert_eq!(row.ratio.low, row.ratio.high);
}

#[test]
fn figures_that_are_both_predicted_and_measured_are_compared_with_their_like() {
    let [mut old, mut new] = [1, 2].map(|index| prediction("zen3", index, 100.0));
    for document in [&mut old, &mut new] {
        let mut predicted = document["observations"][2].clone();
        predicted["source"] = "predicted".into();
        document["observations"].as_array_mut().expect("a list").insert(0, predicted);
    }
    let comparison = compare(&[named("a", &old), named("b", &new)], &[], &REQUEST).0;
    assert_eq!(comparison.not_compared, []);
    assert_eq!(rows(&comparison, Metric::UserTime).len(), 2);
}
