//! The rows of a study's table: what was published beside what was measured.

use corun_record::{
    ColumnError, Estimate, Metric, ModelRole, Published, StudyColumn, StudyFigure, StudyResult,
};
use corun_stats::percent;

use crate::figures::{self, ratio, three_digits};
use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::NO_BREAK;

/// A published range is shown from this width on.
const WIDE: f64 = 1.05;
/// Digits after the point of a value that corun computed.
const COMPUTED: u32 = 3;

/// The figures as a table, the reasons to which its `[1]` point, and those to which its `[a]` point.
pub fn figures(result: &StudyResult) -> (Table, Vec<String>, Vec<String>) {
    let is_predicted = result.figures.iter().any(|figure| figure.predicted.is_some());
    let mut header = vec!["figure", "what", "published", "measured here", "ratio"];
    if is_predicted {
        header.push("predicted");
    }
    let mut reasons: Vec<String> = Vec::new();
    let mut unpredicted: Vec<String> = Vec::new();
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
            let Predicted { value, role, reason } = Predicted::from(figure);
            row.push(predicted(value, &figure.unit, role, reason, &mut unpredicted));
        }
        row
    });
    let rows = rows.collect();
    let header = header.into_iter().map(str::to_owned).collect();
    (Table { header, rows }, reasons, unpredicted)
}

/// Elapsed time with the CPU time within it, published and measured, of the figures that have any.
pub fn times(result: &StudyResult) -> Table {
    let mut rows = Vec::new();
    for figure in &result.figures {
        let published = figure.published.as_ref();
        let has_cpu = published.is_some_and(|it| !it.user_s.is_empty());
        if figure.measured_cpu.is_none() && !has_cpu {
            continue;
        }
        let value =
            |value: f64| whole(format!("{} {}", three_digits(value), figures::unit(&figure.unit)));
        let sum = |seconds: &[f64]| match seconds {
            [] => "-".to_owned(),
            some => whole(format!("{} s", three_digits(some.iter().sum()))),
        };
        let here = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), value);
        rows.push(vec![
            figure.id.clone(),
            here(published.map(|it| it.value)),
            published.map_or_else(String::new, |it| sum(&it.user_s)),
            published.map_or_else(String::new, |it| sum(&it.system_s)),
            here(figure.measured.as_ref().map(|it| it.value)),
            here(figure.measured_cpu.map(|it| it.user)),
            here(figure.measured_cpu.map(|it| it.system)),
        ]);
    }
    let header = ["figure", "published", "user", "system", "here", "user here", "system here"];
    Table { header: header.map(str::to_owned).to_vec(), rows }
}

/// Number of figures with a measured counterpart.
pub(super) fn measured(result: &StudyResult) -> usize {
    let has_one = |figure: &&StudyFigure| figure.measured.is_some();
    result.figures.iter().filter(has_one).count()
}

/// Metric and arms of a figure: `SMT yield, full / spread`.
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

/// A predicted value of a figure, if it has one.
struct Predicted<'a> {
    value: Option<&'a Estimate>,
    role: Option<ModelRole>,
    reason: Option<&'a String>,
}

impl<'a> From<&'a StudyFigure> for Predicted<'a> {
    fn from(figure: &'a StudyFigure) -> Self {
        Self {
            value: figure.predicted.as_ref(),
            role: figure.model_role,
            reason: figure.not_predicted.as_ref(),
        }
    }
}

/// A predicted value, and whether the model had been fitted to the published one; or `[a]` for the reason why there is
/// none.
pub(super) fn predicted(
    value: Option<&Estimate>,
    unit: &str,
    role: Option<ModelRole>,
    reason: Option<&String>,
    reasons: &mut Vec<String>,
) -> String {
    let Some(value) = value else {
        return reason.map_or_else(String::new, |it| format!("[{}]", letter(number(it, reasons))));
    };
    let role = match role {
        Some(role @ (ModelRole::Fitted | ModelRole::LeftOut | ModelRole::Arithmetic)) => {
            format!(" {}", whole(format!("({})", role.name())))
        }
        Some(ModelRole::HeldOut) | None => String::new(),
    };
    estimate(value, unit) + &role
}

/// Reasons with the letters that the table has for them.
pub fn lettered(reasons: &[String]) -> Vec<String> {
    let each = reasons.iter().enumerate();
    each.map(|(index, reason)| format!("[{}] {reason}", letter(index + 1))).collect()
}

/// 1 is `a`; beyond `z` the numbers themselves serve.
fn letter(number: usize) -> String {
    match u8::try_from(number) {
        Ok(small @ 1..=26) => char::from(b'a' + small - 1).to_string(),
        _ => number.to_string(),
    }
}

/// Error of each column against the published one, a sentence each.
pub fn errors(errors: &[ColumnError]) -> Vec<String> {
    let sentence = |it: &ColumnError| {
        let column = match it.column {
            StudyColumn::Predicted => "Predicted",
            StudyColumn::Measured => "Ratios measured here",
        };
        format!(
            "{column}: {} off the published value on average, {} in the median, over {}.",
            percent(it.mean),
            percent(it.median),
            plural(it.figures, "figure")
        )
    };
    errors.iter().map(sentence).collect()
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
