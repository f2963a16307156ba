//! Programs and memory predicted beside measured, tuned and held out apart.

use std::fmt::Write;

use corun_record::{Metric, Prediction, Source};

use crate::measured::{Measured, Recorded};
use crate::predicted::{Outcome, Row};
use crate::programs::Side;

/// What is asked of the mean error, and of the largest, as shares.
const TUNED: (f64, f64) = (0.08, f64::INFINITY);
const HELD_OUT: (f64, f64) = (0.12, 0.30);
/// Of each point of a curve that is no step between two levels.
const POINT: f64 = 0.10;

/// What a page shows.
#[derive(Default)]
pub(crate) struct Page<'p> {
    /// The command that makes it.
    pub command: &'p str,
    /// The core; none where nothing could be predicted.
    pub model: Option<&'p str>,
    /// Where programs were measured before.
    pub recorded: Option<&'p Recorded>,
    /// Programs and loops through memory.
    pub rows: &'p [Row],
}

impl Page<'_> {
    /// In Markdown.
    pub(crate) fn text(&self) -> String {
        let of = self.model.map_or(String::new(), |model| format!(" of `{model}`"));
        let mut text = format!("# How good predictions{of} are\n\n    {}\n\n", self.command);
        text += HOW;
        text + &self.programs()
    }

    /// All that is known of programs and memory.
    fn programs(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let mut text = String::from("\n");
        let mut predictions = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok());
        if let Some(first) = predictions.next().map(|it| &it.prediction) {
            text += &match self.recorded {
                Some(recorded) => before(recorded, first),
                None => here(first),
            };
        }
        for (side, title, limits) in
            [(Side::Tuned, "Used for tuning", TUNED), (Side::HeldOut, "Held out", HELD_OUT)]
        {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.program.side == side).collect();
            if !rows.is_empty() {
                write!(text, "\n## {title}\n\n{}\n{}\n", table(&rows), summary(&rows, limits))
                    .expect("a string takes everything");
            }
        }
        let points: Vec<&Row> =
            self.rows.iter().filter(|row| row.program.side == Side::Memory).collect();
        if !points.is_empty() {
            text += &curves(&points);
        }
        text + LEGEND
    }
}

const HOW: &str = "\
makes this: [predictions](prediction.md) of programs on a core, beside what was measured there. The programs are
listed in `benches/accuracy/src/programs.rs`. Which of them a model may be tuned with was fixed before the first
was measured; how much work each does was changed since, so that it neither spends its time in the kernel nor shares
its core with other load in every run.
";

const LEGEND: &str = "
## What the columns say

- *Predicted / measured*: cycles in the program's own code, with the interval that is printed: of the choice of windows, of
  the model's error on held-out programs and, where it is known, of the spread of runs.
- *Contention*: the share of probes in which other load, such as a sibling that a virtual machine hides, took slots of
  the core, in the worst run that counts; above 5 % the program alone takes less than what was measured.
- *Background*: what other cores of the machine brought into the last level, in GB a second, on average; pointer-chase
  rings were timed for it [around the measured runs](prediction.md#memory-as-it-is-here).
- *Main*: what memory took beyond the last level, in ns. This and *background* are inputs of the prediction.
- *Speed*: million instructions a second of processor time, reading the trace included. Most instructions of a long run
  only [warm caches and predictors](prediction.md#what-is-simulated) and do not pass the pipeline.
- *Peak RSS*: the most memory that the whole process had.
";

/// What a prediction was made on.
pub(crate) fn machine(prediction: &Prediction) -> String {
    let hypervisor = match &prediction.machine.hypervisor {
        Some(name) => format!(", a virtual machine ({name})"),
        None => String::new(),
    };
    let cpu = prediction.machine.cpu_model.as_deref().unwrap_or("an unknown processor");
    format!("{cpu}{hypervisor}")
}

/// The day of a prediction.
pub(crate) fn day(prediction: &Prediction) -> &str {
    prediction.started.split('T').next().unwrap_or_default()
}

fn here(prediction: &Prediction) -> String {
    let memory = match prediction.core.memory.is_empty() {
        true => "the model's",
        false => "this machine's, as it was around the runs of each program",
    };
    format!(
        "The machine: {}. The model: `{}`, {}. Its memory: {memory}. {}\n",
        machine(prediction),
        prediction.core.model,
        prediction.core.reason,
        day(prediction)
    )
}

fn before(recorded: &Recorded, prediction: &Prediction) -> String {
    let Recorded { machine: there, model, date, note, .. } = recorded;
    let note = note.as_ref().map_or(String::new(), |note| format!("{note}\n"));
    format!(
        "The machine: {there}. The model: `{model}`. Its memory: that machine's, as far as it was recorded around the \
         runs of each program.\nMeasured there on {date} beside earlier code; predicted on {} by the code \
         as it is, elsewhere ({}), which\n*speed* and *peak RSS* are of. How far runs were apart was not \
         recorded.\n{note}",
        day(prediction),
        machine(prediction)
    )
}

fn table(rows: &[&Row]) -> String {
    let mut text = String::from(
        "| program | million instructions | predicted cycles (M) | measured | predicted / measured | IPC measured | \
         contention | background | main | speed | peak RSS (MB) |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let name = &row.program.name;
        match &row.outcome {
            Ok(outcome) => writeln!(text, "| `{name}` | {} |", cells(outcome)),
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
        "\n## Memory\n\nLoops through so much memory in pages of 4 KiB: a chain of loads in random order \
         (`chase`), the kernels of\nSTREAM, and a chain of loads that touches a line of each page (`tlb`). What lays \
         memory out comes before, and is neither\npredicted nor measured.\n\n\
         | loop | an operation | predicted cycles | measured | predicted / measured | contention | background | main |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in points {
        let (count, unit) = row.program.work.unwrap_or((1.0, "the run"));
        let line = match &row.outcome {
            Ok(outcome) => point(outcome, count),
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
    let (fitted, others): (Vec<&Row>, Vec<&Row>) = points.iter().partition(|row| row.is_fitted());
    let errors: Vec<f64> = others.iter().filter_map(|row| row.error()).collect();
    let near = errors.iter().filter(|&&error| error <= POINT).count();
    let left_out = match fitted.len() {
        0 => String::new(),
        count => format!(", without the {count} that fields of the model were fitted to"),
    };
    let (of, percent) = (errors.len(), 100.0 * POINT);
    writeln!(text, "\n{near} of {of} points are within {percent:.0} %{left_out}.")
        .expect("a string takes everything");
    text
}

fn point(outcome: &Outcome, count: f64) -> String {
    let cycles = |found: Option<f64>| or_dash(found, |it| format!("{:.2}", it / count));
    let measured = outcome.measured.as_ref();
    format!(
        "| {} | {} | {} | {} | {} | {} |",
        cycles(outcome.cycles().map(|it| it.value)),
        cycles(measured.map(|it| it.cycles)),
        ratio_or_why(outcome),
        or_dash(measured.and_then(|it| it.contention_share), percent),
        found(measured, "hierarchy.l3.background_fills"),
        found(measured, "hierarchy.main.nanoseconds")
    )
}

fn or_dash<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or("-".to_owned(), shown)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// What was found of the machine in place of a field of the model.
fn found(measured: Option<&Measured>, field: &str) -> String {
    or_dash(measured.and_then(|it| it.memory.get(field)), f64::to_string)
}

/// The ratio, or why there is none.
fn ratio_or_why(outcome: &Outcome) -> String {
    if let Some(share) = outcome.measured.as_ref().and_then(Measured::too_much_kernel) {
        return format!("not predicted: {} of its time in the kernel", percent(share));
    }
    or_dash(outcome.ratio(), |it| format!("**{:.2}** ({:.2} to {:.2})", it.value, it.low, it.high))
}

fn cells(outcome: &Outcome) -> String {
    let Outcome { prediction, measured } = outcome;
    let measured = measured.as_ref();
    let millions = |cycles: f64| format!("{:.0}", cycles * 1e-6);
    let instructions = prediction.estimate(Metric::Instructions, Source::Measured);
    let instructions = instructions.map(|it| it.value);
    let per_cycle = instructions.zip(measured).map(|(all, it)| all / it.cycles);
    let predicted = outcome.cycles().filter(|_| outcome.ratio().is_some() || measured.is_none());
    let cost = &prediction.traced.cost;
    [
        or_dash(instructions, millions),
        or_dash(predicted.map(|it| it.value), millions),
        or_dash(measured.map(|it| it.cycles), millions),
        ratio_or_why(outcome),
        or_dash(per_cycle, |it| format!("{it:.2}")),
        or_dash(measured.and_then(|it| it.contention_share), percent),
        found(measured, "hierarchy.l3.background_fills"),
        found(measured, "hierarchy.main.nanoseconds"),
        format!("{:.1}", cost.instructions as f64 * 1e-6 / cost.cpu_s.max(1e-9)),
        format!("{:.0}", cost.peak_rss_bytes as f64 * 1e-6),
    ]
    .join(" | ")
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
    let holds_one = |row: &&&Row| row.ratio().is_some_and(|it| it.low <= 1.0 && 1.0 <= it.high);
    let held = rows.iter().filter(holds_one).count();
    let had_core_to_itself = |row: &&&Row| row.measured().is_some_and(Measured::had_core_to_itself);
    let alone = rows.iter().filter(|row| row.error().is_some()).filter(had_core_to_itself);
    format!(
        "Mean error {:.1} %, largest {:.1} %, of {} programs; the aim is {:.0} %{limit}. {held} intervals hold what was \
         measured. {} programs had the core to themselves.",
        100.0 * mean,
        100.0 * most,
        errors.len(),
        100.0 * mean_limit,
        alone.count()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use corun_record::{
        ClockSource, Document, Estimate, MachineSummary, Observation, PredictedCore,
        SimulationCost, TracedPart,
    };

    use super::*;
    use crate::programs::Program;

    const COMMAND: &str = "corun-accuracy";

    fn row(name: &str, side: Side, outcome: Result<Outcome, String>) -> Row {
        let program = Program {
            name: name.to_owned(),
            side,
            command: Vec::new(),
            from_call: None,
            work: (side == Side::Memory).then_some((2e6, "a load")),
        };
        Row { program, outcome }
    }

    /// A prediction that was made without measuring.
    fn prediction(cycles: f64) -> Prediction {
        let observation = |metric, source, value, half| Observation {
            metric,
            arm: "single".to_owned(),
            against: None,
            of: None,
            unit: "1".to_owned(),
            estimate: Estimate {
                value,
                low: value - half,
                high: value + half,
                level: 0.95,
                blocks: 5,
            },
            bootstrap: None,
            source,
        };
        Prediction {
            format: Prediction::FORMAT.to_owned(),
            version: Prediction::VERSION,
            corun_version: "0.1.0".to_owned(),
            started: "2026-01-02T00:00:00Z".to_owned(),
            elapsed_s: 12.0,
            command: vec!["gzip".to_owned()],
            machine: MachineSummary {
                cpu_model: Some("a processor".to_owned()),
                ..Default::default()
            },
            ending: corun_record::Ending::completed(),
            core: PredictedCore {
                sibling_clock: None,
                is_own: false,
                model: "zen4".to_owned(),
                title: "a core".to_owned(),
                reason: "asked for".to_owned(),
                ghz: 3.5,
                clock: ClockSource::Model,
                memory: Vec::new(),
            },
            traced: TracedPart {
                skipped: None,
                tracer: "dynamorio".to_owned(),
                threads: 1,
                thread: 0,
                instructions: 200_000_000,
                simulated: 10_000_000,
                cost: SimulationCost {
                    instructions: 50_000_000,
                    cpu_s: 5.0,
                    peak_rss_bytes: 90_000_000,
                    detailed: None,
                },
                windows: Vec::new(),
            },
            not_predicted: None,
            simulated_cycles: None,
            observations: vec![
                observation(Metric::Instructions, Source::Measured, 2e8, 0.0),
                observation(Metric::Cycles, Source::Predicted, cycles, 0.01 * cycles),
            ],
            stack: Vec::new(),
            beside: Vec::new(),
            stacked: None,
            verdicts: Vec::new(),
            what_if: Vec::new(),
            workload: None,
            seed: None,
            other: None,
            measured_siblings: None,
            mispredicts_per_thousand: 4.9,
            measured: None,
            caveats: Vec::new(),
        }
    }

    fn measured() -> Measured {
        Measured {
            instructions_m: Some(200.0),
            cycles: 1e8,
            kernel_share: None,
            contention_share: Some(0.02),
            memory: [("hierarchy.l3.background_fills".to_owned(), 1.5)].into(),
            fitted: false,
        }
    }

    #[test]
    fn what_cannot_be_predicted_is_told_and_left_out_of_the_means() {
        let nothing = |side| row("nothing", side, Err("no such file\nhint".to_owned()));
        let rows = [nothing(Side::HeldOut), nothing(Side::Memory)];
        let text = Page { rows: &rows, ..Page::default() }.text();
        assert!(text.contains("| `nothing` | not predicted: no such file | |"), "{text}");
        assert!(text.contains("| `nothing` | a load | not predicted: no such file | |"), "{text}");
        assert!(
            text.contains("None was predicted.") && !text.contains("Used for tuning"),
            "{text}"
        );
    }

    #[test]
    fn what_was_recorded_stands_beside_what_is_predicted_now() {
        let outcome = |measured| Ok(Outcome { prediction: prediction(9e7), measured });
        let in_kernel = Measured { kernel_share: Some(0.33), ..measured() };
        let rows = [
            row("gzip", Side::Tuned, outcome(Some(measured()))),
            row("zstd", Side::Tuned, outcome(Some(in_kernel))),
            row("chase", Side::Memory, outcome(Some(measured()))),
            row("tlb", Side::Memory, outcome(Some(Measured { fitted: true, ..measured() }))),
        ];
        let recorded = Recorded {
            machine: "another processor".to_owned(),
            model: "zen4".to_owned(),
            date: "2025-12-31".to_owned(),
            note: Some("Its fields were not kept.".to_owned()),
            programs: BTreeMap::new(),
        };
        let page =
            Page { command: COMMAND, model: Some("zen4"), recorded: Some(&recorded), rows: &rows };
        let text = page.text();
        for expected in [
            "# How good predictions of `zen4` are\n\n    corun-accuracy\n\nmakes this: [predictions]",
            "The machine: another processor. The model: `zen4`.",
            "were apart was not recorded.\nIts fields were not kept.\n\n",
            "Measured there on 2025-12-31 beside earlier code; predicted on 2026-01-02 by",
            "elsewhere (a processor)",
            "| `gzip` | 200 | 90 | 100 | **0.90** (0.89 to 0.91) | 2.00 | 2 % | 1.5 | - | 10.0 | 90 |",
            "| `zstd` | 200 | - | 100 | not predicted: 33 % of its time in the kernel | 2.00 |",
            "| `chase` | a load | 45.00 | 50.00 | **0.90** (0.89 to 0.91) | 2 % | 1.5 | - |",
            "Mean error 10.0 %, largest 10.0 %, of 1 programs; the aim is 8 %. 0 intervals hold what was",
            "1 of 1 points are within 10 %, without the 1 that fields of the model were fitted to.",
            "whole process had.\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
