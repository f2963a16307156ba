//! What is told where a machine does not give what a row of a suite needs.

use std::process::{Command, Stdio};

#[test]
fn a_machine_without_loopback_is_told_how_to_bring_it_up() {
    if told("unshare --user --map-root-user --net true") != "exit 0" {
        return corun_testing::skip("no loopback", "namespaces are not permitted");
    }
    for row in ["select-10-tcp-fds", "tcp-latency", "udp-latency", "tcp-bandwidth"] {
        let told =
            told(&format!("unshare --user --map-root-user --net \"$PREPARE\" lmbench/{row}"));
        let expected =
            format!("workload `lmbench/{row}` needs the loopback interface (127.0.0.1): ");
        assert!(told.starts_with(&expected), "{told}");
        assert!(told.ends_with("  Bring it up (ip link set lo up).\nexit 3"), "{told}");
    }
}

#[test]
fn a_missing_program_is_named() {
    insta::assert_snapshot!(told("PATH=/missing \"$PREPARE\" lmbench/fork-execve"), @"
    workload `lmbench/fork-execve` cannot run here: there is no program `true` in PATH
      Provide what is missing, or use another workload.
    exit 3
    ");
    insta::assert_snapshot!(told("\"$PREPARE\" lmbench/fork-sh program=/missing"), @r#"
    workload `lmbench/fork-sh` cannot run here: there is no program "/missing"
      Provide what is missing, or use another workload.
    exit 3
    "#);
}

/// The limit does not hold for the superuser, so this is somebody else, who has other processes.
#[test]
fn too_few_processes_are_answered_with_what_to_do() {
    let limited = |row: &str| {
        let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=1";
        told(&format!("{nobody} \"$PREPARE\" {row} 2>&1"))
    };
    let answer = limited("lmbench/simple-syscall");
    if answer != "prepared\nexit 0" {
        return corun_testing::skip("too few processes", &answer);
    }
    for row in ["pipe-latency", "context-switch", "fork-exit", "signal-overhead"] {
        let told = limited(&format!("lmbench/{row}"));
        let expected =
            format!("workload `lmbench/{row}` needs more processes, 1 for each worker: ");
        assert!(told.starts_with(&expected), "{told}");
        assert!(told.ends_with("ask for fewer processes or workers.\nexit 4"), "{told}");
    }
}

/// What a shell command says, and how it ends.
fn told(command: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    let prepare = tests.parent().unwrap().with_file_name("examples").join("prepare");
    assert!(prepare.exists(), "`cargo test` builds the examples, `--test` alone does not");
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PREPARE", prepare).stdin(Stdio::null());
    let output = shell.output().unwrap();
    let code = output.status.code().expect("no signal");
    format!("{}exit {code}", String::from_utf8_lossy(&output.stdout))
}
