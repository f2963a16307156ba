//! A study's figures as CSV, one a row.

use corun_record::{CsvText, Estimate, Published, StudyFigure, StudyResult};

const HEADER: [&str; 24] = [
    "study",
    "figure",
    "experiment",
    "metric",
    "arm",
    "against",
    "unit",
    "published",
    "published_low",
    "published_high",
    "computed",
    "measured",
    "low",
    "high",
    "level",
    "blocks",
    "ratio",
    "predicted",
    "model_role",
    "cpu_model",
    "not_possible",
    "workers_s",
    "user_s",
    "system_s",
];

/// The result as CSV with a header line.
pub fn study_to_csv(result: &StudyResult) -> String {
    let mut table = CsvText::with_header(HEADER);
    for figure in &result.figures {
        table.row(row(result, figure));
    }
    table.finish()
}

/// Numbers in one cell, apart by a space.
fn list(numbers: &[f64]) -> String {
    numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

fn row(result: &StudyResult, figure: &StudyFigure) -> [String; 24] {
    let metric = serde_json::to_value(figure.metric).unwrap_or_default();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let of_measured =
        |part: fn(&Estimate) -> String| figure.measured.as_ref().map(part).unwrap_or_default();
    let of_published =
        |part: fn(&Published) -> String| figure.published.as_ref().map(part).unwrap_or_default();
    let value = |estimate: &Option<Estimate>| {
        estimate.as_ref().map(|it| it.value.to_string()).unwrap_or_default()
    };
    [
        result.study.clone(),
        figure.id.clone(),
        text(&figure.experiment),
        metric.as_str().unwrap_or_default().to_owned(),
        text(&figure.arm),
        text(&figure.against),
        figure.unit.clone(),
        of_published(|it| it.value.to_string()),
        of_published(|it| it.low.to_string()),
        of_published(|it| it.high.to_string()),
        of_published(|it| it.computed.to_string()),
        value(&figure.measured),
        of_measured(|it| it.low.to_string()),
        of_measured(|it| it.high.to_string()),
        of_measured(|it| it.level.to_string()),
        of_measured(|it| it.blocks.to_string()),
        value(&figure.ratio),
        value(&figure.predicted),
        figure.model_role.map(|role| role.name().to_owned()).unwrap_or_default(),
        result.machine.as_ref().and_then(|it| it.cpu_model.clone()).unwrap_or_default(),
        text(&figure.not_possible),
        of_published(|it| list(&it.workers_s)),
        of_published(|it| list(&it.user_s)),
        of_published(|it| list(&it.system_s)),
    ]
}
