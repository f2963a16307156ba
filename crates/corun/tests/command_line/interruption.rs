//! Ctrl-C and worse: finished blocks are kept, and no worker survives corun.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use corun_record::{Document, EndReason, Run};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{FEWEST, Outcome, Scratch, corun, measure_one_worker, wait_until};
use crate::counted_runs::{self, RUNS_A_BLOCK};

/// Waits forever, in a process of its own that has the folder in its command line.
const HANG: &str = "tail -f \"$folder/runs\"; exit 1";

#[test]
fn finished_blocks_are_kept() {
    for signal in [Signal::INT, Signal::TERM] {
        let scratch = Scratch::new();
        let script = counted_runs::script(&scratch, 3 * RUNS_A_BLOCK, HANG);
        let json = scratch.file("run.json");
        let corun = start(measure_one_worker(100).arg("--json").arg(&json).arg("--").arg(script));
        wait_until("a run after three blocks", || counted_runs::begun(&scratch) > 3 * RUNS_A_BLOCK);
        let outcome = ended_by(corun, signal);

        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(5), ""), "{signal:?}");
        assert!(outcome.output.contains("\nPARTIAL RESULT: "), "{}", outcome.output);
        let shown = outcome.unwrapped();
        let said = "PARTIAL RESULT: interrupted; 3 finished blocks are kept.";
        assert!(shown.contains(said), "{shown}");
        let run = Run::from_json(&scratch.read("run.json")).expect("a whole run");
        assert_eq!(run.ending.reason, EndReason::Interrupted);
        assert_eq!((run.design.blocks, run.samples.len()), (3, 3 * RUNS_A_BLOCK));
        wait_until("the end of every process", || processes_about(&scratch) == 0);
    }
}

#[test]
fn before_the_first_block_ends_there_is_nothing_to_keep() {
    let scratch = Scratch::new();
    let script = counted_runs::script(&scratch, 1, HANG);
    let corun = start(measure_one_worker(FEWEST).arg("--").arg(script));
    wait_until("the second run", || counted_runs::begun(&scratch) > 1);
    let outcome = ended_by(corun, Signal::INT);

    insta::assert_snapshot!(outcome.reported(scratch.path()), @r"
    exit 5
    corun: interrupted before the first block was finished; nothing to report
      Let at least one block finish, or use less work.
    ");
    assert_eq!(outcome.output, "");
    wait_until("the end of every process", || processes_about(&scratch) == 0);
}

#[test]
fn an_interrupted_warm_up_says_so() {
    let scratch = Scratch::new();
    let script = counted_runs::script(&scratch, 0, HANG);
    let corun = start(
        corun(["measure", "--placement=spread", "--cores=1", "--warmup=1"]).arg("--").arg(script),
    );
    wait_until("the first run", || counted_runs::begun(&scratch) > 0);
    assert_eq!(ended_by(corun, Signal::INT).exit, Some(5));
}

/// As below nohup(1), and in the background of a shell without job control.
#[test]
fn what_was_ignored_from_the_start_interrupts_nothing() {
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        let scratch = Scratch::new();
        let wait = format!("{SHOW_IGNORED} > \"$folder/ignored\"\n{WAIT_TO_GO}");
        let script = counted_runs::script(&scratch, 1, &wait);
        let mut command = measure_one_worker(FEWEST);
        let corun = start(ignoring(&mut command, signal).arg("--").arg(script));
        wait_until("the second run", || counted_runs::begun(&scratch) > 1);
        kill_process(Pid::from_child(&corun), signal).expect("corun runs");
        std::fs::write(scratch.file("go"), "").unwrap();
        let outcome = Outcome::from(corun.wait_with_output().expect("corun ends"));

        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{signal:?}");
        assert!(!outcome.output.contains("PARTIAL"), "{}", outcome.output);
        assert!(is_ignored(signal, &scratch.read("ignored")), "{signal:?}");
    }
}

/// Shell that waits for a file, and shell that says which signals the programs it starts ignore.
pub(crate) const WAIT_TO_GO: &str = "until [ -e \"$folder/go\" ]; do :; done";
pub(crate) const SHOW_IGNORED: &str = "grep SigIgn /proc/self/status";

/// The command, started with a signal ignored.
pub(crate) fn ignoring(command: &mut Command, signal: Signal) -> &mut Command {
    let number = signal.as_raw();
    // SAFETY: sets a plain disposition between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::signal(number, libc::SIG_IGN);
            Ok(())
        })
    }
}

/// True if [`SHOW_IGNORED`] has named a signal.
pub(crate) fn is_ignored(signal: Signal, shown: &str) -> bool {
    let mask = shown.trim().rsplit(['\t', ' ']).next().expect("a mask");
    let mask = u64::from_str_radix(mask, 16).unwrap_or_else(|_| panic!("no mask: {shown:?}"));
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn a_built_in_kernel_can_be_interrupted() {
    let corun = start(measure_one_worker(FEWEST).args(["--workload=fib", "--sample-time=10m"]));
    let parent = corun.id();
    wait_until("a kernel worker", || !children_of(parent).is_empty());
    let workers = children_of(parent);
    let outcome = ended_by(corun, Signal::INT);
    assert_eq!(outcome.exit, Some(5), "{}", outcome.errors);
    wait_until("the workers' end", || workers.iter().all(|&worker| is_gone(worker)));
}

#[test]
fn a_failure_keeps_the_blocks_before_it() {
    let scratch = Scratch::new();
    let script = counted_runs::script(&scratch, 2 * RUNS_A_BLOCK, "echo 'no more'; exit 7");
    let json = scratch.file("run.json");
    let outcome =
        Outcome::of(measure_one_worker(100).arg("--json").arg(&json).arg("--").arg(script));
    insta::assert_snapshot!(outcome.reported(scratch.path()), @r"
    exit 1
    corun: expected exit status 0, found exit status 7 from worker 0 of arm spread; its last lines:
        no more
      Make the command succeed by itself first; `--expect-exit N` accepts another status.
    ");
    assert!(outcome.output.contains("\nPARTIAL RESULT: "), "{}", outcome.output);
    let run = Run::from_json(&scratch.read("run.json")).expect("a whole run");
    assert_eq!(run.ending.reason, EndReason::Failed);
    assert_eq!((run.design.blocks, run.samples.len()), (2, 2 * RUNS_A_BLOCK));
}

#[test]
fn no_worker_outlives_a_killed_corun() {
    let scratch = Scratch::new();
    let script =
        scratch.script("echo $$ > \"$folder/id.new\"; mv \"$folder/id.new\" \"$folder/id\"\nexec tail -f /dev/null");
    let mut corun = start(measure_one_worker(FEWEST).arg("--").arg(script));
    wait_until("a worker", || scratch.file("id").exists());
    let worker: i32 = scratch.read("id").trim().parse().expect("a process id");
    assert!(!is_gone(worker));

    corun.kill().expect("corun runs");
    let status = corun.wait().expect("corun ends");
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    wait_until("the worker's end", || is_gone(worker));
}

/// Signals that end corun, from wherever they come.
const ENDING: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL];

/// Commands that start a program, PROGRAM.
const OF_PROGRAMS: &[&[&str]] = &[
    &["measure", "--", "PROGRAM"],
    &["measure", "--prepare", "PROGRAM", "--", "true"],
    &["threads", "--", "PROGRAM"],
    &["capacity", "--", "PROGRAM"],
    &["predict", "--model=zen4", "--no-measure", "--", "PROGRAM"],
    &["predict", "--model=zen4", "--", "PROGRAM"],
    &["predict", "--model=zen3,zen4", "--set=rob.entries=128,224", "--program", "PROGRAM"],
    &["trace", "-o=t", "--", "PROGRAM"],
    &["trace", "-o=t", "--tracer=ptrace", "--", "PROGRAM"],
    &["trace", "-o=t", "--sample=5:5", "--", "PROGRAM"],
    &["top", "--", "PROGRAM"],
    &["fleet", "plan", "--engine=local", "--pilot", "campaign.toml"],
    &["fleet", "submit", "--engine=local", "campaign.toml"],
];

/// Commands that start processes of corun's own, or built-in programs.
const OF_OWN_PROCESSES: &[&[&str]] = &[
    &["measure", "--workload=fib", "--sample-time=10m"],
    &["threads", "--workload=fib", "--sample-time=10m"],
    &["capacity", "--workload=fib", "--sample-time=10m"],
    &["bench", "run", "fib", "--sample-time=10m"],
    &["bench", "run", "lmbench/context-switch", "--sample-time=10m"],
    &["study", "run", "smt-test-2020"],
    &["study", "show", "os-lecture", "--predict"],
    &["trace", "-o=t", "--workload=fib"],
    &["audit"],
];

/// Of what a command started nothing goes on when it has ended, whoever ended it: nor a program that ignores signals, nor
/// what that has started.
#[test]
fn what_a_command_started_ends_with_it() {
    const STUBBORN: &str = "trap '' TERM INT HUP\ntail -f /dev/null >/dev/null 2>&1 &\n\
                            echo $$ $! >\"$folder/new.$$\"; mv \"$folder/new.$$\" \"$folder/id.$$\"\n\
                            while :; do wait; done";
    let ends = |line: &[&str], signal: Signal, is_of_program: bool| {
        let scratch = Scratch::new();
        let program = scratch.script(STUBBORN).display().to_string();
        let campaign = format!(
            "format = \"corun-campaign\"\nversion = 1\nname = \"x\"\n[budget]\ntime = \"10m\"\n\
             [[program]]\ncommand = [{program:?}]\n"
        );
        std::fs::write(scratch.file("campaign.toml"), campaign).expect("a file can be written");
        let mut command = corun(line.iter().map(|word| word.replace("PROGRAM", &program)));
        command.current_dir(scratch.path()).env("CORUN_TEST_FOLDER", scratch.path());
        let mut corun =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("corun starts");
        let ids = || -> Vec<i32> {
            let names = std::fs::read_dir(scratch.path()).expect("a folder").flatten();
            let named = names.filter_map(|it| it.file_name().into_string().ok());
            let files = named.filter(|name| name.starts_with("id."));
            let texts = files.map(|name| scratch.read(&name)).collect::<Vec<_>>().join(" ");
            texts.split_whitespace().map(|id| id.parse().expect("a process id")).collect()
        };
        let parent = corun.id();
        wait_until(&format!("a process of {line:?}"), || match is_of_program {
            true => !ids().is_empty(),
            false => !children_of(parent).is_empty(),
        });
        let started = [children_of(parent), ids()].concat();
        kill_process(Pid::from_child(&corun), signal).expect("corun runs");
        corun.wait().expect("corun ends");
        wait_until(&format!("the end of what {line:?} started, by {signal:?}"), || {
            started.iter().chain(&ids()).all(|&id| is_gone(id)) && marked(&scratch).is_empty()
        });
    };
    let of_programs = OF_PROGRAMS.iter().map(|line| (*line, true));
    for (line, is_of_program) in
        of_programs.chain(OF_OWN_PROCESSES.iter().map(|line| (*line, false)))
    {
        std::thread::scope(|scope| {
            for signal in ENDING {
                scope.spawn(move || ends(line, signal, is_of_program));
            }
        });
    }
}

/// Processes that have the folder in their environment, corun's own helpers among them.
fn marked(scratch: &Scratch) -> Vec<i32> {
    let folder = scratch.path().as_os_str().as_encoded_bytes();
    let has_it = |id: &i32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.windows(folder.len()).any(|words| words == folder)
    };
    processes().filter(|id| has_it(id) && !is_gone(*id)).collect()
}

/// A command that runs in corun's place may start a daemon, and then ends by itself.
#[test]
fn what_a_command_in_the_foreground_started_ends_with_a_corun_that_is_killed() {
    for is_killed in [true, false] {
        let scratch = Scratch::new();
        let end = if is_killed { "wait" } else { "" };
        let script = scratch.script(&format!(
            "tail -f /dev/null >/dev/null 2>&1 & echo $! > \"$folder/id.new\"; mv \"$folder/id.new\" \"$folder/id\"\n{end}"
        ));
        let mut corun =
            start(corun(["top", "--"]).arg(script).env("CORUN_TEST_FOLDER", scratch.path()));
        wait_until("a child", || scratch.file("id").exists());
        let child: i32 = scratch.read("id").trim().parse().expect("a process id");
        if is_killed {
            corun.kill().expect("corun runs");
        }
        assert_eq!(corun.wait().expect("corun ends").code(), (!is_killed).then_some(0));
        let is_watchdog = |id: &i32| {
            let name = std::fs::read_to_string(format!("/proc/{id}/comm"));
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let folder = scratch.path().as_os_str().as_encoded_bytes();
            name.is_ok_and(|name| name.trim() == "corun-watchdog")
                && environment.windows(folder.len()).any(|words| words == folder)
        };
        wait_until("the watchdog's end", || !processes().any(|id| is_watchdog(&id)));
        wait_until("the child's end", || !is_killed || is_gone(child));
        if !is_killed {
            assert!(!is_gone(child), "the daemon is the user's");
            let child = Pid::from_raw(child).expect("a process id");
            kill_process(child, Signal::KILL).expect("it runs");
        }
    }
}

pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("corun starts")
}

pub(crate) fn ended_by(corun: Child, signal: Signal) -> Outcome {
    kill_process(Pid::from_child(&corun), signal).expect("corun runs");
    Outcome::from(corun.wait_with_output().expect("corun ends"))
}

/// Number of processes that have the folder on their command line, workers' children included.
fn processes_about(scratch: &Scratch) -> usize {
    let folder = scratch.path().display().to_string();
    processes()
        .filter_map(|id| std::fs::read_to_string(format!("/proc/{id}/cmdline")).ok())
        .filter(|words| words.contains(&folder))
        .count()
}

pub(crate) fn children_of(parent: u32) -> Vec<i32> {
    processes().filter(|&id| state(id).is_some_and(|(_, its)| its == parent)).collect()
}

/// True if a process has ended; one that nobody has collected yet has ended too.
pub(crate) fn is_gone(id: i32) -> bool {
    state(id).is_none_or(|(state, _)| matches!(state, 'Z' | 'X'))
}

/// The state and the parent of a process; its name, which comes before them, may hold anything.
fn state(id: i32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").expect("proc is mounted");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
