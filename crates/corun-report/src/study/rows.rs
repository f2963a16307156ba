//! The rows of a study's table: what was published beside what was measured.

use corun_record::{Estimate, Metric, ModelRole, Published, StudyFigure, StudyResult};

use crate::figures::{self, ratio, three_digits};
use crate::tables::Table;
use crate::terminal::NO_BREAK;

/// A published range is shown from this width on.
const WIDE: f64 = 1.05;
/// Digits after the point of a value that corun computed.
const COMPUTED: u32 = 3;

/// The figures as a table, and the reasons to which its `[1]` point.
pub(super) fn figures(result: &StudyResult) -> (Table, Vec<String>) {
    let is_predicted = result.figures.iter().any(|figure| figure.predicted.is_some());
    let mut header = vec!["figure", "what", "published", "measured here", "ratio"];
    if is_predicted {
        header.push("predicted");
    }
    let mut reasons: Vec<String> = Vec::new();
    let rows = result.figures.iter().map(|figure| {
        let mut row = vec![
            figure.id.clone(),
            what(figure.metric, figure.arm.as_deref(), figure.against.as_deref()),
            published(figure.published.as_ref(), &figure.unit),
            match (&figure.measured, &figure.not_possible) {
                (Some(seen), _) => estimate(seen, &figure.unit),
                (None, reason) => {
                    let reason = reason.as_deref().unwrap_or("no reason is known");
                    format!("[{}]", number(reason, &mut reasons))
                }
            },
            figure.ratio.as_ref().map_or_else(String::new, |it| estimate(it, "1")),
        ];
        if is_predicted {
            row.push(predicted(figure));
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

/// What a figure says of which arms: `SMT yield, full / spread`.
pub(super) fn what(metric: Metric, arm: Option<&str>, against: Option<&str>) -> String {
    let names: Vec<&str> = arm.into_iter().chain(against).collect();
    match names.is_empty() {
        true => metric.name().to_owned(),
        false => format!("{}, {}", metric.name(), names.join(" / ")),
    }
}

/// A published value with its own digits; one that corun computed begins with an equals sign.
pub(super) fn published(published: Option<&Published>, unit: &str) -> String {
    let Some(published) = published else { return "-".to_owned() };
    let unit = if unit == "1" { String::new() } else { format!(" {}", figures::unit(unit)) };
    let decimals = published.decimals.unwrap_or(COMPUTED) as usize;
    let sign = if published.computed { "= " } else { "" };
    let value = whole(format!("{sign}{:.decimals$}{unit}", published.value));
    match published.high / published.low {
        wide if wide > WIDE => {
            // What rounding leaves open begins after the last digit.
            let open = decimals + usize::from(!published.computed);
            let [low, high] = [published.low, published.high].map(|it| format!("{it:.open$}"));
            format!("{value} ({low} {})", whole(format!("to {high}")))
        }
        _ => value,
    }
}

/// A measured value with half the width of its interval.
fn estimate(estimate: &Estimate, unit: &str) -> String {
    let half_width = match estimate.low == estimate.high {
        // One run, or the extreme of several.
        true => String::new(),
        false => format!(" {}", figures::half_width(estimate)),
    };
    match unit {
        "1" => format!("{}{half_width}", ratio(estimate)),
        unit => {
            let value = format!("{} {}", three_digits(estimate.value), figures::unit(unit));
            format!("{}{half_width}", whole(value))
        }
    }
}

/// A predicted value, and whether the model had been fitted to the published one.
fn predicted(figure: &StudyFigure) -> String {
    let value = figure.predicted.as_ref().map(|it| estimate(it, &figure.unit));
    let role = match figure.model_role {
        Some(role @ (ModelRole::Fitted | ModelRole::LeftOut)) => {
            format!(" {}", whole(format!("({})", role.name())))
        }
        Some(ModelRole::HeldOut) | None => String::new(),
    };
    value.map_or_else(String::new, |value| value + &role)
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
