//! Clock of a core beside that of the same core with idle siblings: more work a cycle takes more power, which may be short.

use serde::{Deserialize, Serialize};

/// Clock of a core with busy siblings over that of the core with idle ones, the same number of cores busy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Least and most that it may be.
    pub range: [f64; 2],
    /// Source of the range, as a [`crate::Sharing`] names its own.
    pub source: String,
    /// True if the range is an assumption, because nothing is published of such a core.
    #[serde(default)]
    pub assumed: bool,
}

impl Clock {
    /// Clock of a model that says nothing of it: as far down as any core's was published to fall.
    pub(crate) fn unknown() -> Self {
        Self {
            range: [0.887, 1.0],
            source: "the model names none; as far as Zen 5's was published to fall".to_owned(),
            assumed: true,
        }
    }
}
