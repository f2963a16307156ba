//! Requests of `corun trace`: parts of a run, some of its threads, input; and those that are not valid.

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{TRACERS, check, compile_with, info, trace, works};
use crate::common::{Outcome, Scratch, corun};

/// Some 100,000 instructions by themselves and as many of its start.
const COUNTS: [&str; 3] = ["sh", "-c", "i=0; while [ $i -lt 100 ]; do i=$((i + 1)); done; echo $i"];

/// 60,000 instructions in two kinds of loop, and ten around them: a single step takes `ptrace` a tenth of a millisecond and more
/// where a hypervisor sees it, too.
const LOOPS: &str = r#"
#![no_std]
#![no_main]

core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "mov ecx, 10000",
    "2: dec ecx",
    "jnz 2b",
    "mov ecx, 10000",
    "3: lea edx, [rcx + rcx]",
    "add edx, 3",
    "dec ecx",
    "jnz 3b",
    "mov eax, 1",
    "mov edi, 1",
    "lea rsi, [rip + 4f]",
    "mov edx, 5",
    "syscall",
    "mov eax, 60",
    "xor edi, edi",
    "syscall",
    "4: .ascii \"done\\n\""
);

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
"#;

/// Instructions of the first loop, and of both.
const FIRST_LOOP: u64 = 20_000;
const BOTH_LOOPS: u64 = 60_000;

/// The program of these loops in a folder of its own.
fn with_loops() -> Scratch {
    let scratch = Scratch::new();
    let flags =
        ["-Cpanic=abort", "-Clink-args=-nostdlib -static -no-pie", "-Crelocation-model=static"];
    compile_with(&scratch, "loops", LOOPS, &flags);
    scratch
}

fn reported(arguments: &[&str]) -> String {
    let scratch = Scratch::new();
    let outcome = Outcome::of(corun(["trace"]).args(arguments).current_dir(scratch.path()));
    assert_eq!(outcome.output, "");
    outcome.reported(scratch.path())
}

/// A interval has a block less or more than what was asked, at most: blocks are not divided.
const BLOCK: u64 = 64;

/// Options go before the command's `--`.
fn with(tracer: &str, scratch: &Scratch, options: &[&str]) -> Command {
    let mut command = corun(["trace", "--quiet", "--output=trace", "--tracer", tracer]);
    command.args(options).arg("--").current_dir(scratch.path());
    command
}

#[test]
fn samples_are_spread_over_the_run_each_after_its_warm_up() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = with_loops();
        let outcome =
            Outcome::of(with(tracer, &scratch, &["--sample=5:1k", "--warmup=500"]).arg("./loops"));
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), "done\n"), "{tracer}");
        let info = info(&scratch.file("trace"));
        let plan = &info["opening"]["plan"]["samples"];
        assert_eq!(
            (&plan["count"], &plan["length"], &plan["warm_up"]),
            (&json!(5), &json!(1000), &json!(500))
        );
        let recorded = info["instructions"].as_u64().unwrap();
        assert!(recorded.abs_diff(5 * 1500) <= 5 * BLOCK, "{tracer}: {recorded}");
        let whole = info["closing"]["instructions"].as_u64().unwrap();
        let total = plan["total"].as_u64().unwrap();
        assert!(total.abs_diff(whole) < BLOCK, "{tracer}: {total} {whole}");
        check(&scratch.file("trace"));
    }
}

/// Of each kind of work a interval, and together they stand for the whole run.
#[test]
fn samples_may_be_chosen_by_what_is_executed() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = with_loops();
        let options = ["--sample=4:1k", "--warmup=500", "--choose"];
        let outcome = Outcome::of(with(tracer, &scratch, &options).arg("./loops"));
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), "done\n"), "{tracer}");
        let info = info(&scratch.file("trace"));
        let plan = &info["opening"]["plan"]["simulation_points"];
        let windows = plan["windows"].as_array().unwrap();
        assert!((2..=4).contains(&windows.len()), "{tracer}: {plan}");
        let shares = windows.iter().map(|window| window["instructions"].as_u64().unwrap());
        assert_eq!(shares.sum::<u64>(), plan["total"].as_u64().unwrap(), "{tracer}");
        let is_in_first = |window: &&Value| window["begin"].as_u64() < Some(FIRST_LOOP);
        let of_first = windows.iter().filter(is_in_first).count();
        assert!((1..windows.len()).contains(&of_first), "{tracer}: {plan}");
        // However many they are, warm-ups have what was asked together.
        let expected = 1000 * windows.len() as u64 + 4 * 500;
        let recorded = info["instructions"].as_u64().unwrap();
        assert!(recorded.abs_diff(expected) <= 4 * BLOCK, "{tracer}: {recorded} {plan}");
        check(&scratch.file("trace"));
        let shown = Outcome::of(corun(["trace", "info"]).arg(scratch.file("trace")));
        let expected = format!("{} windows of 1,000 that stand for 60,0", windows.len());
        assert!(shown.output.contains(&expected), "{tracer}: {}", shown.output);
        let simulated = Outcome::of(corun(["simulate", "--model=zen4"]).arg(scratch.file("trace")));
        let expected = format!("its {} windows and what leads to each", windows.len());
        assert!(simulated.unwrapped().contains(&expected), "{tracer}: {}", simulated.output);
    }
}

/// More than a command line takes, of the tracers that are configured in another process. DynamoRIO misses some
/// that are shorter than a block.
#[test]
fn there_may_be_many_samples() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        let fewest = if tracer == "dynamorio" { 5000 } else { 20_000 };
        let scratch = Scratch::new();
        let outcome =
            Outcome::of(with(tracer, &scratch, &["--sample=20000:1", "--warmup=1"]).args(COUNTS));
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{tracer}");
        let info = info(&scratch.file("trace"));
        assert_eq!(info["opening"]["plan"]["samples"]["count"], json!(20_000), "{tracer}");
        let recorded = info["instructions"].as_u64().unwrap();
        assert!(recorded >= fewest, "{tracer}: {recorded}");
        check(&scratch.file("trace"));
    }
}

#[test]
fn a_call_that_is_not_made_costs_no_trace() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        std::fs::write(scratch.file("trace"), "kept").unwrap();
        let options = ["--from-call=fork"];
        let outcome = Outcome::of(with(tracer, &scratch, &options).args(["sh", "-c", "exec true"]));
        assert_eq!(outcome.exit, Some(1), "{tracer}");
        assert!(outcome.errors.contains("found none in its run"), "{tracer}: {}", outcome.errors);
        assert!(outcome.errors.contains("another program"), "{tracer}: {}", outcome.errors);
        assert_eq!(std::fs::read_to_string(scratch.file("trace")).unwrap(), "kept", "{tracer}");
    }
}

/// The program writes after its loops.
#[test]
fn what_lies_before_a_system_call_only_warms() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = with_loops();
        let options = ["--from-call=write", "--warmup=5k"];
        let outcome = Outcome::of(with(tracer, &scratch, &options).arg("./loops"));
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), "done\n"), "{tracer}");
        let info = info(&scratch.file("trace"));
        let plan = &info["opening"]["plan"]["after"];
        assert_eq!((&plan["warm_up"], &plan["rest"]), (&json!(5000), &json!("whole")), "{plan}");
        let whole = info["closing"]["instructions"].as_u64().unwrap();
        let recorded = info["instructions"].as_u64().unwrap();
        let skip = plan["skip"].as_u64().unwrap();
        assert!(skip.abs_diff(BOTH_LOOPS) < BLOCK, "{tracer}: {skip} {whole}");
        assert!(recorded.abs_diff(5000 + whole - skip) <= BLOCK, "{tracer}: {recorded}");
        check(&scratch.file("trace"));
    }
}

#[test]
fn a_window_is_cut_out_of_the_run() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = with_loops();
        let outcome =
            Outcome::of(with(tracer, &scratch, &["--skip=15k", "--length=10k"]).arg("./loops"));
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), "done\n"), "{tracer}");
        let info = info(&scratch.file("trace"));
        let recorded = info["instructions"].as_u64().unwrap();
        assert!(recorded.abs_diff(10_000) <= BLOCK, "{tracer}: {recorded}");
        assert!(info["closing"]["instructions"].as_u64() > Some(BOTH_LOOPS), "{tracer}: {info}");
        assert!(info["closing"]["native"]["seconds"].as_f64() > Some(0.0), "{tracer}: {info}");
    }
}

#[test]
fn the_threads_that_are_named_are_recorded() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        let numbers: String = (0..20_000).map(|number| format!("{number}\n")).collect();
        std::fs::write(scratch.file("numbers"), numbers).unwrap();
        let packs = ["xz", "-0", "-T2", "--block-size=8KiB", "-c", "numbers"];
        let counts = |options: &[&str]| {
            let outcome = Outcome::of(with(tracer, &scratch, options).args(packs));
            assert_eq!(outcome.exit, Some(0), "{tracer}: {}", outcome.errors);
            let closing = info(&scratch.file("trace"))["closing"].clone();
            let threads = closing["threads"].as_array().unwrap().clone();
            let counts = threads.iter().map(|thread| thread["instructions"].as_u64().unwrap());
            (counts.collect::<Vec<_>>(), closing["remarks"].clone())
        };
        let (all, _) = counts(&["--once"]);
        assert_eq!(all.len(), 3, "{tracer}");
        let (chosen, remarks) = counts(&["--once", "--threads=2,0,7"]);
        assert_eq!(chosen.len(), 2, "{tracer}");
        assert!(chosen.iter().all(|&count| count > 0), "{tracer}: {chosen:?}");
        let missing = json!("There was no thread 7: the program had 3, counted from 0.");
        assert!(remarks.as_array().unwrap().contains(&missing), "{tracer}: {remarks}");
    }
}

#[test]
fn the_program_reads_what_corun_was_given_in_both_runs() {
    for tracer in TRACERS.into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        std::fs::write(scratch.file("input"), "words\n").unwrap();
        let script = "read line; [ $line = words ] && echo $line >> runs";
        let file = File::open(scratch.file("input")).unwrap();
        let outcome =
            Outcome::of(with(tracer, &scratch, &[]).args(["sh", "-c", script]).stdin(file));
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{tracer}");
        assert_eq!(scratch.read("runs"), "words\nwords\n", "{tracer}");
        assert_ne!(info(&scratch.file("trace"))["closing"]["native"], Value::Null, "{tracer}");
    }
}

#[test]
fn what_a_pipe_holds_is_read_once() {
    let Some(tracer) = TRACERS.into_iter().find(|tracer| works(tracer)) else { return };
    let scratch = Scratch::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    let mut command = with(tracer, &scratch, &[]);
    let outcome = Outcome::of(command.args(["sh", "-c", "echo run >> runs"]).stdin(reader));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert_eq!(scratch.read("runs"), "run\n");
    assert_eq!(info(&scratch.file("trace"))["closing"]["native"], Value::Null);

    let (reader, _writer) = std::io::pipe().unwrap();
    let mut command = with(tracer, &scratch, &["--sample=2:5"]);
    let outcome = Outcome::of(command.args(["sh", "-c", "echo run >> runs"]).stdin(reader));
    insta::assert_snapshot!(outcome.reported(scratch.path()), @"
    exit 2
    corun: expected a program that can run twice for --sample, found a pipe on standard input
      Give the input as a file: corun trace --sample ... < FILE
    ");
}

#[test]
fn what_is_not_valid_is_refused_before_anything_runs() {
    let many = reported(&["-o", "t", "--sample=201:5", "--choose", "--", "true"]);
    insta::assert_snapshot!(many, @r"
    exit 2
    corun: expected at most 200 intervals with --choose, found 201
      Give fewer, or leave --choose out: with so many, evenly spaced ones are good enough.
    ");
    let without = reported(&["-o", "t", "--quiet", "--from-call=fork", "--", "true"]);
    insta::assert_snapshot!(without, @r"
    exit 1
    corun: expected a program that makes the system call fork, found none in its run
      Name a call that the process itself makes, before it becomes another program; strace without -f shows them. Or leave --from-call out.
    ");
    let unknown = reported(&["-o", "t", "--tracer=magic", "--", "true"]);
    insta::assert_snapshot!(unknown.replace("dynamorio, ", ""), @r#"
    exit 2
    corun: expected the name of a tracer (qemu, ptrace), found "magic"
      Give one of these names, or none: the best one is chosen.
    "#);
    insta::assert_snapshot!(reported(&["-o", "t", "--", "/nowhere/to/be/found"]), @r#"
    exit 1
    corun: expected a program, found nothing called "/nowhere/to/be/found" on the search path or at that place
      Check the spelling, or give the program's full path. An alias or a function of a shell is no program.
    "#);
    let ended = reported(&["-o", "t", "--once", "--skip=100G", "--", "true"]);
    assert!(
        ended.contains("goes on after 100,000,000,000 instructions, found that it ended"),
        "{ended}"
    );
    insta::assert_snapshot!(reported(&["-o", "missing/t", "--", "true"]), @"
    exit 1
    corun: could not write missing/t: No such file or directory (os error 2)
      Name a file in a folder that you may write to, or `-` for standard output.
    ");
    for arguments in [
        &["--", "true"][..],
        &["-o", "t", "--skip=0", "--", "true"],
        &["-o", "t", "--length=-1", "--", "true"],
        &["-o", "t", "--length=5m", "--", "true"],
        &["-o", "t", "--sample=0:5", "--", "true"],
        &["-o", "t", "--sample=5", "--", "true"],
        &["-o", "t", "--sample=5:5", "--skip=5", "--", "true"],
        &["-o", "t", "--sample=5:5", "--once", "--", "true"],
        &["-o", "t", "--warmup=5", "--", "true"],
        &["-o", "t", "--from-call=nothing", "--", "true"],
        &["-o", "t", "--from-call=write", "--once", "--", "true"],
        &["-o", "t", "--choose", "--", "true"],
        &["-o", "t", "--threads=first", "--", "true"],
        &["-o", "t", "--threads=", "--", "true"],
        &["-o", "t", "--level=0", "--", "true"],
        &["-o", "t", "--level=20", "--", "true"],
        &["info"],
        &["check"],
        &["convert", "t", "-o", "u"],
        &["convert", "--to=magic", "t", "-o", "u"],
        &["convert", "--to=champsim", "t"],
        &["convert", "--to=champsim", "--from=champsim", "t", "-o", "u"],
        &["convert", "--from=champsim", "--thread=1", "t", "-o", "u"],
    ] {
        let reported = reported(arguments);
        assert!(reported.starts_with("exit 2\nerror: "), "{arguments:?}: {reported}");
    }
    for arguments in [&["-o", "t"][..], &["-o", "t", "--"]] {
        let reported = reported(arguments);
        let expected = "exit 2\ncorun: expected a command or `--workload NAME`, found neither";
        assert!(reported.starts_with(expected), "{arguments:?}: {reported}");
    }
    for arguments in [
        &["info", "missing"][..],
        &["check", "missing"],
        &["convert", "--to=champsim", "missing", "-o", "u"],
        &["convert", "--from=champsim", "missing", "-o", "u"],
    ] {
        let reported = reported(arguments);
        assert!(reported.starts_with("exit 1\ncorun: "), "{arguments:?}: {reported}");
        assert!(
            reported.contains("missing") && reported.lines().count() == 3,
            "{arguments:?}: {reported}"
        );
    }
}

#[test]
fn what_a_trace_does_not_have_and_what_would_lose_it_is_refused() {
    let Some(tracer) = TRACERS.into_iter().find(|tracer| works(tracer)) else { return };
    let scratch = Scratch::new();
    assert_eq!(
        Outcome::of(trace(tracer, &scratch).arg("true").stdout(Stdio::null())).exit,
        Some(0)
    );
    let outcome = Outcome::of(
        corun(["trace", "convert", "--to=champsim", "trace", "-o", "u", "--thread=5"])
            .current_dir(scratch.path()),
    );
    insta::assert_snapshot!(outcome.reported(scratch.path()), @"
    exit 2
    corun: trace: expected the number of a thread that the trace holds (0), found 5
      Name one of these; threads are numbered from 0 in the order in which they began.
    ");
    let outcome = Outcome::of(
        corun(["trace", "convert", "--to=champsim", "trace", "-o", "./trace"])
            .current_dir(scratch.path()),
    );
    insta::assert_snapshot!(outcome.reported(scratch.path()), @"
    exit 2
    corun: expected another file for what is written than trace, found the same
      Give another file with -o: this one would be lost.
    ");
    check(&scratch.file("trace"));
}

/// Between its system calls, a thread is pinned to the tracer's CPU.
#[test]
fn a_program_that_is_stepped_sees_its_own_affinity_mask() {
    let of = |status: &str| {
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.expect("the CPUs of a process").trim().to_owned()
    };
    let scratch = Scratch::new();
    let stepped = |program: &[&str]| {
        let mut command = corun(["trace", "--once", "--quiet", "--tracer=ptrace", "-o"]);
        command.arg(scratch.file("status.trace")).arg("--").args(program);
        let outcome = Outcome::of(&mut command);
        assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
        of(&outcome.output)
    };
    let own = of(&std::fs::read_to_string("/proc/self/status").unwrap());
    assert_eq!(stepped(&["cat", "/proc/self/status"]), own);
    // One that sets its own mask keeps it.
    let last = own.rsplit([',', '-']).next().unwrap();
    let pinned = ["taskset", "--cpu-list", last, "cat", "/proc/self/status"];
    assert_eq!(stepped(&pinned), last);
}
