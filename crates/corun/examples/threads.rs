//! A program with threads, to see where corun puts them: `threads KIND WORKERS CPU,CPU,...`
//!
//! KIND says how many threads there are and who of them works. The program ends when all are where
//! they belong: the workers on these CPUs, one each, or, where corun cannot know the workers, every
//! thread on all of these CPUs. Which worker has which CPU is open: idle cores come first. Until then it waits, and corun's `--timeout` is what ends it.

use std::process::ExitCode;
use std::thread;

use corun_machine::{Affinity, CpuSet};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, workers, cpus] = arguments.as_slice() else { return ExitCode::from(2) };
    let Ok(workers) = workers.parse::<usize>() else { return ExitCode::from(2) };
    let cpus: Vec<u32> = cpus.split(',').filter_map(|cpu| cpu.parse().ok()).collect();
    let (count, first_works, one_by_one) = match kind.as_str() {
        "all-work" => (workers, true, true),
        "first-waits" => (workers + 1, false, true),
        "first-works-too" => (workers + 1, true, false),
        "many-more" => (workers + 3, true, false),
        _ => return ExitCode::from(2),
    };
    let first_worker = usize::from(!first_works);
    let work = move || wait_for_places(first_worker, &cpus, one_by_one);
    if first_works {
        start_idle(count - 1);
        work();
        return ExitCode::SUCCESS;
    }
    start_idle(count - 2);
    match thread::spawn(work).join() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Starts threads that do nothing until the program ends.
fn start_idle(count: usize) {
    for _ in 0..count {
        thread::spawn(|| {
            loop {
                thread::park();
            }
        });
    }
}

/// Works, in that it never sleeps, until all threads are and stay where they belong.
fn wait_for_places(first_worker: usize, cpus: &[u32], one_by_one: bool) {
    loop {
        // Seen in place once is not enough: corun may be about to move them, or to verify.
        if are_in_place(first_worker, cpus, one_by_one) {
            wait_for_corun_to_sample();
            if are_in_place(first_worker, cpus, one_by_one) {
                return;
            }
        }
        thread::yield_now();
    }
}

fn are_in_place(first_worker: usize, cpus: &[u32], one_by_one: bool) -> bool {
    let mut threads: Vec<i32> = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable();
    let mask = |&thread: &i32| Affinity::of(thread).map(|affinity| affinity.cpus());
    if one_by_one {
        let masks: Vec<CpuSet> = threads[first_worker..].iter().flat_map(mask).collect();
        let mut found: Vec<u32> = masks.iter().flat_map(CpuSet::iter).collect();
        let mut wanted = cpus.to_vec();
        found.sort_unstable();
        wanted.sort_unstable();
        masks.len() == wanted.len() && found == wanted
    } else {
        let all: CpuSet = cpus.iter().copied().collect();
        threads.iter().all(|thread| mask(thread).is_ok_and(|found| found == all))
    }
}

/// Waits until corun, the parent, has gone back to waiting for events a few times.
fn wait_for_corun_to_sample() {
    let waits = || -> u64 {
        let corun = std::os::unix::process::parent_id();
        let status = std::fs::read_to_string(format!("/proc/{corun}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(u64::MAX)
    };
    let enough = waits().saturating_add(4);
    while waits() < enough {
        thread::yield_now();
    }
}
