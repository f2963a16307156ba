//! Every workload's check value against the same number computed in another way: a file for each.

mod aim9;
mod aim9_system;
mod alias;
mod alloc;
mod branchy;
mod btree;
mod chase;
mod chat;
mod compress;
mod ctxswitch;
mod dbench;
mod fairness;
mod fib;
mod gups;
mod hash;
mod icache;
mod json;
mod lmbench;
mod lockline;
mod matmul;
mod ram;
mod regex;
mod regn;
mod sieve;
mod sort;
mod spin;
mod stream;
mod syscall_mix;
mod tbench;
mod tlb;

// The data that workloads make up, and what they make of it in the end; not the work between.
#[path = "../../../src/checksum.rs"]
mod checksum;
#[path = "../../../src/generated/mod.rs"]
mod generated;

use std::num::NonZeroUsize;
use std::sync::Barrier;

use corun_workload::{Job, Kernel, Parameters, find};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Numbers of operations around the lengths of loops, of the smallest array and of several passes.
const OPERATIONS: [u64; 11] = [1, 2, 3, 93, 1023, 1024, 1025, 2048, 5000, 123_456, 1_000_001];

#[test]
fn a_reset_forgets_the_run_before() {
    for name in [
        "alias",
        "alloc",
        "branchy",
        "btree",
        "chat",
        "compress",
        "dbench",
        "fairness",
        "fib",
        "hash",
        "icache",
        "json",
        "lockline",
        "matmul",
        "ram",
        "regex",
        "sieve",
        "sort",
        "spin",
        "syscall-mix",
        "tbench",
        "tlb",
    ] {
        assert_reset_forgets(name, &[]);
    }
    for name in ["chase", "gups", "stream"] {
        assert_reset_forgets(name, &["size=64KiB".into()]);
    }
}

fn assert_reset_forgets(name: &str, parameters: &[String]) {
    let mut kernel = kernels(name, parameters, 1).remove(0);
    let mut check_after = |operations| {
        kernel.reset();
        kernel.run(operations);
        kernel.check()
    };
    let short = check_after(7);
    check_after(10_000);
    assert_eq!(check_after(7), short, "{name}");
}

fn kernels(name: &str, parameters: &[String], workers: usize) -> Vec<Box<dyn Kernel>> {
    let workload = find(name).unwrap();
    let parameters = Parameters::parse(workload.descriptor(), parameters).unwrap();
    let workers = NonZeroUsize::new(workers).unwrap();
    match workload.prepare(&parameters, workers).unwrap() {
        Job::Kernels(kernels) => {
            assert_eq!(kernels.len(), workers.get());
            kernels
        }
        Job::Program(program) => panic!("{name} is a program: {program:?}"),
    }
}

/// Runs each kernel on a thread of its own, all starting together, and returns their check values.
fn run_at_once(kernels: &mut [Box<dyn Kernel>], shares: &[u64]) -> Vec<u64> {
    let start = Barrier::new(kernels.len());
    std::thread::scope(|scope| {
        let workers: Vec<_> = kernels
            .iter_mut()
            .zip(shares)
            .map(|(kernel, &operations)| {
                let start = &start;
                scope.spawn(move || {
                    kernel.reset();
                    start.wait();
                    kernel.run(operations);
                    kernel.check()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// Calls `run` on a thread that, like all threads it starts, may use a single CPU.
fn on_one_cpu<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap();
            let mut only = CpuSet::new();
            only.set(first);
            sched_setaffinity(None, &only).unwrap();
            run()
        });
        pinned.join().unwrap()
    })
}
