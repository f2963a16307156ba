//! What corun's own tests and benchmarks share: a skip that is counted, never silent, and a text.
//!
//! A test that cannot run on this machine calls [`skip`] and returns. `scripts/test` names a file
//! in `CORUN_SKIPS`, prints what was written there, and fails a CI run on a skip that is not in
//! `tests/allowed-skips.txt`.

mod text;

use std::io::Write;
use std::path::PathBuf;

pub use text::text;

/// Records that test `name` did not run, and why; the caller then returns.
///
/// # Panics
/// If the file named by `CORUN_SKIPS` cannot be appended to: a skip must not get lost.
pub fn skip(name: &str, reason: &str) {
    eprintln!("SKIPPED {name}: {reason}");
    if let Some(path) = std::env::var_os("CORUN_SKIPS") {
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(format!("{name}\t{reason}\n").as_bytes()))
            .expect("the file named by CORUN_SKIPS takes a line");
    }
}

/// The root folder of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A folder of the reference material that may lie beside the repository, or `None`.
///
/// `CORUN_REFERENCE` names another place than `../shared`.
pub fn reference(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("CORUN_REFERENCE")
        .map_or_else(|| repository().join("../shared"), PathBuf::from);
    let path = root.join(folder);
    path.is_dir().then_some(path)
}
