//! Programs whose handlers resume, redirect or leave what faulted run as ever, whatever part of them is recorded.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use corun_trace::{
    Ending, Recording, Target, ThreadId, TraceError, TracePlan, Traced, Tracer, all, choose,
};
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults/program.c");

/// Faults, and the way in which each continues.
const CASES: [&str; 14] = [
    "guard",
    "registers",
    "pointer",
    "jump",
    "skip",
    "timer",
    "raise",
    "strings",
    "nested",
    "overflow",
    "threads",
    "bus",
    "calls",
    "gather",
];
/// Signals of faults that another thread sends, and SIGTRAP that waits: DynamoRIO does not support them
/// (docs/tracing.md).
const BEYOND_DYNAMORIO: [&str; 2] = ["sent", "traps"];
/// Few instructions, for a tracer that stops at each of them.
const SHORT: [&str; 8] =
    ["registers", "pointer", "jump", "skip", "raise", "traps", "bus", "nested"];

/// Statically linked, so that it has few instructions before `main`.
fn build(folder: &TempDir) -> PathBuf {
    let program = folder.path().join("program");
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-w", "-pthread", "-static", "-o"]).arg(&program).arg(SOURCE);
    assert!(compile.status().unwrap().success());
    program
}

fn alone(program: &Path, case: &str, folder: &TempDir) -> String {
    let file = folder.path().join("alone");
    let status = Command::new(program).arg(case).arg(&file).status().unwrap();
    assert_eq!(status.code(), Some(7), "{case}");
    std::fs::read_to_string(file).unwrap()
}

fn traced(
    tracer: &dyn Tracer,
    program: &Path,
    case: &str,
    plan: TracePlan,
    folder: &TempDir,
) -> (Result<Traced, TraceError>, Recording, String) {
    let file = folder.path().join("traced");
    let _ = std::fs::remove_file(&file);
    let arguments = vec![case.into(), file.clone().into()];
    let target = Target { program: program.into(), arguments, ..Target::default() };
    let mut recording = Recording::default();
    let traced = tracer.trace(&target, plan, &mut recording, &AtomicBool::new(false));
    (traced, recording, std::fs::read_to_string(file).unwrap_or_default())
}

/// Parts whose ends lie at many places of the program, of which some are in a block that faults.
fn plans(total: u64) -> Vec<TracePlan> {
    let window =
        |part: u64, length: u64| TracePlan::Window { skip: total * part / 8, length: Some(length) };
    let mut plans = vec![
        TracePlan::Whole,
        TracePlan::Count,
        TracePlan::Window { skip: 0, length: Some(1_000_000_000) },
        TracePlan::Window { skip: 1000, length: None },
        TracePlan::Samples {
            count: 4,
            length: 300,
            warm_up: 200,
            total,
            seed: 0,
            look_back: 0,
            first_part: 0,
        },
        TracePlan::Samples {
            count: 4,
            length: 300,
            warm_up: 200,
            total,
            seed: 0,
            look_back: total,
            first_part: 0,
        },
    ];
    plans.extend((2..8).step_by(2).map(|part| window(part, 40 * part)));
    plans.extend((3..8).step_by(2).map(|part| window(part, total / 5)));
    let after = |skip| TracePlan::After { skip, warm_up: 50, rest: Box::new(window(2, 500)) };
    plans.extend([total / 3, total / 2].map(after));
    plans
}

fn executed(recording: &Recording) -> u64 {
    let threads = 0..recording.threads.len() as u32;
    threads.map(|thread| recording.instructions(ThreadId(thread)).count() as u64).sum()
}

fn run_as_alone(tracer: &dyn Tracer, cases: &[&str], plans: impl Fn(u64) -> Vec<TracePlan>) {
    let folder = TempDir::new().unwrap();
    let program = build(&folder);
    for case in cases {
        let expected = alone(&program, case, &folder);
        let (whole, recording, _) = traced(tracer, &program, case, TracePlan::Whole, &folder);
        let whole = whole.unwrap_or_else(|error| panic!("{case}: {error}")).instructions;
        assert_eq!(executed(&recording), whole, "{case}");
        for plan in plans(whole) {
            let (result, _, output) = traced(tracer, &program, case, plan.clone(), &folder);
            let name = format!("{case} by {}, {plan:?}", tracer.name());
            let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(result.ending, Ending::Exited(7), "{name}");
            assert_eq!(output, expected, "{name}");
            // What a fault left out of a block is not counted, whether the block is recorded or not. Others wait for
            // time or for each other.
            let is_steady = !["timer", "sent", "threads"].contains(case);
            if is_steady && tracer.name() == "dynamorio" && plan != TracePlan::Count {
                let difference = result.instructions.abs_diff(whole);
                assert!(difference < 200, "{name}: {} instead of {whole}", result.instructions);
            }
        }
    }
}

fn tracer(name: &str) -> Option<&'static dyn Tracer> {
    match choose(Some(name)) {
        Ok(chosen) => Some(chosen.tracer),
        Err(error) => {
            corun_testing::skip(&format!("trace by {name}"), &error.to_string());
            None
        }
    }
}

#[test]
fn programs_that_fault_and_go_on_run_as_alone_under_dynamorio() {
    let Some(tracer) = tracer("dynamorio") else { return };
    run_as_alone(tracer, &CASES, plans);
}

#[test]
fn programs_that_fault_and_go_on_run_as_alone_under_qemu() {
    let Some(tracer) = tracer("qemu") else { return };
    let few = |total| plans(total).into_iter().step_by(3).collect();
    run_as_alone(tracer, &[&CASES[..], &BEYOND_DYNAMORIO].concat(), few);
}

#[test]
fn programs_that_fault_and_go_on_run_as_alone_when_stepped() {
    let Some(tracer) = tracer("ptrace") else { return };
    let window = |total| vec![TracePlan::Window { skip: total / 2, length: Some(500) }];
    run_as_alone(tracer, &SHORT, window);
}

/// A handler has no stack to run on: alone, the program dies by the fault. DynamoRIO gives up with an exit code of its
/// own, which is not taken for the program's.
#[test]
fn a_tracer_that_gives_up_is_no_end_of_the_program() {
    let folder = TempDir::new().unwrap();
    let program = build(&folder);
    for tracer in all() {
        if tracer.ready().is_err() || tracer.name() == "ptrace" {
            continue;
        }
        match traced(*tracer, &program, "unprepared", TracePlan::Whole, &folder).0 {
            Err(TraceError::Failed { tracer: name, .. }) => assert_eq!(name, tracer.name()),
            Ok(traced) => assert_eq!(traced.ending, Ending::Killed(11), "{}", tracer.name()),
            Err(error) => panic!("{}: {error}", tracer.name()),
        }
    }
}
