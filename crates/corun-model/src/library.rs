//! The models that come with corun, and those that a user brings.

use std::path::Path;

use corun_files::InputKind;
use corun_record::{Tree, nearest_first, on_one_line, shortened};
use toml::de::{DeTable, DeValue};

use super::error::{Fault, ModelError};
use super::places::Places;
use super::{CoreModel, check};

/// Name and text of every model file, by name; the build lists the folder.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// The `format` of a model file.
pub const FORMAT: &str = "corun-model";
/// The newest `version` of a model file that can be read.
pub const VERSION: u32 = 1;
/// Mistakes of a file that are reported.
const MAX_FAULTS: usize = 100;
/// Characters of a sentence about one.
const MAX_FAULT_CHARS: usize = 1000;

/// The names of the models that come with corun.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Every model that comes with corun, by name.
///
/// # Errors
/// The first that is wrong.
pub fn all() -> Result<Vec<CoreModel>, ModelError> {
    FILES.iter().map(|(name, text)| CoreModel::from_toml(&format!("{name}.toml"), text)).collect()
}

/// The models that come with corun and are no variants of another: one a design of a core, by name.
///
/// # Errors
/// The first that is wrong.
pub fn designs() -> Result<Vec<CoreModel>, ModelError> {
    let mut models = all()?;
    models.retain(|it| it.base.is_none());
    Ok(models)
}

/// The model called `name`, or in the file of that path where it ends in `.toml`.
///
/// # Errors
/// If there is none, or it is wrong.
pub fn find(name: &str) -> Result<CoreModel, ModelError> {
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let text = corun_files::text(path, InputKind::MODEL)
            .map_err(|source| ModelError::Unreadable { path: path.to_owned(), source })?;
        let model = CoreModel::from_toml(name, &text)?;
        return Ok(CoreModel { folder: path.parent().map(Path::to_owned), ..model });
    }
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => CoreModel::from_toml(&format!("{name}.toml"), text),
        None => {
            Err(ModelError::Unknown { found: name.to_owned(), known: nearest_first(name, names()) })
        }
    }
}

impl CoreModel {
    /// Reads a model file; its name is the file's without folders and extension. A variant names its `base`, a model
    /// that comes with corun, and has only the fields in which it differs.
    ///
    /// # Errors
    /// [`ModelError::Invalid`], with line, field, and what is allowed of everything that is wrong; what
    /// is no TOML, or has unknown or missing fields, is reported at the first.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ModelError> {
        let wrong = |mut faults: Vec<(usize, String)>| {
            faults.sort();
            let (mut line, mut counted) = (1, 0);
            let reported = faults.iter().take(MAX_FAULTS).map(|(place, sentence)| {
                let place = (*place).min(text.len());
                line += text.as_bytes()[counted..place].iter().filter(|&&it| it == b'\n').count();
                counted = place;
                Fault { line, sentence: shortened(sentence, MAX_FAULT_CHARS).into_owned() }
            });
            let mut reported: Vec<Fault> = reported.collect();
            if let Some(more) = faults.len().checked_sub(MAX_FAULTS).filter(|&more| more > 0) {
                reported
                    .push(Fault { line, sentence: format!("and {more} more mistakes after it") });
            }
            let faults = reported;
            ModelError::Invalid { file: on_one_line(file), faults }
        };
        let unreadable = |error: toml::de::Error| {
            let place = error.span().map_or(0, |span| span.start);
            let line = on_one_line(line_at(text, place));
            wrong(vec![(place, format!("{} in `{line}`", on_one_line(error.message().trim())))])
        };
        let mut table = DeTable::parse(text).map_err(unreadable)?;
        let mut places = Places::of(table.get_ref());
        let unprintable: Vec<(usize, String)> = places
            .unprintable()
            .iter()
            .map(|(path, found)| {
                let expected = "expected one line without control characters";
                (places.byte(path), format!("`{path}`: {expected}, found \"{found}\""))
            })
            .collect();
        if !unprintable.is_empty() {
            return Err(wrong(unprintable));
        }
        let format = table.get_mut().remove("format");
        match format.as_ref().and_then(|it| it.get_ref().as_str()) {
            Some(FORMAT) => {}
            found => {
                let found = found.map_or("none".to_owned(), |found| format!("\"{found}\""));
                let sentence = format!("`format`: expected \"{FORMAT}\", found {found}");
                return Err(wrong(vec![(places.byte("format"), sentence)]));
            }
        }
        let version = table.get_mut().remove("version");
        let version = version.as_ref().and_then(|it| it.get_ref().as_integer());
        let version = version.and_then(|it| u32::from_str_radix(it.as_str(), it.radix()).ok());
        if !version.is_some_and(|version| (1..=VERSION).contains(&version)) {
            let found = version.map_or("none".to_owned(), |found| found.to_string());
            let sentence = format!("`version`: expected a version up to {VERSION}, found {found}");
            return Err(wrong(vec![(places.byte("version"), sentence)]));
        }
        let base = table.get_mut().remove("base");
        let base = base.as_ref().map(|it| it.get_ref().as_str().unwrap_or_default().to_owned());
        let mut fields = tree_of(table.get_ref());
        if let Some(name) = &base {
            let Some((inherited, of_base)) = design(name) else {
                let known = nearest_first(name, names()).join(", ");
                let sentence = format!(
                    "`base`: expected a model that comes with corun and is no variant ({known}), found \"{}\"",
                    on_one_line(name)
                );
                return Err(wrong(vec![(places.byte("base"), sentence)]));
            };
            fields = fields.over(inherited);
            places.inherit(&of_base);
        }
        let mut model: Self = fields.read().map_err(|error| {
            let place = places.byte(&error.path());
            let line = on_one_line(line_at(text, place));
            wrong(vec![(place, format!("{} in `{line}`", on_one_line(error.sentence())))])
        })?;
        let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
        model.name = on_one_line(stem.unwrap_or(file));
        model.base = base;
        // Of its base's sources a variant has those that it still names.
        for name in model.unnamed_sources() {
            if places.is_inherited(&format!("sources.{name}")) {
                model.sources.remove(&name);
            }
        }
        let faults = check::faults(&model, &places);
        match faults.is_empty() {
            true => Ok(model),
            false => {
                let at = |(path, sentence): (String, String)| {
                    (places.byte(&path), format!("`{path}`: {sentence}"))
                };
                Err(wrong(faults.into_iter().map(at).collect()))
            }
        }
    }
}

/// The fields of a model that comes with corun, and their places; none of a variant.
fn design(name: &str) -> Option<(Tree, Places)> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == name)?;
    let mut table = DeTable::parse(text).ok()?;
    for known in ["format", "version"] {
        table.get_mut().remove(known);
    }
    let places = Places::of(table.get_ref());
    (!places.has("base")).then(|| (tree_of(table.get_ref()), places))
}

/// The fields of a file, as documents are read.
fn tree_of(table: &DeTable<'_>) -> Tree {
    let fields = table.iter();
    Tree::Table(
        fields.map(|(name, it)| (name.get_ref().to_string(), value(it.get_ref()))).collect(),
    )
}

fn value(value: &DeValue<'_>) -> Tree {
    match value {
        DeValue::String(text) => Tree::Text(text.to_string()),
        DeValue::Integer(number) => {
            let (text, radix) = (number.as_str(), number.radix());
            let negative = || i64::from_str_radix(text, radix).map(Tree::Negative);
            let count = u64::from_str_radix(text, radix).map(Tree::Count);
            // What is beyond is out of every field's range.
            count.or_else(|_| negative()).unwrap_or(Tree::Number(f64::INFINITY))
        }
        DeValue::Float(number) => Tree::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(is_so) => Tree::Flag(*is_so),
        DeValue::Datetime(time) => Tree::Text(time.to_string()),
        DeValue::Array(values) => {
            Tree::List(values.iter().map(|it| self::value(it.get_ref())).collect())
        }
        DeValue::Table(table) => tree_of(table),
    }
}

fn line_at(text: &str, place: usize) -> &str {
    let place = place.min(text.len());
    let begin = text[..place].rfind('\n').map_or(0, |end| end + 1);
    text[begin..].lines().next().unwrap_or_default().trim()
}
