//! Native measurement: the cycles that a program spends in user mode on this machine, without a tracer.
//!
//! The program is pinned to one CPU and stopped at its system calls alone; between them it runs as
//! it would by itself. The scheduler's count of its run time, in nanoseconds, is read at each stop, so that
//! the kernel's time is separated exactly at the stops, not by timer ticks.

mod bracketed;
mod contention;
mod error;
mod overhead;
mod probe;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corun_calibrate::{InterferenceProbe, InterferenceReading};
use corun_machine::evidence::CpuTimes;
use corun_machine::{Affinity, CpuSet, RootFiles};
use corun_record::{MeasuredRun, MeasuredRuns};
use corun_stats::median;
use corun_trace::{Ending, SystemCall, Target};

use bracketed::Bracketed;
pub use error::MeasureError;
use overhead::Overhead;
use probe::Probe;

/// Runs that count, at most (with interference all that were alone do), and at least where there is time for them.
const RUNS: usize = 7;
const MIN_RUNS: usize = 3;
/// Runs that are tried at most, so that those with a core of their own can count.
const MAX_ATTEMPTS: usize = 200;
/// Runs before them.
const WARM_UP: usize = 1;
/// A run of this length counts even if it is the first: to fill caches takes a hundredth of it at most.
const LONG: Duration = Duration::from_secs(1);
/// Runs between two memory-interference samples, and the number of such intervals: interference changes within seconds.
const RUNS_PER_SAMPLE: usize = 3;
const SAMPLE_INTERVALS: usize = 16;
/// CPUs among which the one with the least contended core is chosen, and the probes of each.
const CPUS: usize = 16;
const PROBES: usize = 40;
/// Time between two probes.
const PAUSE: Duration = Duration::from_millis(1);

/// The method, as a sentence for people.
const METHOD: &str = "run time of the thread between its system calls, read where it stops at them, \
                      without what the stops themselves and its page faults cost here";

/// The measured runs, and the memory-interference readings between them.
#[derive(Debug)]
pub struct Measured {
    /// The runs.
    pub runs: MeasuredRuns,
    /// The memory-interference readings before, between and after the runs; empty without a probe.
    pub readings: Vec<InterferenceReading>,
}

/// The program and thread to measure.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The program.
    pub target: &'a Target,
    /// The system call after which the run counts.
    pub from: Option<SystemCall>,
    /// The thread, counted from 0 as they begin.
    pub thread: usize,
    /// The expected ending of the program.
    pub ending: Ending,
}

/// Measures a thread of a program: runs of the whole program, pinned to one CPU, after one that warms caches unless runs are
/// long; none begins that would have half of its time after `budget`, but one counts in any case. What was measured when
/// `stop` is set counts. Of all runs those count that had the core to themselves, or most
/// nearly. None if `stop` was set before one did. `progress` is called for each run. With a probe of memory `interference`, samples
/// are taken before, between and after the runs, and all uncontended runs count.
///
/// # Errors
/// If the program cannot be watched, or does not end as it is to.
pub fn measure(
    subject: Subject<'_>,
    budget: Duration,
    mut interference: Option<InterferenceProbe>,
    mut progress: impl FnMut(usize, usize) + Send,
    stop: &AtomicBool,
) -> Result<Option<Measured>, MeasureError> {
    let own = Affinity::of(0).map_err(MeasureError::Pinning)?.cpus();
    let set = subject.target.context.inherited.affinity().map(Affinity::cpus);
    let allowed = set.map_or_else(|| own.clone(), |set| own.intersection(&set));
    let begun = Instant::now();
    // A thread of its own is pinned, and traces what it started.
    std::thread::scope(|scope| {
        let measure = || {
            let cpu = least_contended_cpu(&allowed)?;
            pin(cpu)?;
            let overhead = Overhead::measure().map_err(MeasureError::Watching)?;
            let mut readings: Vec<InterferenceReading> = Vec::new();
            let mut tried: Vec<(MeasuredRun, Vec<Probe>)> = Vec::new();
            let mut since_sample = 0;
            let (mut warmup, mut longest) = (0, Duration::ZERO);
            let wanted =
                if interference.is_some() { RUNS_PER_SAMPLE * SAMPLE_INTERVALS } else { RUNS };
            while tried.len() < MAX_ATTEMPTS {
                let is_late = !tried.is_empty() && begun.elapsed() + longest / 2 > budget;
                // Each sample has runs on both sides.
                let is_between = interference.is_none() || since_sample == 0;
                if is_late || alone(&tried) >= wanted && is_between {
                    break;
                }
                progress(alone(&tried), wanted);
                if since_sample == 0 {
                    readings.extend(interference.as_mut().map(InterferenceProbe::sample));
                }
                let (steal, before) = (steal_s(cpu), Instant::now());
                let run = Bracketed::run(subject.target, subject.from, stop)?;
                let took = before.elapsed();
                longest = longest.max(took);
                let is_counted = since_sample >= WARM_UP || took >= LONG;
                since_sample += 1;
                // The run that was ended says nothing.
                if stop.load(Ordering::Relaxed) {
                    if tried.is_empty() {
                        return Ok(None);
                    }
                    break;
                }
                if run.ending != subject.ending {
                    return Err(MeasureError::Otherwise {
                        traced: subject.ending,
                        native: run.ending,
                    });
                }
                let taken =
                    steal.zip(steal_s(cpu)).map(|(before, after)| (after - before).max(0.0));
                if is_counted {
                    let measured = measured_run(&run, subject.thread, &overhead, taken)?;
                    tried.push((measured, run.probes));
                    set_contention_shares(&mut tried);
                } else if tried.is_empty() {
                    warmup += 1;
                }
                // A sample evicts the program from the caches, so a warm-up run follows it.
                if interference.is_some() && since_sample == WARM_UP + RUNS_PER_SAMPLE {
                    since_sample = 0;
                }
            }
            readings.extend(interference.as_mut().map(InterferenceProbe::sample));
            let shares: Vec<_> = tried.iter().map(|(run, _)| run.contention_share).collect();
            let most = if interference.is_some() { tried.len() } else { RUNS };
            let counted = contention::least_contended(&shares, MIN_RUNS, most);
            let runs = MeasuredRuns {
                cpu,
                warmup,
                method: METHOD.to_owned(),
                tried: tried.len() as u32,
                runs: counted.into_iter().map(|place| tried[place].0).collect(),
            };
            Ok(Some(Measured { runs, readings }))
        };
        let pinned = std::thread::Builder::new().spawn_scoped(scope, measure);
        pinned.map_err(MeasureError::Watching)?.join().expect("measuring does not panic")
    })
}

/// The CPU whose core is shared least at the moment; of equals the last, since the first takes most interrupts.
fn least_contended_cpu(allowed: &CpuSet) -> Result<u32, MeasureError> {
    let cpus: Vec<u32> = allowed.iter().rev().take(CPUS).collect();
    let mut probed = Vec::new();
    for &cpu in &cpus {
        pin(cpu)?;
        let probe = || {
            std::thread::sleep(PAUSE);
            Probe::take()
        };
        probed.push(std::iter::repeat_with(probe).take(PROBES).collect::<Vec<_>>());
    }
    let best = contention::best_slot_rate(probed.iter().flatten()).unwrap_or_default();
    let share_of = |probes: &[Probe]| contention::share(probes, best).unwrap_or_default();
    let shares = probed.iter().map(|probes| share_of(probes));
    let quietest = shares.enumerate().min_by(|one, other| one.1.total_cmp(&other.1));
    Ok(quietest.map_or(0, |(place, _)| cpus[place]))
}

fn pin(cpu: u32) -> Result<(), MeasureError> {
    Affinity::new(&CpuSet::from_iter([cpu])).apply(0).map_err(MeasureError::Pinning)
}

/// Sets each run's contention share again, since the best slot rate is that of all runs so far.
fn set_contention_shares(tried: &mut [(MeasuredRun, Vec<Probe>)]) {
    let Some(best) = contention::best_slot_rate(tried.iter().flat_map(|(_, probes)| probes)) else {
        return;
    };
    for (run, probes) in tried {
        run.contention_share = contention::share(probes, best);
    }
}

/// The number of runs that had the core to themselves.
fn alone(tried: &[(MeasuredRun, Vec<Probe>)]) -> usize {
    tried.iter().filter(|(run, _)| run.had_core_to_itself()).count()
}

fn measured_run(
    run: &Bracketed,
    thread: usize,
    overhead: &Overhead,
    steal_s: Option<f64>,
) -> Result<MeasuredRun, MeasureError> {
    let found = run
        .threads
        .get(thread)
        .ok_or(MeasureError::NoThread { expected: thread, found: run.threads.len() })?;
    let faults = found.faults as f64 * overhead.fault_s;
    let user = found.user.seconds(overhead.user_s) - faults;
    let kernel = found.kernel.seconds(overhead.kernel_s) + faults;
    Ok(MeasuredRun {
        wall_s: run.wall_s,
        user_s: user.max(0.0),
        kernel_s: kernel,
        children_share: run.children_share(),
        ghz: median(&run.probes.iter().map(|probe| probe.ghz).collect::<Vec<_>>())
            .unwrap_or_default(),
        probes: run.probes.len() as u32,
        contention_share: None,
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
