//! A result made up, in each form.

use corun_record::{StudyFigure, StudyResult};
use serde_json::json;

use super::*;
use crate::screen::View;

fn result() -> StudyResult {
    let estimate = |value: f64| {
        json!({ "value": value, "low": value * 0.99, "high": value * 1.01, "level": 0.95,
                "blocks": 5 })
    };
    let published = |value: f64, low: f64, high: f64, computed: bool| json!({ "value": value, "low": low, "high": high, "computed": computed });
    serde_json::from_value(json!({
        "format": "corun-study-result", "version": 1, "corun_version": "0", "study": "made-up",
        "title": "Two runs of nothing", "citation": "N. N.: Nothing. Nowhere, 2000",
        "published_on": "a CPU, 2 core(s), 4 logical CPU(s), SMT width 2", "started": "",
        "elapsed_s": 12.5, "max_time_s": 60.0, "ending": { "reason": "interrupted", "sentence": "interrupted" }, "machine": null,
        "figures": [
            { "id": "test-1", "experiment": "one", "metric": "makespan", "arm": "spread",
              "against": null, "unit": "s", "published": published(73.175, 73.175, 73.175, false),
              "measured": estimate(36.5), "ratio": estimate(0.5), "predicted": estimate(70.0),
              "model_role": "held_out", "measured_cpu": { "user": 36.0, "system": 0.004 },
              "not_possible": null, "run": 0 },
            { "id": "test-2", "experiment": "one", "metric": "makespan", "arm": "full",
              "against": null, "unit": "s", "published": published(58.8, 58.8, 58.8, false),
              "measured": null, "ratio": null, "predicted": null,
              "not_predicted": "its time is spent in the kernel",
              "not_possible": "there are no siblings", "run": null },
            { "id": "gain", "experiment": "one", "metric": "smt_yield", "arm": "full",
              "against": "spread", "unit": "1", "published": published(1.6, 1.5, 1.6667, true),
              "measured": null, "ratio": null, "predicted": null,
              "not_possible": "there are no siblings", "run": null }
        ],
        "errors": [{ "column": "predicted", "figures": 1, "mean": 0.0434, "median": 0.0434 }],
        "findings": [{ "id": "f", "claim": "It gains 60 %.", "computed": ["a / b = 1.600"],
                       "correction": "It may gain 50 %." }],
        "conclusions": [
            { "id": "gains", "claim": "A second thread gains.", "answer": "holds",
              "reason": "gain is 1.60 here (1.50 to 1.70)" },
            { "id": "loses", "claim": "A shared line costs.", "answer": "not_measured",
              "reason": "there are no siblings" }
        ],
        "cut_short": ["one: the time allowed was used up after 2 blocks"], "runs": []
    }))
    .expect("a result")
}

#[test]
fn what_was_published_stands_beside_what_was_measured() {
    insta::assert_snapshot!(study_to_terminal(
        &result(),
        &View { is_terminal: true, ..View::of_file(100) }
    ));
}

#[test]
fn the_same_as_markdown() {
    insta::assert_snapshot!(study_to_markdown(&result()));
}

#[test]
fn the_same_as_csv() {
    insta::assert_snapshot!(study_to_csv(&result()));
}

#[test]
fn a_study_of_many_figures_is_on_one_screen() {
    let mut many = result();
    let figure = StudyFigure {
        unit: "1".to_owned(),
        measured: many.figures[0].measured,
        ..many.figures[0].clone()
    };
    many.figures
        .extend((0..100).map(|id| StudyFigure { id: format!("row-{id}"), ..figure.clone() }));
    for (name, result) in [("screen", result()), ("screen_many", many)] {
        let view = View { is_terminal: true, is_kept: true, ..View::of_file(80) };
        let text = study_on_screen(&result, &view);
        assert!(text.lines().count() <= crate::screen::ROWS, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(name, text);
    }
}
