//! Documents that a command is given by name, such as `corun compare A.json B.json`.
//!
//! A name is a file that corun wrote with `--json`, or `-` for standard input.

use std::path::Path;

use corun_files::InputKind;
use corun_record::shown;

use crate::problem::Problem;

/// The JSON of the document that this name stands for.
///
/// # Errors
/// If there is no such document, or it cannot be read.
pub(crate) fn text(name: &str) -> Result<String, Problem> {
    corun_files::text(Path::new(name), InputKind::DOCUMENT).map_err(|error| {
        Problem::usage(
            format!("{}: {error}", shown(name)),
            "Name a file that corun wrote with --json FILE.",
        )
    })
}
