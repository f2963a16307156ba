//! corun started as a user starts it, and what came out of it.
//!
//! Programs that are measured here are scripts of a few lines in a folder of the test's own.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corun_record::{Document, Run};
use tempfile::TempDir;

/// corun with these arguments, its input empty.
pub(crate) fn corun<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corun"));
    command.args(arguments).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    // Nothing of a test goes into the user's store.
    command.env("CORUN_STORE", "");
    command
}

/// The fewest blocks that corun runs.
pub(crate) const FEWEST: u32 = 2;

/// `corun measure` of one arm with one worker, and of its twin.
pub(crate) fn measure_one_worker(blocks: u32) -> Command {
    let mut command = measure("spread", blocks);
    command.arg("--cores=1");
    command
}

/// `corun measure` of these arms, without warm-up, in the same order every time.
pub(crate) fn measure(arms: &str, blocks: u32) -> Command {
    let blocks = blocks.to_string();
    corun(["measure", "--warmup=0", "--seed=1", "--placement", arms, "--blocks", &blocks])
}

/// Outcome of a finished corun.
pub(crate) struct Outcome {
    pub exit: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Outcome {
    /// Runs `command` to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from(command.output().expect("corun starts"))
    }

    /// The exit code and what was said on standard error, with `folder` written as `FOLDER`.
    pub(crate) fn reported(&self, folder: &Path) -> String {
        let errors = self.errors.replace(&folder.display().to_string(), "FOLDER");
        format!("exit {}\n{errors}", self.exit.map_or("by signal".to_owned(), |it| it.to_string()))
    }

    /// Standard output as if no line had been broken: where a line ends depends on its figures.
    pub(crate) fn unwrapped(&self) -> String {
        self.output.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The run that `--json -` wrote to standard output.
    #[track_caller]
    pub(crate) fn run(&self) -> Run {
        Run::from_json(&self.output)
            .unwrap_or_else(|error| panic!("{error}\n{}{}", self.output, self.errors))
    }
}

impl From<std::process::Output> for Outcome {
    fn from(output: std::process::Output) -> Self {
        Self {
            exit: output.status.code(),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A folder that goes away with the test.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for temporary files"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// A shell script; `$folder` in it is this folder.
    pub(crate) fn script(&self, body: &str) -> PathBuf {
        let text = format!("#!/bin/sh\nfolder='{}'\n{body}\n", self.path().display());
        self.executable("script", &text)
    }

    /// An executable file of this text.
    pub(crate) fn executable(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).expect("a file can be written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("and made one");
        path
    }
}

/// Waits until something can be seen; the patience is only there for a test that fails.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_seen: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_seen() {
        assert!(begin.elapsed() < Duration::from_secs(60), "never seen: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
