//! The state of simultaneous multithreading, as the kernel reports it.
//!
//! `Documentation/ABI/testing/sysfs-devices-system-cpu` lists five words for `smt/control`; powerpc
//! adds a number of threads a core, and a later kernel may add more, so unknown text is kept.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// The state of SMT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Smt {
    /// `smt/control`; `null` where the kernel has no such file.
    pub control: Option<SmtControl>,
    /// `smt/active`: whether any core has two online siblings, by the kernel's account.
    pub active: Option<bool>,
    /// The SMT width S: the largest number of known siblings of a core, online or not.
    pub width: u32,
}

/// State of `smt/control`; in JSON the kernel's own word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmtControl {
    /// Siblings may be online.
    On,
    /// Siblings are offline; writing `on` brings them back.
    Off,
    /// Siblings are offline until the next boot.
    ForceOff,
    /// The processor has no SMT.
    NotSupported,
    /// The kernel cannot switch SMT on this architecture.
    NotImplemented,
    /// So many threads a core are enabled (powerpc).
    Threads(u32),
    /// A word that this version does not know.
    Other(String),
}

impl FromStr for SmtControl {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.trim() {
            "on" => Self::On,
            "off" => Self::Off,
            "forceoff" => Self::ForceOff,
            "notsupported" => Self::NotSupported,
            "notimplemented" => Self::NotImplemented,
            other => match other.parse() {
                Ok(threads) if !other.starts_with('+') => Self::Threads(threads),
                _ => Self::Other(other.to_owned()),
            },
        })
    }
}

impl fmt::Display for SmtControl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => out.write_str("on"),
            Self::Off => out.write_str("off"),
            Self::ForceOff => out.write_str("forceoff"),
            Self::NotSupported => out.write_str("notsupported"),
            Self::NotImplemented => out.write_str("notimplemented"),
            Self::Threads(threads) => write!(out, "{threads}"),
            Self::Other(word) => out.write_str(word),
        }
    }
}

impl Serialize for SmtControl {
    fn serialize<S: serde::Serializer>(&self, target: S) -> Result<S::Ok, S::Error> {
        target.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SmtControl {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let Ok(control) = String::deserialize(source)?.parse();
        Ok(control)
    }
}

impl JsonSchema for SmtControl {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SmtControl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "on, off, forceoff, notsupported, notimplemented, a number of threads a core, or a later kernel's word",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_keeps_its_meaning_and_its_text() {
        for (text, meaning) in [
            ("on", SmtControl::On),
            ("off", SmtControl::Off),
            ("forceoff", SmtControl::ForceOff),
            ("notsupported", SmtControl::NotSupported),
            ("notimplemented", SmtControl::NotImplemented),
            ("4", SmtControl::Threads(4)),
            ("+4", SmtControl::Other("+4".to_owned())),
            ("sometimes", SmtControl::Other("sometimes".to_owned())),
        ] {
            let Ok(control) = format!("{text}\n").parse::<SmtControl>();
            assert_eq!(control, meaning);
            assert_eq!(control.to_string(), text);
        }
    }
}
