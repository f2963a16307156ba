//! Places that cannot be written: found before measuring where possible, and never a lost run.

use std::fs::File;
use std::path::PathBuf;

use corun_record::{Document, Run};

use crate::common::{FEWEST, Outcome, Scratch, corun, measure_one_worker};

#[test]
fn an_unwritable_place_is_found_before_anything_runs() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("file"), "").unwrap();
    let script = scratch.script("touch \"$folder/ran\"");
    for (option, place, reason) in [
        ("--json", "missing/run.json", "No such file or directory"),
        ("--csv", "file/run.csv", "Not a directory"),
        ("--markdown", ".", "Is a directory"),
    ] {
        let outcome = Outcome::of(
            measure_one_worker(FEWEST)
                .current_dir(scratch.path())
                .args([option, place, "--"])
                .arg(&script),
        );
        let reported = outcome.reported(scratch.path());
        let start = format!("exit 1\ncorun: could not write {place:?}: {reason}");
        assert!(reported.starts_with(&start), "{reported}");
        assert_eq!(reported.lines().count(), 3, "a sentence and a next step: {reported}");
        assert!(!scratch.file("ran").exists(), "{option}");
    }
}

#[test]
fn a_place_that_nobody_may_write_to_is_not_permitted() {
    let outcome =
        Outcome::of(measure_one_worker(FEWEST).args(["--json=/sys/run.json", "--", "true"]));
    let reported = outcome.reported(Scratch::new().path());
    assert!(
        reported.starts_with("exit 4\ncorun: could not write \"/sys/run.json\": "),
        "{reported}"
    );
}

#[test]
fn a_run_that_does_not_fit_on_the_disk_is_kept_elsewhere() {
    let scratch = Scratch::new();
    let outcome = Outcome::of(
        measure_one_worker(FEWEST)
            .env("TMPDIR", scratch.path())
            .args(["--json=/dev/full", "--csv"])
            .arg(scratch.file("run.csv"))
            .args(["--", "true"]),
    );
    assert!(outcome.output.contains(" spread "), "{}", outcome.output);
    assert!(scratch.read("run.csv").starts_with("workload,"));
    let kept = kept(&outcome);
    assert!(Run::from_json(&std::fs::read_to_string(&kept).unwrap()).is_ok());
    let kept = kept.file_name().unwrap().to_string_lossy().into_owned();
    insta::assert_snapshot!(outcome.reported(scratch.path()).replace(&kept, "KEPT"), @r#"
    exit 1
    corun: the whole result is kept in FOLDER/KEPT
    corun: could not write "/dev/full": No space left on device (os error 28)
      Free some room there, or name another place.
    "#);
}

#[test]
fn a_table_that_does_not_fit_on_the_disk_is_not_lost_either() {
    let scratch = Scratch::new();
    let outcome = Outcome::of(
        measure_one_worker(FEWEST)
            .env("TMPDIR", scratch.path())
            .stdout(full_disk())
            .args(["--", "true"]),
    );
    let kept = kept(&outcome);
    assert!(Run::from_json(&std::fs::read_to_string(&kept).unwrap()).is_ok());
    let kept = kept.file_name().unwrap().to_string_lossy().into_owned();
    insta::assert_snapshot!(outcome.reported(scratch.path()).replace(&kept, "KEPT"), @r#"
    exit 1
    corun: the whole result is kept in FOLDER/KEPT
    corun: could not write "standard output": No space left on device (os error 28)
      Free some room there, or name another place.
    "#);
}

#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    let scratch = Scratch::new();
    let trace = corun_testing::repository().join("crates/corun-sim/tests/data/program-start.trace");
    let trace = trace.to_str().expect("text");
    for arguments in [
        &["topo"][..],
        &["--help"],
        &["--version"],
        &["measure", "--blocks=2", "--placement=free", "--", "true"],
        &["trace", "-q", "--once", "-o", "-", "--", "true"],
        &["trace", "convert", "-q", "--to", "champsim", "-o", "-", trace],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = Outcome::of(corun(arguments).stdout(writer));
        assert_eq!(outcome.reported(scratch.path()), "exit 0\n", "{arguments:?}");
    }
}

#[test]
fn a_drawing_that_cannot_be_written_is_a_failure() {
    let outcome = Outcome::of(corun(["topo"]).stdout(full_disk()));
    insta::assert_snapshot!(outcome.reported(Scratch::new().path()), @r#"
    exit 1
    corun: could not write "standard output": No space left on device (os error 28)
      Free some room there, or name another place.
    "#);
}

/// It is what was asked for, as is any other answer.
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let said = Outcome::of(corun(["topo"]).stdout(full_disk())).reported(Scratch::new().path());
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["help", "topo"],
        &["--version"],
        &["-V"],
        &["measure", "--help"],
    ] {
        let outcome = Outcome::of(corun(arguments).stdout(full_disk()));
        assert_eq!(outcome.reported(Scratch::new().path()), said, "{arguments:?}");
        assert_eq!(Outcome::of(&mut corun(arguments)).exit, Some(0), "{arguments:?}");
    }
}

fn full_disk() -> File {
    File::options().write(true).open("/dev/full").expect("every Linux has it")
}

/// The file that standard error says the run is kept in.
#[track_caller]
fn kept(outcome: &Outcome) -> PathBuf {
    let said = outcome.errors.lines().find_map(|line| line.split_once("is kept in "));
    said.unwrap_or_else(|| panic!("nothing kept: {}", outcome.errors)).1.into()
}
