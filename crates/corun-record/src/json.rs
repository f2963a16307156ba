//! The model as JSON: written with a version, read with every version up to it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::run::{FORMAT, Run, VERSION};
use crate::{Actionable, Exit};

/// The run as JSON text, ended by a newline.
pub fn to_json(run: &Run) -> String {
    pretty(run)
}

/// Reads a run of any version up to [`VERSION`].
///
/// # Errors
/// If the text is no JSON, of another format, of a newer version, or lacks a field.
pub fn from_json(text: &str) -> Result<Run, ReadError> {
    read(text, FORMAT, VERSION)
}

/// The JSON Schema of a run, as pretty-printed JSON ended by a newline.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Run))
}

/// Why a text is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not the fields that were expected.
    #[error("expected {expected} written by corun as JSON, found something else: {error}")]
    Form {
        /// The format expected.
        expected: &'static str,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// JSON of another kind.
    #[error("expected format \"{expected}\", found \"{found}\"")]
    Format {
        /// The format expected.
        expected: &'static str,
        /// The format found.
        found: String,
    },
    /// Written by a newer corun.
    #[error("expected a version up to {newest}, found {found}")]
    Version {
        /// The newest version that can be read.
        newest: u32,
        /// The version found.
        found: u32,
    },
}

impl Actionable for ReadError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        match self {
            Self::Form { .. } | Self::Format { .. } => {
                "Name a file that corun wrote with --json FILE.".to_owned()
            }
            Self::Version { .. } => {
                "Read it with the corun that wrote it, or a newer one.".to_owned()
            }
        }
    }
}

/// Indented JSON, ended by a newline.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("the model has no odd keys");
    text.push('\n');
    text
}

/// Reads what carries this format and a version up to `newest`.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    format: &'static str,
    newest: u32,
) -> Result<T, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        format: String,
        version: u32,
    }
    let wrong = |error| ReadError::Form { expected: format, error };
    let head: Head = serde_json::from_str(text).map_err(wrong)?;
    if head.format != format {
        return Err(ReadError::Format { expected: format, found: head.format });
    }
    if !(1..=newest).contains(&head.version) {
        return Err(ReadError::Version { newest, found: head.version });
    }
    serde_json::from_str(text).map_err(wrong)
}
