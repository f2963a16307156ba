//! What a guest does between boot and power-off: a script for busybox sh, and files it needs.

use std::path::PathBuf;

/// A script that runs as root under `sh -eu`; each file it leaves in `/results` is sent back.
///
/// corun is on the `PATH`. What the script prints goes to the console, which a failure shows.
#[derive(Debug, Clone)]
pub struct Scenario {
    script: String,
    files: Vec<(String, PathBuf)>,
}

impl Scenario {
    /// A scenario that runs `script`.
    pub fn new(script: impl Into<String>) -> Self {
        Self { script: script.into(), files: Vec::new() }
    }

    /// Also puts a copy of `source` at `path` in the guest, executable.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, source: impl Into<PathBuf>) -> Self {
        self.files.push((path.into(), source.into()));
        self
    }

    pub(crate) fn script(&self) -> &str {
        &self.script
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &std::path::Path)> {
        self.files.iter().map(|(path, source)| (path.as_str(), source.as_path()))
    }
}
