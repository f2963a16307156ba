//! What a program takes on this machine without a tracer: cycles in its own code.
//!
//! The program is pinned to one CPU and stopped at its system calls alone; between them it runs as
//! it would by itself. The scheduler's count of its run time, in nanoseconds, is read at each stop, so that
//! the kernel's time is told apart by brackets and not by the tick that happens to hit it.

#[cfg(target_os = "linux")]
mod bracketed;
#[cfg(target_os = "linux")]
mod companion;
#[cfg(target_os = "linux")]
mod overhead;
mod trouble;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corun_machine::evidence::CpuTimes;
use corun_machine::{Affinity, CpuSet, RootFiles};
use corun_measure::statistics::median;
use corun_record::{MeasuredRun, MeasuredRuns};
use corun_trace::{Ending, Target};

use bracketed::Bracketed;
use overhead::Overhead;
pub use trouble::MeasureTrouble;

/// Runs that count, at most.
const RUNS: usize = 7;
/// Runs before them.
const WARM_UP: u32 = 1;
/// No further run begins after this time; one counts in any case.
const BUDGET: Duration = Duration::from_secs(20);

/// How it was done, for people.
const METHOD: &str = "run time of the thread between its system calls, read where it stops at them, \
                      without what the stops themselves and its page faults cost here";

/// Measures a thread of a program, counted from 0 as they begin: runs of the whole program, pinned to one
/// CPU, after one that warms caches. None if `stop` was set. `progress` is told of each run.
///
/// # Errors
/// If the program cannot be watched, or does not end as `ending` says.
pub fn measure(
    target: &Target,
    thread: usize,
    ending: Ending,
    mut progress: impl FnMut(usize, usize) + Send,
    stop: &AtomicBool,
) -> Result<Option<MeasuredRuns>, MeasureTrouble> {
    let allowed = Affinity::of(0).map_err(MeasureTrouble::Pinning)?.cpus();
    // The last CPU: the first takes most interrupts.
    let cpu = allowed.iter().next_back().unwrap_or(0);
    let begun = Instant::now();
    // A thread of its own is pinned, and traces what it started.
    let measured = std::thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            let only = Affinity::new(&CpuSet::from_iter([cpu]));
            only.apply(0).map_err(MeasureTrouble::Pinning)?;
            let overhead = Overhead::measure().map_err(MeasureTrouble::Watching)?;
            let mut runs = Vec::new();
            for index in 0..WARM_UP as usize + RUNS {
                let counted = index >= WARM_UP as usize;
                if counted && !runs.is_empty() && begun.elapsed() > BUDGET {
                    break;
                }
                progress(index, WARM_UP as usize + RUNS);
                let steal = steal_s(cpu);
                let run = Bracketed::run(target, stop)?;
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                if run.ending != ending {
                    return Err(MeasureTrouble::Otherwise { traced: ending, native: run.ending });
                }
                let taken =
                    steal.zip(steal_s(cpu)).map(|(before, after)| (after - before).max(0.0));
                if counted {
                    runs.push(measured_run(&run, thread, &overhead, taken)?);
                }
            }
            Ok(Some(runs))
        });
        pinned.join().expect("measuring does not panic")
    });
    let told = |runs| MeasuredRuns { cpu, warm_up: WARM_UP, method: METHOD.to_owned(), runs };
    Ok(measured?.map(told))
}

fn measured_run(
    run: &Bracketed,
    thread: usize,
    overhead: &Overhead,
    steal_s: Option<f64>,
) -> Result<MeasuredRun, MeasureTrouble> {
    let found = run
        .threads
        .get(thread)
        .ok_or(MeasureTrouble::NoThread { expected: thread, found: run.threads.len() })?;
    let faults = found.faults as f64 * overhead.fault_s;
    let user = found.user.seconds(overhead.user_s) - faults;
    let kernel = found.kernel.seconds(overhead.kernel_s) + faults;
    Ok(MeasuredRun {
        wall_s: run.wall_s,
        user_s: user.max(0.0),
        kernel_s: kernel,
        ghz: median(&run.clocks).unwrap_or_default(),
        probes: run.clocks.len() as u32,
        steal_s,
    })
}

/// Time that the hypervisor has taken from a CPU.
fn steal_s(cpu: u32) -> Option<f64> {
    let mut files = RootFiles::open(Path::new("/")).ok()?;
    Some(CpuTimes::read(&mut files)?.0.get(&cpu)?.steal_s)
}

/// Does this in a thread on the last CPU, as measuring does.
#[cfg(test)]
fn pinned<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let last = CpuSet::from_iter(Affinity::of(0).unwrap().cpus().iter().next_back());
            Affinity::new(&last).apply(0).unwrap();
            run()
        });
        thread.join().unwrap()
    })
}
