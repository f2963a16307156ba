//! The rows of AIM9 that consist of system calls.

use super::{assert_calls, assert_calls_of_round, calls_between, total};

#[test]
fn processes_are_made_and_waited_for() {
    let fork = ("clone|fork|clone3", 1.0);
    assert_calls("aim9/fork_test", &[fork, ("wait4|waitid", 1.0)]);
    assert_calls("aim9/exec_test", &[fork, ("wait4|waitid", 1.0), ("execve", 1.0)]);
}

#[test]
fn a_script_is_two_shells_and_what_the_second_starts() {
    // `sh -c`, the script, and `ls`; a shell may start its only command without a process of its own.
    assert_calls("aim9/shell_rtns_1", &[("execve", 3.0)]);
    assert_calls("aim9/shell_rtns_2", &[("execve", 2.0)]);
    assert_calls("aim9/shell_rtns_3", &[("execve", 3.0)]);
}

#[test]
fn a_signal_is_sent_taken_and_returned_from() {
    let calls = [("tgkill", 1.0), ("rt_sigaction", 1.0), ("rt_sigreturn", 1.0)];
    assert_calls("aim9/signal_test", &calls);
}

#[test]
fn names_are_made_and_removed_in_pairs() {
    assert_calls("aim9/creat-clo", &[("openat", 1.0), ("close", 1.0)]);
    assert_calls("aim9/link_test", &[("unlinkat", 1.0), ("linkat", 1.0)]);
}

#[test]
fn a_round_of_searches_is_57_names_looked_up_and_43_made() {
    let calls = [("newfstatat|statx", 57), ("openat", 43), ("close", 43), ("unlinkat", 43)];
    assert_calls_of_round("aim9/disk_src", 75, &calls);
}

#[test]
fn a_block_is_read_or_written_at_random_after_a_seek() {
    assert_calls("aim9/disk_rr", &[("lseek", 1.0), ("read", 1.0), ("write", 0.0)]);
    assert_calls("aim9/disk_rw", &[("lseek", 1.0), ("read", 0.0), ("write", 1.0)]);
    assert_calls("aim9/sync_disk_rw", &[("lseek", 1.0), ("read", 0.0), ("write", 1.0)]);
}

#[test]
fn a_file_is_gone_through_without_seeks() {
    let read = [("lseek", 1), ("read", 64), ("write", 0)];
    assert_calls_of_round("aim9/disk_rd file_size=64KiB", 64, &read);
    let write = [("lseek", 1), ("ftruncate", 1), ("read", 0), ("write", 64)];
    assert_calls_of_round("aim9/disk_wrt file_size=64KiB", 64, &write);
    let copy = [("lseek", 2), ("ftruncate", 1), ("read", 64), ("write", 64)];
    assert_calls_of_round("aim9/disk_cp file_size=64KiB", 64, &copy);
    assert_calls("aim9/sync_disk_wrt", &[("lseek", 0.0), ("read", 0.0), ("write", 1.0)]);
    assert_calls("aim9/sync_disk_cp", &[("lseek", 0.0), ("read", 1.0), ("write", 1.0)]);
}

#[test]
fn a_directory_is_rewound_at_its_end() {
    let folder = if std::path::Path::new("/bin").exists() { "/bin" } else { "/" };
    let entries = std::fs::read_dir(folder).unwrap().count() as u64 + 2;
    assert_calls_of_round("aim9/dir_rtns_1", entries + 1, &[("lseek", 1), ("openat", 0)]);
}

#[test]
fn a_channel_is_made_for_99_messages() {
    let ends = ("close", 2);
    let [write, read] = ["write", "read"].map(|call| (call, 99));
    let fifo = [("mknodat", 1), ("openat", 2), ("unlinkat", 1), write, read, ends];
    assert_calls_of_round("aim9/fifo_test", 99, &fifo);
    assert_calls_of_round("aim9/pipe_cpy", 99, &[("pipe2", 1), write, read, ends]);
    for pair in ["aim9/stream_pipe", "aim9/dgram_pipe"] {
        assert_calls_of_round(pair, 99, &[("socketpair", 1), write, read, ends]);
    }
    let udp = [("socket", 2), ("bind", 2), ("connect", 1), write, read, ends];
    assert_calls_of_round("aim9/udp_test", 99, &udp);
}

#[test]
fn the_hundredth_message_is_the_first_of_another_channel() {
    let pipes = |few, more| Some(total(&calls_between("aim9/pipe_cpy", few, more)?, "pipe2"));
    let found = [pipes(1, 99), pipes(99, 100)];
    assert!(matches!(found, [Some(0), Some(1)] | [None, None]), "{found:?}");
}

#[test]
fn a_connection_is_made_for_89_messages() {
    let made = [("socket", 2), ("bind", 1), ("setsockopt", 1), ("listen", 1), ("connect", 1)];
    let used = [("accept4", 1), ("write", 89), ("read", 89), ("close", 3)];
    assert_calls_of_round("aim9/tcp_test", 89, &[&made[..], &used].concat());
}

#[test]
fn a_message_in_shared_memory_takes_the_semaphore_twice() {
    let made = [("shmget", 1), ("shmat", 1), ("semget", 1), ("semop|semtimedop", 400)];
    let removed = [("shmdt", 1), ("shmctl", 1), ("semctl", 2)];
    assert_calls_of_round("aim9/shared_memory", 100, &[&made[..], &removed].concat());
}
