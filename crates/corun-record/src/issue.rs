//! Issue cycles: siblings use the ports of a core at the same time or in turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles in which a thread starts micro-ops on the ports of its core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueCycles {
    /// All of them.
    pub own: u64,
    /// Those in which a sibling starts micro-ops, too.
    pub with_sibling: u64,
}

impl IssueCycles {
    /// Counts a cycle in which the thread starts micro-ops.
    pub fn note(&mut self, is_with_sibling: bool) {
        self.own += 1;
        self.with_sibling += u64::from(is_with_sibling);
    }

    /// Together with those of another time.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let with_sibling = self.with_sibling + other.with_sibling;
        Self { own: self.own + other.own, with_sibling }
    }

    /// Those that came after an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let with_sibling = self.with_sibling - earlier.with_sibling;
        Self { own: self.own - earlier.own, with_sibling }
    }
}
