//! The threads of one process, pinned one by one where corun can tell which of them work.

use std::path::{Path, PathBuf};

use corun_record::{Pinning, Run};

use crate::common::{FEWEST, Outcome, measure};

#[test]
fn a_first_thread_that_works_is_pinned_like_the_others() {
    assert_eq!(pinning(&measured("spread", 0)), [Pinning::Pinned]);
}

#[test]
fn a_first_thread_that_only_waits_is_left_alone() {
    assert_eq!(pinning(&measured("spread", 1)), [Pinning::Pinned]);
}

#[test]
fn with_more_threads_than_that_the_whole_set_is_pinned_and_the_record_says_so() {
    let run = measured("spread", 3);
    assert_eq!(pinning(&run), [Pinning::SetPinned]);
    assert!(run.caveats.iter().any(|caveat| caveat.sentence.contains("set-pinned")), "{run:?}");
}

#[test]
fn stacked_threads_share_their_cpus_two_by_two() {
    assert_eq!(pinning(&measured("stacked", 0)), [Pinning::Pinned]);
}

/// Measures the threaded program with so many threads that do not work.
fn measured(arm: &str, others: u32) -> Run {
    let layout = Outcome::of(measure(arm, FEWEST).args(["--json=-", "--", "true"])).run();
    let cpus: Vec<String> = layout.arms[0].cpus.iter().map(u32::to_string).collect();
    Outcome::of(
        measure(arm, FEWEST).args(["--timeout=60s", "--json=-", "--"]).arg(program()).args([
            "{workers}",
            &others.to_string(),
            &cpus.join(","),
        ]),
    )
    .run()
}

/// How the threads were kept in place, without repetition.
fn pinning(run: &Run) -> Vec<Pinning> {
    let mut pinning: Vec<_> = run.samples.iter().map(|sample| sample.evidence.pinning).collect();
    pinning.dedup();
    pinning
}

/// The example `threads` of this package, which cargo builds beside the tests.
fn program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_corun")).with_file_name("examples/threads");
    assert!(program.exists(), "build it first: cargo build -p corun --example threads");
    program
}
