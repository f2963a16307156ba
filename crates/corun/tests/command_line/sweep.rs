//! Sweeps of `corun predict`: cells that fail, cells that are taken over, and what a program gets of it.

use std::path::Path;
use std::process::{Command, Stdio};

use corun_record::{Document, KeptRunList, PredictionSweep, Record, SweepCell};

use crate::common::{Outcome, Scratch, corun, wait_until};
use crate::schema::fitting;

/// Alone and from the start, which is quick.
fn sweep(options: &[&str]) -> Command {
    let mut command =
        corun(["predict", "--quiet", "--placement=spread", "--length=100k", "--jobs=2"]);
    command.args(options);
    command
}

fn names(sweep: &PredictionSweep) -> Vec<String> {
    let name = |it: &SweepCell| {
        format!("{} {} {}", it.program, it.model, it.settings.join(" ")).trim().to_owned()
    };
    sweep.cells.iter().map(name).collect()
}

#[test]
fn every_program_meets_every_core_and_setting_and_one_failure_is_no_other() {
    let options = ["--json=-", "--model=zen3,zen4", "--set=rob.entries=64,none", "--program=true"];
    let outcome = Outcome::of(&mut sweep(&options));
    assert_eq!(outcome.exit, Some(1), "{}", outcome.errors);
    let sweep = fitting::<PredictionSweep>(&outcome.output).body;
    assert_eq!(
        names(&sweep),
        [
            "true zen3 rob.entries=64",
            "true zen3 rob.entries=none",
            "true zen4 rob.entries=64",
            "true zen4 rob.entries=none"
        ]
    );
    for cell in &sweep.cells {
        let is_possible = cell.settings == ["rob.entries=64"];
        assert_eq!((cell.prediction.is_some(), cell.failure.is_none()), (is_possible, is_possible));
    }
    let models: Vec<&str> = sweep.predictions().map(|it| it.core.model.as_str()).collect();
    assert_eq!(models, ["zen3", "zen4"]);
}

#[test]
fn a_program_that_cannot_run_fails_alone() {
    let options = ["--json=-", "--model=zen3", "--program=true", "--program=./is-not-there"];
    let outcome = Outcome::of(&mut sweep(&options));
    assert_eq!(outcome.exit, Some(1), "{}", outcome.errors);
    let sweep = fitting::<PredictionSweep>(&outcome.output).body;
    let [good, bad] = &sweep.cells[..] else { panic!("{:?}", names(&sweep)) };
    assert!(good.prediction.is_some() && bad.prediction.is_none());
    assert!(bad.failure.as_ref().is_some_and(|it| it.contains("is-not-there")), "{bad:?}");
}

#[test]
fn a_sweep_goes_on_where_an_earlier_one_stopped() {
    let scratch = Scratch::new();
    let (file, changed) = (scratch.file("first.json"), scratch.file("changed.json"));
    let first = Outcome::of(sweep(&["--model=zen3", "--program=true"]).arg("--json").arg(&file));
    assert_eq!(first.exit, Some(0), "{}", first.errors);
    // What is taken over is not predicted again: the mark stays.
    let text = std::fs::read_to_string(&file).expect("the sweep");
    let mut earlier = fitting::<PredictionSweep>(&text);
    earlier.body.cells[0].prediction.as_mut().expect("a prediction").elapsed_s = 4711.0;
    std::fs::write(&changed, earlier.to_json()).expect("a file can be written");
    let again = |changed: &Path, options: &[&str]| {
        let options = [&["--json=-", "--model=zen3,zen4", "--program=true"], options].concat();
        Outcome::of(sweep(&options).arg("--resume").arg(changed))
    };
    let resumed = again(&changed, &[]);
    assert_eq!(resumed.exit, Some(0), "{}", resumed.errors);
    let resumed = fitting::<PredictionSweep>(&resumed.output).body;
    assert_eq!(names(&resumed), ["true zen3", "true zen4"]);
    let took: Vec<bool> = resumed.predictions().map(|it| it.elapsed_s == 4711.0).collect();
    assert_eq!(took, [true, false]);
    // Other options are another sweep.
    let other = again(&changed, &["--seed=2"]);
    assert_eq!(other.exit, Some(2));
    assert!(other.errors.contains("expected a sweep with the options"), "{}", other.errors);
}

#[test]
fn a_killed_sweep_is_resumed_with_its_finished_cells() {
    let scratch = Scratch::new();
    let [store, begun, fifo] = ["runs.db", "begun", "go"].map(|it| scratch.file(it));
    let path = |it: &Path| shell_words::quote(it.to_str().expect("text")).into_owned();
    let quick = shell_words::join(["sh", "-c", &format!("echo >> {}", path(&begun))]);
    let waiting = shell_words::join(["sh", "-c", &format!("read line < {}", path(&fifo))]);
    let status = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo starts");
    assert!(status.success());
    let start = |more: &[&str]| {
        let mut command = sweep(&["--model=zen3,zen4", "--json=-"]);
        command.args(more).arg("--store").arg(&store).env_remove("CORUN_STORE");
        command.args(["--program", &quick, "--program", &waiting]);
        command
    };
    // The second program waits forever: the sweep has the cells of the first one then.
    let mut child =
        start(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let kept = || {
        let mut list = corun(["runs", "list", "--json=-", "--store"]);
        let outcome = Outcome::of(list.arg(&store).env_remove("CORUN_STORE"));
        let runs = Record::<KeptRunList>::from_json(&outcome.output).expect("a list").body.runs;
        runs.into_iter().next()
    };
    wait_until("two cells are kept", || kept().is_some_and(|run| run.blocks == Some(2)));
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let killed = kept().expect("a run");
    assert_eq!((killed.ending, killed.is_running), (None, false));
    let starts = || std::fs::read_to_string(&begun).expect("starts").lines().count();
    let before = starts();
    // A file in place of the queue: the second program ends at once.
    std::fs::remove_file(&fifo).expect("the queue is removed");
    std::fs::write(&fifo, "line\n").expect("a file can be written");
    let resumed = Outcome::of(&mut start(&["--resume=last"]));
    assert_eq!(resumed.exit, Some(0), "{}", resumed.errors);
    assert!(resumed.errors.contains("2 cells are taken over"), "{}", resumed.errors);
    let found = fitting::<PredictionSweep>(&resumed.output).body;
    assert_eq!((found.predictions().count(), found.cells.len()), (4, 4));
    // The first program was not recorded again, and the run of the store went on.
    assert_eq!(starts(), before);
    let finished = kept().expect("a run");
    assert_eq!(finished.id, killed.id);
    assert!(finished.ending.is_some());
}

#[test]
fn figures_do_not_depend_on_how_many_cells_run_at_a_time() {
    let of = |jobs: &str| {
        let options = ["--csv=-", "--model=zen3,zen4", jobs, "--program=true"];
        let mut command = corun(["predict", "--quiet", "--placement=spread", "--length=100k"]);
        let outcome = Outcome::of(command.args(options));
        assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
        outcome.output
    };
    let one = of("--jobs=1");
    assert!(one.lines().count() > 4 && one.starts_with("program,model,settings,"), "{one}");
    // A program's start does not take the same instructions each time: what is compared are rows, not figures.
    let rows = |text: &str| {
        text.lines()
            .map(|it| it.split(',').take(6).collect::<Vec<_>>().join(","))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&one), rows(&of("--jobs=3")));
}

#[test]
fn what_makes_no_sweep_is_refused_before_anything_runs() {
    for (options, words) in [
        (&["--model=zen3"][..], "expected a command or `--workload NAME`, found neither"),
        (&["--model=zen3", "--measure", "--program=true"], "found a sweep"),
        (&["--model=zen3", "--memory=host", "--program=true"], "found a sweep"),
        (&["--model=zen3", "--workload=fib", "--workload=ram", "--param=a=1"], "with --param"),
        (&["--model=zen3", "--set=rob.entries=1,,2", "--program=true"], "found an empty one"),
        (&["--model=zen3", "--resume=is-not-there.json", "--program=true"], "is-not-there.json"),
    ] {
        let outcome = Outcome::of(&mut sweep(options));
        let exit = if words.ends_with(".json") { 1 } else { 2 };
        assert_eq!(outcome.exit, Some(exit), "{options:?}: {}", outcome.errors);
        assert!(outcome.errors.contains(words), "{options:?}: {}", outcome.errors);
    }
}
