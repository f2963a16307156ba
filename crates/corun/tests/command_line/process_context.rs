//! What a command finds around it: arguments, environment, directory and input, exactly as given.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::common::{FEWEST, Outcome, Scratch, measure, measure_one_worker};

#[test]
fn arguments_go_through_as_given_and_through_no_shell() {
    let scratch = Scratch::new();
    let script = scratch.script("printf '%s\\0' \"$@\" > \"$folder/arguments\"");
    let given: Vec<OsString> = [
        &b"two words"[..],
        b"",
        b"'single' \"double\" \\back",
        b"$HOME `id` $(id) ; id | id > file && id * ?",
        b"{print $1}",
        b"line\nbreak\ttab",
        b"bytes \xff\xfe that are no UTF-8",
        b"--blocks=7",
        b"-",
        b"--",
    ]
    .map(|argument| OsStr::from_bytes(argument).to_owned())
    .to_vec();
    let outcome = Outcome::of(measure_one_worker(FEWEST).arg("--").arg(script).args(&given));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);

    let seen = std::fs::read(scratch.file("arguments")).unwrap();
    let seen: Vec<OsString> = seen
        .strip_suffix(b"\0")
        .unwrap()
        .split(|&byte| byte == 0)
        .map(|argument| OsString::from_vec(argument.to_vec()))
        .collect();
    assert_eq!(seen, given);
}

#[test]
fn the_environment_is_handed_down_and_added_to() {
    let scratch = Scratch::new();
    let environment = environment_seen(
        &scratch,
        &["--env=ADDED=a=b c", "--env=CHANGED=new", "--env=EMPTY=", "--env=CHANGED=newest"],
    );
    let of = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, it)| &**it);
    assert_eq!(of("KEPT"), Some("kept"));
    assert_eq!(of("ADDED"), Some("a=b c"));
    assert_eq!(of("CHANGED"), Some("newest"));
    assert_eq!(of("EMPTY"), Some(""));
    assert!(of("PATH").is_some());
}

#[test]
fn the_environment_can_begin_empty() {
    let scratch = Scratch::new();
    let environment = environment_seen(&scratch, &["--env-clear", "--env=ONLY=this"]);
    assert_eq!(environment, [("ONLY".to_owned(), "this".to_owned())]);
}

#[test]
fn a_command_runs_in_its_directory_and_relative_places_count_from_there() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.file("inner")).unwrap();
    std::fs::rename(scratch.script("touch \"$PWD/here\""), scratch.file("inner/program")).unwrap();
    let outcome = Outcome::of(measure_one_worker(FEWEST).current_dir(scratch.path()).args([
        "--cwd=inner",
        "--",
        "./program",
    ]));
    assert_eq!(outcome.reported(scratch.path()), "exit 0\n");
    assert!(scratch.file("inner/here").exists());
}

#[test]
fn every_copy_reads_the_input_from_its_start() {
    let scratch = Scratch::new();
    let input: String = (0..2000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(scratch.file("input"), &input).unwrap();
    let script = scratch.script("mkdir -p \"$folder/read\"; cat > \"$folder/read/$$\"");
    let run = Outcome::of(
        measure("stacked,spread", FEWEST)
            .args(["--json=-", "--stdin"])
            .arg(scratch.file("input"))
            .arg("--")
            .arg(script),
    )
    .run();

    let copies: Vec<_> = std::fs::read_dir(scratch.file("read")).unwrap().flatten().collect();
    let workers: usize = run.samples.iter().map(|sample| sample.workers.len()).sum();
    assert_eq!(copies.len(), workers);
    for copy in copies {
        assert_eq!(std::fs::read_to_string(copy.path()).unwrap(), input);
    }
}

#[test]
fn without_input_there_is_an_empty_one() {
    let scratch = Scratch::new();
    let script = scratch.script("cat > \"$folder/read\"");
    let outcome = Outcome::of(measure_one_worker(FEWEST).arg("--").arg(script));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert!(scratch.file("read").exists() && scratch.read("read").is_empty());
}

/// The environment that the kernel handed to a command measured with these options.
fn environment_seen(scratch: &Scratch, options: &[&str]) -> Vec<(String, String)> {
    let copy = ["--", "cp", "--no-preserve=mode", "/proc/self/environ", "environment"];
    let outcome = Outcome::of(
        measure_one_worker(FEWEST)
            .current_dir(scratch.path())
            .envs([("KEPT", "kept"), ("CHANGED", "old")])
            .args(options)
            .args(copy),
    );
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let environment = scratch.read("environment");
    let variables = environment.split_terminator('\0');
    variables
        .map(|variable| variable.split_once('=').expect("NAME=VALUE"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
