//! LMbench's programs beside corun's rows, each alone on the same logical CPU.

use std::path::Path;

use crate::contest::Contest;

/// Every row whose program is in the folder.
///
/// # Errors
/// If a side fails.
pub fn rows(_folder: &Path, _rounds: u32) -> Result<Vec<Contest>, String> {
    Err("not yet".to_owned())
}
