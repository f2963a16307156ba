//! The studies that come with corun, and those that a user brings.

use std::path::Path;

use corun_files::InputKind;
use corun_record::{nearest_first, shown};

use crate::error::StudyError;
use crate::study::Study;
use crate::validation::read;

/// Name and text of every study file, by name; the build lists the folder.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));

/// The names of the studies that come with corun.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Every study that comes with corun.
///
/// # Errors
/// The first that is wrong.
pub fn all() -> Result<Vec<Study>, StudyError> {
    FILES.iter().map(|(name, text)| read(&format!("{name}.toml"), text)).collect()
}

/// The study called `name`, or in the file of that path where it ends in `.toml`.
///
/// # Errors
/// If there is none, or it is wrong.
pub fn find(name: &str) -> Result<Study, StudyError> {
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let text = corun_files::text(path, InputKind::STUDY)
            .map_err(|source| StudyError::Unreadable { path: path.to_owned(), source })?;
        let study = read(name, &text)?;
        let stem = path.file_stem().unwrap_or_default();
        return match stem == study.name.as_str() {
            true => Ok(study),
            false => Err(StudyError::ValidationError {
                file: name.to_owned(),
                line: 1 + text.lines().position(|line| line.starts_with("name")).unwrap_or(0),
                sentence: format!(
                    "`name`: expected \"{}\" as the file, found \"{}\"",
                    shown(stem),
                    study.name
                ),
            }),
        };
    }
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => read(&format!("{name}.toml"), text),
        None => {
            Err(StudyError::Unknown { found: name.to_owned(), known: nearest_first(name, names()) })
        }
    }
}
