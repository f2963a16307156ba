//! Small programs that say themselves what they do, and traces of them by every tracer.
//!
//! Stepping is checked against what the programs state, the other tracers against stepping: instruction
//! by instruction and access by access.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod comparison;
mod program;
mod stepping;

use std::sync::atomic::AtomicBool;

use corun_trace::{Plan, Recording, Target, Traced, Tracer};

use comparison::{Blind, compare};
use program::Program;

/// The programs whose traces are the same whoever traces, and every time.
const DETERMINISTIC: &[&str] = &[
    "addressing",
    "atomics",
    "avx2",
    "avx512",
    "changed",
    "counting",
    "dispatch",
    "list",
    "matrix",
    "overwritten",
    "recursion",
    "segments",
    "sieve",
    "signals",
    "sort",
    "stack",
    "state",
    "strings",
];

/// The trace of a whole run, and how it ended.
fn traced(tracer: &dyn Tracer, program: &Program) -> (Recording, Traced) {
    let mut recording = Recording::default();
    let target = Target { program: program.file.clone(), arguments: Vec::new() };
    let traced = tracer.trace(&target, Plan::Whole, &mut recording, &AtomicBool::new(false));
    (recording, traced.unwrap())
}

/// Whether a tracer tells what stepping tells, but for what it is known not to see.
fn agrees_with_stepping(tracer: &dyn Tracer, blind: Blind) {
    let differences: Vec<_> = DETERMINISTIC
        .iter()
        .filter(|&&name| !(blind.avx512 && name == "avx512"))
        .filter(|&&name| !(blind.segments && name == "segments"))
        .filter_map(|name| Program::build(name))
        .filter_map(|program| {
            let (stepped, expected) = traced(&corun_trace::Ptrace, &program);
            let (found, counted) = traced(tracer, &program);
            assert_eq!(counted.ending, expected.ending, "{}", program.name);
            assert_eq!(counted.instructions, expected.instructions, "{}", program.name);
            let blind = Blind { frames: blind.frames && program.name == "signals", ..blind };
            let difference = compare(&stepped, &found, blind).err()?;
            Some(format!("{}:\n{difference}", program.name))
        })
        .collect();
    assert!(differences.is_empty(), "{}: {}", tracer.name(), differences.join("\n"));
}

#[test]
fn qemu_agrees_with_stepping() {
    if let Err(missing) = corun_trace::Qemu.ready() {
        return corun_testing::skip("trace by qemu", &missing.to_string());
    }
    let blind =
        Blind { prefetches: true, masked: true, frames: true, avx512: true, ..Blind::default() };
    agrees_with_stepping(&corun_trace::Qemu, blind);
}

#[test]
fn dynamorio_agrees_with_stepping() {
    #[cfg(not(feature = "dynamorio"))]
    corun_testing::skip("trace by dynamorio", "built without the feature dynamorio");
    #[cfg(feature = "dynamorio")]
    agrees_with_stepping(&corun_trace::DynamoRio, Blind { segments: true, ..Blind::default() });
}

#[test]
fn stepping_twice_gives_the_same() {
    agrees_with_stepping(&corun_trace::Ptrace, Blind::default());
}
