//! The rows of a study's table: what was published beside what was measured.

use corun_record::{Estimate, Published, StudyFigure, StudyResult};

use crate::figures::{percent, ratio, three_digits};
use crate::tables::Table;
use crate::terminal::NO_BREAK;

/// A published range is shown from this width on.
const WIDE: f64 = 1.05;

/// The figures as a table, and the reasons to which its `[1]` point.
pub(super) fn figures(result: &StudyResult) -> (Table, Vec<String>) {
    let is_predicted = result.figures.iter().any(|figure| figure.predicted.is_some());
    let mut header = vec!["figure", "metric", "arms", "published", "measured here", "ratio"];
    if is_predicted {
        header.push("predicted");
    }
    let mut reasons: Vec<String> = Vec::new();
    let rows = result.figures.iter().map(|figure| {
        let mut row = vec![
            figure.id.clone(),
            figure.metric.name().to_owned(),
            arms(figure.arm.as_deref(), figure.against.as_deref()),
            whole(published(figure.published.as_ref(), &figure.unit)),
            match (&figure.measured, &figure.not_possible) {
                (Some(seen), _) => whole(estimate(seen, &figure.unit)),
                (None, reason) => {
                    let reason = reason.as_deref().unwrap_or("no reason is known");
                    format!("[{}]", number(reason, &mut reasons))
                }
            },
            figure.ratio.as_ref().map_or_else(String::new, |it| whole(estimate(it, "1"))),
        ];
        if is_predicted {
            let predicted = |it: &Estimate| whole(estimate(it, &figure.unit));
            row.push(figure.predicted.as_ref().map_or_else(String::new, predicted));
        }
        row
    });
    let rows = rows.collect();
    let header = header.into_iter().map(str::to_owned).collect();
    (Table { header, rows }, reasons)
}

/// How many figures have a measured counterpart.
pub(super) fn measured(result: &StudyResult) -> usize {
    let has_one = |figure: &&StudyFigure| figure.measured.is_some();
    result.figures.iter().filter(has_one).count()
}

/// The arms of a figure: `full / spread`.
pub(super) fn arms(arm: Option<&str>, against: Option<&str>) -> String {
    let names: Vec<&str> = arm.into_iter().chain(against).collect();
    names.join(" / ")
}

/// A published value; one that corun computed begins with an equals sign.
pub(super) fn published(published: Option<&Published>, unit: &str) -> String {
    let Some(published) = published else { return "-".to_owned() };
    let unit = if unit == "1" { String::new() } else { format!(" {unit}") };
    let digits = |value: f64| match published.computed {
        true => format!("{value:.3}"),
        false => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    let sign = if published.computed { "= " } else { "" };
    let range = match published.high / published.low {
        wide if wide > WIDE => {
            format!(" ({} to {})", digits(published.low), digits(published.high))
        }
        _ => String::new(),
    };
    format!("{sign}{}{unit}{range}", digits(published.value))
}

/// A measured value with half the width of its interval.
fn estimate(estimate: &Estimate, unit: &str) -> String {
    let half_width = percent(estimate.half_width());
    match unit {
        "1" => format!("{} ± {half_width}", ratio(estimate)),
        unit => format!("{} {unit} ± {half_width}", three_digits(estimate.value)),
    }
}

/// The reason's number, from 1, equal ones sharing it.
fn number(reason: &str, reasons: &mut Vec<String>) -> usize {
    let known = reasons.iter().position(|known| known == reason);
    known.unwrap_or_else(|| {
        reasons.push(reason.to_owned());
        reasons.len() - 1
    }) + 1
}

fn whole(text: String) -> String {
    text.replace(' ', NO_BREAK)
}
