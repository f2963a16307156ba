//! The head that documents have in common: what wrote them, when, on which machine, how it ended.
//!
//! A command's result is a [`Body`]. [`Record`] puts the head before it, so that a reader finds the same
//! facts under the same names in all of them.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    Visitor,
};
use serde::{Deserialize, Serialize};

use crate::json::Document;
use crate::run::{Caveat, Ending, MachineSummary};

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
    /// Duration of the command, in seconds.
    pub elapsed_s: f64,
    /// The machine that the body depends on; absent where it depends on none.
    pub machine: Option<MachineSummary>,
    /// Why the command ended.
    pub ending: Ending,
    /// Limits of trust, a sentence each.
    pub caveats: Vec<Caveat>,
    /// Findings of the command.
    #[serde(flatten)]
    pub body: B,
}

/// Findings of a command, without the head. None of its fields may have the name of a field of [`Record`].
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

/// The fields of a [`Record`] that are not its body's, as far as they were read.
#[derive(Default)]
struct Head {
    format: Option<String>,
    version: Option<u32>,
    corun_version: Option<String>,
    started: Option<String>,
    elapsed_s: Option<f64>,
    machine: Option<Option<MachineSummary>>,
    ending: Option<Ending>,
    caveats: Option<Vec<Caveat>>,
}

impl Head {
    /// Reads the value of a field of this name; false if the head has none.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "format" => put(&mut self.format, "format", map),
            "version" => put(&mut self.version, "version", map),
            "corun_version" => put(&mut self.corun_version, "corun_version", map),
            "started" => put(&mut self.started, "started", map),
            "elapsed_s" => put(&mut self.elapsed_s, "elapsed_s", map),
            "machine" => put(&mut self.machine, "machine", map),
            "ending" => put(&mut self.ending, "ending", map),
            "caveats" => put(&mut self.caveats, "caveats", map),
            _ => return Ok(false),
        }?;
        Ok(true)
    }
}

fn put<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    field: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    match field {
        Some(_) => Err(A::Error::duplicate_field(name)),
        None => {
            *field = Some(map.next_value()?);
            Ok(())
        }
    }
}

/// The fields of a body; those of the head among them are put aside.
struct BodyFields<'h, A> {
    map: A,
    head: &'h mut Head,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for BodyFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.map.next_key::<String>()? {
            if !self.head.read(&name, &mut self.map)? {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

struct RecordVisitor<B>(PhantomData<B>);

impl<'de, B: Deserialize<'de>> Visitor<'de> for RecordVisitor<B> {
    type Value = Record<B>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Record<B>, A::Error> {
        let mut head = Head::default();
        let fields = BodyFields { map, head: &mut head };
        let body = B::deserialize(MapAccessDeserializer::new(fields))?;
        let missing = A::Error::missing_field;
        Ok(Record {
            format: head.format.ok_or_else(|| missing("format"))?,
            version: head.version.ok_or_else(|| missing("version"))?,
            corun_version: head.corun_version.ok_or_else(|| missing("corun_version"))?,
            started: head.started.ok_or_else(|| missing("started"))?,
            elapsed_s: head.elapsed_s.ok_or_else(|| missing("elapsed_s"))?,
            machine: head.machine.flatten(),
            ending: head.ending.ok_or_else(|| missing("ending"))?,
            caveats: head.caveats.ok_or_else(|| missing("caveats"))?,
            body,
        })
    }
}

impl<'de, B: DeserializeOwned> Deserialize<'de> for Record<B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RecordVisitor(PhantomData))
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
