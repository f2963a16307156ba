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
