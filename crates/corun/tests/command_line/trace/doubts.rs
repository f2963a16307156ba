//! What may be otherwise under a tracer than alone is said, and where a tracer cannot work, another one does.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::process::{Command, Stdio};

use super::{EXITS, TRACERS, assemble, info, kills_itself, run_in, works};
use crate::common::{Outcome, Scratch, corun};

const SAYS: &str = "this program: try --tracer ";

/// A run of `corun trace` that prints nothing but errors and doubts.
fn reported(tracer: &str, scratch: &Scratch, options: &[&str], command: &[&str]) -> Outcome {
    let mut run = corun(["trace", "--quiet", "--output=trace", "--tracer", tracer]);
    run.current_dir(scratch.path()).args(options).arg("--").args(command).stdin(Stdio::null());
    Outcome::of(&mut run)
}

#[test]
fn a_program_that_is_killed_may_not_be_at_fault() {
    let scratch = Scratch::new();
    assemble(&scratch, "killed", &kills_itself(11));
    let killed = ["./killed"];
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let outcome = reported(tracer, &scratch, &["--once"], &killed);
        assert_eq!(outcome.exit, Some(0), "{tracer}: {}", outcome.errors);
        // QEMU says first, itself, that the program died.
        assert!(
            outcome
                .errors
                .lines()
                .any(|line| line.starts_with("The program was killed by signal 11")),
            "{tracer}: {}",
            outcome.errors
        );
        assert!(outcome.errors.contains(SAYS), "{tracer}: {}", outcome.errors);
        assert!(
            info(&scratch.file("trace"))["closing"]["remarks"].to_string().contains(SAYS),
            "{tracer}"
        );
    }
    let Some(tracer) = TRACERS.into_iter().find(|tracer| works(tracer)) else { return };
    let outcome = reported(tracer, &scratch, &[], &killed);
    assert_eq!(outcome.errors, "", "alone, it dies as well");
}

#[test]
fn another_exit_code_than_alone_is_said() {
    let script = "test -e seen && exit 4; : > seen; exit 3";
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        let outcome = reported(tracer, &scratch, &[], &["sh", "-c", script]);
        let begin =
            "Without a tracer the program ended otherwise (exit code 4 instead of exit code 3)";
        assert!(outcome.errors.starts_with(begin), "{tracer}: {}", outcome.errors);
        assert!(outcome.errors.contains(SAYS), "{tracer}: {}", outcome.errors);
    }
}

#[test]
fn another_output_than_alone_is_said() {
    let script = "echo same; test -e seen && echo other; : > seen; exit 3";
    let Some(tracer) = TRACERS.into_iter().find(|tracer| works(tracer)) else { return };
    let scratch = Scratch::new();
    let outcome = reported(tracer, &scratch, &[], &["sh", "-c", script]);
    assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), "same\n"));
    let begin = "Without a tracer the program wrote something else to standard output (11 bytes instead of 5)";
    assert!(
        outcome.errors.starts_with(begin) && outcome.errors.contains(SAYS),
        "{}",
        outcome.errors
    );
    let outcome = reported(tracer, &scratch, &[], &["sh", "-c", script]);
    assert_eq!(
        (outcome.output.as_str(), outcome.errors.as_str()),
        ("same\nother\n", ""),
        "as alone"
    );

    fs::remove_file(scratch.file("seen")).unwrap();
    let file = fs::File::create(scratch.file("output")).unwrap();
    let mut run =
        corun(["trace", "--quiet", "--output=trace", "--tracer", tracer, "--", "sh", "-c", script]);
    let outcome = Outcome::of(run.current_dir(scratch.path()).stdin(Stdio::null()).stdout(file));
    assert!(outcome.errors.starts_with(begin), "{}", outcome.errors);
    assert_eq!(fs::read_to_string(scratch.file("output")).unwrap(), "same\n");
}

#[test]
fn a_trace_without_what_does_the_work_is_kept_and_is_an_error() {
    let work = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; exit 0";
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        for (script, named) in [
            (format!("sh -c '{work}' word; exit 0"), "most of all `sh -c "),
            (format!("({work}); exit 0"), "most of all a copy of `"),
        ] {
            let scratch = Scratch::new();
            let outcome = reported(tracer, &scratch, &[], &["sh", "-c", &script]);
            assert_eq!(outcome.exit, Some(1), "{tracer}: {}", outcome.errors);
            let begin = "The trace is of the command's own program";
            assert!(outcome.errors.starts_with(begin), "{tracer}: {}", outcome.errors);
            assert!(outcome.errors.contains(named), "{tracer}: {}", outcome.errors);
            let error = "corun: expected a program that does its work itself";
            assert!(outcome.errors.contains(error), "{tracer}: {}", outcome.errors);
            let info = info(&scratch.file("trace"));
            assert!(info["closing"]["remarks"].to_string().contains(begin), "{tracer}: {info}");
        }
    }
}

/// A child that stays when the program has ended is ended; what was written until then comes out.
#[test]
fn output_is_not_lost_where_a_child_stays() {
    let script = "(while ! test -e go; do :; done; echo late) & echo early";
    let Some(tracer) = TRACERS.into_iter().find(|tracer| works(tracer)) else { return };
    let scratch = Scratch::new();
    let mut run =
        corun(["trace", "--quiet", "--output=trace", "--tracer", tracer, "--", "sh", "-c", script]);
    run.current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut corun = run.spawn().unwrap();
    let output = corun.stdout.take().unwrap();
    assert!(corun.wait().unwrap().success());
    fs::write(scratch.file("go"), "").unwrap();
    assert_eq!(std::io::read_to_string(output).unwrap(), "early\n");
}

/// A program that is linked to Java's launcher, as those of a JDK are, and returns 7.
fn launcher(scratch: &Scratch) {
    fs::write(scratch.file("library.c"), "int launch(void) { return 7; }").unwrap();
    fs::write(scratch.file("main.c"), "int launch(void); int main() { return launch(); }").unwrap();
    let library = ["-shared", "-fPIC", "-Wl,-soname,libjli.so", "-o", "libjli.so", "library.c"];
    run_in(scratch, "cc", &library);
    run_in(scratch, "cc", &["-o", "java", "main.c", "libjli.so", "-Wl,-rpath,$ORIGIN"]);
}

#[test]
fn java_is_traced_by_what_bears_it_and_else_warned_of() {
    let scratch = Scratch::new();
    launcher(&scratch);
    let warning = "dynamorio may fail on this program: Java's virtual machine dies under it in some runs. \
                   Take --tracer qemu";
    if works("qemu") {
        let mut run = corun(["trace", "--once", "--output=trace", "--", "./java"]);
        let outcome = Outcome::of(run.current_dir(scratch.path()).stdin(Stdio::null()));
        assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
        let is_used = |line: &str| line.contains("qemu: about a hundred million");
        assert!(outcome.errors.lines().any(is_used), "{}", outcome.errors);
        assert!(!outcome.errors.contains(warning), "{}", outcome.errors);
        assert_eq!(
            info(&scratch.file("trace"))["closing"]["ending"],
            serde_json::json!({ "exited": 7 })
        );
    }
    if works("dynamorio") {
        let outcome = reported("dynamorio", &scratch, &["--once"], &["./java"]);
        assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
        assert!(outcome.errors.starts_with(warning), "{}", outcome.errors);
        let remarks = info(&scratch.file("trace"))["opening"]["remarks"].to_string();
        assert!(remarks.contains(warning), "{remarks}");
    }
}

/// In a namespace of mounts that ends with it.
fn without_proc(scratch: &Scratch, arguments: &[&str]) -> Option<Outcome> {
    let run = corun(arguments);
    let mut alone = Command::new("unshare");
    alone.args(["--mount", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh"]);
    alone
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(scratch.path())
        .stdin(Stdio::null());
    let can = Command::new("unshare").args(["--mount", "umount", "-l", "/proc"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        corun_testing::skip(
            "no mount namespace",
            "unshare --mount, and umount in it, is not permitted",
        );
        return None;
    }
    Some(Outcome::of(&mut alone))
}

#[test]
fn without_proc_a_program_is_stepped_and_that_is_said() {
    let scratch = Scratch::new();
    assemble(&scratch, "small", EXITS);
    let command = ["trace", "--once", "-o", "trace", "--", "./small"];
    let Some(outcome) = without_proc(&scratch, &command) else { return };
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert!(outcome.errors.contains("; ptrace: "), "{}", outcome.errors);
    let opened = info(&scratch.file("trace"));
    assert_eq!(opened["closing"]["ending"], serde_json::json!({ "exited": 7 }), "{opened}");
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        let command = ["trace", "--once", "-o", "trace", "--tracer", tracer, "--", "./small"];
        let Some(outcome) = without_proc(&scratch, &command) else { return };
        assert_eq!(outcome.exit, Some(3), "{}", outcome.errors);
        let begin = format!(
            "corun: {tracer} cannot be used: expected the files of this process in /proc, found "
        );
        assert!(outcome.errors.starts_with(&begin), "{}", outcome.errors);
        assert!(outcome.errors.contains("--tracer ptrace"), "{}", outcome.errors);
    }
}

/// Other users could put files where files of root are searched for; so there are none.
#[test]
fn nothing_is_left_in_the_folders_of_the_user() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        assemble(&scratch, "small", EXITS);
        let home = scratch.file("home");
        fs::create_dir(&home).unwrap();
        // Only root can.
        let _ = chown(&home, Some(65534), Some(65534));
        let owner = fs::metadata(&home).unwrap().uid();
        let mut run =
            corun(["trace", "--once", "--quiet", "-otrace", "--tracer", tracer, "--", "./small"]);
        run.env("HOME", &home).env("XDG_CACHE_HOME", home.join("cache")).env("TMPDIR", &home);
        let outcome = Outcome::of(run.current_dir(scratch.path()));
        assert_eq!(outcome.exit, Some(0), "{tracer}: {}", outcome.errors);
        assert_eq!(
            fs::read_dir(&home).unwrap().count(),
            0,
            "{tracer}, in the folder of user {owner}"
        );
    }
}
