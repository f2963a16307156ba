//! The article of an audit: what the scheduler was expected to do, and what it did, round by round.

use corun_record::{Audit, AuditBound, AuditRow, AuditVerdict};
use corun_report::parts::{figures, prose};

use super::common::{capital, limits, machine, origin, thinned, trust};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::Plot;
use crate::plot::bars::{Bar, Bars};

pub(super) fn article(audit: &Audit, detail: Detail) -> Article {
    let rows = audit.rows.iter().map(|row| {
        vec![
            row.property.clone(),
            row.question.clone(),
            row.expected.clone().unwrap_or_else(|| "-".to_owned()),
            row.observed.clone().unwrap_or_else(|| "-".to_owned()),
            row.verdict.name().to_owned(),
            row.reason.clone().unwrap_or_default(),
        ]
    });
    let header = ["property", "question", "expected", "observed", "verdict", "why"];
    let table = Table::of("Each property", &header, rows.collect(), detail);
    let pictures: Vec<Part> =
        audit.rows.iter().filter_map(|row| picture(row, audit, detail)).map(Part::from).collect();
    let mut sections =
        vec![Section::new("What was expected, and what was seen", vec![Part::Table(table)])];
    if !pictures.is_empty() {
        sections.push(Section::new("In pictures", pictures));
    }
    sections.extend(trust(&audit.caveats, &audit.ending));
    let mut facts = origin(&audit.corun_version, &audit.started, audit.elapsed_s, &audit.ending);
    facts.push(("rounds".to_owned(), audit.rounds.to_string()));
    facts.push(("seed".to_owned(), audit.seed.to_string()));
    sections.push(Section::folded("How it was made", vec![Part::Facts(facts)]));
    sections.extend(machine(Some(&audit.machine)));
    Article {
        kind: "Audit of the scheduler",
        title: "What the kernel's scheduler does with controlled loads".to_owned(),
        answers: answers(audit),
        sections,
        ..Article::default()
    }
}

fn answers(audit: &Audit) -> Vec<Statement> {
    let of = |verdict: AuditVerdict| {
        let names = audit.rows.iter().filter(|row| row.verdict == verdict);
        names.map(|row| row.property.as_str()).collect::<Vec<_>>()
    };
    [
        (AuditVerdict::Violated, "bad"),
        (AuditVerdict::Holds, "good"),
        (AuditVerdict::Inconclusive, "open"),
        (AuditVerdict::NotPossible, "even"),
    ]
    .into_iter()
    .filter_map(|(verdict, tone)| {
        let names = of(verdict);
        let count = match names.len() {
            1 => "1 property".to_owned(),
            some => format!("{some} properties"),
        };
        let verdict = match verdict {
            AuditVerdict::Holds if names.len() > 1 => "hold",
            verdict => verdict.name(),
        };
        let sentence = format!("{count} {verdict}: {}.", names.join(", "));
        (!names.is_empty()).then(|| Statement::new(tone, sentence))
    })
    .collect()
}

/// The judged figure of a property with each round's, and its bound.
fn picture(row: &AuditRow, audit: &Audit, detail: Detail) -> Option<Figure> {
    let bound = row.bound?;
    let most = detail.dots_of(audit.rows.len());
    // The first is judged; others of the same kind say it of other loads.
    let first = row.observations.first()?;
    let alike = row.observations.iter().filter(|it| it.unit == first.unit && it.of == first.of);
    let bars = alike.map(|seen| {
        let of = seen.of.clone().unwrap_or_default();
        let own = row.readings.iter().filter(|it| it.arm == seen.arm && it.of == of);
        let dots = own.map(|it| {
            (it.value, format!("round {}: {}", it.round + 1, figures::three_digits(it.value)))
        });
        Bar {
            label: seen.arm.clone(),
            value: Some(seen.estimate.value),
            limits: limits(&seen.estimate),
            dots: thinned(dots.collect(), most, |it: &(f64, String)| it.0),
            figure: format!("{} {}", figures::three_digits(seen.estimate.value), unit(&seen.unit)),
            class: match row.verdict {
                AuditVerdict::Holds => "c3",
                AuditVerdict::Violated => "c2",
                AuditVerdict::Inconclusive | AuditVerdict::NotPossible => "c6",
            },
            ..Bar::default()
        }
    });
    let bars: Vec<Bar> = bars.collect();
    let (limit, name) = match bound {
        AuditBound { at_most: Some(most), .. } => (most, "at most this"),
        AuditBound { at_least: Some(least), .. } => (least, "at least this"),
        AuditBound { .. } => return None,
    };
    if bars.is_empty() {
        return None;
    }
    let axis = format!("{}, {}", first.of.as_deref().unwrap_or("value"), unit(&first.unit));
    Some(Figure {
        name: "property",
        message: format!("{} {}.", capital(&row.question), capital(row.verdict.name())),
        note: format!(
            "Expected: {}. Observed: {}. Bar: the mean; line: its interval; dot: one round. {}.",
            row.expected.as_deref().unwrap_or("-"),
            row.observed.as_deref().unwrap_or("-"),
            prose::machine(&audit.machine)
        ),
        plot: Plot::Bars(Bars { rows: bars, axis, reference: Some((limit, name.to_owned())) }),
        table: None,
    })
}

fn unit(unit: &str) -> &str {
    if unit == "1" { "as a ratio" } else { figures::unit(unit) }
}
