//! Programs that do not simply end: what they did up to then can be read, and the trace says what happened.

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;

use super::{TRACERS, check, compile, info, trace, works};
use crate::common::{Outcome, Scratch, corun, wait_until};
use crate::interruption::{SHOW_IGNORED, WAIT_TO_GO, ignoring, is_ignored, start};

#[test]
fn a_program_that_is_killed_keeps_its_trace() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        for (signal, number) in [("KILL", 9), ("SEGV", 11)] {
            let scratch = Scratch::new();
            let script = format!("kill -{signal} $$");
            let outcome = Outcome::of(trace(tracer, &scratch).args(["sh", "-c", &script]));
            assert_eq!(outcome.exit, Some(0), "{tracer}: {}", outcome.errors);
            let info = info(&scratch.file("trace"));
            assert_eq!(info["closing"]["ending"], json!({ "killed": number }), "{tracer}");
            assert!(info["instructions"].as_u64() > Some(50_000), "{tracer}: {info}");
            let checked = check(&scratch.file("trace"));
            assert!(checked.ends_with("sound and complete\n"), "{tracer}: {checked}");
        }
    }
}

/// What Ctrl-C does: everything in the foreground gets the signal, corun and the program.
#[test]
fn a_program_that_the_user_stops_keeps_its_trace() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let (dies, lives) = ("", "trap '' INT; ");
        for trap in [dies, lives] {
            let scratch = Scratch::new();
            let script = format!("{trap}echo > begun; while :; do :; done");
            let corun = start(trace(tracer, &scratch).process_group(0).args(["sh", "-c", &script]));
            wait_until("the program", || scratch.file("begun").exists());
            kill_process_group(Pid::from_child(&corun), Signal::INT).expect("corun runs");
            let outcome = Outcome::from(corun.wait_with_output().expect("corun ends"));
            assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(5), ""), "{tracer}");
            let info = info(&scratch.file("trace"));
            assert_eq!(info["closing"]["ending"], json!("interrupted"), "{tracer}");
            assert!(info["instructions"].as_u64() > Some(50_000), "{tracer}: {info}");
            check(&scratch.file("trace"));
        }
    }
}

/// As below nohup(1).
#[test]
fn a_signal_that_was_ignored_from_the_start_ends_no_trace() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        let script = format!("folder=.; echo > begun; {WAIT_TO_GO}; kill -HUP $$; {SHOW_IGNORED}");
        let mut command = trace(tracer, &scratch);
        let corun = start(ignoring(&mut command, Signal::HUP).args(["sh", "-c", &script]));
        wait_until("the program", || scratch.file("begun").exists());
        kill_process(Pid::from_child(&corun), Signal::HUP).expect("corun runs");
        std::fs::write(scratch.file("go"), "").unwrap();
        let outcome = Outcome::from(corun.wait_with_output().expect("corun ends"));
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{tracer}");
        // DynamoRIO and QEMU keep it for the program alone.
        let are_children_as_without = tracer == "ptrace";
        let of_child = is_ignored(Signal::HUP, &outcome.output);
        assert!(of_child || !are_children_as_without, "{tracer}: {}", outcome.output);
        let info = info(&scratch.file("trace"));
        assert_eq!(info["closing"]["ending"], json!({ "exited": 0 }), "{tracer}");
    }
}

#[test]
fn children_run_untraced_and_what_replaces_the_program_ends_its_trace() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        let script = "(exit 3); echo $?; echo a | cat; exec sh -c 'echo b; exit 7'";
        let outcome = Outcome::of(trace(tracer, &scratch).args(["sh", "-c", script]));
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{tracer}");
        assert_eq!(outcome.output, "3\na\nb\n", "{tracer}");
        let info = info(&scratch.file("trace"));
        assert_eq!(info["closing"]["ending"], json!({ "exited": 7 }), "{tracer}");
        assert!(info["instructions"].as_u64() > Some(50_000), "{tracer}: {info}");
        check(&scratch.file("trace"));
    }
}

/// A program that copies itself while other threads of its run, whose buffers the copies have, too.
const FORKS_BESIDE_THREADS: &str = r#"
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while !is_over.load(Ordering::Relaxed) { std::thread::yield_now() });
        }
        for _ in 0..5 {
            let mut child = Command::new("true");
            // What is to run in the child makes it a copy of this process.
            unsafe { child.pre_exec(|| Ok(())) };
            assert!(child.status().unwrap().success());
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("over");
}
"#;

#[test]
fn children_leave_alone_what_threads_of_their_parent_record() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        compile(&scratch, "forks", FORKS_BESIDE_THREADS);
        let outcome = Outcome::of(trace(tracer, &scratch).arg("./forks"));
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{tracer}");
        assert_eq!(outcome.output, "over\n", "{tracer}");
        let threads = info(&scratch.file("trace"))["closing"]["threads"].clone();
        assert_eq!(threads.as_array().map(Vec::len), Some(3), "{tracer}: {threads}");
        check(&scratch.file("trace"));
    }
}

#[test]
fn an_output_that_takes_nothing_ends_the_program() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let outcome = Outcome::of(
            corun(["trace", "--quiet", "--once", "-o/dev/full", "--tracer", tracer, "--"])
                .args(["sh", "-c", "exit 0"]),
        );
        assert_eq!(outcome.exit, Some(1), "{tracer}: {}", outcome.errors);
        assert!(outcome.errors.contains("No space left on device"), "{tracer}: {}", outcome.errors);
    }
}
