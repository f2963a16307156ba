//! A run as JSON: written with a version, read with every version up to it.

use serde::Deserialize;

use crate::run::{FORMAT, Run, VERSION};
use crate::{Actionable, Exit};

/// Why a text is not a run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not the fields of a run.
    #[error("expected a run written by corun as JSON, found something else: {0}")]
    Form(#[from] serde_json::Error),
    /// JSON of another kind.
    #[error("expected format \"{FORMAT}\", found \"{0}\"")]
    Format(String),
    /// Written by a newer corun.
    #[error("expected a version up to {VERSION}, found {0}")]
    Version(u32),
}

impl Actionable for ReadError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        match self {
            Self::Form(_) | Self::Format(_) => {
                "Name a file that `corun measure --json FILE` wrote.".to_owned()
            }
            Self::Version(_) => "Read it with the corun that wrote it, or a newer one.".to_owned(),
        }
    }
}

/// The run as JSON text, ended by a newline.
pub fn to_json(run: &Run) -> String {
    let mut text = serde_json::to_string_pretty(run).expect("a run has no map with odd keys");
    text.push('\n');
    text
}

/// Reads a run of any version up to [`VERSION`].
///
/// # Errors
/// If the text is no JSON, of another format, of a newer version, or lacks a field.
pub fn from_json(text: &str) -> Result<Run, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        format: String,
        version: u32,
    }
    let head: Head = serde_json::from_str(text)?;
    if head.format != FORMAT {
        return Err(ReadError::Format(head.format));
    }
    match head.version {
        1 => Ok(serde_json::from_str(text)?),
        newer => Err(ReadError::Version(newer)),
    }
}

/// The JSON Schema of a run, as pretty-printed JSON ended by a newline.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Run);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}
