//! Children, programs, scripts and signals: all that were asked for have run.

use super::{assert_checks, assert_reset_forgets};

/// Whatever cannot run here says so, and is tested in another test.
fn runs_here(name: &str) -> bool {
    match corun_workload::find(name).unwrap().unavailable() {
        None => true,
        Some(reason) => {
            corun_testing::skip(name, &reason);
            false
        }
    }
}

#[test]
fn fork_test_adds_up_what_its_children_exit_with() {
    assert_checks("aim9/fork_test", &[], &[1, 2, 200], |operations| {
        // Gauss: whole rounds of 0 to 127, and the beginning of one more.
        let (rounds, rest) = (operations / 128, operations % 128);
        rounds * 127 * 128 / 2 + rest * rest.saturating_sub(1) / 2
    });
    assert_reset_forgets("aim9/fork_test", &[], [7, 20]);
}

#[test]
fn every_program_and_script_succeeds() {
    for name in ["aim9/exec_test", "aim9/shell_rtns_1", "aim9/shell_rtns_2", "aim9/shell_rtns_3"] {
        if runs_here(name) {
            assert_checks(name, &[], &[1, 5], |operations| operations);
            assert_reset_forgets(name, &[], [2, 3]);
        }
    }
}

#[test]
fn signal_test_takes_every_signal() {
    assert_checks("aim9/signal_test", &[], &[1, 1000, 12_345], |operations| operations);
    assert_reset_forgets("aim9/signal_test", &[], [7, 1000]);
}
