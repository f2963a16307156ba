//! The rows of LMbench: what one operation of each asks of the kernel, in all of its processes.

use super::assert_calls;

#[test]
fn a_simple_system_call_is_one() {
    assert_calls("lmbench/simple-syscall", &[("getppid", 1.0)]);
    assert_calls("lmbench/simple-read", &[("read", 1.0)]);
    assert_calls("lmbench/simple-write", &[("write", 1.0)]);
    assert_calls("lmbench/signal-installation", &[("rt_sigaction", 1.0)]);
    assert_calls("lmbench/signal-overhead", &[("kill", 1.0), ("rt_sigreturn", 1.0)]);
    assert_calls("lmbench/simple-open-close", &[("openat", 1.0), ("close", 1.0)]);
}

/// Libraries and processors have the same call by several names.
#[test]
fn calls_of_several_names_are_one() {
    for (row, names) in [
        ("simple-stat", "stat|newfstatat|statx"),
        ("simple-fstat", "fstat|newfstatat|statx"),
        ("select-10-fds", "select|pselect6"),
        ("select-10-tcp-fds", "select|pselect6"),
    ] {
        assert_calls(&format!("lmbench/{row}"), &[(names, 1.0)]);
    }
}

/// The worker's and its peer's together.
#[test]
fn a_round_trip_is_two_messages() {
    for row in ["pipe-latency", "unix-latency", "tcp-latency"] {
        assert_calls(&format!("lmbench/{row}"), &[("read", 2.0), ("write", 2.0)]);
    }
    assert_calls("lmbench/udp-latency", &[("sendto", 2.0), ("recvfrom", 2.0)]);
}

#[test]
fn a_switch_is_a_write_and_a_read() {
    assert_calls("lmbench/context-switch", &[("read", 1.0), ("write", 1.0)]);
}

/// A shell may start one more; how a process ends, strace does not count.
#[test]
fn a_process_is_started_and_waited_for() {
    for (row, programs) in [("fork-exit", 0.0), ("fork-execve", 1.0)] {
        let calls = [("clone", 1.0), ("wait4", 1.0), ("execve", programs)];
        assert_calls(&format!("lmbench/{row}"), &calls);
    }
}

#[test]
fn a_mapping_is_made_and_ended() {
    assert_calls("lmbench/mmap", &[("mmap", 1.0), ("munmap", 1.0)]);
}
