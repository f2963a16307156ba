//! A run that takes long under a tracer says so while it runs, and goes on.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corun_record::Unwatched;
use corun_trace::format::Options;
use corun_trace::{
    Ending, Part, SlowRunNotice, Target, TracePlan, TraceRequest, choose, run_trace,
};

/// Pipe that the program waits for.
static PIPE: OnceLock<PathBuf> = OnceLock::new();

/// The program goes on when it is said that it takes long, and not before.
fn let_it_go_on(said: &str) {
    assert!(said.contains("it may hang under "), "{said}");
    let pipe = PIPE.get().expect("it is made before");
    let mut pipe = OpenOptions::new().read(true).write(true).open(pipe).unwrap();
    pipe.write_all(b"on\n").unwrap();
    // Until the program has read it, a reader must have it open.
    std::mem::forget(pipe);
}

#[test]
fn a_program_that_takes_long_is_said_to_while_it_runs() {
    let chosen = match choose(None) {
        Ok(chosen) => chosen,
        Err(error) => return corun_testing::skip("trace", &error.to_string()),
    };
    let folder = tempfile::tempdir().unwrap();
    let pipe = PIPE.get_or_init(|| folder.path().join("pipe"));
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let script = format!("read line < {}; [ $line = on ] && exit 5", pipe.display());
    let request = TraceRequest {
        target: Target {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            ..Target::default()
        },
        remarks: Vec::new(),
        part: Part::Of(TracePlan::Window { skip: 0, length: Some(100) }),
        instructions: None,
        from: None,
        threads: Vec::new(),
        runs_again: false,
        compares_output: false,
        options: Options::default(),
        slow_run: SlowRunNotice { first: Duration::from_millis(1), say: let_it_go_on },
    };
    let (outcome, _) =
        run_trace(&request, &chosen, Vec::new(), &Unwatched, &AtomicBool::new(false)).unwrap();
    assert_eq!(outcome.traced.ending, Ending::Exited(5));
}
