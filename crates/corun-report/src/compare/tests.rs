use corun_record::{
    Caveat, ChangeAnswer, ComparedObservation, ComparedRun, ComparisonGate, Estimate, Metric,
    NotCompared, Pairing, Record, RunComparison, RunDifference, Sense, Source, Trend, TrendChange,
    TrendPoint, TrendRun, TrendSeries, VisibleChange,
};

use super::*;

fn estimate(value: f64, reach: f64) -> Estimate {
    Estimate { value, low: value / reach, high: value * reach, level: 0.95, blocks: 10 }
}

fn row(metric: Metric, arm: &str, ratio: Estimate, answer: ChangeAnswer) -> ComparedObservation {
    ComparedObservation {
        run: 1,
        workload: None,
        metric,
        source: Source::Measured,
        arm: arm.to_owned(),
        base_arm: None,
        against: None,
        of: None,
        unit: if metric == Metric::Makespan { "s" } else { "operations/s" }.to_owned(),
        base: estimate(2e6, 1.01),
        value: estimate(2e6 * ratio.value, 1.01),
        ratio,
        sense: Sense::HigherIsBetter,
        pairing: Pairing::BetweenRuns,
        earlier_runs: 3,
        run_deviation: Some(0.012),
        standard_error: Some(0.015),
        noise_floor: Some(0.004),
        disturbed: false,
        restates: false,
        answer,
        sentence: format!("{} of {arm}: {}: FIGURES.", metric.name(), answer.name()),
    }
}

fn record() -> Record<RunComparison> {
    let run = |name: &str| ComparedRun {
        name: name.to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        workloads: vec!["./solver".to_owned()],
    };
    let body = RunComparison {
        runs: vec![run("old.json"), run("new.json")],
        differences: vec![RunDifference {
            what: "kernel".to_owned(),
            values: vec![Some("6.1".to_owned()), Some("6.2|\u{1b}[31m".to_owned())],
        }],
        confidence: 0.95,
        practical: 0.02,
        comparisons: 2,
        observations: vec![
            row(Metric::Throughput, "spread", estimate(0.93, 1.03), ChangeAnswer::Worse),
            row(Metric::Throughput, "full", estimate(1.01, 1.03), ChangeAnswer::Inconclusive),
        ],
        not_compared: vec![NotCompared {
            run: 1,
            what: "time of spread".to_owned(),
            reason: "the runs did not do the same amount of work".to_owned(),
            spoiled: false,
        }],
        gate: Some(ComparisonGate {
            worse_by: Some(0.02),
            inconclusive_fails: false,
            worse: vec![0],
            undecided: vec![1],
            spoiled: 0,
            visible: vec![
                VisibleChange { observation: 0, change: 0.063 },
                VisibleChange { observation: 1, change: 0.071 },
            ],
            blind: Vec::new(),
            fails_as_blind: false,
            passes: false,
        }),
    };
    Record {
        caveats: vec![Caveat::new("short-history", "Few runs.")],
        ..Record::new("2026-01-01T00:00:00Z".to_owned(), 0.1, body)
    }
}

#[test]
fn what_differs_comes_first_and_then_the_answer() {
    insta::assert_snapshot!(comparison_to_terminal(&record(), 100, false));
}

#[test]
fn a_pull_request_gets_the_same_as_markdown() {
    let text = comparison_to_markdown(&record());
    assert!(text.contains("6.2\\|\\u{1b}\\[31m"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn colours_are_those_of_the_answers_and_every_line_fits() {
    let coloured = comparison_in_brief(&record(), 200, true);
    assert!(coloured.starts_with("\u{1b}[1;31mThroughput of spread: worse\u{1b}[0m: FIGURES."));
    for columns in [60, 80, 120] {
        let text = comparison_to_terminal(&record(), columns, false);
        assert!(text.lines().all(|it| it.chars().count() <= usize::from(columns)), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}

#[test]
fn without_a_change_the_answer_says_how_much_is_known() {
    let mut record = record();
    let answers = |record: &Record<RunComparison>| comparison_in_brief(record, 200, false);
    record.body.gate = None;
    for row in &mut record.body.observations {
        row.answer = ChangeAnswer::NoChange;
    }
    assert_eq!(answers(&record), "No change beyond 2.0 %: all 2 observations.\n");
    let open = row(Metric::Throughput, "free", estimate(1.0, 1.1), ChangeAnswer::Inconclusive);
    record.body.observations.extend([open.clone(), open]);
    assert_eq!(
        answers(&record),
        "No change is shown: 2 inconclusive, 2 without a change beyond 2.0 %.\n"
    );
}

#[test]
fn a_trend_is_a_run_a_line_with_its_changes_marked() {
    let values = [1.00, 1.01, 0.99, 1.08, 1.09, 1.08];
    let run = |index: usize| TrendRun {
        name: format!("run{index}.json"),
        started: format!("2026-01-0{}T12:00:00Z", index + 1),
        changed: if index == 3 { vec!["kernel: 6.1 became 6.2".to_owned()] } else { Vec::new() },
    };
    let point = |(run, value): (u32, &f64)| TrendPoint {
        run,
        estimate: estimate(value * 0.2, 1.01),
        disturbed: false,
    };
    let trend = Trend {
        workload: "./solver".to_owned(),
        runs: (0..6).map(run).collect(),
        error_rate: 0.05,
        practical: 0.02,
        series: vec![TrendSeries {
            core_model: None,
            metric: Metric::Makespan,
            source: Source::Measured,
            arm: "spread".to_owned(),
            against: None,
            of: None,
            unit: "s".to_owned(),
            sense: Sense::LowerIsBetter,
            points: (0..).zip(&values).map(point).collect(),
            changes: vec![TrendChange {
                point: 3,
                ratio: 1.083,
                probability: 0.001,
                answer: ChangeAnswer::Worse,
            }],
        }],
    };
    let mut record = Record::new("2026-01-07T00:00:00Z".to_owned(), 0.1, trend);
    let text = trend_to_terminal(&record, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);

    let mut disturbed = record.clone();
    disturbed.body.series[0].changes.clear();
    disturbed.body.series[0].points[5].disturbed = true;
    disturbed.caveats.push(Caveat::new("few-runs", "Few runs."));
    let text = trend_to_terminal(&disturbed, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let answer = "time of spread: too few runs to show a change (5 that can be judged).";
    assert!(text.to_lowercase().starts_with(answer), "{text}");
    assert_eq!(text.matches("  disturbed\n").count(), 1, "{text}");
    assert!(text.contains("What limits trust:\n- Few runs."), "{text}");
    let predicted = TrendSeries {
        source: Source::Predicted,
        core_model: Some("zen5".to_owned()),
        ..record.body.series[0].clone()
    };
    record.body.series = vec![predicted];
    let text = trend_to_terminal(&record, 80);
    assert!(text.contains("\npredicted time of spread on zen5:\n"), "{text}");
}
