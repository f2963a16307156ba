//! The rows of AIM9.

use super::{reported_inside, reported_without_network};
use crate::prepare::reported;

#[test]
fn a_missing_program_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let reported = ["exec_test", "shell_rtns_1"].map(|row| {
        reported(parent.path(), &format!("PATH=/nowhere; exec \"$PREPARE\" aim9/{row}"))
    });
    insta::assert_snapshot!(reported.join("\n"), @r#"
    workload `aim9/exec_test` cannot run here: there is no `true` on PATH
      Provide what is missing, or use another workload.
    exit 3
    workload `aim9/shell_rtns_1` cannot run here: there is no `ls` on PATH
      Provide what is missing, or use another workload.
    exit 3
    "#);
}

#[test]
fn a_folder_whose_programs_may_not_run_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let command =
        "mount -t tmpfs -o noexec none \"$TMPDIR\" && exec \"$PREPARE\" aim9/shell_rtns_2";
    let Some(reported) = reported_inside("mount", command, parent.path()) else { return };
    insta::assert_snapshot!(reported, @r#"
    workload `aim9/shell_rtns_2` cannot run here: no program may be started from TMPDIR (noexec)
      Provide what is missing, or use another workload.
    exit 3
    "#);
}

#[test]
fn a_missing_loopback_is_named() {
    let Some(reported) = reported_without_network(&["aim9/tcp_test", "aim9/udp_test"]) else {
        return;
    };
    insta::assert_snapshot!(reported, @r"
    workload `aim9/tcp_test` needs the loopback interface (127.0.0.1): Network is unreachable (os error 101)
      Set the interface up (ip link set lo up).
    exit 3
    workload `aim9/udp_test` needs the loopback interface (127.0.0.1): Network is unreachable (os error 101)
      Set the interface up (ip link set lo up).
    exit 3
    ");
}

#[test]
fn a_full_disk_is_reported_before_anything_is_written() {
    let parent = tempfile::tempdir().unwrap();
    for row in ["disk_wrt", "disk_cp", "sync_disk_rw"] {
        let command = format!(
            "mount -t tmpfs -o size=64k none \"$TMPDIR\"; (\"$PREPARE\" aim9/{row}); \
             code=$?; ls -A \"$TMPDIR\"; exit $code"
        );
        let Some(reported) = reported_inside("mount", &command, parent.path()) else { return };
        assert!(reported.contains("where 64 KiB are free"), "{reported}");
        assert!(reported.ends_with("that has more.\nexit 3"), "nothing is left: {reported}");
    }
}

#[test]
fn names_that_do_not_fit_are_reported() {
    let parent = tempfile::tempdir().unwrap();
    for row in ["creat-clo", "link_test", "disk_src", "fifo_test", "shell_rtns_2"] {
        // The root, the scratch folder and nothing in it.
        let command = format!(
            "mount -t tmpfs -o nr_inodes=2 none \"$TMPDIR\"; (\"$PREPARE\" aim9/{row}); \
             code=$?; ls -A \"$TMPDIR\"; exit $code"
        );
        let Some(reported) = reported_inside("mount", &command, parent.path()) else { return };
        insta::allow_duplicates! {
            insta::assert_snapshot!(reported.replace(row, "ROW"), @r#"
            workload `aim9/ROW` needs a file of its own below "TMPDIR": No space left on device (os error 28)
              Free some room there, or set TMPDIR to a folder that has more.
            exit 3
            "#);
        }
    }
}

#[test]
fn a_limit_on_files_is_reported() {
    let parent = tempfile::tempdir().unwrap();
    let reported = reported(parent.path(), "ulimit -f 4; exec \"$PREPARE\" aim9/disk_rd");
    insta::assert_snapshot!(reported, @r#"
    workload `aim9/disk_rd` writes up to 5 MiB, and files are limited to 2 KiB here
      Raise the limit (ulimit -f).
    exit 4
    "#);
}
