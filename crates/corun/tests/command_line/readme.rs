//! The commands of README.md, as they stand there: each is run, with programs of its names in a folder of the test's own.
//!
//! Only the time allowed and the port are the test's. What needs a program that is not installed, or would switch SMT of
//! this machine, is skipped and counted.

use std::path::Path;
use std::process::Command;

use crate::common::{Outcome, Scratch, corun};
use crate::real_services::{free_port, programs};

/// A command of the page: its beginning, options that keep it short, and the exit codes that it may have here.
struct Run {
    command: &'static str,
    short: &'static [&'static str],
    exits: &'static [i32],
}

const fn run(command: &'static str, short: &'static [&'static str]) -> Run {
    Run { command, short, exits: &[0] }
}

/// In so little time there may be no answer.
const fn timed(command: &'static str, short: &'static [&'static str]) -> Run {
    Run { command, short, exits: &[0, 5] }
}

/// Exit codes: without siblings it is not possible.
const fn of_siblings(command: &'static str, short: &'static [&'static str]) -> Run {
    Run { command, short, exits: &[0, 3, 5] }
}

/// In this order: compared are the runs that were kept first.
const RUNS: &[Run] = &[
    run("corun compare", &[]),
    timed("corun threads bash", &["--max-time=3s"]),
    timed("corun threads -- ./solver", &["--max-time=3s"]),
    of_siblings("corun measure --smt-switch", &["--max-time=3s"]),
    of_siblings("corun measure --placement", &["--max-time=3s"]),
    run("corun simulate", &[]),
    run("corun predict", &["--max-time=1m"]),
    timed("corun capacity", &["--max-time=3s"]),
    run("corun top", &["--once"]),
    timed("corun threads 'xz", &["--max-time=3s"]),
    run("corun measure --serve", &["--blocks=2", "--warmup=0", "--placement=spread"]),
    run("corun report", &[]),
    run("corun doctor", &[]),
    run("corun --version", &[]),
];

/// The commands of a page: lines of code, and code within a line.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in page.lines() {
        let spans = line.split('`').skip(1).step_by(2);
        let block = line.strip_prefix("    ").into_iter();
        for code in spans.chain(block) {
            let code = code.strip_prefix("sudo ").unwrap_or(code);
            let code = code.strip_prefix("scripts/").unwrap_or(code);
            if code.starts_with("corun ") {
                found.push(code.to_owned());
            }
        }
    }
    found
}

/// Programs and files of the names that the page has.
fn stand_ins() -> Scratch {
    let scratch = Scratch::new();
    scratch.executable("solver", "#!/bin/sh\nexec sleep 0.01\n");
    scratch.executable("job", "#!/bin/sh\nexit 0\n");
    std::fs::write(scratch.file("FILE"), "text\n".repeat(1000)).expect("a file can be written");
    std::fs::create_dir(scratch.file("examples")).expect("a folder can be made");
    let example = corun_testing::repository().join("examples/regn.sh");
    std::fs::copy(example, scratch.file("examples/regn.sh")).expect("a file can be copied");
    for trace in ["a.trace", "b.trace"] {
        let mut record = corun(["trace", "-o", trace, "--workload=fib", "--operations=1000"]);
        let recorded = Outcome::of(record.current_dir(scratch.path()));
        assert_eq!(recorded.exit, Some(0), "{}", recorded.errors);
    }
    // What is compared: a run and the one before it of the same.
    for _ in 0..2 {
        let mut measure =
            corun(["measure", "--blocks=2", "--placement=spread", "--cores=1", "./job"]);
        let kept = Outcome::of(in_folder(&mut measure, scratch.path()));
        assert_eq!(kept.exit, Some(0), "{}", kept.errors);
    }
    scratch
}

fn in_folder<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.env("CORUN_STORE", folder.join("corun.db")).current_dir(folder)
}

/// True if a command of the page cannot or must not run here, which is counted.
fn is_skipped(command: &str) -> bool {
    let switches = command.contains("--smt-switch");
    let has_siblings = || {
        let active = std::fs::read_to_string("/sys/devices/system/cpu/smt/active");
        active.is_ok_and(|it| it.trim() == "1")
    };
    if switches && has_siblings() {
        corun_testing::skip("readme smt-switch", "it would switch SMT of this machine");
        return true;
    }
    (command.contains("xz ") && programs("readme xz", ["xz"]).is_none())
        || (command.contains("redis-server")
            && programs("readme redis", ["redis-server", "redis-benchmark"]).is_none())
}

#[test]
fn every_command_of_the_readme_runs_as_it_stands_there() {
    let page = std::fs::read_to_string(corun_testing::repository().join("README.md"));
    let found = commands(&page.expect("README.md"));
    for command in &found {
        let is_it = |run: &&Run| command.starts_with(run.command);
        assert_eq!(RUNS.iter().filter(is_it).count(), 1, "`{command}` needs a line in RUNS");
    }
    let scratch = stand_ins();
    for run in RUNS {
        let command = found.iter().find(|it| it.starts_with(run.command));
        let command = command.unwrap_or_else(|| panic!("README.md has no `{}`", run.command));
        if is_skipped(command) {
            continue;
        }
        let text = command.replace("7000", &free_port().to_string());
        let words = shell_words::split(&text).expect("a line of a shell");
        let (subcommand, rest) = words[1..].split_first().expect("a subcommand");
        let mut typed = corun([subcommand]);
        typed.args(run.short).args(rest);
        let outcome = Outcome::of(in_folder(&mut typed, scratch.path()));
        assert!(
            outcome.exit.is_some_and(|exit| run.exits.contains(&exit)),
            "`{command}` ended with {:?}: {}{}",
            outcome.exit,
            outcome.output,
            outcome.errors
        );
    }
    assert!(scratch.read("report.html").contains("<svg"));
}
