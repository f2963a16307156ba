//! A program with threads, to see where corun puts them: `threads WORKERS OTHERS CPU,CPU,...`
//!
//! Of its WORKERS + OTHERS threads one checks where all are and the others sleep; the first one
//! checks, but with one other thread it only waits, as in programs that start a thread for each
//! worker and join them. It ends when worker i may run on the i-th CPU only, and under more others
//! when every thread may run on all of these CPUs; until then it goes on, and corun's `--timeout` is
//! what ends it.

use std::process::ExitCode;

use corun_machine::{Affinity, CpuSet};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workers, others, cpus] = arguments.as_slice() else { return ExitCode::from(2) };
    let (Ok(workers), Ok(others)) = (workers.parse::<usize>(), others.parse::<usize>()) else {
        return ExitCode::from(2);
    };
    let cpus: Vec<u32> = cpus.split(',').filter_map(|cpu| cpu.parse().ok()).collect();
    let first_waits = others == 1;
    for _ in 1..workers + others - usize::from(first_waits) {
        std::thread::spawn(|| {
            loop {
                std::thread::park();
            }
        });
    }
    let check = move || wait_until_in_place(workers, others, &cpus);
    if first_waits {
        let _ = std::thread::spawn(check).join();
    } else {
        check();
    }
    ExitCode::SUCCESS
}

fn wait_until_in_place(workers: usize, others: usize, cpus: &[u32]) {
    loop {
        // Seen in place once is not enough: corun may be about to move them, or to verify.
        if are_in_place(workers, others, cpus) {
            wait_for_corun_to_look();
            if are_in_place(workers, others, cpus) {
                return;
            }
        }
        std::thread::yield_now();
    }
}

fn are_in_place(workers: usize, others: usize, cpus: &[u32]) -> bool {
    let mut threads: Vec<i32> = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable();
    let is_on = |thread: i32, wanted: CpuSet| {
        Affinity::of(thread).is_ok_and(|affinity| affinity.cpus() == wanted)
    };
    match others {
        0 | 1 => threads[others..]
            .iter()
            .zip(cpus)
            .take(workers)
            .all(|(&thread, &cpu)| is_on(thread, [cpu].into())),
        _ => threads.iter().all(|&thread| is_on(thread, cpus.iter().copied().collect())),
    }
}

/// Waits until corun, the parent, has gone back to waiting for events a few times.
fn wait_for_corun_to_look() {
    let waits = || -> u64 {
        let corun = std::os::unix::process::parent_id();
        let status = std::fs::read_to_string(format!("/proc/{corun}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(u64::MAX)
    };
    let enough = waits().saturating_add(4);
    while waits() < enough {
        std::thread::yield_now();
    }
}
