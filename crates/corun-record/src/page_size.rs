//! The page size of a program's data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of the pages of a process's data. Its code is mapped from a file, in pages of 4 KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageSize {
    /// 4 KiB.
    #[default]
    Small,
    /// 2 MiB.
    Huge,
}
