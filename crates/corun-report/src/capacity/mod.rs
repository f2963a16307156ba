//! A capacity curve: the answer, the plot, the table at 10 to 100 %, what decides it, what to do.

mod plot;
#[cfg(test)]
mod tests;

use corun_record::{
    CapacityCurve, CapacityLevel, CsvText, Estimate, Filling, Record, Source, on_lines, on_one_line,
};
use corun_stats::{TOO_UNCERTAIN, percent};

use crate::figures::{is_sensible, seconds};
use crate::grid::grid;
use crate::prose::{self, plural};
use crate::tables::Table;
use crate::terminal::{section, wrap};

/// The answer alone, as a line.
pub fn capacity_in_brief(curve: &Record<CapacityCurve>, columns: u16) -> String {
    wrap(&answer(curve), "", columns)
}

/// The curve for a terminal of this many columns.
pub fn capacity_to_terminal(curve: &Record<CapacityCurve>, columns: u16) -> String {
    let body = &curve.body;
    let mut text = wrap(&answer(curve), "", columns);
    if !body.levels.is_empty() {
        text.push('\n');
        text.push_str(&plot::plot(body, columns));
        text.push('\n');
        text.push_str(&grid(&levels(body), columns));
        text.push('\n');
        text.push_str(&wrap(&legend(body), "", columns));
    }
    section(&mut text, "Why", body.reasons.clone(), columns);
    if !body.advice.is_empty() {
        text.push_str("\nWhat to do:\n");
        for advice in &body.advice {
            match advice.tool.as_str() {
                "plan" => text.push_str(&wrap(&format!("  {}", advice.line), "  ", columns)),
                // A line to copy is not broken.
                _ => text.push_str(&format!("  {}\n", on_one_line(&advice.line))),
            }
        }
    }
    section(&mut text, "What limits trust", caveats(curve), columns);
    text.push('\n');
    for line in course(curve) {
        text.push_str(&wrap(&line, "", columns));
    }
    // Commands and models are named by others.
    on_lines(&text).into_owned()
}

/// The points of both orders as CSV with a header line; a utilisation that was not read is empty.
pub fn capacity_to_csv(curve: &Record<CapacityCurve>) -> String {
    let mut table = CsvText::with_header([
        "order", "busy", "nominal", "reported", "arm", "used", "low", "high", "level", "blocks",
    ]);
    for order in &curve.body.orders {
        for point in &order.points {
            table.row([
                order.filling.name().to_owned(),
                point.busy.to_string(),
                point.nominal.to_string(),
                point.reported.map_or_else(String::new, |it| it.to_string()),
                point.arm.clone().unwrap_or_default(),
                point.used.value.to_string(),
                point.used.low.to_string(),
                point.used.high.to_string(),
                point.used.level.to_string(),
                point.used.blocks.to_string(),
            ]);
        }
    }
    table.finish()
}

/// The answer in one sentence, or why there is none.
pub fn answer(curve: &Record<CapacityCurve>) -> String {
    /// The kinds of caveats that say why there is no answer.
    const WITHHELD: [&str; 2] = ["not-predicted", "waits"];
    if let Some(answer) = &curve.body.answer {
        return answer.sentence.clone();
    }
    let withheld = curve.caveats.iter().find(|it| WITHHELD.contains(&it.kind.as_str()));
    match withheld {
        Some(caveat) => caveat.sentence.clone(),
        None if !curve.body.levels.is_empty() => {
            "Too few blocks to say: the intervals are wider than the shares themselves.".to_owned()
        }
        None => format!("No answer: {}.", curve.ending.sentence),
    }
}

/// The capacity used at each level, in both orders and over both.
pub fn levels(curve: &CapacityCurve) -> Table {
    // Without siblings there is one order.
    let orders = if curve.smt_width > 1 { &["cores first", "siblings first"][..] } else { &[] };
    let header = [&["reported"], orders, &["used", "left"]].concat();
    let row = |level: &CapacityLevel| {
        let [low, high] = level.range();
        let both = [&level.cores_first, &level.siblings_first];
        let of = |low, high| match both.into_iter().all(is_sensible) {
            true => range(low, high),
            false => TOO_UNCERTAIN.to_owned(),
        };
        let orders = both.into_iter().take(orders.len()).map(with_interval);
        // The interval of a share may reach beyond all of it.
        let range = [of(low, high.min(1.0)), of((1.0 - high).max(0.0), (1.0 - low).max(0.0))];
        std::iter::once(percent(level.reported)).chain(orders).chain(range).collect()
    };
    Table {
        header: header.into_iter().map(str::to_owned).collect(),
        rows: curve.levels.iter().map(row).collect(),
    }
}

/// A share with its interval: `70 % (68 to 72 %)`.
pub fn with_interval(share: &Estimate) -> String {
    if !is_sensible(share) {
        return TOO_UNCERTAIN.to_owned();
    }
    let (value, limits) = (percent(share.value), range(share.low, share.high));
    match limits == value {
        true => value,
        false => format!("{value} ({limits})"),
    }
}

/// Two shares: `58 to 71 %`.
pub fn range(low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(percent);
    match low == high {
        true => high,
        false => format!("{} to {high}", low.trim_end_matches(" %")),
    }
}

/// Legend of the columns and curves.
pub fn legend(curve: &CapacityCurve) -> String {
    let confidence = curve.levels.first().map_or(0.95, |it| it.cores_first.level);
    let intervals = match curve.source {
        Source::Predicted => "intervals are those of the predicted yield".to_owned(),
        Source::Measured | Source::Published => {
            format!("intervals are of {:.1} % confidence", confidence * 100.0).replace(".0 %", " %")
        }
    };
    let orders = match curve.smt_width {
        0 | 1 => "",
        _ => {
            " Cores first: one logical CPU of each core is busy before second ones, as the kernel fills. Siblings first: all of \
             a core before the next. Used: from the least to the most over both."
        }
    };
    format!(
        "100 % is the work done in a second with all {} busy; {intervals}.{orders}",
        plural(curve.cpus as usize, "logical CPU"),
    )
}

/// Limits of trust.
fn caveats(curve: &Record<CapacityCurve>) -> Vec<String> {
    curve.caveats.iter().map(|caveat| caveat.sentence.clone()).collect()
}

/// Work and machine, and the course of the measurement.
pub fn course(curve: &Record<CapacityCurve>) -> Vec<String> {
    let body = &curve.body;
    let work = match body.mix.is_empty() {
        true => prose::work(&body.workload),
        false => format!(
            "a mix of the workloads {} (a process for each worker, restarted until all have a window; a run of each takes \
             as long as one of any other where it is alone)",
            body.mix.iter().map(|it| on_one_line(it)).collect::<Vec<_>>().join(", ")
        ),
    };
    let machine = curve.machine.as_ref().map(prose::machine).unwrap_or_default();
    let mut lines = vec![work, machine];
    match (&body.design, &body.model) {
        (Some(design), _) => {
            let arms = body.arms.iter().filter(|it| it.twin_of.is_none()).count();
            lines.push(format!(
                "{} of {} and a repeated one in random order, {} in {}, seed {}; {}.",
                plural(design.blocks as usize, "block"),
                plural(arms, "arm"),
                plural(body.samples.len(), "run"),
                seconds(curve.elapsed_s),
                design.seed,
                curve.ending.sentence
            ));
            lines.extend(reported(body));
        }
        (None, Some(model)) => lines.push(format!(
            "Predicted on the core model {} in {}.",
            on_one_line(model),
            seconds(curve.elapsed_s)
        )),
        (None, None) => {}
    }
    lines
}

/// Utilisation by the kernel beside the one that was set.
fn reported(curve: &CapacityCurve) -> Option<String> {
    let points = &curve.order(Filling::CoresFirst)?.points;
    let apart = points.iter().filter_map(|it| Some((it.reported? - it.nominal).abs()));
    let most =
        apart.fold(None, |most: Option<f64>, it| Some(most.map_or(it, |most| most.max(it))))?;
    Some(format!(
        "/proc/stat reported the share of busy CPUs within {}.",
        plural((most * 100.0).ceil() as usize, "percentage point")
    ))
}
