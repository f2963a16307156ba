//! The two states that an experiment can put SMT into.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of SMT: siblings online or not.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SmtState {
    /// Siblings are online.
    On,
    /// Each core has one logical CPU online.
    Off,
}

impl SmtState {
    /// The kernel's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for SmtState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A text that names no state of SMT.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `on` or `off`, found \"{0}\"")]
pub struct UnknownSmtState(pub String);

impl FromStr for SmtState {
    type Err = UnknownSmtState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::On, Self::Off]
            .into_iter()
            .find(|state| state.word() == text)
            .ok_or_else(|| UnknownSmtState(text.to_owned()))
    }
}
