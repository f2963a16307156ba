//! Code that corun's own tests and benchmarks share: a skip that is counted, never silent, a text, a cargo
//! that builds nothing again, and an allocator that counts.
//!
//! A test that cannot run on this machine calls [`skip`] and returns. `scripts/test` names a file
//! in `CORUN_SKIPS`, prints what was written there, and fails a CI run on a skip that is not in
//! `tests/allowed-skips.txt`.

mod memory;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

pub use memory::{CountingAllocator, Memory, memory_of};
pub use text::text;

/// Records that test `name` did not run, and why; the caller then returns.
///
/// # Panics
/// If the file named by `CORUN_SKIPS` cannot be appended to: a skip must not get lost.
pub fn skip(name: &str, reason: &str) {
    eprintln!("SKIPPED {name}: {reason}");
    append("CORUN_SKIPS", &format!("{name}\t{reason}\n"));
}

/// The number of repetitions of a test that repeats itself: `thorough` of them if `CORUN_THOROUGH` is set, else `usual`.
pub fn repetitions(thorough: u64, usual: u64) -> u64 {
    if std::env::var_os("CORUN_THOROUGH").is_some() { thorough } else { usual }
}

/// Counts one more of something that the summary of `scripts/test` reports, such as a boot that was repeated.
///
/// # Panics
/// If the file named by `CORUN_COUNTS` cannot be appended to.
pub fn count(what: &str) {
    append("CORUN_COUNTS", &format!("{what}\n"));
}

/// Notes how long a guest took to boot and to end, and how long what it was booted for, for the summary of `scripts/test`.
///
/// # Panics
/// If the file named by `CORUN_BOOTS` cannot be appended to.
pub fn boot(test: &str, boot: Duration, scenario: Duration) {
    let [boot, scenario] = [boot, scenario].map(|it| it.as_secs_f64());
    eprintln!("{test}: {boot:.1} s of boot, {scenario:.1} s of scenario");
    append("CORUN_BOOTS", &format!("{test}\t{boot:.1}\t{scenario:.1}\n"));
}

/// Appends a line to the file that a variable names, if there is one.
fn append(variable: &str, line: &str) {
    if let Some(path) = std::env::var_os(variable) {
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap_or_else(|error| panic!("{variable} names a file that takes no line: {error}"));
    }
}

/// cargo, as from a shell in the repository.
///
/// cargo gives to what it runs the name and the folder of its package. Build scripts that look at these, as ring's
/// does, would be run again, and what depends on them would be built again, now and once more afterwards.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let is_of_package = |prefix| name.to_string_lossy().starts_with(prefix);
        if ["CARGO_MANIFEST_", "CARGO_PKG_"].into_iter().any(is_of_package) {
            cargo.env_remove(name);
        }
    }
    // What has a test's time printed (`scripts/timed`) is of no concern to what a test has built.
    cargo.env_remove("RUSTC_BOOTSTRAP").current_dir(repository());
    cargo
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

#[cfg(test)]
mod tests {
    use super::*;

    /// cargo gives this test the names that must not be passed on.
    #[test]
    fn another_cargo_is_not_given_the_package_of_this_one() {
        let cargo = cargo();
        let taken: Vec<_> =
            cargo.get_envs().filter_map(|(name, value)| value.is_none().then_some(name)).collect();
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
            assert!(taken.iter().any(|it| *it == name), "{name} is passed on");
        }
    }
}
