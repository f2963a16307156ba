//! `corun compare` and `corun compare --over-time`: what they print, what they write, how they end.

use std::path::PathBuf;
use std::process::Command;

use corun_record::{RunComparison, Trend};
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun, measure_one_worker};
use crate::schema::fitting;

/// Documents of one real run, in which this run is as fast as `factor` says and known within half a per cent.
struct Runs {
    scratch: Scratch,
    measured: Value,
}

impl Runs {
    fn new() -> Self {
        let outcome = Outcome::of(measure_one_worker(2).args(["--json=-", "--", "true"]));
        let mut measured: Value = serde_json::from_str(&outcome.output).expect("JSON");
        // What else ran on this machine meanwhile is no part of the tests.
        for sample in measured["samples"].as_array_mut().expect("a list") {
            for field in ["cpu_wait", "foreign_busy", "idle_sibling_busy"] {
                sample["evidence"][field] = Value::Null;
            }
        }
        Self { scratch: Scratch::new(), measured }
    }

    fn file(&self, name: &str, factor: f64) -> PathBuf {
        let mut run = self.measured.clone();
        run["started"] = format!("2026-01-01T00:00:{:02}Z", name.len()).into();
        for seen in run["observations"].as_array_mut().expect("a list") {
            let value = match seen["metric"].as_str() {
                Some("makespan") => 0.1 / factor,
                Some("throughput") => 10.0 * factor,
                _ => 0.001,
            };
            let estimate = &mut seen["estimate"];
            estimate["value"] = value.into();
            estimate["low"] = (value / 1.005).into();
            estimate["high"] = (value * 1.005).into();
            estimate["blocks"] = 10.into();
        }
        let path = self.scratch.file(name);
        std::fs::write(&path, run.to_string()).expect("a file can be written");
        path
    }
}

fn outcome(arguments: &[&str], files: &[&PathBuf]) -> Outcome {
    Outcome::of(corun(arguments).args(files))
}

#[test]
fn worse_by_more_than_the_limit_ends_with_status_1() {
    let runs = Runs::new();
    let [old, new, little] =
        [("a", 1.0), ("bb", 0.8), ("ccc", 0.97)].map(|it| runs.file(it.0, it.1));
    let gate = ["compare", "--fail-on=worse:2%"];
    let worse = outcome(&gate, &[&old, &new]);
    assert_eq!(worse.exit, Some(1), "{}", worse.errors);
    assert_eq!(worse.errors, "corun: --fail-on: the comparison failed\n");
    assert!(worse.output.contains("of spread: worse: 1.250 times"), "{}", worse.output);
    let said = "--fail-on: failed (worse by more than 2.0 %: 1 shown; a change of ";
    assert!(worse.unwrapped().contains(said), "{}", worse.output);
    assert_eq!(outcome(&["compare"], &[&old, &new]).exit, Some(0));
    assert_eq!(outcome(&gate, &[&new, &old]).exit, Some(0));
    let open = outcome(&gate, &[&old, &little]);
    assert_eq!(open.exit, Some(0));
    assert!(open.output.contains("1 not decided, which does not fail it"), "{}", open.output);
    assert!(open.unwrapped().contains("% would have been seen"), "{}", open.output);
    let both = outcome(&["compare", "--fail-on=worse:2%,inconclusive"], &[&old, &little]);
    assert_eq!(both.exit, Some(1), "{}", both.output);
}

#[test]
fn a_gate_that_could_see_nothing_ends_with_status_5_unless_that_is_allowed() {
    let mut runs = Runs::new();
    let old = runs.file("a", 1.0);
    for sample in runs.measured["samples"].as_array_mut().expect("a list") {
        sample["evidence"]["cpu_wait"] = 0.5.into();
    }
    let loaded = runs.file("bb", 0.9);
    let reported = |conditions: &str| {
        let outcome = outcome(&["compare", "--brief", conditions], &[&old, &loaded]);
        assert!(outcome.unwrapped().contains("nothing could have been seen"), "{}", outcome.output);
        outcome.reported(runs.scratch.path())
    };
    insta::assert_snapshot!(reported("--fail-on=worse:2%"), @r"
    exit 5
    corun: --fail-on: expected a comparison that shows a doubling at least, found none: nothing could have been seen
      Measure other runs, on an idle machine and for longer, or pass all the same with --allow-blind.
    ");
    let allowed = outcome(&["compare", "--fail-on=worse:2%", "--allow-blind"], &[&old, &loaded]);
    assert_eq!((allowed.exit, allowed.errors.as_str()), (Some(0), ""));
    assert!(allowed.unwrapped().contains("nothing could have been seen"), "{}", allowed.output);
    assert_eq!(outcome(&["compare", "--allow-blind"], &[&old, &loaded]).exit, Some(2));
}

#[test]
fn the_documents_fit_their_schemas() {
    let runs = Runs::new();
    let names = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg", "hhhhhhhh"];
    let files: Vec<PathBuf> = (0..)
        .zip(names)
        .map(|(index, name)| runs.file(name, if index < 4 { 1.0 } else { 0.9 }))
        .collect();
    let files: Vec<&PathBuf> = files.iter().collect();
    let markdown = runs.scratch.file("summary.md");
    let option = format!("--markdown={}", markdown.display());
    let compared = outcome(&["compare", "--json=-", &option], &files[..2]);
    let comparison = fitting::<RunComparison>(&compared.output);
    assert_eq!(comparison.body.runs.len(), 2);
    assert!(runs.scratch.read("summary.md").starts_with("# "), "{}", compared.errors);
    let trend =
        fitting::<Trend>(&outcome(&["compare", "--over-time", "--json=-"], &files).output).body;
    assert_eq!((trend.runs.len(), trend.series[0].points.len()), (8, 8));
    assert_eq!(trend.series[0].changes[0].point, 4);
    let shown = outcome(&["compare", "--over-time"], &files);
    assert!(shown.output.contains("── worse, 0.900 times from here on"), "{}", shown.output);
}

/// Kept runs of the same things say how much equal runs differ, and are a trend without being named.
#[test]
fn kept_runs_are_a_history() {
    let scratch = Scratch::new();
    let with_store = |mut command: Command| {
        command.env("CORUN_STORE", scratch.file("corun.db"));
        Outcome::of(&mut command)
    };
    for program in ["true", "true", "true", "true", "uname"] {
        let mut measure = measure_one_worker(2);
        measure.args(["--", program]);
        let measured = with_store(measure);
        assert_eq!(measured.exit, Some(0), "{}", measured.errors);
    }
    let compared = with_store(corun(["compare", "--json=-", "last~2", "last~1"]));
    let comparison = fitting::<RunComparison>(&compared.output).body;
    assert!(comparison.observations.iter().all(|it| it.earlier_runs == 2), "{comparison:?}");
    let trend = with_store(corun(["compare", "--over-time", "--json=-", "--workload=true"]));
    let trend = fitting::<Trend>(&trend.output).body;
    assert_eq!((trend.workload.as_str(), trend.runs.len()), ("true", 4));
    let none = with_store(corun(["compare", "--over-time", "--workload=tru*"]));
    assert_eq!(none.exit, Some(2), "{}", none.output);
    assert!(none.errors.contains("expected kept runs of \"tru*\", found none"), "{}", none.errors);
}

/// `compare` and `report` take the newest runs where none is named.
#[test]
fn the_newest_runs_need_no_names() {
    let scratch = Scratch::new();
    let ended = |mut command: Command| {
        command.env("CORUN_STORE", scratch.file("corun.db")).current_dir(scratch.path());
        let outcome = Outcome::of(&mut command);
        assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
        outcome.output
    };
    for program in ["uname", "true", "true"] {
        let mut measure = measure_one_worker(2);
        measure.args(["--", program]);
        ended(measure);
    }
    let compared = fitting::<RunComparison>(&ended(corun(["compare", "--json"]))).body;
    let names: Vec<&str> = compared.runs.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["last~1", "last"]);
    let trend = fitting::<Trend>(&ended(corun(["compare", "--over-time", "--json"]))).body;
    assert_eq!((trend.workload.as_str(), trend.runs.len()), ("true", 2));
    ended(corun(["report"]));
    assert!(scratch.read("report.html").contains("<svg"));
    // What cannot be compared, and other programs, may have been run since.
    ended(corun(["schedule", "--topology=1x2x1", "--policy=cfs", "--load=batch:jobs=2"]));
    let mut other = measure_one_worker(2);
    other.args(["--", "uname"]);
    ended(other);
    let compared = fitting::<RunComparison>(&ended(corun(["compare", "--json"]))).body;
    let programs: Vec<_> = compared.runs.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(programs, ["last~4", "last"]);
}

#[test]
fn what_cannot_be_compared_is_a_sentence_and_a_next_step() {
    let runs = Runs::new();
    let old = runs.file("a", 1.0);
    let name = old.to_str().expect("plain");
    let reported = |arguments: &[&str]| {
        let outcome = Outcome::of(corun(["compare"]).args(arguments));
        assert_eq!(outcome.output, "");
        outcome.reported(runs.scratch.path())
    };
    insta::assert_snapshot!(reported(&[name, &format!("{name}#full")]), @r#"
    exit 2
    corun: expected an arm of FOLDER/a, found "full"
      It has spread.
    "#);
    let empty = runs.scratch.file("empty");
    std::fs::write(&empty, "").expect("a file can be written");
    insta::assert_snapshot!(reported(&[name, empty.to_str().expect("plain")]), @r"
    exit 1
    corun: FOLDER/empty: expected a document written by corun as JSON, found text that ends too early (line 1, column 0)
      Name a file that corun wrote with --json FILE.
    ");
    insta::assert_snapshot!(reported(&["--metric=smt-yield", name, name]), @r"
    exit 2
    corun: expected runs with an observation in common, found none
      Name runs of the same workload and placements, or two arms of one run, as RUN#spread RUN#full.
    ");
    assert!(reported(&[name]).starts_with("exit 2\n"));
    assert!(reported(&["--fail-on=better:2%", name, name]).starts_with("exit 2\n"));
}
