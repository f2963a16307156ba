//! `corun bench`: the built-in workloads listed, described and run.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use corun_record::{Bench, Document, Metric, WorkloadDescription, WorkloadList};
use corun_workload::{Suite, of_suite};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun, wait_until};
use crate::interruption::{ended_by, start};
use crate::schema::{fitting, validator};

/// `corun bench run` of as little as possible.
fn run(arguments: &[&str]) -> std::process::Command {
    let mut command = corun(["bench", "run", "--blocks=2", "--sample-time=1ms", "--seed=1"]);
    command.args(arguments);
    command
}

fn bench(outcome: &Outcome) -> Bench {
    Bench::from_json(&outcome.output)
        .unwrap_or_else(|error| panic!("{error}\n{}{}", outcome.output, outcome.errors))
}

/// List that `corun bench list --json` writes with these arguments.
fn list(arguments: &[&str]) -> Vec<WorkloadDescription> {
    let list = Outcome::of(corun(["bench", "list", "--json"]).args(arguments));
    fitting::<WorkloadList>(&list.output).body.workloads
}

#[test]
fn every_workload_is_listed_and_described() {
    let listed = Outcome::of(&mut corun(["bench", "list"]));
    assert_eq!((listed.exit, listed.errors.as_str()), (Some(0), ""));
    let all = list(&[]);
    assert_eq!(all.len(), corun_workload::all().count());
    for (workload, entry) in corun_workload::all().zip(all) {
        let about = workload.descriptor();
        assert!(listed.output.contains(&format!("\n {} ", about.name)), "{}", listed.output);
        let shown = Outcome::of(&mut corun(["bench", "show", about.name]));
        assert!(shown.output.starts_with(&format!("{}: ", about.name)), "{}", shown.output);
        for parameter in about.parameters {
            let line = format!("\n  {}={}  ", parameter.name, parameter.default);
            assert!(shown.output.contains(&line), "{line}{}", shown.output);
        }
        let json = Outcome::of(&mut corun(["bench", "show", about.name, "--json"])).output;
        assert_eq!(fitting::<WorkloadDescription>(&json).body, entry);
    }
}

#[test]
fn a_tag_chooses_those_that_have_it() {
    let chosen = list(&["--tag=store-forwarding"]);
    let names: BTreeSet<&str> = chosen.iter().map(|it| it.name.as_str()).collect();
    assert!(names.is_superset(&["fib", "ram"].into()) && !names.contains("regn"), "{names:?}");
    let bench = bench(&Outcome::of(&mut run(&["fib", "--tag=store-forwarding", "--json=-"])));
    let run: Vec<&str> = bench.runs.iter().map(|run| run.workload.name.as_str()).collect();
    assert_eq!(run.iter().copied().collect::<BTreeSet<_>>(), names, "each once");
    assert_eq!(run[0], "fib", "the named one first");
}

#[test]
fn runs_are_kept_whole() {
    let outcome = Outcome::of(&mut run(&[
        "fib",
        "ram",
        "--placement=spread,stacked",
        "--warmup=2",
        "--json=-",
    ]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let json: Value = serde_json::from_str(&outcome.output).unwrap();
    let faults: Vec<String> =
        validator(Bench::FORMAT).iter_errors(&json).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
    let bench = bench(&outcome);
    assert_eq!(bench.to_json(), outcome.output);
    assert!(bench.not_possible.is_empty() && !bench.ending.is_interrupted());
    for (run, name) in bench.runs.iter().zip(["fib", "ram"]) {
        assert_eq!(run.workload.name, name);
        assert_eq!((run.design.blocks, run.design.warmup), (2, 2));
        for arm in ["spread", "stacked"] {
            let rate = run.observation(Metric::Throughput, arm).expect("a rate");
            assert!(rate.estimate.value > 0.0);
        }
    }
}

#[test]
fn a_suite_is_run_in_the_order_of_its_table() {
    let names =
        |arguments: &[&str]| list(arguments).into_iter().map(|it| it.name).collect::<Vec<_>>();
    for suite in Suite::ALL {
        let expected: Vec<&str> = of_suite(suite).map(|it| it.descriptor().name).collect();
        assert_eq!(names(&["--suite", suite.name()]), expected);
    }
    let own = names(&["--suite=corun"]);
    assert!(own.contains(&"fib".to_owned()) && own.iter().all(|name| !name.contains('/')));
    assert_eq!(names(&["--suite=all"]), names(&[]));
    let refused = Outcome::of(&mut corun(["bench", "list", "--suite=specint"]));
    assert_eq!(refused.exit, Some(2));
    assert!(refused.errors.contains("lmbench"), "{}", refused.errors);
}

#[test]
fn a_row_is_known_by_its_table_and_gives_its_figure_without_its_loop() {
    let bench = bench(&Outcome::of(&mut run(&["Simple syscall", "--json=-"])));
    let run = &bench.runs[0];
    assert_eq!(run.workload.name, "lmbench/simple-syscall");
    let figure = run.observation(Metric::Figure, "single").expect("a figure");
    assert_eq!((figure.unit.as_str(), figure.of.as_deref()), ("us", Some("Simple syscall")));
    let rate = run.observation(Metric::Throughput, "single").expect("a rate").estimate.value;
    assert!((figure.estimate.value * rate / 1e6 - 1.0).abs() < 1e-9);
    for sample in &run.samples {
        let worker = &sample.workers[0];
        let subtracted = worker.subtracted_s.expect("a loop");
        assert!(0.0 < subtracted && subtracted < worker.seconds, "{subtracted} {worker:?}");
    }
}

#[test]
fn observations_of_all_runs_make_one_table() {
    let outcome = Outcome::of(&mut run(&["ram", "fib", "--placement=single", "--csv=-"]));
    let mut lines = outcome.output.lines();
    assert!(lines.next().is_some_and(|header| header.starts_with("workload,cpu_model,metric,")));
    let workloads: Vec<&str> = lines.filter_map(|line| line.split(',').next()).collect();
    assert_eq!(workloads.iter().collect::<BTreeSet<_>>(), [&"fib", &"ram"].into());
    assert!(workloads.is_sorted_by(|one, other| one >= other), "the header once: {workloads:?}");
}

#[test]
fn a_workload_that_cannot_run_stops_no_other() {
    let nothing = Scratch::new();
    let without_bash = |names: &[&str]| {
        let mut command = run(names);
        Outcome::of(command.arg("--placement=single").env("PATH", nothing.path()))
    };
    let both = without_bash(&["regn", "fib"]);
    assert_eq!((both.exit, both.errors.as_str()), (Some(0), ""));
    let missing =
        "\nNot run:\n- regn: workload `regn` cannot run here: there is no `bash` on PATH.";
    assert!(both.output.contains(missing), "{}", both.output);
    assert!(both.output.contains("\n fib "), "{}", both.output);
    let alone = without_bash(&["regn"]);
    assert_eq!(alone.exit, Some(3));
    assert!(alone.output.contains(missing), "{}", alone.output);
}

#[test]
fn what_is_finished_when_interrupted_is_kept() {
    let scratch = Scratch::new();
    let script = scratch.script(": >\"$folder/begun\"\ntail -f /dev/null");
    std::fs::rename(script, scratch.file("bash")).unwrap();
    let path = format!("{}:{}", scratch.path().display(), std::env::var("PATH").unwrap());
    let json = scratch.file("bench.json");
    let mut command = run(&["fib", "regn", "ram"]);
    let child = start(command.env("PATH", path).arg("--json").arg(&json));
    wait_until("the second workload", || scratch.file("begun").exists());
    let outcome = ended_by(child, Signal::INT);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(5), ""));
    assert!(outcome.output.contains("PARTIAL RESULT"), "{}", outcome.output);
    let bench = Bench::from_json(&scratch.read("bench.json")).expect("a whole bench");
    let names: Vec<&str> = bench.runs.iter().map(|run| run.workload.name.as_str()).collect();
    assert_eq!((names, bench.ending.is_interrupted()), (vec!["fib"], true));
}

#[test]
fn workers_that_wait_are_not_called_slow() {
    let arguments = ["spin", "--placement=single,spread,stacked", "--json=-"];
    let bench = bench(&Outcome::of(&mut run(&arguments)));
    let metrics: BTreeSet<Metric> =
        bench.runs[0].observations.iter().map(|seen| seen.metric).collect();
    assert!(metrics.contains(&Metric::TimeSlicing), "{metrics:?}");
    assert!(!metrics.contains(&Metric::Scaling), "{metrics:?}");
    let copies = Outcome::of(&mut corun(["measure", "--workload=spin", "--copies"]));
    assert_eq!(copies.exit, Some(2));
    insta::assert_snapshot!(copies.errors, @r"
    corun: expected `spin` as one process, whose workers work together, found it as copies
      Leave --copies and --steady out.
    ");
}

/// A crowd is counted over one window, so that each worker's share is known.
#[test]
fn the_share_of_each_of_a_crowd_is_reported() {
    let outcome = Outcome::of(&mut run(&["fairness", "--placement=free@3"]));
    let shown = outcome.unwrapped();
    let line = "fairness free@3: from the least to the most, the 3 workers did ";
    assert!(shown.contains(line) && shown.contains("(an equal share is 33 %)."), "{shown}");
    assert!(shown.contains("least share"), "{shown}");
}

/// The limit counts a user's processes and binds everybody but root.
#[test]
fn too_few_threads_are_reported() {
    if !rustix::process::geteuid().is_root() {
        return corun_testing::skip("thread limit", "only root can become another user");
    }
    let scratch = Scratch::new();
    let everybody = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(scratch.path(), everybody).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_corun"), scratch.file("corun")).unwrap();
    let reported = |threads: u32| {
        let limit = format!("--nproc={threads}:{threads}");
        let mut command = Command::new("setpriv");
        command.args(["--reuid=54321", "--clear-groups", "prlimit", &limit]);
        command.arg(scratch.file("corun")).args(["bench", "run", "stream", "--param=size=64K"]);
        command.args(["--blocks=2", "--sample-time=1ms", "--placement=spread"]);
        Outcome::of(command.current_dir("/").env("CORUN_STORE", ""))
    };
    let worst = reported(1);
    let line = "- stream: could not start a worker: Resource temporarily unavailable";
    assert!(worst.output.contains(line), "{}{}", worst.output, worst.errors);
    for threads in 1..=4 {
        let outcome = reported(threads);
        assert_eq!(outcome.errors, "", "{threads}");
        let expected = if outcome.output.contains("Not run:") { 4 } else { 0 };
        assert_eq!(outcome.exit, Some(expected), "{threads}: {}", outcome.output);
    }
}

#[test]
fn mistakes_are_answered_before_anything_runs() {
    let mistakes: [&[&str]; 6] = [
        &["run", "fbi"],
        &["run", "--tag=store-fowarding"],
        &["run", "fib", "ram", "--param", "call=call"],
        &["run", "fib", "--json=x", "--csv=x"],
        &["show", "rams"],
        &["memory-hierarchy", "--from=8K", "--to=4K"],
    ];
    let answers: Vec<String> = mistakes
        .iter()
        .map(|arguments| {
            let outcome = Outcome::of(corun(["bench"]).args(*arguments));
            assert_eq!((outcome.exit, outcome.output.as_str()), (Some(2), ""), "{arguments:?}");
            let first = |text: &str| text.split("; the").next().map(str::to_owned);
            let lines: Vec<String> = outcome.errors.lines().filter_map(first).collect();
            lines.join("\n")
        })
        .collect();
    insta::assert_snapshot!(answers.join("\n"), @r#"
    corun: no built-in workload is called `fbi`
      Did you mean `fib`?
    corun: no workload has the tag `store-fowarding`
      Did you mean `store-forwarding`?
    corun: `ram` has no parameter `call`; it has: variant, touched
      Use one of these names.
    corun: expected a place of its own for each export, found "x" twice
      Name another file for one of them.
    corun: no built-in workload is called `rams`
      Did you mean `ram`?
    corun: expected --from no larger than --to, found 8192 and 4096
      Exchange them, or leave one out.
    "#);
}
