//! What other processes send back, and how they end.

use super::super::{kernels, on_one_cpu};
use super::{assert_checks, sum_to};

/// Every message comes back as its successor, modulo 2^8 where one byte travels.
#[test]
fn every_message_comes_back() {
    let bytes = |messages: u64| messages / 256 * sum_to(255) + sum_to(messages % 256);
    for row in ["pipe-latency", "unix-latency", "tcp-latency"] {
        assert_checks(row, &[], &[1, 255, 256, 257, 1000, 3], bytes);
    }
    assert_checks("udp-latency", &[], &[1, 255, 256, 257, 1000, 3], sum_to);
}

#[test]
fn every_process_ends_well() {
    for row in ["fork-exit", "fork-execve", "fork-sh"] {
        assert_checks(row, &[], &[1, 4, 2], |operations| operations);
    }
    let fails = ["program=/bin/false"];
    assert_checks("fork-execve", &fails, &[1, 3], |_| 0);
    assert_checks("fork-sh", &fails, &[1, 3], |_| 0);
}

/// The shell must take a path with spaces and quotes for one word.
#[test]
fn a_program_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's a; program");
    std::os::unix::fs::symlink("/bin/true", &path).unwrap();
    let program = format!("program={}", path.display());
    for row in ["fork-execve", "fork-sh"] {
        assert_checks(row, &[&program], &[3], |operations| operations);
    }
}

#[test]
fn the_token_counts_every_switch() {
    for parameters in
        [&[][..], &["processes=3"], &["processes=3", "size=8"], &["processes=8", "size=16KiB"]]
    {
        assert_checks("context-switch", parameters, &[1, 2, 3, 8, 100, 255, 7], |switches| {
            switches
        });
    }
}

#[test]
fn a_ring_goes_round_on_one_cpu() {
    let mut kernel = kernels("lmbench/context-switch", &["processes=4".into()], 1).remove(0);
    let check = on_one_cpu(|| {
        kernel.reset();
        kernel.run(2001);
        kernel.check()
    });
    assert_eq!(check, 2001);
}
