//! What two of the host's CPUs do together, compared with one: the truth that guests are held to.
//!
//! A host that is a virtual machine itself may have two CPUs on one core, now or always; then no
//! guest on them can gain what two cores would.

use std::hint::black_box;
use std::io;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::gettid;

use crate::Host;
use crate::pinning::pin;

const ROUNDS: usize = 15;
const SLICE: Duration = Duration::from_millis(40);

impl Host {
    /// The work of two threads with a CPU each over the work of one: 2 on cores of their own, down
    /// to 1. The median of rounds that take about a second together.
    ///
    /// # Panics
    /// If the host has one core only or refuses to pin a thread.
    pub fn gain_of_two_cpus(&self) -> f64 {
        self.gain(additions)
    }

    /// Whether two of the host's CPUs are siblings, as far as they hinder each other where all work
    /// goes through one port of a core.
    ///
    /// # Panics
    /// As [`gain_of_two_cpus`](Self::gain_of_two_cpus).
    pub fn has_siblings(&self) -> bool {
        self.gain(multiplications) < 1.6
    }

    fn gain(&self, work: Work) -> f64 {
        let cpus = [self.cores[0], self.cores[1]];
        let gain = |_| {
            let two = work_on(&cpus, work).expect("pinned threads");
            two / work_on(&cpus[..1], work).expect("a pinned thread")
        };
        let mut gains: Vec<f64> = (0..ROUNDS).map(gain).collect();
        gains.sort_by(f64::total_cmp);
        gains[ROUNDS / 2]
    }
}

/// A little work, always the same.
type Work = fn();

/// Pieces of work a second of a thread on each of these CPUs, summed.
fn work_on(cpus: &[usize], work: Work) -> io::Result<f64> {
    let start = Barrier::new(cpus.len());
    thread::scope(|scope| {
        let start = &start;
        let spawn = |&cpu| scope.spawn(move || repeat_on(cpu, start, work));
        let threads: Vec<_> = cpus.iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    })
}

fn repeat_on(cpu: usize, start: &Barrier, work: Work) -> io::Result<f64> {
    let pinned = pin(gettid(), cpu);
    start.wait();
    pinned?;
    let begun = Instant::now();
    let mut count = 0_u32;
    while begun.elapsed() < SLICE {
        work();
        count += 1;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

/// Adds to one number in memory, as the guests' workload does.
fn additions() {
    let mut sum = 0_u64;
    for _ in 0..10_000 {
        *black_box(&mut sum) += 1;
    }
}

/// Four chains of multiplications: more than enough for the one port that multiplies.
fn multiplications() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: registers only.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 8",
            "imul {a}, {a}",
            "imul {b}, {b}",
            "imul {c}, {c}",
            "imul {d}, {d}",
            ".endr",
            "dec {left:e}",
            "jnz 2b",
            a = inout(reg) 3_u64 => _,
            b = inout(reg) 5_u64 => _,
            c = inout(reg) 7_u64 => _,
            d = inout(reg) 9_u64 => _,
            left = inout(reg) 1000 => _,
            options(nomem, nostack)
        );
    }
    // Guests are x86-64 machines, so nobody else asks.
    #[cfg(not(target_arch = "x86_64"))]
    additions();
}
