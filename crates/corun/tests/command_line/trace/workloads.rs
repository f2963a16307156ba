//! corun's own workloads under the tracers: they end as ever, with the same check value.

use super::{check, info, trace, works};
use crate::common::{Outcome, Scratch, corun};

/// A workload, how many operations it does, and the instructions that its trace must have at least.
const WORKLOADS: [(&str, &str, u64); 6] = [
    ("fib", "100000", 1_500_000),
    ("ram", "100", 1_500_000),
    ("matmul", "1", 10_000_000),
    ("sort", "1", 2_500_000),
    ("hash", "10", 1_500_000),
    ("compress", "1", 50_000_000),
];

#[test]
fn workloads_run_as_ever() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        for (workload, operations, instructions) in WORKLOADS {
            let scratch = Scratch::new();
            let operations = format!("--operations={operations}");
            let work = ["kernel-worker", &operations, workload];
            let native = Outcome::of(&mut corun(work));
            assert_eq!(native.exit, Some(0), "{workload}: {}", native.errors);
            assert!(native.output.contains("check value"), "{workload}: {}", native.output);

            let name = format!("{workload} by {tracer}");
            let command = [env!("CARGO_BIN_EXE_corun")].into_iter().chain(work);
            let traced = Outcome::of(trace(tracer, &scratch).args(command));
            assert_eq!((traced.exit, traced.errors.as_str()), (Some(0), ""), "{name}");
            assert_eq!(traced.output, native.output, "{name}");
            let info = info(&scratch.file("trace"));
            assert_eq!(info["closing"]["ending"], serde_json::json!({ "exited": 0 }), "{name}");
            assert!(info["instructions"].as_u64() > Some(instructions), "{name}: {info}");
            let checked = check(&scratch.file("trace"));
            assert!(checked.ends_with("\nsound and complete\n"), "{name}: {checked}");
        }
    }
}

#[test]
fn threads_come_in_the_order_of_their_workers() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        let work = ["kernel-worker", "--operations=1000", "--workers=12", "--threads=12", "fib"];
        let command = [env!("CARGO_BIN_EXE_corun")].into_iter().chain(work);
        let traced = Outcome::of(trace(tracer, &scratch).args(command));
        assert_eq!(traced.exit, Some(0), "{tracer}: {}", traced.errors);
        let info = info(&scratch.file("trace"));
        let threads = info["closing"]["threads"].as_array().unwrap();
        // Linux numbers threads as they are made, and once begins at the least number again.
        let numbers: Vec<_> = threads.iter().map(|thread| thread["tid"].as_u64()).collect();
        let steps_back = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(numbers.len() == 13 && steps_back <= 1, "{tracer}: {numbers:?}");
    }
}

/// The kernel's loop and the end of the process, not the start of corun, which has millions of instructions: too many for
/// ptrace.
#[test]
fn a_workload_is_traced_from_where_its_work_begins() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        for (options, most, threads) in [
            // A worker polls until all have begun and it may go on.
            (&["fib", "--operations=500"][..], 2_000_000, 1),
            (&["fib", "--operations=500", "--workers=3"], 2_000_000, 4),
            // Which makes the system call itself that others might be recognised by.
            (&["syscall-mix", "--param=mix=null", "--operations=500"], 2_000_000, 1),
        ] {
            let scratch = Scratch::new();
            let mut command = corun(["trace", "--quiet", "--output=trace", "--tracer", tracer]);
            command.current_dir(scratch.path()).arg("--workload").args(options);
            let traced = Outcome::of(&mut command);
            let name = format!("{options:?} by {tracer}");
            assert_eq!((traced.exit, traced.errors.as_str()), (Some(0), ""), "{name}");
            let info = info(&scratch.file("trace"));
            let instructions = info["instructions"].as_u64().unwrap();
            assert!((2000..most).contains(&instructions), "{name}: {instructions}");
            assert!(info["opening"]["plan"]["after"]["skip"].as_u64() > Some(500_000), "{name}");
            let recorded = info["threads"].as_array().unwrap().len();
            assert_eq!(recorded, threads, "{name}");
            let remark = info["opening"]["remarks"][0].as_str().unwrap();
            let expected = format!("The built-in workload {} (", options[0]);
            assert!(remark.starts_with(&expected), "{name}: {remark}");
        }
    }
}

#[test]
fn a_program_that_starts_its_work_elsewhere_is_no_way_to_trace_a_workload() {
    let scratch = Scratch::new();
    let own = env!("CARGO_BIN_EXE_corun");
    let mut command = corun(["trace", "--once", "--output=trace", own, "bench", "run", "no-such"]);
    let traced = Outcome::of(command.current_dir(scratch.path()));
    let errors = traced.errors.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(errors.contains("corun trace --workload NAME"), "{errors}");
}
