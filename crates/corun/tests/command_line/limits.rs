//! Files that a user names by mistake: devices, pipes, folders, and files longer than any of their kind.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::common::{Outcome, Scratch, corun};

/// Lines that name each kind of file; `FILE` for it.
pub(crate) const LINES: &[&[&str]] = &[
    &["models", "check", "FILE.toml"],
    &["models", "show", "FILE.toml"],
    &["models", "diff", "FILE.toml", "zen4"],
    &["study", "show", "FILE.toml"],
    &["study", "run", "FILE.toml"],
    &["simulate", "--model", "FILE.toml", "trace"],
    &["simulate", "--model", "zen4", "FILE"],
    &["simulate", "--model", "zen4", "--placement", "full", "FILE"],
    &["simulate", "--model", "zen4", "--block-file", "FILE"],
    &["predict", "--model", "FILE.toml", "--", "true"],
    &["models", "calibrate", "--base", "FILE.toml"],
    &["models", "calibrate", "--block-file", "FILE", "--csv", "out.csv"],
    &["schedule", "--topology", "1x1x1", "--load", "tasks:FILE"],
    &["schedule", "--topology", "1x1x1", "--load", "rt-app:FILE"],
    &["schedule", "--topology", "1x1x1", "--load", "perf-sched:FILE"],
    &["schedule", "--topology", "1x2x2", "--load", "batch:jobs=1,work=1s", "--pairs", "FILE"],
    &["schedule", "--topology", "1x1x1", "--load", "batch:jobs=1,work=1s", "--costs", "FILE"],
    &["measure", "--workload", "dbench", "--param", "load=FILE", "--blocks", "2"],
    &["trace", "info", "FILE"],
    &["trace", "check", "FILE"],
    &["trace", "convert", "--from", "champsim", "FILE", "-o", "out.trace"],
    &["trace", "convert", "--to", "champsim", "FILE", "-o", "out.trace"],
    &["topo", "--root", "FILE"],
    &["doctor", "--root", "FILE"],
];

/// corun of these words with as much of a resource as a shell's `ulimit` leaves.
fn with_limit(resource: Resource, amount: u64, words: &[&str]) -> Command {
    let mut command = corun(words);
    let limit = Rlimit { current: Some(amount), maximum: Some(amount) };
    // SAFETY: the call is one system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(resource, limit)?));
    }
    command
}

/// Each subcommand is parsed and some are run in a stack that is too small for them; a program that is measured has that
/// stack, and not another.
#[test]
fn a_small_stack_is_the_measured_program_s() {
    for words in [
        &["--help"][..],
        &["help", "predict"],
        &["topo"],
        &["models", "show", "zen4"],
        &["study", "list"],
        &["schedule", "--topology", "1x1x1", "--load", "batch:jobs=1,work=1s"],
        &[
            "measure",
            "--blocks=2",
            "--warmup=0",
            "--cores=1",
            "--placement=spread",
            "--",
            "sh",
            "-c",
            "[ $(ulimit -s) = 64 ]",
        ],
    ] {
        let outcome = Outcome::of(&mut with_limit(Resource::Stack, 64 << 10, words));
        assert_eq!(outcome.exit, Some(0), "{words:?}: {}", outcome.errors);
    }
}

#[test]
fn who_lacks_descriptors_is_told_so_whatever_they_were_for() {
    for words in [
        &["trace", "-o", "/dev/null", "--", "true"][..],
        &["predict", "--model", "zen4", "--", "true"],
        &["measure", "--blocks=2", "--", "true"],
    ] {
        let outcome = Outcome::of(&mut with_limit(Resource::Nofile, 12, words));
        assert!(outcome.exit.is_some_and(|exit| exit != 0), "{words:?}: {}", outcome.errors);
        assert!(outcome.errors.contains("(ulimit -n)"), "{words:?}: {}", outcome.errors);
    }
}

/// corun of this line, in little memory: what would be read whole does not fit.
fn limited(line: &[&str], file: &str, scratch: &Scratch) -> Command {
    let words = line.iter().map(|word| word.replace("FILE", file));
    let mut command = corun(words);
    command.current_dir(scratch.path());
    let limit = Rlimit { current: Some(1 << 30), maximum: Some(1 << 30) };
    // SAFETY: the call is one system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::As, limit)?));
    }
    command
}

fn refused(line: &[&str], file: &str, scratch: &Scratch) -> String {
    let outcome = Outcome::of(&mut limited(line, file, scratch));
    assert!(
        matches!(outcome.exit, Some(1..=3)),
        "{line:?} {file}: {:?} {}",
        outcome.exit,
        outcome.errors
    );
    assert!(outcome.errors.starts_with("corun: "), "{line:?} {file}: {}", outcome.errors);
    outcome.errors
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let scratch = Scratch::new();
    for (name, device) in [("zero", "/dev/zero"), ("full", "/dev/full"), ("null", "/dev/null")] {
        for ending in ["", ".toml"] {
            std::os::unix::fs::symlink(device, scratch.file(&format!("{name}{ending}"))).unwrap();
        }
    }
    for ending in ["", ".toml"] {
        std::fs::create_dir(scratch.file(&format!("folder{ending}"))).unwrap();
        let made = Command::new("mkfifo").arg(scratch.file(&format!("pipe{ending}"))).status();
        assert!(made.is_ok_and(|status| status.success()), "every Linux has mkfifo");
    }
    for line in LINES {
        for (file, kind) in [("zero", "device"), ("full", "device"), ("pipe", "pipe")] {
            let said = refused(line, file, &scratch);
            let is_root = line.contains(&"--root");
            assert!(said.contains(kind) || is_root, "{line:?} {file}: {said}");
        }
        if !line.contains(&"--root") {
            let said = refused(line, "folder", &scratch);
            assert!(said.to_lowercase().contains("is a directory"), "{line:?}: {said}");
        }
    }
}

#[test]
fn a_file_that_is_longer_than_its_kind_is_not_read() {
    let scratch = Scratch::new();
    for ending in ["", ".toml"] {
        File::create(scratch.file(&format!("long{ending}"))).unwrap().set_len(3 << 30).unwrap();
    }
    for line in LINES {
        // Traces are read in parts, and have no limit.
        if line[0] == "trace"
            || line.contains(&"--root")
            || line.last() == Some(&"FILE")
                && line[0] == "simulate"
                && !line.contains(&"--block-file")
        {
            continue;
        }
        let said = refused(line, "long", &scratch);
        assert!(
            said.contains(" of at most ") && said.contains("found 3072 MiB"),
            "{line:?}: {said}"
        );
    }
}

#[test]
fn a_long_name_in_a_file_takes_no_time_and_little_room() {
    let scratch = Scratch::new();
    let model = include_str!("../../../../models/zen4.toml");
    let name = "y".repeat(70_000);
    for text in [
        format!("{name} = 1\n{model}"),
        format!("{model}\n[{name}]\n"),
        format!("{model}\n[back.{name}]\nx = 1\n"),
        format!("{model}\ntiming = \"{name}\"\n"),
        format!("{model}{}", "[".repeat(70_000)),
        model.replace("format = \"corun-model\"", &format!("format = \"{name}\"")),
    ] {
        std::fs::write(scratch.file("long.toml"), text).unwrap();
        for line in [["models", "check"], ["study", "show"]] {
            let outcome = Outcome::of(corun(line).arg(scratch.file("long.toml")));
            assert_eq!(outcome.exit, Some(1).filter(|_| line[0] == "models").or(outcome.exit));
            let said = outcome.output + &outcome.errors;
            assert!(said.len() < 10_000, "{} bytes", said.len());
        }
    }
}

#[test]
fn a_pipe_from_a_program_is_a_file_like_any_other() {
    let model = include_str!("../../../../models/zen4.toml");
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"block,cycles\n4801c8,1\n").unwrap();
    drop(writer);
    let read = Outcome::of(
        corun(["simulate", "--model", "zen4", "--block-file", "/dev/stdin"])
            .stdin(Stdio::from(reader)),
    );
    assert!(matches!(read.exit, Some(0 | 3)), "{}", read.errors);
    assert!(!model.is_empty());
}
