//! Published figures of real cores, and what the models say to them.
//!
//! `models/published/NAME.csv` has them: `figure` is a field of the model (`back.rob.entries`, or sums
//! and products of fields), or `latency` or `cycles` (of one among many) of an instruction form. `place` is
//! where in the source the figure was read; a row without one is unchecked.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::CoreModel;
use crate::timing::{Timing, TimingTable};

/// Name and text of every file of published figures, by the model's name; the build lists the folder.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/published.rs"));

/// The widest tolerance of a row: it allows for the rounding of the published figure, and for nothing else.
const MAX_TOLERANCE: f64 = 0.01;

/// A published figure beside the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Name of the figure.
    pub figure: String,
    /// Published value.
    pub published: f64,
    /// Value of the model; none if it has no such field, or its timing table no such form.
    pub modelled: Option<f64>,
    /// Rounding of the published figure.
    pub tolerance: f64,
    /// Publication.
    pub source: String,
    /// Place in the source; none: the row is unchecked.
    pub place: Option<String>,
    /// Why the model has another figure, where that is known.
    pub difference: Option<String>,
}

/// A file of published figures that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("published figures of {model}: {sentence}")]
pub struct PublishedError {
    /// The model's name.
    pub model: String,
    /// The fault, with its line.
    pub sentence: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    figure: String,
    value: f64,
    #[serde(default)]
    tolerance: Option<f64>,
    source: String,
    #[serde(default)]
    place: Option<String>,
    #[serde(default)]
    difference: Option<String>,
}

impl Row {
    /// Fault of the row.
    fn fault(&self) -> Option<&'static str> {
        if !self.value.is_finite() {
            return Some("expected a finite number");
        }
        if !(0.0..=MAX_TOLERANCE).contains(&self.tolerance.unwrap_or(0.0)) {
            return Some(
                "expected a tolerance up to 0.01, which is for rounding of the published figure",
            );
        }
        self.source.trim().is_empty().then_some("expected a source")
    }
}

impl Comparison {
    /// True if the figure was read in its source.
    pub fn is_checked(&self) -> bool {
        self.place.is_some()
    }

    /// True if the model says what was published.
    pub fn agrees(&self) -> bool {
        self.modelled.is_some_and(|modelled| self.is_near(modelled))
    }

    /// True if the model says something else; a model that says nothing neither agrees nor differs.
    pub fn differs(&self) -> bool {
        self.modelled.is_some_and(|modelled| !self.is_near(modelled))
    }

    fn is_near(&self, modelled: f64) -> bool {
        // What is left when thirds are added up is no difference.
        const ROUNDING: f64 = 1e-9;
        (modelled - self.published).abs() <= self.tolerance * self.published.abs() + ROUNDING
    }
}

/// Every published figure of the core that the model is called after, beside the model's; none if none
/// were collected.
///
/// # Errors
/// If the file that comes with corun is wrong.
pub fn compare_published(model: &CoreModel) -> Result<Vec<Comparison>, PublishedError> {
    match FILES.iter().find(|(name, _)| *name == model.name) {
        Some((_, text)) => compare(model, text),
        None => Ok(Vec::new()),
    }
}

fn compare(model: &CoreModel, text: &str) -> Result<Vec<Comparison>, PublishedError> {
    let wrong = |sentence: String| PublishedError { model: model.name.clone(), sentence };
    let fields = toml::Value::try_from(model).map_err(|error| wrong(error.to_string()))?;
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let rows = reader.deserialize::<Row>().collect::<Result<Vec<_>, _>>();
    let rows = rows.map_err(|error| wrong(error.to_string()))?;
    let forms: HashSet<&str> = rows.iter().filter_map(|row| Some(timed(&row.figure)?.1)).collect();
    // What is wrong with a table, the code that times instructions reports.
    let table = TimingTable::of_forms(model, &|form| forms.contains(form)).ok();
    let row_of = |form: &str| table.as_ref()?.row(form);
    let compared = rows.iter().map(|row| {
        if let Some(fault) = row.fault() {
            return Err(wrong(format!("`{}`: {fault}", row.figure)));
        }
        let compared = Comparison {
            modelled: match timed(&row.figure) {
                Some(("latency", form)) => row_of(form).map(|it| f64::from(it.latency)),
                Some((_, form)) => row_of(form).map(|it| cycles_of_many(it, model)),
                None => modelled(&row.figure, &fields),
            },
            figure: row.figure.clone(),
            published: row.value,
            tolerance: row.tolerance.unwrap_or(0.0),
            source: row.source.clone(),
            place: row.place.clone(),
            difference: row.difference.clone(),
        };
        if compared.difference.is_some() && !compared.differs() {
            let figure = compared.figure;
            return Err(wrong(format!("`{figure}`: expected no `difference` where none is")));
        }
        Ok(compared)
    });
    compared.collect()
}

/// The quantity and the form of a figure of an instruction.
fn timed(figure: &str) -> Option<(&str, &str)> {
    figure.split_once(' ').filter(|(quantity, _)| matches!(*quantity, "latency" | "cycles"))
}

/// The published figure of a field, or of a sum or product of fields written as the file has it, of the
/// core of this name.
pub fn published_figure(core: &str, field: &str) -> Option<f64> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == core)?;
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let mut rows = reader.deserialize::<Row>().filter_map(Result::ok);
    rows.find(|row| row.figure == field).map(|row| row.value)
}

/// Cycles that one of many independent instructions of a form takes: no fewer than the busiest set of
/// ports, the loads, the stores and renaming need.
pub fn cycles_of_many(timing: &Timing, model: &CoreModel) -> f64 {
    let mut work: BTreeMap<&[String], f64> = BTreeMap::new();
    for uop in &timing.uops {
        *work.entry(&uop.ports).or_default() += f64::from(uop.busy.max(1));
    }
    let memory = &model.memory;
    let is_part = |ports: &[String], of: &[String]| ports.iter().all(|port| of.contains(port));
    let ports = work.keys().map(|set| {
        let inside = work.iter().filter(|(ports, _)| is_part(ports, set));
        inside.map(|(_, cycles)| cycles).sum::<f64>() / set.len().max(1) as f64
    });
    let parts = [
        (timing.slots, model.back.dispatch.entries),
        (timing.loads, memory.loads.rate),
        (timing.stores, memory.stores.rate),
    ];
    let parts = parts.map(|(amount, rate)| f64::from(amount) / f64::from(rate.max(1)));
    ports.chain(parts).fold(0.0, f64::max)
}

/// Fields and numbers, multiplied and added: `a.b * a.c + a.d`.
fn modelled(figure: &str, fields: &toml::Value) -> Option<f64> {
    let factor = |text: &str| match text.trim().parse() {
        Ok(number) => Some(number),
        Err(_) => field(text.trim(), fields),
    };
    let term = |text: &str| text.split('*').map(factor).product::<Option<f64>>();
    figure.split('+').map(term).sum()
}

fn field(path: &str, fields: &toml::Value) -> Option<f64> {
    let found = path.split('.').try_fold(fields, |value, name| match value {
        toml::Value::Array(values) => values.get(name.parse::<usize>().ok()?),
        table => table.get(name),
    })?;
    match found {
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::Float(number) => Some(*number),
        toml::Value::Boolean(is_so) => Some(f64::from(u8::from(*is_so))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "figure,value,tolerance,source,place,difference\n";

    fn compared(row: &str) -> Result<Comparison, String> {
        let model = crate::find("zen4").unwrap();
        let mut all = compare(&model, &format!("{HEAD}{row}\n")).map_err(|it| it.sentence)?;
        Ok(all.remove(0))
    }

    #[test]
    fn a_row_without_a_place_is_unchecked() {
        assert!(compared("back.rob.entries,320,,guide,table 1,").unwrap().is_checked());
        assert!(!compared("back.rob.entries,320,,guide,,").unwrap().is_checked());
    }

    #[test]
    fn a_known_difference_is_one_all_the_same() {
        let known = compared("back.rob.entries,256,,guide,,measured otherwise").unwrap();
        assert!(known.differs() && !known.agrees());
        assert_eq!(known.difference.as_deref(), Some("measured otherwise"));
    }

    #[test]
    fn what_would_hide_a_difference_is_refused() {
        for (row, expected) in [
            ("back.rob.entries,256,0.34,guide,,", "expected a tolerance up to 0.01"),
            ("back.rob.entries,320,-0.1,guide,,", "expected a tolerance up to 0.01"),
            ("back.rob.entries,NaN,,guide,,", "expected a finite number"),
            ("back.rob.entries,320,,,,", "expected a source"),
            ("back.rob.entries,320,,guide,,none at all", "expected no `difference`"),
        ] {
            let found = compared(row).unwrap_err();
            assert!(found.contains(expected), "{row}: {found}");
        }
    }
}
