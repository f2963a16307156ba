//! A program that counts its runs and, from one of them on, does something else: how tests know
//! which block they are in without a clock.

use std::path::PathBuf;

use crate::common::Scratch;

/// Runs of a block of `measure_one_worker`: one worker of the arm, one of its twin.
pub(crate) const RUNS_A_BLOCK: usize = 2;

/// A script that does `then` (shell) in every run after the first `plain_runs`.
pub(crate) fn script(scratch: &Scratch, plain_runs: usize, then: &str) -> PathBuf {
    scratch.script(&format!(
        "echo run >> \"$folder/runs\"\n\
         if [ \"$(wc -l < \"$folder/runs\")\" -gt {plain_runs} ]; then\n{then}\nfi"
    ))
}

/// Runs begun so far.
pub(crate) fn begun(scratch: &Scratch) -> usize {
    scratch.read("runs").lines().count()
}
