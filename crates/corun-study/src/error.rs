//! Why there is no such study, and what the user can do about it.

use std::path::PathBuf;

use corun_record::{Actionable, Exit, name_or_file};

/// Why a study could not be had.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No study has the name.
    #[error("no study is called `{found}`; there are: {}", known.join(", "))]
    Unknown {
        /// The name asked for.
        found: String,
        /// The names there are, the nearest first.
        known: Vec<&'static str>,
    },
    /// The study has no such row.
    #[error("the study {study} has no figure and no experiment `{found}`; near it are: {}", known.join(", "))]
    UnknownRow {
        /// The study.
        study: String,
        /// The name asked for.
        found: String,
        /// Names that it has, the nearest first.
        known: Vec<String>,
    },
    /// The file cannot be read.
    #[error("could not read the study {}: {source}", corun_record::shown(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is no study.
    #[error("{file}, line {line}: {sentence}")]
    ValidationError {
        /// The file's name.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The field, what was expected and what was found.
        sentence: String,
    },
}

impl Actionable for StudyError {
    fn exit(&self) -> Exit {
        match self {
            Self::Unknown { .. } | Self::UnknownRow { .. } => Exit::Usage,
            Self::Unreadable { source, .. } => Exit::of_file(source),
            Self::ValidationError { .. } => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Unknown { found, known } => name_or_file(found, known.first(), "study"),
            Self::UnknownRow { study, .. } => {
                format!("`corun study show {study}` lists its figures and experiments.")
            }
            Self::Unreadable { .. } => "Name a file that can be read.".to_owned(),
            Self::ValidationError { .. } => {
                "Correct the file; docs/studies.md says what each field means.".to_owned()
            }
        }
    }
}

/// Mistake, and the place in the text.
pub(crate) type ValidationError = (usize, String);
