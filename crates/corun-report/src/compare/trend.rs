//! The document of `corun compare --over-time` as a plot that is also a table: a run a line, with its interval on a common scale.

use corun_record::{Record, Trend, TrendChange, TrendSeries, on_one_line};
use corun_stats::{CHANGE_POINTS_FROM_VALUES, percent};

use super::comparison::quantity;
use crate::prose::plural;
use crate::terminal::{section, wrap};

/// The plot is not wider than this.
const MAX_WIDTH: usize = 60;
/// Nor narrower.
const MIN_WIDTH: usize = 12;
/// Behind a value that is not judged.
const DISTURBED: &str = "  disturbed";

/// The trend as text for a terminal of this many columns.
pub fn trend_to_terminal(record: &Record<Trend>, columns: u16) -> String {
    let trend = &record.body;
    let mut text = String::new();
    for series in &trend.series {
        text.push_str(&wrap(&answer(series), "  ", columns));
    }
    text.push('\n');
    text.push_str(&wrap(
        &format!("{}, {}", trend.workload, plural(trend.runs.len(), "run")),
        "  ",
        columns,
    ));
    for series in &trend.series {
        text.push('\n');
        text.push_str(&wrap(&format!("{}:", title(series)), "  ", columns));
        text.push_str(&plot(trend, series, columns));
    }
    let caveats = record.caveats.iter().map(|it| on_one_line(&it.sentence)).collect();
    section(&mut text, "What limits trust", caveats, columns);
    text.push('\n');
    text.push_str(&wrap(&note(trend), "  ", columns));
    text
}

/// Which changes are marked.
pub fn note(trend: &Trend) -> String {
    format!(
        "Changes smaller than {} are not marked; of series without a change, at most {} have one marked.",
        percent(trend.practical),
        percent(trend.error_rate)
    )
}

/// Title of a series.
pub fn title(series: &TrendSeries) -> String {
    let of = series.of.as_ref().map(|it| format!(" of {it}")).unwrap_or_default();
    let against = series.against.as_ref().map(|it| format!(" / {it}")).unwrap_or_default();
    let on = series.core_model.as_ref().map(|it| format!(" on {it}")).unwrap_or_default();
    let source = series.source.prefix();
    format!("{source}{}{of} of {}{against}{on}", series.metric.name(), series.arm)
}

/// Answer of a series in one sentence.
pub fn answer(series: &TrendSeries) -> String {
    let changes: Vec<String> = series.changes.iter().map(change).collect();
    let runs = plural(series.points.len(), "run");
    let judged = series.points.iter().filter(|point| !point.disturbed).count();
    match changes.is_empty() {
        true if judged < CHANGE_POINTS_FROM_VALUES => {
            format!(
                "{}: too few runs to show a change ({judged} that can be judged).",
                title(series)
            )
        }
        true => format!("{}: no change of level in {runs}.", title(series)),
        false => format!("{}: {} in {runs}.", title(series), changes.join(", then ")),
    }
}

/// A change of level: worse, 1.083 times.
pub fn change(change: &TrendChange) -> String {
    format!("{}, {:.3} times", change.answer.name(), change.ratio)
}

fn plot(trend: &Trend, series: &TrendSeries, columns: u16) -> String {
    let labels: Vec<(String, String)> = series
        .points
        .iter()
        .map(|point| {
            let started = &trend.runs[point.run as usize].started;
            let minute = started.get(..16).unwrap_or(started).replace('T', " ");
            let value = quantity(series.metric, &point.estimate, &series.unit);
            (minute, value.replace('\u{a0}', " "))
        })
        .collect();
    let widest = |of: fn(&(String, String)) -> &String| {
        labels.iter().map(|it| of(it).chars().count()).max().unwrap_or(0)
    };
    let (first, second) = (widest(|it| &it.0), widest(|it| &it.1));
    let mark = if series.points.iter().any(|it| it.disturbed) { DISTURBED } else { "" };
    let room = usize::from(columns).saturating_sub(first + second + 6 + mark.len());
    let width = room.clamp(MIN_WIDTH, MAX_WIDTH);
    let scale = Scale::of(series, width);
    let mut text = String::new();
    for (index, (point, label)) in (0_u32..).zip(series.points.iter().zip(&labels)) {
        if let Some(change) = series.changes.iter().find(|it| it.point == index) {
            text.push_str(&marked(trend, point.run, change, columns));
        }
        let bar = scale.bar([point.estimate.low, point.estimate.value, point.estimate.high]);
        let disturbed = if point.disturbed { DISTURBED } else { "" };
        let line = format!(" {:<first$}  {:>second$}  {bar}{disturbed}", label.0, label.1);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The line before the first run of a new level, with what else is new in that run.
fn marked(trend: &Trend, run: u32, at: &TrendChange, columns: u16) -> String {
    let mut line = format!("── {} from here on (p-value {})", change(at), percent(at.probability));
    for changed in &trend.runs[run as usize].changed {
        line.push_str(&format!("; {changed}"));
    }
    format!(" {}", wrap(&line, "    ", columns.saturating_sub(1)))
}

/// Scale of the line of a plot.
struct Scale {
    least: f64,
    most: f64,
    width: usize,
}

impl Scale {
    /// From the lowest to the highest value; intervals that reach further are cut, so that one wide one does not
    /// flatten the rest.
    fn of(series: &TrendSeries, width: usize) -> Self {
        let values = || series.points.iter().map(|point| point.estimate.value);
        let (least, most) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let margin = ((most - least) * 0.1).max(most.abs() * 1e-3);
        Self { least: least - margin, most: most + margin, width }
    }

    fn place(&self, value: f64) -> usize {
        let share = ((value - self.least) / (self.most - self.least)).clamp(0.0, 1.0);
        (share * (self.width - 1) as f64).round() as usize
    }

    fn bar(&self, [low, value, high]: [f64; 3]) -> String {
        let [from, at, to] = [low, value, high].map(|it| self.place(it));
        (0..=to)
            .map(|place| match place {
                _ if place == at => '●',
                _ if place >= from => '─',
                _ => ' ',
            })
            .collect()
    }
}
