//! System calls that the built-in workloads add to what they measure: `cargo bench -p corun-measure
//! --bench system_calls`.
//!
//! The cheapest system call made by `syscall-mix`, against a loop of the same call in assembly,
//! alternating on one CPU; and a kernel that only counts, which is all that the way to a kernel
//! costs.

use std::arch::asm;
use std::num::NonZeroUsize;
use std::time::Instant;

use corun_machine::{Affinity, CpuSet};
use corun_stats::{median, paired};
use corun_workload::{Job, Kernel, Parameters, find};

const ROUNDS: usize = 40;
/// Runs of a round on either side, each side going first as often as the other. The fastest one
/// counts: a run is short enough that most are not interrupted, even beside other work.
const RUNS: usize = 50;
const CALLS: u64 = 5000;
const COUNTS: u64 = 100_000;

fn main() {
    pin();
    let mut counting = Counting { count: 0 };
    let mut calling = null_calls();
    let mut assembly = Assembly { parents: 0 };
    let empty: Vec<f64> = (0..ROUNDS).map(|_| nanoseconds(&mut counting, COUNTS)).collect();
    let (mut own, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut fastest = [f64::INFINITY; 2];
        for run in 0..RUNS {
            // The second finds the way into the kernel warm.
            for side in [run % 2, 1 - run % 2] {
                let kernel: &mut dyn Kernel = if side == 0 { &mut *calling } else { &mut assembly };
                fastest[side] = fastest[side].min(nanoseconds(kernel, CALLS));
            }
        }
        own.push(fastest[0]);
        bare.push(fastest[1]);
    }
    let median = |values: &[f64]| median(values).unwrap_or(f64::NAN);
    println!("a kernel that only counts: {:.3} ns an operation", median(&empty));
    println!("getppid: syscall-mix {:.2} ns, assembly {:.2} ns", median(&own), median(&bare));
    let logs: Vec<f64> = own.iter().zip(&bare).map(|(own, bare)| (own / bare).ln()).collect();
    if let Some(estimate) = paired(&logs, 0.95) {
        let [ratio, low, high] = estimate.ratio();
        println!("  syscall-mix / assembly: {ratio:.4} ({low:.4} to {high:.4})");
    }
}

/// To one CPU that this process may use, as corun pins the workers of a sample.
fn pin() {
    let cpus = Affinity::of(0).expect("a thread has CPUs").cpus();
    let last = cpus.iter().next_back().expect("at least one");
    Affinity::new(&CpuSet::from_iter([last])).apply(0).expect("a CPU of its own");
}

/// Nanoseconds an operation.
fn nanoseconds(kernel: &mut dyn Kernel, operations: u64) -> f64 {
    kernel.reset();
    let begin = Instant::now();
    kernel.run(operations);
    let seconds = begin.elapsed().as_secs_f64();
    std::hint::black_box(kernel.check());
    seconds * 1e9 / operations as f64
}

fn null_calls() -> Box<dyn Kernel> {
    let workload = find("syscall-mix").expect("a built-in workload");
    let parameters =
        Parameters::parse(workload.descriptor(), ["mix=null"]).expect("one of its mixes");
    match workload.prepare(&parameters, NonZeroUsize::MIN) {
        Ok(Job::Kernels(mut kernels)) => kernels.remove(0),
        _ => panic!("syscall-mix cannot be prepared"),
    }
}

struct Counting {
    count: u64,
}

impl Kernel for Counting {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn run(&mut self, operations: u64) {
        let mut count = self.count;
        for _ in 0..operations {
            // SAFETY: there is no instruction; the count stays in its register.
            unsafe { asm!("/* {} */", inout(reg) count, options(nomem, nostack)) };
            count += 1;
        }
        self.count = count;
    }

    fn check(&self) -> u64 {
        self.count
    }
}

struct Assembly {
    parents: u64,
}

impl Kernel for Assembly {
    fn reset(&mut self) {
        self.parents = 0;
    }

    #[cfg(target_arch = "x86_64")]
    fn run(&mut self, operations: u64) {
        const GETPPID: u64 = 110;
        // SAFETY: the call has no argument and cannot fail; it changes rax, rcx and r11.
        unsafe {
            asm!(
                "2:",
                "mov eax, {getppid}",
                "syscall",
                "add {parents}, rax",
                "dec {left}",
                "jnz 2b",
                getppid = const GETPPID,
                parents = inout(reg) self.parents,
                left = inout(reg) operations => _,
                out("rax") _,
                out("rcx") _,
                out("r11") _,
                options(nostack),
            );
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn run(&mut self, operations: u64) {
        const GETPPID: u64 = 173;
        // SAFETY: the call has no argument and cannot fail; it changes x0.
        unsafe {
            asm!(
                "2:",
                "mov x8, {getppid}",
                "svc 0",
                "add {parents}, {parents}, x0",
                "subs {left}, {left}, 1",
                "b.ne 2b",
                getppid = const GETPPID,
                parents = inout(reg) self.parents,
                left = inout(reg) operations => _,
                out("x0") _,
                out("x8") _,
                options(nostack),
            );
        }
    }

    fn check(&self) -> u64 {
        self.parents
    }
}
