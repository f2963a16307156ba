//! The programs of `examples/` whose right answer is known.
//!
//! What is checked is a ratio within one run. Where other programs took the workers' CPUs, one that is not as expected is
//! no answer, and counted as a skip: `scripts/test` runs these tests one after the other, when no other test runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use corun_record::{Caveat, Metric, Observation, Run};

use crate::common::{Outcome, Scratch, measure};
use crate::real_services::{free_port, programs};

const ONE: &str = "spread@1";
const TWO: &str = "spread@2";

fn example(name: &str) -> PathBuf {
    corun_testing::repository().join("examples").join(name)
}

/// An example in C, built in a folder of the test's own; a skip where there is no compiler that takes the option.
fn built(skip: &str, source: &str, option: &str) -> Option<(Scratch, PathBuf)> {
    programs(skip, ["gcc"])?;
    let scratch = Scratch::new();
    let program = scratch.file("program");
    let mut compile = Command::new("gcc");
    compile.args(["-O2", option, "-o"]).arg(&program).arg(example(source));
    let compiled = compile.output().expect("gcc starts");
    let errors = String::from_utf8_lossy(&compiled.stderr);
    if !compiled.status.success() && errors.contains("libgomp") {
        corun_testing::skip(skip, "it needs a compiler with OpenMP");
        return None;
    }
    assert!(compiled.status.success(), "{errors}");
    Some((scratch, program))
}

/// A measurement of one and of two workers on cores of their own; a skip where there are no two.
fn on_one_and_two_cores(skip: &str, command: &[&str]) -> Option<Run> {
    let mut measured = measure(&format!("{ONE},{TWO}"), 5);
    let outcome = Outcome::of(measured.arg("--json=-").args(command));
    if outcome.exit == Some(3) {
        corun_testing::skip(skip, "it needs two cores");
        return None;
    }
    Some(outcome.run())
}

/// The work of two workers beside that of one.
fn gain(run: &Run) -> f64 {
    let throughput = |arm: &str| {
        let is_it = |it: &&Observation| it.metric == Metric::Throughput && it.arm == arm;
        run.observations.iter().find(is_it).expect("a throughput").estimate.value
    };
    throughput(TWO) / throughput(ONE)
}

/// Fails where a quiet machine gave another answer; a busy one gives none.
#[track_caller]
fn judge(name: &str, run: &Run, is_right: bool, answer: &str) {
    if !is_right && was_disturbed(run) {
        corun_testing::skip("examples under load", &format!("{name}: {answer}"));
        return;
    }
    assert!(is_right, "{name}: {answer}: {:?}", run.caveats);
}

fn was_disturbed(run: &Run) -> bool {
    run.caveats.iter().any(Caveat::disturbs)
}

/// The work divides: two workers on two cores do far more than one.
#[track_caller]
fn divides(name: &str, skip: &str, command: &[&str]) {
    two_workers_do(name, skip, command, |gain| gain > 1.5);
}

/// The work does not: two workers do no more than one.
#[track_caller]
fn does_not_divide(name: &str, skip: &str, command: &[&str]) {
    two_workers_do(name, skip, command, |gain| gain < 1.2);
}

/// Measures once more where the answer is another one and nothing says why: a virtual machine does not see all that its
/// host's other guests take.
#[track_caller]
fn two_workers_do(name: &str, skip: &str, command: &[&str], is_right: fn(f64) -> bool) {
    let measured = || on_one_and_two_cores(skip, command);
    let Some(mut run) = measured() else { return };
    if !is_right(gain(&run)) && !was_disturbed(&run) {
        run = measured().expect("as many cores as before");
    }
    let gain = gain(&run);
    judge(name, &run, is_right(gain), &format!("two workers do {gain:.2} times the work of one"));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("plain")
}

#[test]
#[ignore = "other tests would take its CPUs; scripts/test runs it alone"]
fn a_loop_with_openmp_takes_a_thread_for_each_core() {
    let Some((_scratch, program)) = built("examples openmp", "openmp.c", "-fopenmp") else {
        return;
    };
    let command = ["--env=OMP_NUM_THREADS={workers}", "--", text(&program)];
    divides("openmp.c", "examples openmp", &command);
}

#[test]
#[ignore = "other tests would take its CPUs; scripts/test runs it alone"]
fn work_within_one_lock_takes_one_thread() {
    let Some((_scratch, program)) = built("examples lock", "lock-bound.c", "-pthread") else {
        return;
    };
    let command = ["--", text(&program), "{workers}", "2000"];
    does_not_divide("lock-bound.c", "examples lock", &command);
}

#[test]
#[ignore = "other tests would take its CPUs; scripts/test runs it alone"]
fn an_interpreter_with_one_lock_takes_one_thread() {
    if programs("examples python", ["python3"]).is_none() {
        return;
    }
    let ask = "import sys; print(getattr(sys, '_is_gil_enabled', lambda: True)())";
    let asked = Command::new("python3").args(["-c", ask]).output().expect("python3 starts");
    let has_lock = asked.stdout.starts_with(b"True");
    let script = example("interpreter-lock.py");
    let command = ["--", "python3", text(&script), "{workers}", "1000000"];
    let name = "interpreter-lock.py";
    match has_lock {
        true => does_not_divide(name, "examples python", &command),
        false => divides(&format!("{name} without its lock"), "examples python", &command),
    }
}

#[test]
#[ignore = "other tests would take its CPUs; scripts/test runs it alone"]
fn recipes_that_need_no_other_take_a_job_for_each_core() {
    if programs("examples make", ["make", "awk"]).is_none() {
        return;
    }
    let folder = example("make");
    let command = ["--", "make", "-s", "-C", text(&folder), "-j", "{workers}"];
    divides("make", "examples make", &command);
}

/// One request at a time: the throughput times the latency is one (Little 1961).
#[test]
#[ignore = "other tests would take its CPUs; scripts/test runs it alone"]
fn a_server_with_one_connection_answers_one_request_at_a_time() {
    if programs("examples server", ["python3"]).is_none() {
        return;
    }
    let (script, port) = (example("server.py"), free_port().to_string());
    let script = text(&script);
    let mut measured = measure("spread", 3);
    measured.args(["--json=-", "--cores=1", "--ready", &port]);
    measured.args(["--serve", &format!("python3 '{script}' {port}")]);
    measured.args(["--load", &format!("python3 '{script}' --load {port} 200")]);
    measured.args(["--throughput", "([0-9.]+) requests/s", "--latency", "p50=p50 ([0-9.]+) ms"]);
    let outcome = Outcome::of(&mut measured);
    if outcome.exit == Some(3) {
        corun_testing::skip("examples server", "it needs two cores");
        return;
    }
    let run = outcome.run();
    let mut products: Vec<f64> = run
        .samples
        .iter()
        .map(|sample| {
            let latency = sample.latencies.values().next().expect("a latency");
            sample.throughput * latency.p50_s.expect("p50")
        })
        .collect();
    products.sort_by(f64::total_cmp);
    let middle = products[products.len() / 2];
    let answer = format!("throughput times latency is {middle:.3}");
    judge("server.py", &run, (0.7..1.05).contains(&middle), &answer);
}
