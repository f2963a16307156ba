//! Published figures of real cores, and what the models say to them.
//!
//! `models/published/NAME.csv` has them: `figure` is a field of the model (`back.rob.entries`, or sums
//! and products of fields), or `latency` or `cycles` (of one among many) of an instruction form.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::CoreModel;
use crate::timing::{Timing, TimingTable};

/// Name and text of every file of published figures, by the model's name; the build lists the folder.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/published.rs"));

/// Figures that a model must agree with at least to count as validated.
pub const MIN_PUBLISHED: usize = 20;

/// A published figure beside the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What it is of.
    pub figure: String,
    /// What was published.
    pub published: f64,
    /// What the model has; none if it has no such field, or its timing table no such form.
    pub modelled: Option<f64>,
    /// By how much they may differ, as a part of the published figure.
    pub tolerance: f64,
    /// Where it was published.
    pub source: String,
}

/// A file of published figures that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("published figures of {model}: {sentence}")]
pub struct PublishedError {
    /// The model's name.
    pub model: String,
    /// What is wrong, with its line.
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
}

impl Comparison {
    /// Whether the model says what was published.
    pub fn agrees(&self) -> bool {
        self.modelled.is_some_and(|modelled| self.is_near(modelled))
    }

    /// Whether the model says something else; a model that says nothing neither agrees nor differs.
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
    let Some((_, text)) = FILES.iter().find(|(name, _)| *name == model.name) else {
        return Ok(Vec::new());
    };
    let wrong = |sentence: String| PublishedError { model: model.name.clone(), sentence };
    let fields = toml::Value::try_from(model).map_err(|error| wrong(error.to_string()))?;
    let table = timing_of(model);
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let rows = reader.deserialize::<Row>();
    rows.map(|row| {
        let row = row.map_err(|error| wrong(error.to_string()))?;
        let tolerance = row.tolerance.unwrap_or(0.0);
        let sane = row.value.is_finite() && (0.0..1.0).contains(&tolerance);
        if !sane || row.source.trim().is_empty() {
            return Err(wrong(format!("`{}`: expected a number and a source", row.figure)));
        }
        Ok(Comparison {
            modelled: match row.figure.split_once(' ') {
                Some(("latency", form)) => row_of(&table, form).map(|it| f64::from(it.latency)),
                Some(("cycles", form)) => row_of(&table, form).map(|it| cycles_of_many(it, model)),
                _ => modelled(&row.figure, &fields),
            },
            figure: row.figure,
            published: row.value,
            tolerance,
            source: row.source,
        })
    })
    .collect()
}

/// The published figure of a field, or of a sum or product of fields written as the file has it, of the
/// core of this name.
pub fn published_figure(core: &str, field: &str) -> Option<f64> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == core)?;
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let mut rows = reader.deserialize::<Row>().filter_map(Result::ok);
    rows.find(|row| row.figure == field).map(|row| row.value)
}

/// The model's table with what is laid over it; none if it is not there or wrong, which the code that times
/// instructions is reported.
fn timing_of(model: &CoreModel) -> Option<TimingTable> {
    TimingTable::of(model).ok()
}

fn row_of<'t>(table: &'t Option<TimingTable>, form: &str) -> Option<&'t Timing> {
    table.as_ref()?.row(form)
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
