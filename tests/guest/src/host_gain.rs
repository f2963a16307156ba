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
        self.gain()
    }

    /// Whether this machine runs below a hypervisor, which may move its CPUs about.
    pub fn is_virtual_machine(&self) -> bool {
        let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        told.split_whitespace().any(|flag| flag == "hypervisor")
    }

    fn gain(&self) -> f64 {
        let cpus = [self.cores[0], self.cores[1]];
        let gain = |_| {
            let two = work_on(&cpus).expect("pinned threads");
            two / work_on(&cpus[..1]).expect("a pinned thread")
        };
        let mut gains: Vec<f64> = (0..ROUNDS).map(gain).collect();
        gains.sort_by(f64::total_cmp);
        gains[ROUNDS / 2]
    }
}

/// Pieces of work a second of a thread on each of these CPUs, summed.
fn work_on(cpus: &[usize]) -> io::Result<f64> {
    let start = Barrier::new(cpus.len());
    thread::scope(|scope| {
        let start = &start;
        let spawn = |&cpu| scope.spawn(move || repeat_on(cpu, start));
        let threads: Vec<_> = cpus.iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    })
}

fn repeat_on(cpu: usize, start: &Barrier) -> io::Result<f64> {
    let pinned = pin(gettid(), cpu);
    start.wait();
    pinned?;
    let begun = Instant::now();
    let mut count = 0_u32;
    while begun.elapsed() < SLICE {
        additions();
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
