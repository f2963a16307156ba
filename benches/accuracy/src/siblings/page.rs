//! The page of published and predicted yields.

use std::collections::BTreeSet;
use std::fmt::Write;

use corun_record::{Estimate, RecordedCore, RecordedProgram, SiblingEvidence, on_one_line};

use super::rows::{Clock, Likeness, Ratio, Row, Side};
use super::sensitivity::{Sensitivity, Shift};
use super::{Measured, Predicted};

/// What is asked of the mean error of a yield.
const LIMIT: f64 = 0.10;
/// From which yield on siblings help.
pub(crate) const HELPS: f64 = 1.05;

/// The page in Markdown, and the command that makes it.
pub(crate) fn page(
    rows: &[Predicted],
    varied: &[Sensitivity],
    measured: &[Measured],
    command: &str,
) -> String {
    let mut text = format!("# How good predictions of SMT yields are\n\n    {command}\n\n{HOW}");
    text += &tables(rows, "##");
    text += &of_hardware(measured);
    text += &of_assumptions(varied);
    text += "\n## Sources\n\n";
    for Predicted { row, .. } in rows {
        writeln!(text, "- {} on {}: {}.", row.workload, row.processor, row.source)
            .expect("a string takes everything");
    }
    text
}

/// The rows of each side under a heading.
pub(crate) fn tables(rows: &[Predicted], heading: &str) -> String {
    let mut text = String::new();
    for (side, title) in [(Side::Tuned, "Used for tuning"), (Side::HeldOut, "Held out")] {
        let of: Vec<&Predicted> = rows.iter().filter(|one| one.row.side == side).collect();
        if !of.is_empty() {
            let table: String = of.iter().map(|one| line(one)).collect();
            write!(text, "\n{heading} {title}\n\n{HEADER}{table}\n{}", summary(&of))
                .expect("a string takes everything");
        }
    }
    text
}

const HOW: &str = "\
makes this: published SMT yields beside what the [simulated core](siblings.md) gives for a program that stands for the published
one.
";

const HEADER: &str = "\
| workload | processor | model | ratio | program | clock | published | a cycle | predicted a second | off |
|---|---|---|---|---|---|---|---|---|---|
";

/// The group of yields that were measured on hardware; nothing where there are none.
pub(crate) fn of_hardware(measured: &[Measured]) -> String {
    if measured.is_empty() {
        return String::new();
    }
    let table: String = measured.iter().map(measured_line).collect();
    let pairs: Vec<(f64, f64)> = measured
        .iter()
        .filter_map(|one| Some((one.record.measured.value, one.outcome.as_ref().ok()?.mean)))
        .collect();
    format!(
        "\n## Measured on hardware, held out\n\n{OF_HARDWARE}{table}\n{}",
        of_pairs("All rows", &pairs)
    )
}

/// What changes yields; nothing where no figure was varied.
fn of_assumptions(varied: &[Sensitivity]) -> String {
    if varied.is_empty() {
        return String::new();
    }
    let models: BTreeSet<&str> = varied.iter().map(|one| one.case.model.as_str()).collect();
    let tables: String = models.into_iter().map(|model| assumptions_of(model, varied)).collect();
    format!("\n## What assumptions decide\n\n{OF_ASSUMPTIONS}{tables}")
}

const OF_ASSUMPTIONS: &str = "\
Each figure that a model estimates is halved and doubled, each policy that it assumes replaced by every other one, one at a
time. The tables list the largest change of a yield, from 0.01 on, in windows of 0.1 million instructions and one phase: of rows
above that the model was tuned with, and of programs of which no yield of that core is published.
";

/// A change of a yield that is listed.
const NOTICED: f64 = 0.01;

/// The assumptions of a model, the one that changes most first.
fn assumptions_of(model: &str, varied: &[Sensitivity]) -> String {
    let mut all: Vec<(&Shift, &str)> = Vec::new();
    let (mut fields, mut programs) = (BTreeSet::new(), Vec::new());
    for Sensitivity { case, shifts } in varied.iter().filter(|one| one.case.model == model) {
        programs.push(case.program.as_str());
        for shift in shifts {
            fields.insert(&shift.field);
            let is_same = |known: &Shift| known.field == shift.field && known.other == shift.other;
            match all.iter_mut().find(|(known, _)| is_same(known)) {
                Some(known) if known.0.change.abs() >= shift.change.abs() => {}
                Some(known) => *known = (shift, &case.program),
                None => all.push((shift, &case.program)),
            }
        }
    }
    all.retain(|(shift, _)| shift.change.abs() >= NOTICED);
    all.sort_by(|one, other| other.0.change.abs().total_cmp(&one.0.change.abs()));
    let moving: BTreeSet<&String> = all.iter().map(|(shift, _)| &shift.field).collect();
    let lines: String = all
        .iter()
        .map(|(Shift { field, value, other, change }, program)| {
            format!("| `{field}` | {value} | {other} | {change:+.2} | {program} |\n")
        })
        .collect();
    format!(
        "\n### `{model}`\n\n{} of {} assumed fields change a yield by {NOTICED} or more ({}).\n\n\
         | field | value | instead | yield | most of |\n|---|---|---|---|---|\n{lines}",
        moving.len(),
        fields.len(),
        programs.join(", ")
    )
}

const OF_HARDWARE: &str = "\
Yields that `corun predict --record` or `--record-yields` measured on siblings, with their 95 % intervals. No model was tuned
with them.

| program | core | model | siblings by | measured | interval | predicted | range | off |
|---|---|---|---|---|---|---|---|---|
";

fn measured_line(one: &Measured) -> String {
    let record = &one.record;
    let RecordedCore { vendor, family, model, stepping, .. } = &record.core;
    let programs = match &record.beside {
        Some(beside) => format!("{} beside {}", program(&record.program), program(beside)),
        None => format!("{}, {}", program(&record.program), record.placement),
    };
    let known = match record.siblings {
        SiblingEvidence::Topology => "topology",
        SiblingEvidence::Probe => "probe",
    };
    let Estimate { value, low, high, .. } = record.measured;
    let predicted = match &one.outcome {
        Ok(found) => format!(
            "**{:.2}** | {:.2} to {:.2} | {:+.2}",
            found.mean,
            found.low,
            found.high,
            found.mean - value
        ),
        Err(reason) => format!("not predicted: {reason} | |"),
    };
    format!(
        "| {programs} | {vendor} family {family} model {model} stepping {stepping} | `{}` | {known} | {value:.2} | {low:.2} to \
         {high:.2} | {predicted} |\n",
        one.model.as_deref().unwrap_or("-")
    )
}

/// A program; a name of a file is shown as text, whatever it holds.
fn program(program: &RecordedProgram) -> String {
    let parameters = program.parameters.iter().map(|(name, value)| format!(" {name}={value}"));
    let text = format!("{}{}", program.name, parameters.collect::<String>());
    on_one_line(&text).replace('|', "\\|")
}

fn line(one: &Predicted) -> String {
    let Row { workload, processor, model, published, .. } = &one.row;
    let ratio = match one.row.ratio {
        Ratio::FullToSpread => "full/spread",
        Ratio::FullToStacked => "full/stacked",
    };
    let likeness = match one.row.likeness {
        Likeness::Faithful => "faithful",
        Likeness::Proxy => "proxy",
    };
    let clock = match one.row.clock {
        Clock::Fixed => "fixed",
        Clock::Free => "free",
        Clock::Unknown => "unknown",
    };
    let predicted = match one.both() {
        Ok((a_cycle, Estimate { value, low, high, .. })) => format!(
            "{a_cycle:.2} | **{value:.2}** ({low:.2} to {high:.2}) | {:+.2}",
            value - published
        ),
        Err(reason) => format!("not predicted: {reason} | |"),
    };
    format!(
        "| {workload} | {processor} | `{model}` | {ratio} | {likeness} | {clock} | {published:.2} | {predicted} |\n"
    )
}

/// Errors of some rows, and those of the constant that would do best for them.
fn summary(rows: &[&Predicted]) -> String {
    let pairs = |likeness: Option<Likeness>| -> Vec<(f64, f64)> {
        let of = rows.iter().filter(|one| likeness.is_none_or(|it| one.row.likeness == it));
        of.filter_map(|one| Some((one.row.published, one.both().ok()?.1.value))).collect()
    };
    let mut text = String::new();
    for (name, likeness) in [
        ("All rows", None),
        ("Faithful rows", Some(Likeness::Faithful)),
        ("Proxies", Some(Likeness::Proxy)),
    ] {
        text += &of_pairs(name, &pairs(likeness));
    }
    text
}

/// The errors of pairs of a known and a predicted yield as a line; nothing of none.
fn of_pairs(name: &str, pairs: &[(f64, f64)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let (constant, its_error) = best_constant(pairs);
    let signs = pairs.iter().filter(|(one, other)| (*one > HELPS) == (*other > HELPS)).count();
    let count = pairs.len();
    format!(
        "{name}: mean absolute error {:.3} of {count} (asked: {LIMIT:.2}); \"helps by more than 5 %\" right in \
         {signs} of {count}; the best constant, {constant:.2}, has an error of {its_error:.3}.\n",
        mean_error(pairs)
    )
}

/// Of pairs of a published and a predicted yield.
fn mean_error(pairs: &[(f64, f64)]) -> f64 {
    let errors: f64 =
        pairs.iter().map(|(published, predicted)| (predicted - published).abs()).sum();
    errors / pairs.len() as f64
}

/// The constant with the least mean absolute error, which is the median of the published yields, and that error.
fn best_constant(pairs: &[(f64, f64)]) -> (f64, f64) {
    let mut published: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
    published.sort_by(f64::total_cmp);
    let constant = published[published.len() / 2];
    let guessed: Vec<(f64, f64)> = published.iter().map(|&one| (one, constant)).collect();
    (constant, mean_error(&guessed))
}

#[cfg(test)]
mod tests {
    use super::super::records::tests::record;
    use super::super::{Case, Yield};
    use super::*;

    fn row(side: Side, likeness: Likeness, published: f64, mean: Option<f64>) -> Predicted {
        let row = Row {
            workload: "a loop".to_owned(),
            processor: "a processor".to_owned(),
            model: "zen4".to_owned(),
            program: "loop".to_owned(),
            ratio: Ratio::FullToSpread,
            published,
            others: 1.0,
            clock: Clock::Fixed,
            side,
            likeness,
            source: "a publication".to_owned(),
        };
        let found = mean.map(|mean| Yield { mean, low: mean - 0.01, high: mean + 0.01 });
        let outcome = found.ok_or_else(|| "no such program".to_owned());
        Predicted { row, outcome }
    }

    #[test]
    fn what_was_measured_on_hardware_is_a_group_of_its_own() {
        let (known, unknown) = (record("gzip", Some(1.3)), record("a|b", None));
        let measured = [known, unknown].map(|record| {
            let predicted = record.predicted.map(|it| it.value);
            let found = predicted.map(|mean| Yield { mean, low: mean - 0.1, high: mean + 0.1 });
            let outcome = found.ok_or_else(|| "its arguments are not known".to_owned());
            Measured { record, model: Some("zen4".to_owned()), outcome }
        });
        let text = page(&[], &[], &measured, "the command");
        for expected in [
            "\n## Measured on hardware, held out\n",
            "| gzip, full | AuthenticAMD family 25 model 97 stepping 2 | `zen4` | topology | 1.20 | 1.20 to 1.20 | **1.30** | \
             1.20 to 1.40 | +0.10 |",
            "| a\\|b, full | ",
            "| not predicted: its arguments are not known | | |\n",
            "All rows: mean absolute error 0.100 of 1",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn groups_have_their_errors_beside_those_of_the_best_constant() {
        let rows = [
            row(Side::Tuned, Likeness::Faithful, 1.2, Some(1.3)),
            row(Side::HeldOut, Likeness::Faithful, 1.0, Some(1.2)),
            row(Side::HeldOut, Likeness::Faithful, 1.4, Some(1.5)),
            row(Side::HeldOut, Likeness::Proxy, 1.6, Some(1.6)),
            row(Side::HeldOut, Likeness::Proxy, 0.8, None),
        ];
        let text = page(&rows, &[], &[], "the command");
        assert!(!text.contains("on hardware"), "{text}");
        for expected in [
            "# How good predictions of SMT yields are\n\n    the command\n\nmakes this:",
            "| a loop | a processor | `zen4` | full/spread | faithful | fixed | 1.20 | 1.30 | **1.30** (",
            "| proxy | fixed | 0.80 | not predicted: no such program | | |",
            "All rows: mean absolute error 0.100 of 3 (asked: 0.10); \"helps by more than 5 %\" right in 2 of 3; the \
             best constant, 1.40, has an error of 0.200.",
            "Proxies: mean absolute error 0.000 of 1",
            "- a loop on a processor: a publication.",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn assumptions_are_listed_by_what_they_change() {
        let shift = |field: &str, other: &str, change| Shift {
            field: field.to_owned(),
            value: "4".to_owned(),
            other: other.to_owned(),
            change,
        };
        let of = |model: &str, program: &str, shifts| Sensitivity {
            case: Case { model: model.to_owned(), program: program.to_owned(), others: 1.0 },
            shifts,
        };
        let shifts = vec![
            shift("a.b", "8", 0.02),
            shift("a.b", "2", 0.001),
            shift("c.policy", "shared", -0.3),
            shift("d", "1", 0.0),
        ];
        let varied = [
            of("zen4", "loop", shifts),
            of("zen2", "loop", vec![shift("a.b", "8", 0.002)]),
            of("zen4", "walk", vec![shift("a.b", "8", -0.05)]),
        ];
        let text = page(&[], &varied, &[], "the command");
        for expected in [
            "### `zen2`\n\n0 of 1 assumed fields change a yield by 0.01 or more (loop).",
            "### `zen4`\n\n2 of 3 assumed fields change a yield by 0.01 or more (loop, walk).",
            "|---|---|---|---|---|\n| `c.policy` | 4 | shared | -0.30 | loop |\n| `a.b` | 4 | 8 | -0.05 | walk |\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert_eq!(text.matches("### `zen4`").count(), 1);
    }
}
