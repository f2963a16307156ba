//! `corun trace` on real programs, by every tracer that works here.

mod doubts;
mod endings;
mod full;
mod programs;
mod requests;
mod turns;
mod workloads;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Outcome, Scratch, corun};

const TRACERS: [&str; 3] = ["dynamorio", "qemu", "ptrace"];

/// Whether a tracer works here; a skip if not.
fn works(tracer: &str) -> bool {
    let outcome = Outcome::of(&mut corun(["trace", "--tracer", tracer, "-o-", "--", "true"]));
    let is_there = outcome.exit != Some(3);
    if !is_there {
        corun_testing::skip(&format!("trace by {tracer}"), outcome.errors.trim());
    }
    is_there
}

/// `corun trace` into the file `trace` of a folder, which the command runs in.
fn trace(tracer: &str, scratch: &Scratch) -> Command {
    let mut command = corun(["trace", "--once", "--quiet", "--output=trace", "--tracer", tracer]);
    command.current_dir(scratch.path()).arg("--");
    command
}

/// Builds a program of Rust under this name.
#[track_caller]
fn compile(scratch: &Scratch, name: &str, source: &str) {
    compile_with(scratch, name, source, &["-O"]);
}

#[track_caller]
fn compile_with(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) {
    let file = format!("{name}.rs");
    std::fs::write(scratch.file(&file), source).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    run_in(scratch, rustc, &[flags, &["-o", name, &file]].concat());
}

#[track_caller]
fn run_in(scratch: &Scratch, program: impl AsRef<OsStr>, arguments: &[&str]) {
    let program = program.as_ref();
    let output = Command::new(program).args(arguments).current_dir(scratch.path()).output();
    let output = output.unwrap_or_else(|error| panic!("{program:?}: {error}"));
    assert!(output.status.success(), "{program:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The form of `corun trace info --json`.
#[track_caller]
fn info(file: &Path) -> Value {
    let outcome = Outcome::of(corun(["trace", "info", "--json=-"]).arg(file));
    serde_json::from_str(&outcome.output)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.output, outcome.errors))
}

/// What `corun trace check` says, and that a trace can be read to its end.
#[track_caller]
fn check(file: &Path) -> String {
    let outcome = Outcome::of(corun(["trace", "check"]).arg(file));
    assert_eq!(outcome.exit, Some(0), "{}{}", outcome.output, outcome.errors);
    outcome.output
}
