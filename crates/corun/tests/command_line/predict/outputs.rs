//! Places that cannot be written to, and disks that are full.

use std::fs::File;
use std::os::unix::process::CommandExt;

use corun_record::{Document, Prediction};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::predict;
use crate::common::{Outcome, Scratch};

#[test]
fn places_that_cannot_be_written_are_errors() {
    let scratch = Scratch::new();
    let reported = |options: &[&str]| {
        let mut command = predict(&["--no-measure"]);
        command.current_dir(scratch.path()).env("TMPDIR", scratch.path());
        Outcome::of(command.args(options).args(["--", "true"])).reported(scratch.path())
    };
    let missing = reported(&["--keep=missing/t"]);
    let expected = "exit 1\ncorun: could not write the trace to missing/t: ";
    assert!(missing.starts_with(expected), "{missing}");
    let missing = reported(&["--json=missing/t"]);
    assert!(missing.starts_with("exit 1\ncorun: could not write \"missing/t\""), "{missing}");
    let folder = reported(&["--keep=."]);
    assert!(folder.starts_with("exit 1\ncorun: could not write the trace to .: "), "{folder}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    let mut nowhere = predict(&["--no-measure"]);
    nowhere.env("TMPDIR", "/nonexistent").args(["--", "true"]);
    let nowhere = Outcome::of(&mut nowhere).reported(scratch.path());
    let expected =
        "exit 1\ncorun: could not write the trace to /nonexistent, where temporary files go: ";
    assert!(nowhere.starts_with(expected) && nowhere.contains("Set TMPDIR"), "{nowhere}");
    let full = reported(&["--json=/dev/full"]);
    let kept = full.lines().nth(1).expect("what is kept");
    let kept = kept.strip_prefix("corun: the whole result is kept in FOLDER/").expect(kept);
    assert!(Prediction::from_json(&scratch.read(kept)).is_ok());
    assert!(full.starts_with("exit 1\n") && full.contains("No space left on device"), "{full}");
}

#[test]
fn an_answer_that_does_not_fit_on_the_disk_is_kept_elsewhere() {
    let scratch = Scratch::new();
    let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
    let mut command = predict(&["--no-measure"]);
    command.env("TMPDIR", scratch.path()).stdout(full).args(["--", "true"]);
    let reported = Outcome::of(&mut command).reported(scratch.path());
    assert!(
        reported.starts_with("exit 1\ncorun: the whole result is kept in FOLDER/"),
        "{reported}"
    );
}

#[test]
fn a_trace_that_does_not_fit_is_no_prediction() {
    let scratch = Scratch::new();
    let mut command = predict(&["--no-measure", "--whole", "--tracer=ptrace", "--keep=kept"]);
    command.current_dir(scratch.path()).args(["--", "sh", "-c", "exit 0"]);
    let limit = Rlimit { current: Some(16 << 10), maximum: Some(16 << 10) };
    // SAFETY: the call is one system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::Fsize, limit)?));
    }
    let reported = Outcome::of(&mut command).reported(scratch.path());
    assert!(reported.starts_with("exit 1\ncorun: "), "{reported}");
    assert!(reported.contains("File too large"), "{reported}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}
