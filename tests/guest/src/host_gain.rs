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
    /// to 1, which it is on a host with one core. The median of rounds that take about a second together.
    ///
    /// # Panics
    /// If the host refuses to pin a thread.
    pub fn gain_of_two_cpus(&self) -> f64 {
        let &[first, second, ..] = self.cores.as_slice() else { return 1.0 };
        let gain = |_| {
            let two = work_on(&[first, second]).expect("pinned threads");
            two / work_on(&[first]).expect("a pinned thread")
        };
        let mut gains: Vec<f64> = (0..ROUNDS).map(gain).collect();
        gains.sort_by(f64::total_cmp);
        gains[ROUNDS / 2]
    }

    /// True if this machine runs below a hypervisor, which may move its CPUs about.
    pub fn is_virtual_machine(&self) -> bool {
        let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        told.split_whitespace().any(|flag| flag == "hypervisor")
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
        calculations();
        count += 1;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

/// Multiplications and loads in four independent chains: they need so many slots of a core that two siblings of one
/// core are told from two cores.
fn calculations() {
    const TABLE: [u64; 4] = [0x9e37_79b9, 0x7f4a_7c15, 0xbf58_476d, 0x94d0_49bb];
    let mut chains = black_box([1_u64, 2, 3, 4]);
    for _ in 0..2_500 {
        for chain in &mut chains {
            *chain = chain.wrapping_mul(0x2545_f491).rotate_left(7) ^ TABLE[(*chain & 3) as usize];
        }
    }
    black_box(chains);
}
