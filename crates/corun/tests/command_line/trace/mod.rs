//! `corun trace` on real programs, by every tracer that works here.

mod doubts;
mod endings;
mod full;
mod programs;
mod requests;
mod turns;
mod workloads;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::{Outcome, Scratch, corun};

const TRACERS: [&str; 3] = ["dynamorio", "qemu", "ptrace"];

/// True if a tracer works here; a skip if not. Tried once: stepping even a small program takes seconds.
fn works(tracer: &str) -> bool {
    static TRIED: [OnceLock<Result<(), String>>; TRACERS.len()] =
        [const { OnceLock::new() }; TRACERS.len()];
    let place = TRACERS.iter().position(|known| *known == tracer).expect("a tracer");
    let tried = TRIED[place].get_or_init(|| {
        let scratch = Scratch::new();
        assemble(&scratch, "small", EXITS);
        let mut run = corun(["trace", "--once", "--tracer", tracer, "-o-", "--", "./small"]);
        let outcome = Outcome::of(run.current_dir(scratch.path()));
        if outcome.exit == Some(3) { Err(outcome.errors) } else { Ok(()) }
    });
    if let Err(errors) = tried {
        corun_testing::skip(&format!("trace by {tracer}"), errors.trim());
    }
    tried.is_ok()
}

/// Five instructions that exit with 7.
const EXITS: &str = r#""mov eax, 60", "mov edi, 7", "nop", "nop", "syscall""#;

/// Some that die by a signal of this number, which they send themselves; what follows is never executed.
fn kills_itself(signal: i32) -> String {
    format!(
        r#""mov eax, 39", "syscall", "mov edi, eax", "mov esi, {signal}", "mov eax, 62", "syscall", "ud2""#
    )
}

/// Builds a program of these instructions and nothing else, which is short to step.
#[track_caller]
fn assemble(scratch: &Scratch, name: &str, instructions: &str) {
    let source = format!(
        r#"
        #![no_std]
        #![no_main]
        core::arch::global_asm!(".globl _start", "_start:", {instructions});
        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo) -> ! {{ loop {{}} }}
        "#
    );
    let flags =
        ["-Cpanic=abort", "-Clink-arg=-nostartfiles", "-Clink-arg=-nostdlib", "-Clink-arg=-static"];
    compile_with(scratch, name, &source, &[&flags[..], &["-Crelocation-model=static"]].concat());
}

/// `corun trace` into the file `trace` of a folder, which the command runs in.
fn trace(tracer: &str, scratch: &Scratch) -> Command {
    let mut command = corun(["trace", "--once", "--quiet", "--output=trace", "--tracer", tracer]);
    command.current_dir(scratch.path()).arg("--");
    command
}

/// Builds a program of Rust under this name.
#[track_caller]
fn compile(scratch: &Scratch, name: &str, source: &str) {
    compile_with(scratch, name, source, &["-O"]);
}

#[track_caller]
fn compile_with(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) {
    let file = format!("{name}.rs");
    std::fs::write(scratch.file(&file), source).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    run_in(scratch, rustc, &[flags, &["-o", name, &file]].concat());
}

#[track_caller]
fn run_in(scratch: &Scratch, program: impl AsRef<OsStr>, arguments: &[&str]) {
    let program = program.as_ref();
    let output = Command::new(program).args(arguments).current_dir(scratch.path()).output();
    let output = output.unwrap_or_else(|error| panic!("{program:?}: {error}"));
    assert!(output.status.success(), "{program:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The form of `corun trace info --json`.
#[track_caller]
fn info(file: &Path) -> Value {
    let outcome = Outcome::of(corun(["trace", "info", "--json=-"]).arg(file));
    crate::schema::fitting::<corun_record::TraceInfo>(&outcome.output);
    serde_json::from_str(&outcome.output)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.output, outcome.errors))
}

/// Output of `corun trace check`; checks that a trace can be read to its end.
#[track_caller]
fn check(file: &Path) -> String {
    let outcome = Outcome::of(corun(["trace", "check"]).arg(file));
    assert_eq!(outcome.exit, Some(0), "{}{}", outcome.output, outcome.errors);
    outcome.output
}
