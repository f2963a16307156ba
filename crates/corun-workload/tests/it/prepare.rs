//! Preparing a workload in a process of its own, under whatever a shell can do to a process.

use std::path::Path;
use std::process::{Command, Stdio};

/// Output of a shell command, and its end, with `parent` as TMPDIR.
pub(crate) fn reported(parent: &Path, command: &str) -> String {
    let output = shell(parent, command).stdin(Stdio::null()).output().unwrap();
    let code = output.status.code().expect("no signal");
    let reported = format!("{}exit {code}", String::from_utf8_lossy(&output.stdout));
    reported.replace(parent.to_str().unwrap(), "TMPDIR")
}

/// A shell with `parent` as TMPDIR and, as PREPARE, the path of the example of this name.
pub(crate) fn shell(parent: &Path, command: &str) -> Command {
    let tests = std::env::current_exe().unwrap();
    let prepare = tests.parent().unwrap().with_file_name("examples").join("prepare");
    assert!(prepare.exists(), "`cargo test` builds the examples, `--test` alone does not");
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("TMPDIR", parent).env("PREPARE", prepare);
    shell
}
