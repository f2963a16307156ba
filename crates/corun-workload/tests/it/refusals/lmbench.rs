//! The rows of LMbench.

use super::{reported, reported_without_network};

#[test]
fn a_machine_without_loopback_is_reported_how_to_bring_it_up() {
    let rows = ["select-10-tcp-fds", "tcp-latency", "udp-latency", "tcp-bandwidth"];
    let rows = rows.map(|row| format!("lmbench/{row}"));
    let Some(reported) = reported_without_network(&rows.each_ref().map(String::as_str)) else {
        return;
    };
    for row in rows {
        let expected = format!("workload `{row}` needs the loopback interface (127.0.0.1): ");
        assert!(reported.contains(&expected), "{reported}");
    }
    assert_eq!(reported.matches("  Set the interface up (ip link set lo up).\nexit 3").count(), 4);
}

#[test]
fn a_missing_program_is_named() {
    insta::assert_snapshot!(reported("PATH=/missing \"$PREPARE\" lmbench/fork-execve"), @"
    workload `lmbench/fork-execve` cannot run here: there is no program `true` in PATH
      Provide what is missing, or use another workload.
    exit 3
    ");
    insta::assert_snapshot!(reported("\"$PREPARE\" lmbench/fork-sh program=/missing"), @r#"
    workload `lmbench/fork-sh` cannot run here: there is no program "/missing"
      Provide what is missing, or use another workload.
    exit 3
    "#);
}

/// The limit does not hold for the superuser, so this is somebody else, who has other processes.
#[test]
fn too_few_processes_are_answered_with_what_to_do() {
    let limited = |row: &str| {
        let unprivileged = "setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=1";
        reported(&format!("{unprivileged} \"$PREPARE\" {row} 2>&1"))
    };
    let answer = limited("lmbench/simple-syscall");
    if answer != "prepared\nexit 0" {
        return corun_testing::skip("too few processes", &answer);
    }
    for row in ["pipe-latency", "context-switch", "fork-exit", "signal-overhead"] {
        let reported = limited(&format!("lmbench/{row}"));
        let expected =
            format!("workload `lmbench/{row}` needs more processes, 1 for each worker: ");
        assert!(reported.starts_with(&expected), "{reported}");
        assert!(reported.ends_with("ask for fewer processes or workers.\nexit 4"), "{reported}");
    }
}

/// Two workers with a second process each find room, three do not.
#[test]
fn the_processes_of_all_workers_are_counted() {
    let limited = |workers: u32| {
        let user = "setpriv --reuid=61234 --regid=61234 --clear-groups prlimit --nproc=3";
        reported(&format!("WORKERS={workers} {user} \"$PREPARE\" lmbench/context-switch 2>&1"))
    };
    let answer = limited(2);
    if answer != "prepared\nexit 0" {
        return corun_testing::skip("the processes of all workers", &answer);
    }
    let reported = limited(3);
    assert!(reported.contains("needs more processes, 1 for each worker"), "{reported}");
    assert!(reported.ends_with("exit 4"), "{reported}");
}
