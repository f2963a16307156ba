//! Why there is no such model, and what the user can do about it.

use std::fmt::{self, Display};
use std::path::PathBuf;

use corun_record::{Actionable, Exit, name_or_file};

use super::published::PublishedError;
use super::timing::TableError;

/// Why a model could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// No model has the name.
    #[error("no core model is called `{found}`; there are: {}", known.join(", "))]
    Unknown {
        /// The name asked for.
        found: String,
        /// The names there are, the nearest first.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("could not read the core model {}: {source}", corun_record::shown(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A field cannot be set so.
    #[error("{setting}: {sentence}")]
    Setting {
        /// As it was asked for.
        setting: String,
        /// The expected and the found value.
        sentence: String,
    },
    /// The file is no model.
    #[error("{}", lines(file, faults))]
    Invalid {
        /// The file's name.
        file: String,
        /// Faults, from the top of the file to its end; never none.
        faults: Vec<Fault>,
    },
}

/// One thing that is wrong with a model file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Line, counted from 1.
    pub line: usize,
    /// The field, what was expected and what was found.
    pub sentence: String,
}

impl Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.sentence)
    }
}

fn lines(file: &str, faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(|fault| format!("{file}, {fault}")).collect();
    lines.join("\n")
}

impl Actionable for TableError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        "Name tables in the model's `timing` and `overlays` that come with corun, or are in the model's folder."
            .to_owned()
    }
}

impl Actionable for PublishedError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        "This is a mistake in corun: please report it.".to_owned()
    }
}

impl Actionable for ModelError {
    fn exit(&self) -> Exit {
        match self {
            Self::Unknown { .. } | Self::Setting { .. } => Exit::Usage,
            Self::Unreadable { source, .. } => Exit::of_file(source),
            Self::Invalid { .. } => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Unknown { found, known } => name_or_file(found, known.first(), "model"),
            Self::Unreadable { .. } => "Name a file that can be read.".to_owned(),
            Self::Setting { .. } => {
                "`corun models show` lists the fields; docs/models.md says what each one means."
                    .to_owned()
            }
            Self::Invalid { .. } => {
                "Correct the file; docs/models.md says what each field means.".to_owned()
            }
        }
    }
}
