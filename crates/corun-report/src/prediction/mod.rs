//! A prediction for the terminal: predicted beside measured, and the cycle stack in words.

mod screen;
mod siblings;
mod words;

pub use screen::{prediction_on_screen, predictions_on_screen};
pub use siblings::{advice, answers, most_and_least, reasons};
pub use words::{gerund, sentences};

pub(crate) use siblings::rows;

use corun_record::{
    ClockSource, Estimate, MeasuredRuns, Metric, OtherProgram, Prediction, PredictionTable,
    SimulationCost, Source, TracedWorkload, on_one_line,
};

use corun_stats::TOO_UNCERTAIN;

use crate::figures::{grouped, interval, is_sensible, ratio, seconds, share, with_half_width};
use crate::screen::View;
use crate::tables::Table;
use crate::terminal::{grid, section, wrap};

/// All that a prediction says.
pub fn prediction_to_terminal(prediction: &Prediction, view: &View) -> String {
    let columns = view.columns;
    let core = &prediction.core;
    let not_predicted = prediction.not_predicted.iter();
    let answer = not_predicted
        .map(|why| wrap(&format!("NOT PREDICTED: {why}"), "", columns))
        .chain(siblings::answers(prediction).iter().map(|line| wrap(line, "", columns)))
        .collect::<String>();
    let mut text = beside_to_terminal(prediction, columns);
    text += &wrap(&program(prediction), "  ", columns);
    text +=
        &wrap(&format!("alone on {} ({}): {}", core.title, core.model, core.reason), "  ", columns);
    text.push('\n');
    text += &grid(&figures(prediction), columns);
    text += "\n\n";
    for line in course(prediction) {
        text += &wrap(&line, "", columns);
    }
    text += match prediction.not_predicted {
        None => "\nPredicted cycle stack, in issue slots:\n",
        Some(_) => "\nPredicted cycle stack of user-mode code, in issue slots:\n",
    };
    for sentence in words::sentences(&prediction.stack) {
        text += &wrap(&format!("- {sentence}"), "  ", columns);
    }
    let caveats = prediction.caveats.iter().map(|caveat| caveat.sentence.clone()).collect();
    section(&mut text, "What limits trust", caveats, columns);
    view.in_order(&answer, &text)
}

/// The answer alone, as lines; that of the program alone where no sibling was asked for.
pub fn prediction_in_brief(prediction: &Prediction, columns: u16) -> String {
    let answers = siblings::answers(prediction);
    let alone = prediction.beside.is_empty().then(|| alone(prediction));
    let lines: Vec<String> = alone.into_iter().chain(answers).collect();
    lines.iter().map(|line| wrap(line, "", columns)).collect()
}

/// Predictions for several cores: which core gains most, and a row for each.
pub fn predictions_to_terminal(table: &PredictionTable, view: &View) -> String {
    let columns = view.columns;
    let answer = siblings::most_and_least(&table.predictions);
    let answer = answer.map_or_else(String::new, |line| wrap(&line, "", columns));
    let mut text = String::new();
    let header = ["core", "IPC alone", "placement", "work, times one", "time of each", "a sibling"];
    let rows = table.predictions.iter().flat_map(siblings::rows).collect();
    let header = header.into_iter().map(str::to_owned).collect();
    text += &grid(&Table { header, rows }, columns);
    text += "\n";
    for line in table.predictions.iter().flat_map(siblings::remarks) {
        text += &wrap(&line, "", columns);
    }
    if let Some(first) = table.predictions.first() {
        text.push('\n');
        text += &wrap(&program(first), "  ", columns);
    }
    section(&mut text, "What limits trust", said(&table.predictions), columns);
    view.in_order(&answer, &text)
}

/// Limits of trust: what is said of every core once, the rest with the core's name.
fn said(predictions: &[Prediction]) -> Vec<String> {
    let has = |it: &Prediction, sentence: &str| it.caveats.iter().any(|it| it.sentence == sentence);
    let mut said: Vec<String> = Vec::new();
    for prediction in predictions {
        for caveat in &prediction.caveats {
            let line = match predictions.iter().all(|it| has(it, &caveat.sentence)) {
                true => caveat.sentence.clone(),
                false => format!("{}: {}", prediction.core.model, caveat.sentence),
            };
            if !said.contains(&line) {
                said.push(line);
            }
        }
    }
    said
}

/// Part on siblings: bars, why, what to do. Empty for a program that was predicted alone.
fn beside_to_terminal(prediction: &Prediction, columns: u16) -> String {
    if prediction.beside.is_empty() {
        return String::new();
    }
    let mut text = siblings::picture(prediction, columns);
    section(&mut text, "Why", siblings::reasons(prediction), columns);
    section(&mut text, "What to do", siblings::advice(prediction), columns);
    text.push('\n');
    text
}

/// The top-down category of a component of a cycle stack, by the simulator's name of it.
pub fn category(component: &str) -> &'static str {
    crate::top_down::Category::of(component).name()
}

/// The program: its command, or the built-in workload that the command runs.
fn program(prediction: &Prediction) -> String {
    let text = match &prediction.workload {
        None => prediction.command.join(" "),
        Some(TracedWorkload { name, parameters, workers }) => {
            let set = parameters.iter().map(|(name, value)| format!(" {name}={value}"));
            let workers = match workers {
                1 => String::new(),
                several => format!(", {several} workers"),
            };
            format!("the built-in workload {name}{}{workers}", set.collect::<String>())
        }
    };
    on_one_line(&text)
}

/// Cycles of the program alone, as a sentence.
pub fn alone(prediction: &Prediction) -> String {
    let core = &prediction.core.model;
    match prediction.estimate(Metric::Cycles, Source::Predicted) {
        Some(cycles) if !is_sensible(cycles) => {
            format!("How many cycles it takes alone on {core} is {TOO_UNCERTAIN}.")
        }
        Some(cycles) => format!(
            "Alone on {core} it takes {} cycles ({} to {}).",
            count(cycles.value),
            count(cycles.low),
            count(cycles.high)
        ),
        None => {
            let why = prediction.not_predicted.iter().map(|why| format!(" {why}"));
            format!("It is not predicted for {core}.{}", why.collect::<String>())
        }
    }
}

/// A row for each figure, predicted and, of the same core, measured beside it.
pub fn figures(prediction: &Prediction) -> Table {
    let row = |name: &str, metric: Metric, show: fn(&Estimate) -> String| {
        let of = |source| prediction.estimate(metric, source);
        let text = |source| of(source).map_or_else(|| "-".to_owned(), show);
        [name.to_owned(), text(Source::Predicted), text(Source::Measured)]
    };
    let ratios = [
        over_measured(prediction, Metric::Cycles),
        over_measured(prediction, Metric::UserTime),
        over_measured(prediction, Metric::InstructionsPerCycle),
    ];
    let rows = [
        row("cycles", Metric::Cycles, |it| with_width(count(it.value), it)),
        row("user time", Metric::UserTime, |it| with_width(seconds(it.value), it)),
        row("IPC", Metric::InstructionsPerCycle, |it| format!("{:.2}", it.value)),
    ];
    let rows =
        rows.into_iter().zip(ratios).map(|(row, ratio)| [row.to_vec(), vec![ratio]].concat());
    let header = ["", "predicted", "measured", "predicted / measured"].map(str::to_owned);
    let mut table = Table { header: header.to_vec(), rows: rows.collect() };
    if !prediction.core.is_own {
        // Measured on this host's core, which is another one.
        table.header.truncate(2);
        table.rows.iter_mut().for_each(|row| row.truncate(2));
    }
    table
}

/// The ratio of a metric's two figures, where they are of the same work; that of cycles has an interval.
fn over_measured(prediction: &Prediction, metric: Metric) -> String {
    let value = |source| prediction.estimate(metric, source).map(|it| it.value);
    let whole = prediction.estimate(Metric::PredictedToMeasured, Source::Predicted);
    match (metric, whole, value(Source::Predicted), value(Source::Measured)) {
        (Metric::Cycles, Some(whole), ..) => format!("{} ({})", ratio(whole), interval(whole)),
        (_, Some(_), Some(predicted), Some(measured)) => format!("{:.2}", predicted / measured),
        _ => "-".to_owned(),
    }
}

/// Course of the simulation and measurement, a sentence each.
pub fn course(prediction: &Prediction) -> Vec<String> {
    let traced = &prediction.traced;
    let all = grouped(traced.instructions);
    let part = match traced.windows.len() {
        _ if traced.simulated == traced.instructions => format!("all {all} instructions"),
        1 => format!("{} of {all} instructions", grouped(traced.simulated)),
        windows => {
            format!("{} of {all} instructions in {windows} windows", grouped(traced.simulated))
        }
    };
    let clock = match prediction.core.clock {
        ClockSource::Measured => format!("at the {:.2} GHz measured here", prediction.core.ghz),
        ClockSource::Model => format!("at the model's {:.2} GHz", prediction.core.ghz),
    };
    let mut lines = vec![format!(
        "Simulated: {part}, recorded by {}, at {}; times {clock}; {:.1} branch MPKI.",
        traced.tracer,
        speed(&traced.cost),
        prediction.mispredicts_per_thousand
    )];
    lines.extend(traced.skipped.as_ref().map(|skipped| {
        format!(
            "The {} instructions before the first system call {} are not counted.",
            grouped(skipped.instructions),
            skipped.call
        )
    }));
    lines.extend(prediction.other.as_ref().map(other));
    lines.extend(prediction.measured.as_ref().map(|measured| how_measured(prediction, measured)));
    if !prediction.core.memory.is_empty() {
        let fields = prediction.core.memory.iter().map(|it| format!("{}={}", it.field, it.value));
        lines.push(format!(
            "The last-level cache and memory are those of this machine, measured between the runs: {}.",
            fields.collect::<Vec<_>>().join(", ")
        ));
    }
    lines
}

/// Instructions simulated in a second of CPU time; by how they are simulated, if that is known.
fn speed(cost: &SimulationCost) -> String {
    let rate = |instructions: u64, cpu_s: f64| instructions as f64 * 1e-6 / cpu_s.max(1e-9);
    let Some(detailed) = cost.detailed.filter(|it| it.instructions < cost.instructions) else {
        let rate = rate(cost.instructions, cost.cpu_s);
        return format!("{rate:.1} million instructions per second");
    };
    let warmed = cost.instructions - detailed.instructions;
    format!(
        "{:.1} million instructions per second in detail, and {:.1} million that warmed caches and predictors",
        rate(detailed.instructions, detailed.cpu_s),
        rate(warmed, cost.cpu_s - detailed.cpu_s)
    )
}

/// The program on the other hardware thread.
fn other(other: &OtherProgram) -> String {
    let threads = match other.threads {
        1 => String::new(),
        several => format!(", the busiest of {several} threads"),
    };
    let kernel = other.kernel_share.map_or_else(String::new, |kernel| {
        format!("; {} of its time in kernel mode", share(kernel.value))
    });
    format!(
        "Beside it: {} ({} instructions{threads}{kernel}).",
        on_one_line(&other.command.join(" ")),
        grouped(other.instructions)
    )
}

fn how_measured(prediction: &Prediction, measured: &MeasuredRuns) -> String {
    let kernel = prediction.estimate(Metric::KernelShare, Source::Measured);
    let kernel = kernel.map_or_else(String::new, |kernel| {
        format!("; {} of its time in kernel mode", share(kernel.value))
    });
    let runs = match (measured.runs.len(), measured.tried) {
        (1, 1) => "1 run".to_owned(),
        (runs, tried) if runs as u32 == tried => format!("{runs} runs"),
        (runs, tried) => format!("the {runs} of {tried} runs with the least contention"),
    };
    format!("Measured: {runs} on CPU {}{kernel}; {}.", measured.cpu, measured.method)
}

/// A value with half the width of its interval, where it has any.
fn with_width(value: String, estimate: &Estimate) -> String {
    match estimate.half_width() {
        width if width > 0.0 => with_half_width(value, estimate),
        _ => value,
    }
}

/// A large count with a prefix: `812 k`, `4.71 G`.
fn count(value: f64) -> String {
    let (scale, prefix) = match value {
        size if size >= 0.999_5e9 => (1e-9, " G"),
        size if size >= 0.999_5e6 => (1e-6, " M"),
        size if size >= 0.999_5e4 => (1e-3, " k"),
        _ => return format!("{value:.0}"),
    };
    format!("{}{prefix}", crate::figures::three_digits(value * scale))
}

#[cfg(test)]
mod tests;
