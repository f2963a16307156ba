//! The measured model: the base's fields with what was measured in their place, and what says so.

use std::collections::BTreeSet;

use corun_model::{
    CoreModel, FORMAT, Fit, ModelError, VERSION, host_core, named_sources, published_figure, suited,
};

use crate::figure::Figure;
use crate::{CalibrateError, Spread};

/// A field of the base that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Path of the field.
    pub field: String,
    /// Measured value.
    pub measured: Spread,
    /// The value in the measured model: the measurement, rounded to a whole number where the field is a count.
    pub value: f64,
    /// The value in the base model.
    pub base: f64,
    /// Published value of the base's core, if anything was.
    pub published: Option<f64>,
}

/// A model and what was measured of it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredModel {
    /// The text of its file.
    pub toml: String,
    /// The model.
    pub model: CoreModel,
    /// Fields that were measured, as they stand in the model.
    pub changes: Vec<Change>,
    /// Paths of figures of the base that were not measured.
    pub kept: Vec<String>,
}

/// The model that what cannot be measured is taken from, and why: the one asked for, or the nearest to this host.
///
/// # Errors
/// If there is no such model, or none is near.
pub fn base_model(asked: Option<&str>) -> Result<(CoreModel, String), CalibrateError> {
    let found = |name: &str| corun_model::find(name).map_err(CalibrateError::Base);
    if let Some(name) = asked {
        return Ok((found(name)?, "it was asked for".to_owned()));
    }
    let host = host_core();
    let core = host.as_ref().map_or("none".to_owned(), ToString::to_string);
    let Some(suited) = host.as_ref().and_then(suited) else {
        return Err(CalibrateError::NoBase { found: core });
    };
    let reason = match suited.fit {
        Fit::Own => format!("this host's own design, {core}"),
        Fit::PCores => format!("that of this host's P cores, {core}"),
        Fit::Nearest(design) => format!("the nearest model to this host's {core}, {design}"),
    };
    Ok((found(suited.model)?, reason))
}

/// Name of the source that measured fields have.
const SOURCE: &str = "calibrated";

/// Puts the figures in place of the base's. `name` is that of the file and of the timing overlay,
/// `core` says which machine it is. A figure that no model may have is left out.
///
/// # Errors
/// If the figures make no model.
pub fn measured_model(
    base: &CoreModel,
    figures: &[Figure],
    name: &str,
    core: &str,
) -> Result<MeasuredModel, CalibrateError> {
    let mut figures: Vec<&Figure> = figures.iter().filter(|figure| figure.is_field).collect();
    loop {
        match with(base, &figures, name, core) {
            Err(ModelError::Invalid { faults, .. }) => {
                // What no model may have was measured wrongly, or the field means something else here.
                let before = figures.len();
                let is_faulty = |figure: &Figure| {
                    faults
                        .iter()
                        .any(|fault| fault.sentence.starts_with(&format!("`{}`", figure.name)))
                };
                figures.retain(|figure| !is_faulty(figure));
                if figures.len() == before {
                    let sentence =
                        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                    return Err(CalibrateError::NoModel { sentence });
                }
            }
            Err(error) => return Err(CalibrateError::NoModel { sentence: error.to_string() }),
            Ok(made) => return Ok(made),
        }
    }
}

/// The model with these figures in place of the base's.
fn with(
    base: &CoreModel,
    figures: &[&Figure],
    name: &str,
    core: &str,
) -> Result<MeasuredModel, ModelError> {
    let mut table = toml::Value::try_from(base).expect("a model is TOML");
    let mut changes = Vec::new();
    for figure in figures {
        let Some(place) = field_mut(&mut table, &figure.name) else { continue };
        let Some(before) = number(place) else { continue };
        let value = figure.measured.median.round().max(0.0);
        *place = match place {
            toml::Value::Boolean(_) => toml::Value::Boolean(value > 0.5),
            toml::Value::Float(_) => toml::Value::Float(figure.measured.median),
            _ => toml::Value::Integer(value as i64),
        };
        changes.push(Change {
            field: figure.name.clone(),
            measured: figure.measured,
            value,
            base: before,
            published: published_figure(&base.name, &figure.name),
        });
    }
    let kept = numbers("", &table)
        .into_iter()
        .filter(|path| !changes.iter().any(|change| change.field == *path))
        .collect();
    cite(&mut table, &changes);
    describe(&mut table, &changes, name, core);
    let body = toml::to_string(&table).expect("what was read can be written");
    let toml = format!(
        "# Measured on this core by `corun models calibrate`; what was not measured is that of the model {}.\n\
         format = \"{FORMAT}\"\nversion = {VERSION}\n\n{body}",
        base.name
    );
    let model = CoreModel::from_toml(&format!("{name}.toml"), &toml)?;
    Ok(MeasuredModel { toml, model, changes, kept })
}

/// The table that names a source for the field at this path: the nearest above it that has one.
fn cite(table: &mut toml::Value, changes: &[Change]) {
    for change in changes {
        let mut path = change.field.as_str();
        let mut what = Vec::new();
        while let Some((above, last)) = path.rsplit_once('.') {
            what.insert(0, last);
            path = above;
            let place = match field_mut(table, &format!("{path}.sharing.source")) {
                Some(place) => Some(place),
                None => field_mut(table, &format!("{path}.source")),
            };
            if let Some(toml::Value::String(source)) = place {
                let Spread { median, p10, p90, .. } = change.measured;
                let what = what.join(".");
                *source += &format!("; {SOURCE} {what} {median:.2} ({p10:.2} to {p90:.2})");
                break;
            }
        }
    }
}

/// Description that the model has of itself.
fn describe(table: &mut toml::Value, changes: &[Change], name: &str, core: &str) {
    let Some(table) = table.as_table_mut() else { return };
    let text = |text: String| toml::Value::String(text);
    table.insert("title".to_owned(), text(format!("measured: {core}")));
    if let Some(toml::Value::Array(overlays)) = table.get_mut("overlays") {
        overlays.push(text(overlay_name(name)));
    }
    if let Some(toml::Value::Table(sources)) = table.get_mut("sources")
        && !changes.is_empty()
    {
        sources.insert(
            SOURCE.to_owned(),
            text(format!(
                "corun models calibrate on {core}: median and tenths of what was measured"
            )),
        );
    }
    if let Some(toml::Value::Table(estimates)) = table.get_mut("estimates") {
        estimates.retain(|path, _| !changes.iter().any(|change| change.field == *path));
    }
    // What only the estimate of a measured field named is no source of this model.
    let named = named(table);
    if let Some(toml::Value::Table(sources)) = table.get_mut("sources") {
        sources.retain(|name, _| named.contains(name));
    }
}

/// The sources that the texts of a table name.
fn named(table: &toml::Table) -> BTreeSet<String> {
    let of = |(_, value): (_, &toml::Value)| match value {
        toml::Value::String(text) => named_sources(text).map(str::to_owned).collect(),
        toml::Value::Table(table) => named(table),
        toml::Value::Array(all) => {
            all.iter().filter_map(toml::Value::as_table).flat_map(named).collect()
        }
        _ => BTreeSet::new(),
    };
    table.iter().filter(|(key, _)| *key != "sources").flat_map(of).collect()
}

/// The name of the timing table beside a model of this name.
pub fn overlay_name(name: &str) -> String {
    let allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    let name = name.to_lowercase();
    let plain: String = name.chars().map(|it| if allowed(it) { it } else { '-' }).collect();
    format!("{plain}-timing")
}

fn field_mut<'t>(table: &'t mut toml::Value, path: &str) -> Option<&'t mut toml::Value> {
    path.split('.').try_fold(table, |value, name| match value {
        toml::Value::Array(values) => values.get_mut(name.parse::<usize>().ok()?),
        table => table.get_mut(name),
    })
}

fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::Float(number) => Some(*number),
        toml::Value::Boolean(is_so) => Some(f64::from(u8::from(*is_so))),
        _ => None,
    }
}

/// Paths of all numbers and answers of yes or no.
fn numbers(path: &str, value: &toml::Value) -> Vec<String> {
    let below = |name: &str, value: &toml::Value| {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        numbers(&path, value)
    };
    match value {
        toml::Value::Table(table) => {
            let fields = table.iter().filter(|(name, _)| *name != "sharing");
            fields.flat_map(|(name, value)| below(name, value)).collect()
        }
        toml::Value::Array(values) => {
            let values = values.iter().enumerate();
            values.flat_map(|(index, value)| below(&index.to_string(), value)).collect()
        }
        value if number(value).is_some() => vec![path.to_owned()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(figures: &[Figure]) -> MeasuredModel {
        let base = corun_model::find("zen3").unwrap();
        measured_model(&base, figures, "my host", "a core").unwrap()
    }

    #[test]
    fn measured_fields_take_the_place_of_the_bases_and_say_so() {
        let spread = Spread { median: 223.7, p10: 221.0, p90: 226.0, samples: 9 };
        let made = made(&[
            Figure::field("back.rob.entries", "entries", spread),
            Figure::field("memory.forwarding.failure", "cycles", Spread::exact(9.2)),
            Figure::field("back.elimination.integer_moves", "", Spread::exact(0.0)),
            Figure::beside("latency of memory", "cycles", Spread::exact(300.0)),
        ]);
        assert_eq!(made.model.back.rob.entries, 224);
        assert_eq!(made.model.memory.forwarding.failure, 9);
        assert!(!made.model.back.elimination.integer_moves);
        assert_eq!(made.changes.len(), 3);
        let change = &made.changes[0];
        assert_eq!((change.base, change.published), (256.0, Some(256.0)));
        let source = &made.model.back.rob.sharing.source;
        assert!(source.ends_with("; calibrated entries 223.70 (221.00 to 226.00)"), "{source}");
        assert!(made.model.sources.contains_key("calibrated"));
        assert!(corun_model::compare_published(&made.model).unwrap().is_empty());
        assert!(!made.model.estimates.contains_key("memory.forwarding.failure"));
        assert!(made.model.estimates.contains_key("memory.dtlb.miss"));
        assert_eq!(made.model.overlays.last().unwrap(), "my-host-timing");
        assert!(made.kept.contains(&"memory.stores.entries".to_owned()));
        assert!(!made.kept.contains(&"back.rob.entries".to_owned()));
    }

    #[test]
    fn what_only_the_estimate_of_a_measured_field_named_is_no_source_any_more() {
        let base = corun_model::find("ivy-bridge").unwrap();
        assert!(base.sources.contains_key("metrics"));
        let figure = Figure::field("memory.forwarding.failure", "cycles", Spread::exact(9.2));
        let made = measured_model(&base, &[figure], "my host", "a core").unwrap();
        assert!(!made.model.sources.contains_key("metrics"));
        assert!(made.model.sources.contains_key("bhive"));
    }

    #[test]
    fn a_model_of_nothing_measured_is_the_base() {
        let made = made(&[]);
        let base = corun_model::find("zen3").unwrap();
        assert_eq!((made.model.back, made.model.memory), (base.back, base.memory));
    }

    #[test]
    fn what_no_core_can_be_is_left_out() {
        let made = made(&[
            Figure::field("back.rob.entries", "entries", Spread::exact(0.0)),
            Figure::field("memory.l1d.kib", "KiB", Spread::exact(36.0)),
            Figure::field("memory.loads.entries", "entries", Spread::exact(116.0)),
        ]);
        let fields: Vec<&str> = made.changes.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(fields, ["memory.loads.entries"]);
        assert_eq!((made.model.back.rob.entries, made.model.memory.l1d.kib), (256, 32));
    }
}
