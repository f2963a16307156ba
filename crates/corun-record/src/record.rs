//! The head that documents have in common: what wrote them, when, on which machine, how it ended.
//!
//! A command's result is a [`Body`]. [`Record`] puts the head before it, so that a reader finds the same
//! facts under the same names in all of them.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use crate::json::Document;
use crate::reader::FieldError;
use crate::run::{Caveat, Ending, MachineSummary};
use crate::tree::Tree;

/// A document: the common head, and the fields of its body beside it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Record<B> {
    /// The name of this form.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// How long the command took, in seconds.
    pub elapsed_s: f64,
    /// The machine that the body depends on; absent where it depends on none.
    pub machine: Option<MachineSummary>,
    /// Why the command ended.
    pub ending: Ending,
    /// What limits trust, a sentence each.
    pub caveats: Vec<Caveat>,
    /// What the command found.
    #[serde(flatten)]
    pub body: B,
}

/// What a command found, without the head. None of its fields may have the name of a field of [`Record`].
pub trait Body: Serialize + JsonSchema + Sized {
    /// The `format` of its documents.
    const FORMAT: &'static str;
    /// The `version` that this program writes, and the newest that it reads.
    const VERSION: u32 = 1;
}

impl<B: Body> Record<B> {
    /// The record of a command that did all that it was asked for; `started` is RFC 3339.
    pub fn new(started: String, elapsed_s: f64, body: B) -> Self {
        Self {
            format: B::FORMAT.to_owned(),
            version: B::VERSION,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            elapsed_s,
            machine: None,
            ending: Ending::completed(),
            caveats: Vec::new(),
            body,
        }
    }
}

impl<B: Body> Document for Record<B> {
    const FORMAT: &'static str = B::FORMAT;
    const VERSION: u32 = B::VERSION;
}

/// The fields of a [`Record`] that are not its body's.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
    corun_version: String,
    started: String,
    elapsed_s: f64,
    machine: Option<MachineSummary>,
    ending: Ending,
    caveats: Vec<Caveat>,
}

/// The names of the fields of a [`Head`].
const HEAD: [&str; 8] =
    ["format", "version", "corun_version", "started", "elapsed_s", "machine", "ending", "caveats"];

impl Head {
    /// Parts a document into its head and its body.
    fn of(record: Tree) -> Result<(Self, Tree), FieldError> {
        let Tree::Table(fields) = record else { return Err(record.unfit(&"an object")) };
        let (head, body) = fields.into_iter().partition(|(name, _)| HEAD.contains(&name.as_str()));
        Ok((Tree::Table(head).read()?, Tree::Table(body)))
    }
}

impl<'de, B: DeserializeOwned> Deserialize<'de> for Record<B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (head, body) = Head::of(Tree::deserialize(deserializer)?).map_err(D::Error::custom)?;
        let Head { format, version, corun_version, started, elapsed_s, machine, ending, caveats } =
            head;
        let body = body.read().map_err(D::Error::custom)?;
        Ok(Self {
            format,
            version,
            corun_version,
            started,
            elapsed_s,
            machine,
            ending,
            caveats,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ReadError;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Counted {
        count: u64,
    }

    impl Body for Counted {
        const FORMAT: &str = "corun-counted";
    }

    #[test]
    fn a_body_stands_beside_the_head_and_reads_back_the_same() {
        let record =
            Record::new("2026-01-01T00:00:00Z".to_owned(), 1.5, Counted { count: u64::MAX });
        let text = record.to_json();
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&json["format"], &json["count"]), (&json!("corun-counted"), &json!(u64::MAX)));
        assert_eq!(Record::<Counted>::from_json(&text).unwrap(), record);
    }

    #[test]
    fn a_document_without_the_head_or_of_a_newer_version_is_refused() {
        let headless = r#"{ "format": "corun-counted", "version": 1, "count": 3 }"#;
        let error = Record::<Counted>::from_json(headless).unwrap_err();
        assert!(matches!(error, ReadError::Form { .. }), "{error}");
        let newer = Record::new(String::new(), 0.0, Counted { count: 3 }).to_json();
        let newer = newer.replace("\"version\": 1", "\"version\": 2");
        let error = Record::<Counted>::from_json(&newer).unwrap_err();
        assert!(matches!(error, ReadError::Version { newest: 1, found: 2 }), "{error}");
    }

    #[test]
    fn the_schema_asks_for_head_and_body() {
        let schema: Value = serde_json::from_str(&Record::<Counted>::schema()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let whole = serde_json::to_value(Record::new(String::new(), 0.0, Counted { count: 1 }));
        let whole = whole.unwrap();
        assert!(validator.is_valid(&whole));
        for field in ["count", "ending", "caveats", "corun_version"] {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(field);
            assert!(!validator.is_valid(&part), "{field}");
        }
    }
}
