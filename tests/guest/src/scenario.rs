//! What a guest does between boot and power-off: a script for busybox sh, and files it needs.

use std::path::{Path, PathBuf};

use crate::program;

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

    /// Also puts a program of this machine where it lies here, with the shared libraries that it needs.
    ///
    /// # Panics
    /// If `ldd` does not list its libraries.
    #[must_use]
    pub fn program(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let libraries = program::libraries_of(path).unwrap_or_else(|error| panic!("{error}"));
        for file in libraries.into_iter().chain([path.to_owned()]) {
            self.files.push((file.to_string_lossy().into_owned(), file));
        }
        self
    }

    pub(crate) fn script(&self) -> &str {
        &self.script
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.files.iter().map(|(path, source)| (path.as_str(), source.as_path()))
    }
}
