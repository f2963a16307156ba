//! Which corun this is: its commit, its features and tracers, and whose work is in it.

use std::sync::LazyLock;

/// The version and the commit, for `-V`.
pub(crate) const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("CORUN_COMMIT"), ")");

/// The day of the commit.
pub(crate) const DATE: &str = env!("CORUN_DATE");

/// The notices of everything that is in the binary, for `--version --verbose`.
pub(crate) const NOTICES: &str = include_str!("../../../THIRD-PARTY.md");

/// The version with features and tracers, for `--version`.
pub(crate) fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let features = if cfg!(feature = "dynamorio") { "dynamorio" } else { "none" };
        let tracers: Vec<&str> = corun_trace::all().iter().map(|tracer| tracer.name()).collect();
        let tracers = if tracers.is_empty() { "none".to_owned() } else { tracers.join(", ") };
        format!(
            "{SHORT}\nfeatures: {features}\ntracers: {tracers}\n\
             `corun --version --verbose` prints the notices of everything that is in this binary."
        )
    });
    &LONG
}

/// True if the notices were asked for, too.
pub(crate) fn wants_notices() -> bool {
    std::env::args_os().any(|argument| argument == "--verbose")
}
