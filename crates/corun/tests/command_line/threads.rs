//! The threads of one process, pinned one by one where corun can see which of them work.

use std::path::{Path, PathBuf};

use corun_record::{Pinning, Run};

use crate::common::{FEWEST, Outcome, measure};

#[test]
fn a_first_thread_that_works_is_pinned_like_the_others() {
    assert_eq!(pinning(&measured("spread", "all-work")), [Pinning::Pinned]);
}

#[test]
fn a_first_thread_that_only_waits_is_left_alone() {
    assert_eq!(pinning(&measured("spread", "first-waits")), [Pinning::Pinned]);
}

#[test]
fn stacked_threads_share_their_cpus() {
    assert_eq!(pinning(&measured("stacked", "all-work")), [Pinning::Pinned]);
    assert_eq!(pinning(&measured("stacked", "first-waits")), [Pinning::Pinned]);
}

#[test]
fn with_more_threads_the_whole_set_is_pinned_and_the_record_says_so() {
    let run = measured("spread", "many-more");
    assert_eq!(pinning(&run), [Pinning::SetPinned]);
    assert!(run.caveats.iter().any(|caveat| caveat.sentence.contains("set-pinned")), "{run:?}");
}

#[test]
fn with_one_thread_more_and_a_first_one_that_works_the_whole_set_is_pinned() {
    if cpus_of("spread").len() < 2 {
        return corun_testing::skip("a_first_thread_too_many", "one core: the set is one CPU");
    }
    assert_eq!(pinning(&measured("spread", "first-works-too")), [Pinning::SetPinned]);
}

/// Measures the threaded program of this kind.
fn measured(arm: &str, kind: &str) -> Run {
    let cpus: Vec<String> = cpus_of(arm).iter().map(u32::to_string).collect();
    Outcome::of(
        measure(arm, FEWEST).args(["--timeout=30s", "--json=-", "--"]).arg(program()).args([
            kind,
            "{workers}",
            &cpus.join(","),
        ]),
    )
    .run()
}

/// The CPU of each worker of an arm.
fn cpus_of(arm: &str) -> Vec<u32> {
    let layout = Outcome::of(measure(arm, FEWEST).args(["--json=-", "--", "true"])).run();
    layout.arms[0].cpus.clone()
}

/// Pinnings of the threads, without repetition.
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
