//! The model as JSON: written with a version; a version above it is refused.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Serializer;
use serde_json::error::Category;

use crate::checked_json::CheckedJson;
use crate::json_writer::Indented;
use crate::reader::FieldError;
use crate::{Actionable, Exit, steers};

/// A form of the model that stands in a file of its own, with its format's name and version.
pub trait Document: Serialize + JsonSchema + Sized {
    /// The `format` of its JSON.
    const FORMAT: &'static str;
    /// The `version` that this program writes, and the newest that it reads.
    const VERSION: u32 = 1;

    /// The document as JSON text, ended by a newline.
    fn to_json(&self) -> String {
        json_text(self)
    }

    /// Reads a document of any version up to [`Self::VERSION`].
    ///
    /// # Errors
    /// If the text is no JSON, of another format, of a newer version, or lacks a field.
    fn from_json(text: &str) -> Result<Self, ReadError>
    where
        Self: DeserializeOwned,
    {
        Self::from_checked(checked(text, Self::FORMAT)?)
    }

    /// As [`from_json`](Self::from_json), of a text that is known to be JSON.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    fn from_checked(json: CheckedJson<'_>) -> Result<Self, ReadError>
    where
        Self: DeserializeOwned,
    {
        check_head(json, Self::FORMAT, Self::VERSION)?;
        json.read().map_err(|error| ReadError::of_field(Self::FORMAT, &error))
    }

    /// The JSON Schema of such documents, as pretty-printed JSON ended by a newline.
    fn schema() -> String {
        json_text(&schemars::schema_for!(Self))
    }
}

/// Why a text is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not the fields that were expected.
    #[error("expected {expected} written by corun as JSON, found {}", found(error))]
    Form {
        /// The format expected.
        expected: &'static str,
        /// The parser's error.
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
        found: u64,
    },
}

impl ReadError {
    /// Of JSON that has not the fields that were expected.
    #[cold]
    pub(crate) fn of_field(expected: &'static str, error: &FieldError) -> Self {
        Self::Form { expected, error: serde_json::Error::custom(error) }
    }
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

/// Description of a text that could not be read, and the place.
fn found(error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        Category::Syntax | Category::Io => format!("text that is no JSON ({place})"),
        Category::Eof => format!("text that ends too early ({place})"),
        Category::Data => {
            let said = error.to_string();
            match said.rsplit_once(", expected ") {
                Some((given, wanted)) => format!("other JSON: {given} instead of {wanted}"),
                None => format!("other JSON: {said}"),
            }
        }
    }
}

/// Indented JSON, ended by a newline. Characters that steer a terminal are written as JSON's escapes, which
/// every reader turns back: text from elsewhere may be looked at as it is.
///
/// # Panics
/// If a map of the value has keys that are no text.
pub fn json_text(value: &impl Serialize) -> String {
    let mut json = Vec::new();
    let mut writer = Serializer::with_formatter(&mut json, Indented::default());
    value.serialize(&mut writer).expect("keys are text");
    json.push(b'\n');
    let json = String::from_utf8(json).expect("JSON is text");
    let is_hidden = |character: char| character != '\n' && steers(character);
    if !json.contains(is_hidden) {
        return json;
    }
    // Outside of texts JSON has no such character but the line end.
    let mut text = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        match is_hidden(character) {
            true => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
            false => text.push(character),
        }
    }
    text
}

/// The value that a text of JSON holds, read as documents are.
///
/// # Errors
/// If the text is no JSON, or does not fit the type.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    CheckedJson::new(text)?.read().map_err(serde_json::Error::custom)
}

/// The JSON of a text in which something like `expected` is looked for.
pub(crate) fn checked<'t>(
    text: &'t str,
    expected: &'static str,
) -> Result<CheckedJson<'t>, ReadError> {
    CheckedJson::new(text).map_err(|error| ReadError::Form { expected, error })
}

/// The format of a document in which something like `expected` is looked for.
pub(crate) fn format_of(
    json: CheckedJson<'_>,
    expected: &'static str,
) -> Result<String, ReadError> {
    let read = || match (json.is_table(), json.get("format")) {
        (true, Some(format)) => format.read().map_err(|it: FieldError| it.within("format")),
        (true, None) => Err(FieldError::missing_field("format")),
        (false, _) => Err(json.unfit(&"an object")),
    };
    read().map_err(|error| ReadError::of_field(expected, &error))
}

/// Refuses documents of other formats and of versions above the newest.
fn check_head(json: CheckedJson<'_>, format: &'static str, newest: u32) -> Result<(), ReadError> {
    let found = format_of(json, format)?;
    if found != format {
        return Err(ReadError::Format { expected: format, found });
    }
    let version = json.get("version").ok_or_else(|| FieldError::missing_field("version"));
    let found = version.and_then(|it| it.read::<u64>().map_err(|error| error.within("version")));
    let found = found.map_err(|error| ReadError::of_field(format, &error))?;
    match u32::try_from(found) {
        Ok(version) if (1..=newest).contains(&version) => Ok(()),
        _ => Err(ReadError::Version { newest, found }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Document as _, ReadError, json_text};
    use crate::Run;

    #[test]
    fn a_head_that_is_no_object_is_refused() {
        for text in [r#"["corun-run", 1]"#, r#"["corun-run", 2]"#, "1", "null"] {
            assert!(matches!(Run::from_json(text), Err(ReadError::Form { .. })), "{text}");
        }
    }

    #[test]
    fn a_sum_of_nothing_is_zero() {
        let nothing: [f64; 0] = [];
        let sums = [nothing.iter().sum::<f64>(), -1.5, 0.0];
        assert!(sums[0].is_sign_negative());
        assert_eq!(
            json_text(&(sums, -0.0_f32)).split_whitespace().collect::<String>(),
            "[[0.0,-1.5,0.0],0.0]"
        );
        let value = serde_json::json!({ "a": [], "b": { "c": [1, {}] } });
        assert_eq!(json_text(&value), serde_json::to_string_pretty(&value).unwrap() + "\n");
    }

    #[test]
    fn what_steers_a_terminal_is_kept_as_an_escape() {
        let texts =
            ["plain \"x\" \u{e9}", "\u{1b}]0;title\u{7}\r\n\u{7f}\u{9b}", "\u{202e}\u{e0041}"];
        let json = json_text(&texts);
        assert!(json.chars().all(|it| it == '\n' || !crate::steers(it)), "{json:?}");
        assert!(json.contains("\\u202e\\udb40\\udc41"), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), texts);
    }
}
