//! What is written is there whole or not at all: whatever ends corun, however many write, however full the
//! disk is.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use corun_record::{Document, Record, Schedule};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};

use crate::common::{Outcome, Scratch, corun, wait_until};

const SIGNALS: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL];

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A run that takes an hour, begun, with all its outputs open.
fn begun(scratch: &Scratch, command: &mut Command) -> Child {
    let child = command
        .current_dir(scratch.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the program's start", || scratch.file("begun").exists());
    child
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn no_signal_leaves_an_unfinished_file_or_takes_an_older_one() {
    let lines: [(&[&str], &[&str]); 3] = [
        (&["measure", "--json=run", "--csv=new.csv", "--placement=free", "--"], &["run"]),
        (&["trace", "-o", "run", "--once", "--tracer=ptrace", "--"], &["run"]),
        (
            &[
                "predict",
                "--no-measure",
                "--model=zen4",
                "--tracer=ptrace",
                "--whole",
                "--keep=run",
                "--json=new",
                "--",
            ],
            &["run"],
        ),
    ];
    for (line, _) in lines {
        for signal in SIGNALS {
            let scratch = Scratch::new();
            std::fs::write(scratch.file("run"), "old").unwrap();
            let script = scratch.script("touch \"$folder/begun\"; while :; do :; done");
            let mut corun = begun(&scratch, corun(line).arg(&script).env("TMPDIR", scratch.path()));
            kill_process(Pid::from_child(&corun), signal).unwrap();
            corun.wait().unwrap();
            let left = names(scratch.path());
            assert!(
                left.iter().all(|name| ["begun", "run", "script"].contains(&name.as_str())),
                "{line:?} {signal:?}: {left:?}"
            );
            // Of a trace that was interrupted, what was recorded is kept whole.
            if line[0] != "trace" || signal == Signal::KILL {
                assert_eq!(scratch.read("run"), "old", "{line:?} {signal:?}");
            } else {
                let checked = Outcome::of(corun_check(&scratch).arg(scratch.file("run")));
                assert!(
                    checked.output.ends_with("sound and complete\n"),
                    "{signal:?}: {}",
                    checked.output
                );
            }
        }
    }
}

fn corun_check(scratch: &Scratch) -> Command {
    let mut command = corun(["trace", "check"]);
    command.current_dir(scratch.path());
    command
}

fn schedule(jobs: &str) -> Command {
    let load = format!("batch:jobs={jobs},work=1s");
    corun([
        "schedule",
        "--topology=1x2x1",
        "--policy=cfs",
        "--load",
        &load,
        "--json=run.json",
        "--csv=run.csv",
    ])
}

#[test]
fn four_writers_leave_a_whole_file_of_one_of_them() {
    let scratch = Scratch::new();
    for _ in 0..3 {
        let writers: Vec<Child> = ["1", "20", "3", "40"]
            .map(|jobs| {
                schedule(jobs).current_dir(scratch.path()).stdout(Stdio::null()).spawn().unwrap()
            })
            .into();
        for mut writer in writers {
            assert!(writer.wait().unwrap().success());
        }
        Record::<Schedule>::from_json(&scratch.read("run.json")).expect("a whole file");
        assert_eq!(names(scratch.path()), ["run.csv", "run.json"]);
    }
}

#[test]
fn four_traces_leave_a_whole_one() {
    let scratch = Scratch::new();
    let writers: Vec<Child> = (0..4)
        .map(|_| {
            corun(["trace", "-o", "trace", "--once", "--tracer=ptrace", "-q", "--", "true"])
                .current_dir(scratch.path())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let checked = Outcome::of(corun_check(&scratch).arg("trace"));
    assert!(checked.output.ends_with("sound and complete\n"), "{}", checked.output);
    assert_eq!(names(scratch.path()), ["trace"]);
}

#[test]
fn what_fails_leaves_the_older_file() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("broken"), [7; 100]).unwrap();
    for (line, output) in [
        (&["trace", "convert", "--from=champsim", "broken", "-o", "old"][..], "old"),
        (&["trace", "convert", "--from=champsim", "broken", "-o", "new"], "new"),
        (&["trace", "-o", "old", "--", "./broken"], "old"),
        (&["measure", "--json=old", "--placement=free", "--", "false"], "old"),
        (&["schedule", "--topology=1x1x1", "--load=tasks:broken", "--json=old"], "old"),
    ] {
        std::fs::write(scratch.file("old"), "old").unwrap();
        let outcome = Outcome::of(corun(line).current_dir(scratch.path()));
        assert!(outcome.exit.is_some_and(|exit| exit != 0), "{line:?}: {}", outcome.errors);
        assert_eq!(scratch.read("old"), "old", "{line:?}");
        assert_eq!(names(scratch.path()), ["broken", "old"], "{line:?} {output}");
    }
}

/// A limit of 4 KiB a file: writing beyond it raises SIGXFSZ, which ends a program that expects nothing.
#[test]
fn the_limit_of_files_is_an_error_that_is_reported() {
    let scratch = Scratch::new();
    let limit = Rlimit { current: Some(4096), maximum: Some(4096) };
    for line in [
        &["models", "show", "zen4", "--json=old"][..],
        &["topo", "--svg=old"],
        &["bench", "list", "--json=old"],
        &["schedule", "--topology=1x2x1", "--load=batch:jobs=90,work=1s", "--json=old"],
    ] {
        std::fs::write(scratch.file("old"), "old").unwrap();
        let mut command = corun(line);
        // SAFETY: the call is one system call, which may be made between fork and exec.
        unsafe {
            command.pre_exec(move || Ok(setrlimit(Resource::Fsize, limit)?));
        }
        let outcome =
            Outcome::of(command.current_dir(scratch.path()).env("TMPDIR", scratch.path()));
        assert_eq!(outcome.exit, Some(1), "{line:?}: {}", outcome.errors);
        assert!(outcome.errors.contains("File too large"), "{line:?}: {}", outcome.errors);
        assert!(outcome.errors.contains("ulimit -f"), "{line:?}: {}", outcome.errors);
        assert_eq!(scratch.read("old"), "old", "{line:?}");
        assert_eq!(names(scratch.path()), ["old"], "{line:?}");
    }
}

/// In a namespace of its own, so that the file system ends with the command.
#[test]
fn a_full_disk_leaves_what_was_there_and_claims_nothing() {
    let can_mount = Command::new("unshare").args(["--mount", "true"]).output();
    if !can_mount.is_ok_and(|output| output.status.success()) {
        return corun_testing::skip("full disk", "mounting is not permitted");
    }
    for line in [
        &["models", "show", "zen4", "--json=old"][..],
        &["trace", "-o", "old", "--once", "--tracer=ptrace", "--", "true"],
        &["trace", "convert", "--from=champsim", "../champsim", "-o", "old"],
    ] {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.file("full")).unwrap();
        // Addresses that no two records share.
        let records: Vec<u8> = (1..4000_u64)
            .flat_map(|it| {
                let mut record = [0; 64];
                // In no order, so that they do not become short (SplitMix64's steps).
                let mixed = it.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                record[..8].copy_from_slice(&(mixed >> 16).to_le_bytes());
                record
            })
            .collect();
        std::fs::write(scratch.file("champsim"), records).unwrap();
        let script = "mount -t tmpfs -o size=16k none full && cd full && printf old > old && \
                      head -c 8192 /dev/zero > ballast && \"$@\"; code=$?; cat old; echo; ls -A; exit $code";
        let mut traced = corun(line);
        traced.env("TMPDIR", scratch.path());
        let outcome = Outcome::of(
            Command::new("unshare")
                .args(["--mount", "sh", "-c", script, "sh"])
                .arg(traced.get_program())
                .args(traced.get_args())
                .env("TMPDIR", scratch.path())
                .current_dir(scratch.path()),
        );
        assert_eq!(outcome.exit, Some(1), "{line:?}: {}", outcome.errors);
        assert!(outcome.errors.contains("No space left on device"), "{line:?}: {}", outcome.errors);
        let lines: Vec<&str> = outcome.output.lines().collect();
        assert_eq!(lines[0], "old", "{line:?}: {}", outcome.output);
        let kept = outcome.errors.contains("can be read: old.partial.");
        let names = if kept { &["ballast", "old", "old.partial"][..] } else { &["ballast", "old"] };
        assert_eq!(&lines[1..], names, "{line:?}: {}", outcome.errors);
        assert!(kept || !outcome.errors.contains("can be read"), "{}", outcome.errors);
    }
}

#[test]
fn bytes_behind_the_last_frame_are_no_sound_trace() {
    let scratch = Scratch::new();
    let traced = Outcome::of(
        corun(["trace", "-o", "trace", "--once", "--tracer=ptrace", "-q", "--", "true"])
            .current_dir(scratch.path()),
    );
    assert_eq!(traced.exit, Some(0), "{}", traced.errors);
    let whole = std::fs::read(scratch.file("trace")).unwrap();
    // The last frame is 28 bytes long, and finds the index.
    for (cut, garbage) in [
        (0, &b"x"[..]),
        (0, &[0; 100]),
        (28, b"garbage"),
        (28, &[3, 0, 0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0, 1, 1, 1, 1, 5]),
        (1, b""),
    ] {
        let mut damaged = whole[..whole.len() - cut].to_vec();
        damaged.write_all(garbage).unwrap();
        std::fs::write(scratch.file("damaged"), damaged).unwrap();
        let checked = Outcome::of(corun_check(&scratch).arg("damaged"));
        assert_eq!(checked.exit, Some(1), "{cut} {garbage:?}: {}", checked.output);
        assert!(checked.output.ends_with("\nnot sound\n"), "{cut} {garbage:?}: {}", checked.output);
    }
    std::fs::write(scratch.file("damaged"), &whole[..whole.len() - 28]).unwrap();
    let checked = Outcome::of(corun_check(&scratch).arg("damaged"));
    assert!(
        checked.output.ends_with("sound, but without an end: the tracer did not finish\n"),
        "{}",
        checked.output
    );
}
