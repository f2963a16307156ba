//! The engine without Slurm, through the same files as with it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use corun_record::{Document, FleetReport, Record};

use crate::fleet::campaign::{Scratch, files, until};

const LOCAL: &[&str] = &["--engine", "local"];

/// A campaign of three tasks whose program has a name that no shell reads as it is.
fn ran() -> Scratch {
    let scratch = Scratch::new();
    let program = scratch.program("it's \"a\"\nprogram", "[ \"$1\" = 'x y' ]");
    let program = program.to_str().unwrap().to_owned();
    scratch.campaign("repeats = 3", &[&program, "x y", "$HOME;\n"]);
    let outcome = scratch.submit(LOCAL);
    assert_eq!(outcome.exit, Some(0), "{outcome:?}");
    scratch
}

#[test]
fn a_campaign_runs_here_and_is_collected_once() {
    let scratch = ran();
    let status = scratch.status();
    assert_eq!((status.tasks.done, status.tasks.total()), (3, 3), "{status:?}");
    for (added, known) in [(3, 0), (0, 3)] {
        let collected = scratch.collect().collected.unwrap();
        assert_eq!((collected.added, collected.known), (added, known));
    }
    let kept = scratch.kept();
    assert_eq!(kept.len(), 3);
    let tag = format!("fleet:{}", status.campaign);
    assert!(kept.iter().all(|it| it.tags.contains(&tag)), "{kept:?}");
    // Nothing is left to be done.
    assert!(scratch.submit(LOCAL).output.contains(": done 0, failed 0"));
    assert_eq!(scratch.results().len(), 3);
}

#[test]
fn a_task_that_ran_twice_counts_once() {
    let scratch = ran();
    assert_eq!(scratch.collect().collected.unwrap().added, 3);
    let results = scratch.directory().join("results");
    let first = scratch.results()[0].clone();
    // An answer that ended before the one that was collected turns up.
    let text = fs::read_to_string(results.join(&first)).unwrap();
    let attempt = first.strip_prefix("00000.").unwrap().strip_suffix(".json").unwrap();
    let other = text.replace(attempt, "4711-1").replacen("\"ended\":\"2", "\"ended\":\"1", 1);
    assert_ne!(text, other);
    fs::write(
        results.join("00000.4711-1.json"),
        other.replacen("\"elapsed_s\": ", "\"elapsed_s\": 1", 1),
    )
    .unwrap();
    let collected = scratch.collect();
    assert_eq!((collected.tasks.done, collected.collected.unwrap().added), (3, 0));
    assert_eq!(scratch.kept().len(), 3);
}

#[test]
fn half_a_result_is_none_and_its_task_runs_again() {
    let scratch = ran();
    let results = scratch.directory().join("results");
    let names = scratch.results();
    let text = fs::read_to_string(results.join(&names[1])).unwrap();
    fs::write(results.join(&names[1]), &text[..text.len() / 2]).unwrap();
    fs::write(results.join("00002.foreign.json"), "{}").unwrap();
    let status = scratch.collect();
    assert_eq!((status.tasks.done, status.tasks.missing), (2, 1), "{status:?}");
    assert_eq!(
        status.remarks.iter().filter(|it| it.contains("is damaged")).count(),
        2,
        "{status:?}"
    );
    assert!(status.open[0].reason.as_ref().unwrap().contains("left no result"));
    assert_eq!(scratch.submit(LOCAL).exit, Some(0));
    let status = scratch.collect();
    assert_eq!((status.tasks.done, status.collected.unwrap().added), (3, 1));
    assert_eq!(scratch.kept().len(), 3);
}

#[test]
fn a_program_that_fails_is_a_task_that_failed_for_a_reason() {
    let scratch = Scratch::new();
    let program = scratch.program("broken", "exit 3");
    scratch.campaign("", &[program.to_str().unwrap()]);
    assert_eq!(scratch.submit(LOCAL).exit, Some(1));
    let status = scratch.status();
    assert_eq!((status.tasks.failed, status.tasks.total()), (1, 1));
    let reason = status.open[0].reason.clone().unwrap();
    assert!(
        reason.starts_with("corun ended with status 1: ") && reason.contains("exit status 3"),
        "{reason}"
    );
    assert_eq!(scratch.collect().collected.unwrap().added, 0);
}

/// True if there is a process of this number that has not ended.
fn is_running(process: &str) -> bool {
    let status = corun_files::kernel_text(format!("/proc/{process}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

#[test]
fn a_signal_to_corun_alone_ends_what_it_runs() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGKILL] {
        let scratch = Scratch::new();
        let names = ["task", "new"].map(|name| scratch.path(name));
        let [task, new] = names.each_ref().map(|path| path.display());
        let script = format!("echo $$ $PPID > '{new}'; mv '{new}' '{task}'; exec sleep 600");
        let program = scratch.program("busy", &script);
        scratch.campaign("repeats = 2", &[program.to_str().unwrap()]);
        let directory = scratch.directory();
        let directory = directory.to_str().unwrap();
        let arguments = ["fleet", "submit", "campaign.toml", "--directory", directory];
        let mut corun = scratch.corun(&[&arguments, LOCAL].concat());
        let mut corun = corun.stdout(Stdio::null()).spawn().unwrap();
        until("the task runs", || names[0].exists());
        let started = fs::read_to_string(&names[0]).unwrap();
        // SAFETY: signals a child that has not been waited for.
        unsafe { libc::kill(corun.id().cast_signed(), signal) };
        let status = corun.wait().unwrap();
        let expected = if signal == libc::SIGKILL { None } else { Some(5) };
        assert_eq!(status.code(), expected, "signal {signal}: {:?}", status.signal());
        until("the measurement and its program have ended", || {
            !started.split_whitespace().any(is_running)
        });
    }
}

#[test]
fn why_a_measurement_has_no_answer_is_the_reason_of_its_task() {
    let scratch = Scratch::new();
    let program = scratch.program("slow", "sleep 2");
    scratch.campaign("", &[program.to_str().unwrap()]);
    let campaign = fs::read_to_string(scratch.path("campaign.toml")).unwrap();
    fs::write(scratch.path("campaign.toml"), campaign.replace("\"2m\"", "\"5s\"")).unwrap();
    assert_eq!(scratch.submit(LOCAL).exit, Some(1));
    let reason = scratch.status().open[0].reason.clone().unwrap();
    assert!(reason.starts_with("the time allowed (5s) is too short: "), "{reason}");
}

#[test]
fn another_binary_than_the_planned_one_measures_nothing() {
    let scratch = Scratch::new();
    scratch.campaign("", &["true"]);
    scratch.submit(LOCAL);
    fs::remove_dir_all(scratch.directory().join("results")).unwrap();
    fs::create_dir(scratch.directory().join("results")).unwrap();
    fs::write(scratch.directory().join("corun"), "#!/bin/sh\ntrue\n").unwrap();
    assert_eq!(scratch.submit(LOCAL).exit, Some(1));
    assert!(scratch.status().open[0].reason.as_ref().unwrap().contains("SHA-256"));
}

#[test]
fn a_directory_has_one_campaign() {
    let scratch = Scratch::new();
    scratch.campaign("", &["true"]);
    assert_eq!(scratch.submit(LOCAL).exit, Some(0));
    scratch.campaign("repeats = 2", &["true"]);
    let outcome = scratch.submit(LOCAL);
    assert_eq!(outcome.exit, Some(2));
    assert!(outcome.errors.contains("this campaign's"), "{outcome:?}");
}

#[test]
fn a_plan_changes_nothing_and_a_mistake_is_found_in_it() {
    let scratch = Scratch::new();
    scratch.campaign("repeats = 2\nsmt = [\"on\", \"nomultithread\"]", &["true"]);
    let before = files(&scratch.path(""));
    let plan = scratch.plan();
    assert!(
        plan.starts_with("4 tasks in 2 job arrays, 0.13 node hours expected, 0.27 at most"),
        "{plan}"
    );
    assert!(
        plan.contains("#SBATCH --exclusive\n") && plan.contains(" --hint nomultithread "),
        "{plan}"
    );
    assert_eq!(files(&scratch.path("")), before);
    let file = fs::read_to_string(scratch.path("campaign.toml")).unwrap();
    fs::write(scratch.path("campaign.toml"), file.replace("--cores=1", "--coers=1")).unwrap();
    let outcome = scratch.run(&["fleet", "plan", "campaign.toml"]);
    assert_eq!(outcome.exit, Some(2));
    assert!(
        outcome.errors.contains("--coers") && outcome.errors.contains("`options`"),
        "{outcome:?}"
    );
}

#[test]
fn a_pilot_runs_each_command_and_its_failure_is_named() {
    let scratch = Scratch::new();
    scratch.campaign("", &["sh", "-c", "echo run >>runs"]);
    let plan = |options: &[&str]| {
        let arguments = [&["fleet", "plan", "--json=-", "campaign.toml"], options].concat();
        let plan = scratch.done(&arguments);
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        plan["pilot_s"].as_f64()
    };
    assert_eq!((plan(&[]), fs::exists(scratch.path("runs")).unwrap()), (None, false));
    assert!(plan(&["--pilot"]).is_some_and(|seconds| seconds > 0.0));
    assert_eq!(fs::read_to_string(scratch.path("runs")).unwrap(), "run\n");
    scratch.campaign("", &["false"]);
    let outcome = scratch.run(&["fleet", "plan", "--pilot", "campaign.toml"]);
    assert_ne!(outcome.exit, Some(0));
    assert!(outcome.errors.contains("the pilot run of \"false\" failed"), "{outcome:?}");
}

#[test]
fn a_campaign_finds_the_best_number_of_threads() {
    let scratch = Scratch::new();
    let campaign = "format = \"corun-campaign\"\nversion = 1\nname = \"threads\"\nthreads = \"best\"\n\
                    [budget]\ntime = \"8s\"\n\
                    [[program]]\nworkload = \"fib\"\noptions = [\"--sample-time=20ms\", \"--warmup=0\"]\n";
    fs::write(scratch.path("campaign.toml"), campaign).unwrap();
    let outcome = scratch.submit(LOCAL);
    assert_eq!(outcome.exit, Some(0), "{outcome:?}");
    assert_eq!(scratch.collect().collected.unwrap().added, 1);
    let directory = scratch.directory();
    let text = scratch.done(&["fleet", "report", "--json=-", directory.to_str().unwrap()]);
    let report = Record::<FleetReport>::from_json(&text).unwrap().body;
    let program = &report.types[0].programs[0];
    assert_eq!(program.workload, "fib");
    if corun_machine::Machine::read(Path::new("/")).unwrap().allowed().len() > 1 {
        let best = program.best.as_ref().expect("several numbers of threads were measured");
        assert!(best.workers >= 1, "{best:?}");
    }
}
