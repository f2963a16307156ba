//! `chat`, `dbench` and `tbench`.

use super::{reported, reported_without_network};
use crate::prepare;

/// Prepares a workload, see `examples/prepare.rs`.
const PREPARE: &str = "exec \"$PREPARE\"";

#[test]
fn too_few_descriptors_are_answered_with_what_to_do() {
    insta::assert_snapshot!(reported(&format!("ulimit -n 40; {PREPARE} chat")), @r#"
    workload `chat` needs more open files than it may have: Too many open files (os error 24)
      Raise the limit (ulimit -n), or ask for fewer workers.
    exit 4
    "#);
}

#[test]
fn too_few_threads_are_answered_with_what_to_do() {
    let as_nobody = "setpriv --reuid=65534 --clear-groups";
    if reported(&format!("{as_nobody} \"$PREPARE\" 2>&1")) != "exit 2" {
        return corun_testing::skip("thread limit", "no other user can be become");
    }
    let limited = format!("prlimit --nproc=60 {as_nobody} \"$PREPARE\" chat");
    insta::assert_snapshot!(reported(&limited), @r#"
    workload `chat` needs 81 threads, and 60 can be had here
      Raise the limits (ulimit -u, pids.max), or ask for fewer workers.
    exit 4
    "#);
}

#[test]
fn a_machine_without_loopback_is_answered_with_what_to_do() {
    let Some(reported) = reported_without_network(&["chat", "tbench"]) else { return };
    insta::assert_snapshot!(reported, @r"
    workload `chat` needs the loopback interface (127.0.0.1): Network is unreachable (os error 101)
      Set the interface up (ip link set lo up).
    exit 3
    workload `tbench` needs the loopback interface (127.0.0.1): Network is unreachable (os error 101)
      Set the interface up (ip link set lo up).
    exit 3
    ");
}

#[test]
fn a_load_that_cannot_be_used_is_answered_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let load = folder.path().join("load");
    let reported = |text: &str| {
        std::fs::write(&load, text).unwrap();
        prepare::reported(folder.path(), &format!("{PREPARE} dbench load=$TMPDIR/load"))
    };
    let missing = prepare::reported(folder.path(), &format!("{PREPARE} tbench load=$TMPDIR/load"));
    let huge = "NTCreateX \"\\a\" 0x40 0x2 1 0x0\nWriteX 1 1000000000000000 1 1 0x0\n";
    let wrong = "NTCreateX \"\\a\" 0x40 0x2 1 0x0\nReadX 1 0 512 512 0x0\n";
    let answers = [
        missing,
        reported("Flush 1 NT_STATUS_OK\n"),
        reported("Copy a b\n"),
        reported(wrong),
        reported(huge),
    ];
    let free = regex::Regex::new("where .* are free").unwrap();
    let answers = answers.join("\n");
    insta::assert_snapshot!(free.replace(&answers, "where [..] are free"), @r#"
    workload `tbench` cannot read its load "TMPDIR/load": No such file or directory (os error 2)
      Name a file that you may read, or leave `load` out to get corun's own.
    exit 1
    line 1 of the load "TMPDIR/load": expected a handle that NTCreateX has opened before, found `1`
      Correct this line of the file, or begin it with #.
    exit 1
    line 1 of the load "TMPDIR/load": expected one of NTCreateX, Close, ReadX, WriteX, Flush, Unlink, Rename, Mkdir, Rmdir, Deltree, QUERY_PATH_INFORMATION, QUERY_FILE_INFORMATION, QUERY_FS_INFORMATION, SET_FILE_INFORMATION, FIND_FIRST, LockX, UnlockX, Sleep, found `Copy`
      Correct this line of the file, or begin it with #.
    exit 1
    line 2 of the load "TMPDIR/load" (ReadX): expected 512 bytes, found 0
      Correct this line's end, or the lines before it that make it end otherwise.
    exit 1
    workload `dbench` writes up to 976562500008 KiB below "TMPDIR", where [..] are free
      Free some room there, or set TMPDIR to a folder that has more.
    exit 3
    "#);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the load alone");
}

/// The recorded client's name is replaced by the worker's own, which makes two names one.
#[test]
fn a_request_that_fails_while_it_runs_is_reported_without_a_panic() {
    let lines =
        "NTCreateX \"\\client0\" 0x40 0x2 1 0x0\nNTCreateX \"\\client1\" 0x40 0x1 2 0xC0000034\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("load"), lines).unwrap();
    let command = format!("OPERATIONS=2 {PREPARE} dbench load=$TMPDIR/load 2>&1");
    insta::assert_snapshot!(prepare::reported(folder.path(), &command), @r#"
    line 2 of the load "TMPDIR/load" (NTCreateX): expected a failure, found success
      See what the load cannot decide (room on the disk, limits, other processes), and run it again.
    exit 1
    "#);
}
