//! The page: every program predicted beside measured, tuned and held out apart.

use std::fmt::Write;

use corun_record::{MeasuredRun, Metric, Prediction, Source};

use crate::predicted::Row;
use crate::programs::Side;

/// What is asked of the mean error, and of the largest, as shares.
const TUNED: (f64, f64) = (0.08, f64::INFINITY);
const HELD_OUT: (f64, f64) = (0.12, 0.30);
/// Of each point of a curve that is no step between two levels.
const POINT: f64 = 0.10;

/// The page in Markdown.
pub fn page(rows: &[Row]) -> String {
    let mut text = String::from(
        "# How good predictions are\n\n\
         \x20   cargo run --release -p corun-accuracy -- --output docs/accuracy.md\n\n\
         makes this page: it [predicts](prediction.md) each program on the core of the machine that it runs on, \
         measures it\nthere, and puts both beside each other. The programs stand in \
         `benches/accuracy/src/programs.rs`. Which of them\nmodels may be tuned with was written down before the \
         first was looked at; how much each does was changed since,\nso that it neither spends its time in the \
         kernel nor meets somebody else on its core in every run.\n\n",
    );
    if let Some(first) = rows.iter().find_map(|row| row.outcome.as_ref().ok()) {
        text += &machine(first);
    }
    for (side, title, limits) in
        [(Side::Tuned, "Used for tuning", TUNED), (Side::HeldOut, "Held out", HELD_OUT)]
    {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.program.side == side).collect();
        if !rows.is_empty() {
            write!(text, "\n## {title}\n\n{}\n{}\n", table(&rows), summary(&rows, limits))
                .expect("a string takes everything");
        }
    }
    let points: Vec<&Row> = rows.iter().filter(|row| row.program.side == Side::Memory).collect();
    if !points.is_empty() {
        text += &curves(&points);
    }
    text += LEGEND;
    text
}

const LEGEND: &str = "
## What the columns say

*Predicted / measured* is of cycles in the program's own code, with the interval that the choice of windows and the
spread of runs give. *Crowded*: the share of probes in which somebody else, such as a sibling that a virtual machine
hides, took slots of the core, in the worst run that counts; above 5 % the program alone takes less than what was
measured. *Others*: what other cores of the machine brought into the last level, in GB a second, as the time of circles of
loads told [around the measured runs](prediction.md#memory-as-it-is-here), on average; *main*: what memory
took behind it, in ns; both are in the prediction. *Speed* is in million instructions a second of processor time, reading the trace included; of a long run most
of them only [warm caches and predictors](prediction.md#what-is-simulated), and the pipeline never sees them. *Room* is
the most memory that the whole process had.
";

fn machine(prediction: &Prediction) -> String {
    let hypervisor = match &prediction.machine.hypervisor {
        Some(name) => format!(", a virtual machine ({name})"),
        None => String::new(),
    };
    let cpu = prediction.machine.cpu_model.as_deref().unwrap_or("an unknown processor");
    let memory = match prediction.core.memory.is_empty() {
        true => "the model's",
        false => "this machine's, as it was around the runs of each program",
    };
    format!(
        "The machine: {cpu}{hypervisor}. The model: `{}`, {}. Its memory: {memory}. {}\n",
        prediction.core.model,
        prediction.core.reason,
        &prediction.started[..10]
    )
}

fn table(rows: &[&Row]) -> String {
    let mut text = String::from(
        "| program | million instructions | predicted cycles (M) | measured | predicted / measured | IPC measured | \
         crowded | others | main | speed | room (MB) |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let name = &row.program.name;
        match &row.outcome {
            Ok(prediction) => writeln!(text, "| `{name}` | {} |", cells(row, prediction)),
            Err(reason) => {
                let first = reason.lines().next().unwrap_or_default();
                writeln!(text, "| `{name}` | not predicted: {first} | | | | | | | | | |")
            }
        }
        .expect("a string takes everything");
    }
    text
}

/// Loops whose memory is known, in cycles an operation.
fn curves(points: &[&Row]) -> String {
    let mut text = String::from(
        "\n## Memory\n\nLoops through so much memory in pages of 4 KiB: a chain of loads in an order by chance \
         (`chase`), the kernels of\nSTREAM, and a chain of loads that touches a line of each page (`tlb`). What lays \
         memory out comes before, and is neither\npredicted nor measured.\n\n\
         | loop | an operation | predicted cycles | measured | predicted / measured | crowded | others | main |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in points {
        let (count, unit) = row.program.work.unwrap_or((1.0, "the run"));
        let line = match &row.outcome {
            Ok(prediction) => point(row, prediction, count),
            Err(reason) => {
                format!(
                    "| not predicted: {} | | | | | |",
                    reason.lines().next().unwrap_or_default()
                )
            }
        };
        writeln!(text, "| `{}` | {unit} {line}", row.program.name)
            .expect("a string takes everything");
    }
    let errors: Vec<f64> = points.iter().filter_map(|row| row.error()).collect();
    let near = errors.iter().filter(|&&error| error <= POINT).count();
    writeln!(text, "\n{near} of {} points are within {:.0} %.", errors.len(), 100.0 * POINT)
        .expect("a string takes everything");
    text
}

fn point(row: &Row, prediction: &Prediction, count: f64) -> String {
    let cycles = |source| {
        let found = prediction.estimate(Metric::Cycles, source);
        found.map_or("-".to_owned(), |it| format!("{:.2}", it.value / count))
    };
    format!(
        "| {} | {} | {} | {} | {} | {} |",
        cycles(Source::Predicted),
        cycles(Source::Measured),
        ratio_or_why(row, prediction),
        crowding(prediction),
        found(prediction, "hierarchy.l3.others"),
        found(prediction, "hierarchy.main.nanoseconds")
    )
}

/// What was found of the machine in the place of a field of the model.
fn found(prediction: &Prediction, field: &str) -> String {
    let found = prediction.core.memory.iter().find(|it| it.field == field);
    found.map_or("-".to_owned(), |it| it.value.to_string())
}

fn ratio(row: &Row) -> String {
    row.ratio().map_or("-".to_owned(), |it| {
        format!("**{:.2}** ({:.2} to {:.2})", it.value, it.low, it.high)
    })
}

/// The ratio, or why there is none.
fn ratio_or_why(row: &Row, prediction: &Prediction) -> String {
    if prediction.not_predicted.is_none() {
        return ratio(row);
    }
    let share = prediction.estimate(Metric::KernelShare, Source::Measured);
    let share = share.map_or(0.0, |it| 100.0 * it.value);
    format!("not predicted: {share:.0} % of its time in the kernel")
}

fn crowding(prediction: &Prediction) -> String {
    crowded(prediction).map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share))
}

fn cells(row: &Row, prediction: &Prediction) -> String {
    let millions = |metric, source| {
        let found = prediction.estimate(metric, source);
        found.map_or("-".to_owned(), |it| format!("{:.0}", it.value * 1e-6))
    };
    let per_cycle = prediction.estimate(Metric::InstructionsPerCycle, Source::Measured);
    let cost = &prediction.traced.cost;
    [
        millions(Metric::Instructions, Source::Measured),
        millions(Metric::Cycles, Source::Predicted),
        millions(Metric::Cycles, Source::Measured),
        ratio_or_why(row, prediction),
        per_cycle.map_or("-".to_owned(), |it| format!("{:.2}", it.value)),
        crowding(prediction),
        found(prediction, "hierarchy.l3.others"),
        found(prediction, "hierarchy.main.nanoseconds"),
        format!("{:.1}", cost.instructions as f64 * 1e-6 / cost.processor_s.max(1e-9)),
        format!("{:.0}", cost.peak_bytes as f64 * 1e-6),
    ]
    .join(" | ")
}

/// Of the run that counts and shared its core most.
fn crowded(prediction: &Prediction) -> Option<f64> {
    let runs = prediction.measured.iter().flat_map(|measured| &measured.runs);
    runs.filter_map(|run| run.crowded).max_by(f64::total_cmp)
}

fn summary(rows: &[&Row], (mean_limit, most_limit): (f64, f64)) -> String {
    let errors: Vec<f64> = rows.iter().filter_map(|row| row.error()).collect();
    if errors.is_empty() {
        return "None was predicted.".to_owned();
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let most = errors.iter().copied().fold(0.0, f64::max);
    let limit = match most_limit {
        limit if limit.is_finite() => format!(" and {:.0} % for each", 100.0 * limit),
        _ => String::new(),
    };
    let alone = rows.iter().filter(|row| {
        let measured = row.outcome.as_ref().ok().and_then(|it| it.measured.as_ref());
        row.error().is_some()
            && measured.is_some_and(|it| it.runs.iter().all(MeasuredRun::had_its_core))
    });
    format!(
        "Mean error {:.1} %, largest {:.1} %, of {} programs; the aim is {:.0} %{limit}. {} of them had the core to \
         themselves.",
        100.0 * mean,
        100.0 * most,
        errors.len(),
        100.0 * mean_limit,
        alone.count()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Program;

    #[test]
    fn what_cannot_be_predicted_is_told_and_left_out_of_the_means() {
        let row = |side| {
            let work = Some((2.0, "a load"));
            let program = Program {
                name: "nothing".to_owned(),
                side,
                command: Vec::new(),
                from_call: None,
                work,
            };
            Row { program, outcome: Err("no such file\nhint".to_owned()) }
        };
        let text = page(&[row(Side::HeldOut), row(Side::Memory)]);
        assert!(text.contains("| `nothing` | not predicted: no such file | |"), "{text}");
        assert!(text.contains("| `nothing` | a load | not predicted: no such file | |"), "{text}");
        assert!(
            text.contains("None was predicted.") && !text.contains("Used for tuning"),
            "{text}"
        );
    }
}
