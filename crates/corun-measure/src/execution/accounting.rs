//! Makespan and throughput, from the times at which workers ended.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use corun_record::{Arm, Latency, Pinning, WorkerSample};
use corun_workload::Tally;
use regex::Regex;

use super::error::ExecutionError;
use super::latency_report;
use super::output::Capture;
use super::start_barrier::StartBarrier;
use super::steady::Progress;
use super::watch::Sightings;
use super::work::{Command, KernelTask, Task, Work};

/// Account of one sample.
pub(super) struct Account {
    /// T.
    pub makespan: Duration,
    /// X, in operations per second.
    pub throughput: f64,
    /// Other counts of the same work, per second.
    pub rates: BTreeMap<String, f64>,
    /// Latencies of parts of the work.
    pub latencies: BTreeMap<String, Latency>,
    /// Samples of each worker.
    pub workers: Vec<WorkerSample>,
    /// The check value of each worker of a kernel; empty for commands.
    pub checks: Vec<u64>,
}

impl Account {
    /// Notes where each worker ran: where it was seen, or the CPU that it was pinned to. Nothing is
    /// said of workers that were pinned to a set of CPUs.
    pub(super) fn note_places(
        &mut self,
        arm: &Arm,
        pinning: Pinning,
        sightings: Option<Sightings>,
    ) {
        for (worker, sample) in self.workers.iter_mut().enumerate() {
            sample.cpus = match (pinning, &sightings) {
                // Where it was is distinguished from where it was to be.
                (Pinning::SetByProgram, _) => BTreeMap::new(),
                (Pinning::Pinned, _) => {
                    arm.cpus.get(worker).map(|&cpu| (cpu, 1)).into_iter().collect()
                }
                (_, Some(sightings)) => sightings.get(worker).cloned().unwrap_or_default(),
                (_, None) => BTreeMap::new(),
            };
        }
    }
}

/// Accounts for a sample whose workers all ended as they should.
///
/// # Errors
/// If a command was to report its throughput and did not.
pub(super) fn account(
    work: &Work,
    arm: &Arm,
    barrier: &StartBarrier,
    start_ns: u64,
    processes: &Progress,
    captures: &[Capture],
) -> Result<Account, ExecutionError> {
    let operations = work.operations_of_all(arm.workers) / f64::from(arm.workers);
    let (progress, checks, threads) = match &work.task {
        Task::Kernel(_) => {
            let (progress, checks) = reported_by_kernels(work, arm, barrier, start_ns);
            (progress, checks, 1)
        }
        Task::Command(_) | Task::Service(_) => (processes.clone(), Vec::new(), work.threads(arm)),
    };
    let throughput = match &work.task {
        Task::Command(Command { throughput: Some(pattern), .. }) => {
            reported_throughput(arm, pattern, captures)?
        }
        _ => progress.runs_per_second() * operations * threads as f64,
    };
    let (rates, latencies) = match &work.task {
        Task::Kernel(kernel) => {
            (rates(kernel, arm, barrier, &progress), latency_report::read(captures))
        }
        Task::Command(_) | Task::Service(_) => Default::default(),
    };
    let workers = progress
        .workers()
        .flat_map(|each| std::iter::repeat_n(each, threads))
        .enumerate()
        .map(|(worker, (runs, seconds))| WorkerSample {
            seconds,
            subtracted_s: subtracted(work, barrier, worker),
            runs,
            cpus: BTreeMap::new(),
            check: checks.get(worker).map(|check| format!("{check:016x}")),
        })
        .collect();
    let makespan = Duration::from_nanos(progress.makespan_ns());
    Ok(Account { makespan, throughput, rates, latencies, workers, checks })
}

/// Tallies of the kernels beside operations, per second.
fn rates(
    kernel: &KernelTask,
    arm: &Arm,
    barrier: &StartBarrier,
    progress: &Progress,
) -> BTreeMap<String, f64> {
    if !kernel.others.is_empty() {
        // Workloads of a mix count different things.
        return BTreeMap::new();
    }
    let tallies =
        corun_workload::find(&kernel.workload).map_or(&[][..], |it| it.descriptor().tallies);
    let per_second = |index: usize| {
        let slots = (0..arm.workers as usize).map(|worker| barrier.slot(worker));
        progress.per_second(slots.map(|slot| slot.tallies[index].load(Ordering::Acquire)))
    };
    let rate = |(index, tally): (usize, &Tally)| (tally.counted.to_owned(), per_second(index));
    tallies.iter().enumerate().map(rate).collect()
}

/// Overhead subtracted from the time of a worker, in seconds; `None` where nothing was.
fn subtracted(work: &Work, barrier: &StartBarrier, worker: usize) -> Option<f64> {
    let of_slot = || barrier.slot(worker).subtracted_ns.load(Ordering::Acquire);
    let is_kernel = matches!(work.task, Task::Kernel(_));
    is_kernel.then(of_slot).filter(|&ns| ns > 0).map(|ns| ns as f64 * 1e-9)
}

/// Reports of the kernels' workers in their slots.
fn reported_by_kernels(
    work: &Work,
    arm: &Arm,
    barrier: &StartBarrier,
    start_ns: u64,
) -> (Progress, Vec<u64>) {
    let mut progress = Progress::new(arm.workers as usize, work.steady);
    let mut checks = Vec::new();
    for worker in 0..arm.workers as usize {
        let slot = barrier.slot(worker);
        let end_ns = slot.end_ns.load(Ordering::Acquire).saturating_sub(start_ns);
        for _ in 0..slot.runs.load(Ordering::Acquire) {
            progress.finish(worker, end_ns);
        }
        checks.push(slot.check.load(Ordering::Acquire));
    }
    (progress, checks)
}

/// The sum of what all processes said of their throughput.
fn reported_throughput(
    arm: &Arm,
    pattern: &Regex,
    captures: &[Capture],
) -> Result<f64, ExecutionError> {
    let mut sum = 0.0;
    for (worker, capture) in captures.iter().enumerate() {
        sum +=
            last_number(pattern, &capture.text()).map_err(|found| ExecutionError::Throughput {
                arm: arm.id.clone(),
                worker,
                pattern: pattern.to_string(),
                found,
            })?;
    }
    Ok(sum)
}

/// The positive number in the group of the last match, or what was found instead.
pub(super) fn last_number(pattern: &Regex, text: &str) -> Result<f64, String> {
    let last = pattern.captures_iter(text).last().and_then(|groups| groups.get(1));
    positive(last.ok_or("no match")?.as_str())
}

/// The positive number that a text is, or the text.
pub(super) fn positive(found: &str) -> Result<f64, String> {
    match without_thousands_separators(found).parse() {
        Ok(number) if f64::is_finite(number) && number > 0.0 => Ok(number),
        _ => Err(format!("\"{found}\"")),
    }
}

/// The number without commas, if they stand where thousands end; else as it is, which is no number.
fn without_thousands_separators(number: &str) -> String {
    let whole = number.split('.').next().unwrap_or(number);
    let mut groups = whole.split(',');
    let first_is_short = groups.next().is_some_and(|first| (1..=3).contains(&first.len()));
    if first_is_short && groups.all(|group| group.len() == 3) {
        number.replace(',', "")
    } else {
        number.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_match_counts() {
        let pattern = Regex::new("rate: ([^ ]+) ops").unwrap();
        let number = |text: &str| last_number(&pattern, text);
        assert_eq!(number("rate: 1 ops\nrate: 12,345.5 ops"), Ok(12_345.5));
        assert_eq!(number("nothing"), Err("no match".to_owned()));
        assert_eq!(number("rate: 1234567.5 ops"), Ok(1_234_567.5));
        for wrong in ["many", "0", "-3", "inf", "nan", "12,5", "1,23,456", ",123"] {
            assert_eq!(number(&format!("rate: {wrong} ops")), Err(format!("\"{wrong}\"")));
        }
    }
}
