//! `corun threads`: which candidates run, what it says of them, and lines to copy.

use std::collections::BTreeSet;
use std::time::Duration;

use corun_machine::{Affinity, CpuSet};
use corun_record::{
    Advice, Document, EndReason, Goal, Mode, Record, Standing, ThreadSweep, ThreadVerdict,
};

use crate::common::{Outcome, Scratch, corun};

const QUICK: [&str; 3] = ["threads", "--warmup=0", "--json=-"];

fn sweep(arguments: &[&str]) -> Record<ThreadSweep> {
    sweep_for("3s", arguments)
}

fn sweep_for(max_time: &str, arguments: &[&str]) -> Record<ThreadSweep> {
    let limit = ["--max-time", max_time];
    let outcome = Outcome::of(&mut corun(QUICK.iter().chain(&limit).chain(arguments)));
    let sweep: Record<ThreadSweep> = Record::from_json(&outcome.output)
        .unwrap_or_else(|error| panic!("{error}: {}", outcome.errors));
    let is_answered = sweep.body.answer.as_ref().is_some_and(|it| it.verdict.is_answer());
    assert!(is_answered || sweep.body.advice.is_empty(), "{:?}", sweep.body.advice);
    assert_eq!(outcome.exit, Some(if is_answered { 0 } else { 5 }), "{}", outcome.errors);
    sweep
}

#[test]
fn the_program_receives_its_workers_by_argument_and_by_variable() {
    let scratch = Scratch::new();
    let script = scratch.script("echo \"$1 $OMP_NUM_THREADS\" >> \"$folder/given\"");
    let script = script.to_str().unwrap();
    let sweep = sweep(&["--env", "OMP_NUM_THREADS={workers}", "--", script, "-j{workers}"]);
    assert_eq!(sweep.body.workload.mode, Mode::WorkersTotal);
    let tried: BTreeSet<u32> = sweep.body.candidates.iter().map(|it| it.arm.workers).collect();
    let given = scratch.read("given");
    let given: BTreeSet<&str> = given.lines().collect();
    let expected: Vec<String> = tried.iter().map(|it| format!("-j{it} {it}")).collect();
    assert_eq!(given, expected.iter().map(String::as_str).collect());
    let advice = |tool: &str| sweep.body.advice.iter().find(|line| line.tool == tool);
    if !sweep.body.advice.is_empty() {
        assert!(advice("OpenMP").is_some_and(|line| line.fits), "{:?}", sweep.body.advice);
    }
}

#[test]
fn every_candidate_is_where_its_arm_says() {
    let sweep = sweep(&["--copies", "--", "true"]);
    let allowed = Affinity::of(0).unwrap().cpus();
    for candidate in &sweep.body.candidates {
        let arm = &candidate.arm;
        let distinct: CpuSet = arm.cpus.iter().copied().collect();
        assert!(distinct.is_subset(&allowed) && distinct.len() == arm.cpus.len(), "{arm:?}");
        assert!(arm.cpus.is_empty() || arm.cpus.len() == arm.workers as usize, "{arm:?}");
        let own = |id: &str| id == arm.id || id.strip_suffix(".aa") == Some(&arm.id);
        let runs = sweep.body.samples.iter().filter(|sample| own(&sample.arm)).count();
        assert!(runs >= candidate.blocks as usize, "{arm:?}");
    }
    let answer = sweep.body.answer.as_ref().unwrap();
    let chosen: Vec<_> =
        sweep.body.candidates.iter().filter(|it| it.standing == Standing::Chosen).collect();
    assert!(chosen.len() == 1 && chosen[0].arm.id == answer.arm, "{answer:?}");
}

#[test]
fn a_preparation_runs_before_each_sample() {
    let scratch = Scratch::new();
    let program = scratch.script("rm \"$folder/input\"");
    let prepare = scratch.executable("prepare", "#!/bin/sh\necho \"$1\" > \"${0%/*}/input\"\n");
    let prepare = format!("{} {{workers}}", prepare.display());
    let sweep = sweep(&["--prepare", &prepare, program.to_str().unwrap(), "{workers}"]);
    assert!(sweep.body.design.blocks > 0);
    assert!(sweep.body.candidates.iter().all(|candidate| candidate.failure.is_none()));
}

#[test]
fn a_preparation_that_fails_is_an_error() {
    let outcome = Outcome::of(&mut corun(["threads", "--prepare", "false", "true"]));
    assert_eq!(outcome.exit, Some(1), "{}", outcome.errors);
    assert!(outcome.errors.contains("prepare"), "{}", outcome.errors);
}

#[test]
fn a_number_of_workers_that_the_program_refuses_is_left_out() {
    let scratch = Scratch::new();
    let script = scratch.script("test \"$1\" -ne 2");
    let sweep = sweep(&["--cores=2", script.to_str().unwrap(), "{workers}"]);
    let failed: BTreeSet<u32> = sweep
        .body
        .candidates
        .iter()
        .filter(|it| it.standing == Standing::Failed)
        .map(|it| it.arm.workers)
        .collect();
    let has_two = sweep.body.candidates.iter().any(|it| it.arm.workers == 2);
    assert_eq!(failed, if has_two { [2].into() } else { BTreeSet::new() });
    assert_ne!(sweep.body.answer.unwrap().workers, 2);
}

#[test]
fn the_time_allowed_ends_it_with_what_it_has() {
    let sweep = sweep_for("1s", &["sleep", "0.4"]);
    let expected = [EndReason::TimeUp, EndReason::TargetReached];
    assert!(expected.contains(&sweep.ending.reason), "{:?}", sweep.ending);
    if let Some(answer) = sweep.body.answer.filter(|_| sweep.body.design.blocks < 2) {
        assert_eq!(answer.verdict, ThreadVerdict::TooFewBlocks);
        assert!(answer.sentence.starts_with("Too few blocks"), "{}", answer.sentence);
    }
}

#[test]
fn what_is_too_long_for_the_time_is_said_after_one_run() {
    let mut command = corun(["threads", "--max-time=2s", "sleep", "1"]);
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.exit, Some(5), "{}", outcome.errors);
    let answer = outcome.unwrapped();
    assert!(answer.starts_with("No answer: a block of "), "{answer}");
    assert!(answer.contains("--max-time"), "{answer}");
}

#[test]
fn a_run_that_is_longer_than_the_time_allowed_is_ended() {
    let begin = std::time::Instant::now();
    for more in [&["sleep", "100"][..], &["--prepare", "sleep 100", "true"]] {
        let outcome = Outcome::of(corun(["threads", "--warmup=0", "--max-time=1s"]).args(more));
        assert!(matches!(outcome.exit, Some(1 | 5)), "{}", outcome.errors);
    }
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_number_of_copies_is_what_is_looked_for() {
    let outcome = Outcome::of(&mut corun(["threads", "--copies=2", "true"]));
    assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
}

#[test]
fn the_answer_comes_first_in_a_pipe_and_the_view_says_how_much_there_is() {
    let run = |more: &[&str]| {
        Outcome::of(corun(["threads", "--max-time=2s", "--seed=1"]).args(more).arg("true"))
    };
    let begins = ["Use ", "While ", "Not decided", "Too few blocks"];
    let is_answer = |text: &str| begins.iter().any(|begin| text.starts_with(begin));
    let screen = run(&[]);
    assert!(is_answer(&screen.output), "{}", screen.output);
    assert!(screen.output.lines().count() <= 23, "{}", screen.output);
    let whole = run(&["--verbose"]);
    assert!(is_answer(&whole.output) && whole.output.contains("\nBars: "), "{}", whole.output);
    let brief = run(&["--brief"]);
    assert!(is_answer(&brief.output) && brief.output.lines().count() < 5, "{}", brief.output);
}

#[test]
fn print_is_the_bare_number() {
    let outcome = Outcome::of(&mut corun(["threads", "--print", "--max-time=3s", "true"]));
    let workers: u32 = outcome.output.strip_suffix('\n').unwrap().parse().unwrap();
    assert!(workers > 0);
    // What is not decided is said, where no command takes it for its input.
    assert_eq!(
        outcome.exit == Some(5),
        outcome.errors.contains("Not decided"),
        "{}",
        outcome.errors
    );
}

#[test]
fn a_dry_run_prints_the_plan_and_runs_nothing() {
    let scratch = Scratch::new();
    let script = scratch.script("echo ran > \"$folder/ran\"");
    let mut command = corun(["threads", "--dry-run"]);
    let outcome = Outcome::of(command.args([script.to_str().unwrap(), "{workers}"]));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let said = outcome.unwrapped();
    assert!(said.contains("candidates on") && said.contains("logical CPUs"), "{said}");
    assert!(!script.with_file_name("ran").exists());
}

#[test]
fn lines_to_copy_have_the_workers_and_their_cpus() {
    let sweep = sweep(&["--cores=1", "--", "true", "-j", "{workers}"]);
    let answer = sweep.body.answer.as_ref().unwrap();
    for Advice { tool, line, .. } in &sweep.body.advice {
        assert!(!line.contains("{workers}"), "{tool}: {line}");
    }
    let line = |tool: &str| sweep.body.advice.iter().find(|it| it.tool == tool);
    let arm = sweep.body.candidates.iter().find(|it| it.arm.id == answer.arm).unwrap();
    match arm.arm.cpus.is_empty() {
        _ if !answer.verdict.is_answer() => assert!(sweep.body.advice.is_empty()),
        true => assert_eq!(line("shell").unwrap().line, format!("true -j {}", answer.workers)),
        false => assert!(line("taskset").unwrap().line.starts_with("taskset -c ")),
    }
}

#[test]
fn a_goal_that_the_machine_does_not_count_is_refused() {
    let outcome =
        Outcome::of(&mut corun(["threads", "--goal=energy", "--max-time=3s", "--json=-", "true"]));
    if matches!(outcome.exit, Some(0 | 5)) {
        let sweep = Record::<ThreadSweep>::from_json(&outcome.output).unwrap();
        assert_eq!(sweep.body.goal, Goal::Energy);
    } else {
        assert_eq!(outcome.exit, Some(3), "{}", outcome.errors);
        assert!(outcome.errors.contains("energy"), "{}", outcome.errors);
    }
}
