//! Documents that a command is given by name, such as `corun compare A B`.
//!
//! A name is a file that corun wrote with `--json`, `-` for standard input, or a run that is kept: its id, the
//! beginning of that, a tag, `last` or `last~1`. A file goes before a run.

use std::path::Path;

use corun_files::InputKind;
use corun_record::excerpt;
use corun_store::RunKind;

use crate::keeping;
use crate::problem::Problem;

/// True if this name stands for a file.
pub(crate) fn is_file(name: &str) -> bool {
    name == "-" || name.contains('/') || name.ends_with(".json") || Path::new(name).exists()
}

/// The kept run that a word names which follows an option for a file, as in `runs export --csv last`: nobody has a file of
/// the name of a run without a folder or an ending.
pub(crate) fn run_in_place_of_file(file: Option<&Path>) -> Option<String> {
    let name = file?.to_str()?;
    if name.contains(['/', '.']) || is_file(name) {
        return None;
    }
    let store = keeping::existing().ok()??;
    store.find(name, RunKind::Finished).ok().map(|_| name.to_owned())
}

/// The JSON of the document that this name stands for.
///
/// # Errors
/// If there is no such document, or it cannot be read.
pub(crate) fn text(name: &str) -> Result<String, Problem> {
    if is_file(name) {
        let path = Path::new(if name == "-" { "/dev/stdin" } else { name });
        return corun_files::text(path, InputKind::DOCUMENT).map_err(|error| {
            let next_step =
                "Name a file that corun wrote with --json FILE, or a run of `corun runs list`.";
            Problem::unreadable(&error, next_step).in_file(Path::new(name))
        });
    }
    match keeping::existing()? {
        Some(store) => Ok(store.document_of(name)?),
        None => Err(Problem::usage(
            format!("expected a file or a run, found neither called \"{}\"", excerpt(name)),
            "Name a file that corun wrote with --json FILE. No run is kept yet.",
        )),
    }
}
