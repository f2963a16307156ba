//! Which part of a run is recorded.

use serde::{Deserialize, Serialize};

/// What to record, counted in instructions of all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// From start to end.
    #[default]
    Whole,
    /// One stretch.
    Window {
        /// Left out before it.
        skip: u64,
        /// Its length; to the end of the run if there is none.
        length: Option<u64>,
    },
    /// Stretches spread evenly over a run of a known length, each after a warm-up stretch.
    Samples {
        /// How many stretches.
        count: u32,
        /// Instructions of a counted stretch.
        length: u64,
        /// Instructions recorded before each to fill caches and predictors.
        warm_up: u64,
        /// Instructions of the whole run.
        total: u64,
    },
}
