//! Nothing of one sample runs beside the next: children that a command leaves in the background,
//! and kernels that would go on beside idle siblings; nor does a file outlive a run.

use std::process::{Command, Stdio};

use crate::common::{FEWEST, Outcome, corun, measure, measure_one_worker, wait_until};

#[test]
fn a_child_in_the_background_ends_with_its_sample() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("children");
    let script = format!("sleep 3600 & echo $! >> {}", list.display());
    let outcome = Outcome::of(measure("spread,stacked", 2).args(["--", "bash", "-c", &script]));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let children = std::fs::read_to_string(&list).unwrap();
    assert!(children.lines().count() >= 8, "{children}");
    for child in children.lines() {
        wait_until("the end of a child", || {
            let command = std::fs::read_to_string(format!("/proc/{child}/cmdline"));
            !command.is_ok_and(|it| it.contains("3600"))
        });
    }
}

#[test]
fn without_proc_a_daemon_ends_with_its_sample_too() {
    let can = Command::new("unshare").args(["--mount", "umount", "-l", "/proc"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        corun_testing::skip(
            "no mount namespace",
            "unshare --mount, and umount in it, is not permitted",
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("daemons");
    let script = "rm -f $0.new; setsid sh -c 'echo $$ >>$0; : >$0.new; exec tail -f /dev/null' $0 \
                  </dev/null >/dev/null 2>&1 & until [ -e $0.new ]; do :; done";
    let mut run = measure_one_worker(FEWEST);
    run.args(["--json=-", "--", "sh", "-c", script]).arg(&list);
    let mut alone = Command::new("unshare");
    alone.args(["--mount", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh"]);
    alone.arg(run.get_program()).args(run.get_args()).stdin(Stdio::null());
    let outcome = Outcome::of(&mut alone);
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let daemons = std::fs::read_to_string(&list).unwrap();
    assert!(daemons.lines().count() >= 4, "{daemons}");
    for daemon in daemons.lines() {
        let command = std::fs::read_to_string(format!("/proc/{daemon}/cmdline"));
        assert!(!command.is_ok_and(|it| it.contains("/dev/null")), "{daemon} is there");
    }
    for sample in outcome.run().samples {
        let left = sample.evidence.left_running;
        assert!(left.len() == 1 && left[0].ended, "{left:?}");
    }
}

/// Two equal workers on one CPU have about as much done as one, whichever ends first: a run that went
/// on alone must not be counted (it would add a sixth).
#[test]
fn a_steady_kernel_counts_no_run_that_ended_alone() {
    let outcome = Outcome::of(&mut corun([
        "measure",
        "--steady",
        "--workload=fib",
        "--cores=1",
        "--placement=stacked",
        "--blocks=2",
        "--warmup=0",
        "--sample-time=20ms",
        "--json=-",
    ]));
    for sample in outcome.run().samples {
        let ends: Vec<f64> = sample.workers.iter().map(|worker| worker.seconds).collect();
        let runs: Vec<u32> = sample.workers.iter().map(|worker| worker.runs).collect();
        let slowest = ends.iter().copied().fold(0.0, f64::max);
        let last_first_run = ends.iter().zip(&runs).filter(|(_, runs)| **runs == 1);
        let first_windows = last_first_run.map(|(end, _)| *end).fold(0.0, f64::max);
        assert!(runs.contains(&1), "someone ended the sample: {runs:?}");
        assert!(slowest <= first_windows, "counted after the last first run: {ends:?} {runs:?}");
    }
}

#[test]
fn kernels_that_are_killed_leave_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = Outcome::of(
        corun(["measure", "--workload=syscall-mix", "--placement=free", "--timeout=100ms"])
            .args(["--sample-time=1min", "--blocks=2"])
            .env("TMPDIR", folder.path()),
    );
    assert!(outcome.errors.contains("found it still running"), "{}", outcome.errors);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
