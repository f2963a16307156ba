//! A thread that computes and sleeps in turns, and notes when it computed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, clock_nanosleep_absolute, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

const NS: u64 = 1_000_000_000;

/// Busy for some time of each period of the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) period_ns: u64,
    /// Within the period.
    pub(crate) begins_ns: u64,
    pub(crate) busy_ns: u64,
}

/// A running load.
pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<[u64; 2]>>,
}

impl Load {
    /// Begins it on a logical CPU.
    pub(crate) fn begin(turns: Turns, cpu: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            pin_to(cpu);
            run(turns, &end)
        });
        Self { is_over, thread }
    }

    /// Ends it: when it computed.
    pub(crate) fn end(self) -> Vec<[u64; 2]> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("it does not panic")
    }
}

/// The calling thread runs on this logical CPU alone from now on.
///
/// # Panics
/// If the CPU is not online.
pub(crate) fn pin_to(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).expect("the CPU is online");
}

fn run(turns: Turns, is_over: &AtomicBool) -> Vec<[u64; 2]> {
    let mut busy = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let now_ns = now_ns();
        let within_ns = (now_ns + turns.period_ns - turns.begins_ns) % turns.period_ns;
        if within_ns >= turns.busy_ns {
            sleep_until(now_ns + turns.period_ns - within_ns);
            continue;
        }
        let end_ns = now_ns + turns.busy_ns - within_ns;
        let mut until_ns = now_ns;
        while until_ns < end_ns {
            until_ns = self::now_ns();
        }
        busy.push([now_ns, until_ns]);
    }
    busy
}

/// The shares of time with 0, 1, ... of these loads busy.
pub(crate) fn busy_siblings(busy: &[Vec<[u64; 2]>], [from_ns, to_ns]: [u64; 2]) -> Vec<f64> {
    let mut edges: Vec<(u64, i32)> = busy
        .iter()
        .flatten()
        .map(|it| it.map(|at_ns| at_ns.clamp(from_ns, to_ns)))
        .flat_map(|[begin, end]| [(begin, 1), (end, -1)])
        .collect();
    edges.push((to_ns, 0));
    edges.sort_unstable();
    let mut shares = vec![0.0; busy.len() + 1];
    let (mut now_ns, mut count) = (from_ns, 0);
    for (at_ns, change) in edges {
        // Of several changes at one time, only what is left after all of them counts.
        if at_ns > now_ns {
            shares[count as usize] += (at_ns - now_ns) as f64 / (to_ns - from_ns) as f64;
        }
        now_ns = at_ns;
        count += change;
    }
    shares
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * NS + now.tv_nsec.cast_unsigned()
}

fn sleep_until(at_ns: u64) {
    let at = Timespec { tv_sec: (at_ns / NS).cast_signed(), tv_nsec: (at_ns % NS).cast_signed() };
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}
