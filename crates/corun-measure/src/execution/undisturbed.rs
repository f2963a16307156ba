//! Throughput of a sample without the time that other work took from its workers.
//!
//! Of workers with a CPU each, all waiting in the run queue is for others. Where that is not known, as of children, the
//! processor time of the workers of each CPU still is.
//!
//! The scheduler counts waiting in the run queue by the clock, so that what the hypervisor takes meanwhile (steal) is in it;
//! what it takes while the worker runs is not (`update_rq_clock_task`, `sched_info_arrive` in the kernel). It does not know which
//! task has the CPU: of the time that a worker did not wait, it took the same share as of all.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use corun_record::{Arm, Undisturbed, WorkerSample};

use super::start_barrier::{Slot, StartBarrier, cpu_us};
use super::watch::Ended;
use crate::evidence::beyond_wake_ups_ns;

/// A worker that waits gets a twentieth of its CPU at least.
const MAX_TAKEN: f64 = 0.95;
/// A kernel's process whose other threads used more than this share of its CPU time waits for these too.
const OF_OTHER_THREADS: f64 = 0.02;

/// Time of one worker over its counted runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct WorkTime {
    /// Time on CPUs, children included, in seconds.
    cpu_s: f64,
    /// Time in the run queue for other work, in seconds, where it is known.
    waited_s: Option<f64>,
    /// True once a run was added.
    is_known: bool,
}

impl WorkTime {
    /// Adds a run of a command: a process that has ended.
    pub(super) fn add(&mut self, ended: &Ended, slot: &Slot) {
        let [cpu_before_us, sleeps_before] =
            [&slot.cpu_before_us, &slot.sleeps_before].map(|it| it.load(Ordering::Acquire));
        let cpu_us = cpu_us(&ended.usage).saturating_sub(cpu_before_us);
        let sleeps = (ended.usage.ru_nvcsw as u64).saturating_sub(sleeps_before);
        let waited_s = ended.waited_ns.map(|waited_ns| waited_s(waited_ns, sleeps));
        self.cpu_s += cpu_us as f64 * 1e-6;
        self.waited_s = match (self.is_known, self.waited_s) {
            (false, _) => waited_s,
            (true, before) => before.zip(waited_s).map(|(before, more)| before + more),
        };
        self.is_known = true;
    }
}

fn waited_s(waited_ns: u64, wake_ups: u64) -> f64 {
    beyond_wake_ups_ns(waited_ns, wake_ups) as f64 * 1e-9
}

/// Times that kernels report in their slots, where each process is one worker that had waited so long before.
pub(super) fn of_kernels(
    barrier: &StartBarrier,
    waited_before_ns: &[Option<u64>],
) -> Vec<WorkTime> {
    let of_worker = |(worker, before): (usize, &Option<u64>)| {
        let slot = barrier.slot(worker);
        let read = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Acquire);
        let cpu_us = read(&slot.cpu_us).saturating_sub(read(&slot.cpu_before_us));
        let is_alone = read(&slot.own_cpu_us) as f64 >= (1.0 - OF_OTHER_THREADS) * cpu_us as f64;
        let waited_ns = || read(&slot.waited_ns).checked_sub(1)?.checked_sub((*before)?);
        let sleeps = read(&slot.sleeps).saturating_sub(read(&slot.sleeps_before));
        let waited_ns = waited_ns().filter(|_| is_alone);
        WorkTime {
            cpu_s: cpu_us as f64 * 1e-6,
            waited_s: waited_ns.map(|waited_ns| waited_s(waited_ns, sleeps)),
            is_known: true,
        }
    };
    waited_before_ns.iter().enumerate().map(of_worker).collect()
}

/// Throughput of a sample without the time that others took, where each worker is a process.
pub(super) fn of(
    arm: &Arm,
    (workers, throughput): (&[WorkerSample], f64),
    (times, stolen): (&[WorkTime], &BTreeMap<u32, f64>),
    is_steady: bool,
) -> Undisturbed {
    if arm.cpus.len() != workers.len() || times.len() != workers.len() {
        return Undisturbed::default();
    }
    let waited: Option<Vec<f64>> = times.iter().map(|time| time.waited_s).collect();
    let by_waits = waited.map(|waited| {
        let pairs = workers.iter().zip(waited);
        pairs
            .map(|(it, waited_s)| (it, it.seconds - waited_s.min(MAX_TAKEN * it.seconds)))
            .collect::<Vec<_>>()
    });
    let without_steal = by_waits.as_ref().and_then(|waits| {
        let kept = |((worker, left_s), cpu): (&(_, f64), &u32)| {
            Some((*worker, left_s * (1.0 - stolen.get(cpu)?.min(MAX_TAKEN))))
        };
        waits.iter().zip(&arm.cpus).map(kept).collect()
    });
    let is_alone = arm.has_cpus_of_its_own();
    let mut on_cpu: BTreeMap<u32, f64> = BTreeMap::new();
    for (cpu, time) in arm.cpus.iter().zip(times) {
        *on_cpu.entry(*cpu).or_default() += time.cpu_s;
    }
    let by_processor = workers.iter().zip(&arm.cpus).map(|(worker, cpu)| (worker, on_cpu[cpu]));
    let by_processor: Vec<_> = by_processor.collect();
    let is_used = times.iter().all(|time| time.cpu_s > 0.0) && (is_alone || !is_steady);
    let scaled = |seconds: Vec<(&WorkerSample, f64)>| {
        Some(throughput * factor(&seconds, is_steady)).filter(|it| it.is_finite() && *it > 0.0)
    };
    // Start-up that is subtracted from run to run takes its own waits along.
    let subtracts = is_steady && workers.iter().any(|worker| worker.subtracted_s.is_some());
    Undisturbed {
        by_elapsed: by_waits.filter(|_| is_alone && !subtracts).and_then(scaled),
        without_steal: without_steal.filter(|_| is_alone && !subtracts).and_then(scaled),
        by_processor: Some(by_processor).filter(|_| is_used).and_then(scaled),
    }
}

/// The factor by which throughput grows if workers take these times instead of their own.
fn factor(seconds: &[(&WorkerSample, f64)], is_steady: bool) -> f64 {
    if is_steady {
        let rate = |of: &dyn Fn(&(&WorkerSample, f64)) -> f64| -> f64 {
            seconds.iter().map(|it| f64::from(it.0.runs) / of(it)).sum()
        };
        return rate(&|it| it.1) / rate(&|it| it.0.seconds);
    }
    let longest = |of: &dyn Fn(&(&WorkerSample, f64)) -> f64| -> f64 {
        seconds.iter().map(of).fold(0.0, f64::max)
    };
    longest(&|it| it.0.seconds) / longest(&|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arm;

    fn worker(seconds: f64, runs: u32) -> WorkerSample {
        WorkerSample { seconds, subtracted_s: None, runs, cpus: BTreeMap::new(), check: None }
    }

    fn time(cpu_s: f64, waited_s: Option<f64>) -> WorkTime {
        WorkTime { cpu_s, waited_s, is_known: true }
    }

    #[test]
    fn the_slowest_worker_without_its_waits_counts() {
        let two = arm("spread", 2, 2, &[0, 1]);
        let workers = [worker(3.0, 1), worker(2.0, 1)];
        let times = [time(1.5, Some(1.5)), time(1.8, Some(0.0))];
        let found = of(&two, (&workers, 2.0 / 3.0), (&times, &nothing()), false);
        assert!((found.by_elapsed.unwrap() - 2.0 / 2.0).abs() < 1e-12);
        assert!((found.by_processor.unwrap() - 2.0 / 1.8).abs() < 1e-12);
    }

    fn nothing() -> BTreeMap<u32, f64> {
        BTreeMap::new()
    }

    #[test]
    fn what_the_hypervisor_took_while_a_worker_ran_is_taken_out_once() {
        let two = arm("spread", 2, 2, &[0, 1]);
        let workers = [worker(10.0, 1), worker(10.0, 1)];
        let times = [time(4.5, Some(5.0)), time(7.0, Some(0.0))];
        // The first worker waited for half of the time, which holds its part of the steal.
        let stolen = [(0, 0.1), (1, 0.3)].into();
        let found = of(&two, (&workers, 0.2), (&times, &stolen), false);
        assert!((found.by_elapsed.unwrap() - 2.0 / 10.0).abs() < 1e-12);
        assert!((found.without_steal.unwrap() - 2.0 / 7.0).abs() < 1e-12);
        assert!((found.by_processor.unwrap() - 2.0 / 7.0).abs() < 1e-12);
        let one_alone = [(0, 0.1)].into();
        assert_eq!(of(&two, (&workers, 0.2), (&times, &one_alone), false).without_steal, None);
    }

    #[test]
    fn workers_of_one_cpu_wait_for_each_other_and_use_it_in_turns() {
        let stacked = arm("stacked", 2, 1, &[0, 0]);
        let workers = [worker(4.0, 1), worker(4.0, 1)];
        let times = [time(1.0, Some(2.0)), time(1.5, Some(2.0))];
        let found = of(&stacked, (&workers, 0.5), (&times, &nothing()), false);
        assert_eq!(found.by_elapsed, None);
        assert!((found.by_processor.unwrap() - 2.0 / 2.5).abs() < 1e-12);
    }

    #[test]
    fn copies_that_run_again_have_rates_of_their_own() {
        let two = arm("spread", 2, 2, &[0, 1]);
        let workers = [worker(2.0, 2), worker(2.0, 1)];
        let times = [time(1.0, Some(1.0)), time(2.0, Some(0.0))];
        let found = of(&two, (&workers, 1.5), (&times, &nothing()), true);
        assert!((found.by_elapsed.unwrap() - 2.5).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        let two = arm("spread", 2, 2, &[0, 1]);
        let workers = [worker(2.0, 1), worker(2.0, 1)];
        let times = [time(1.0, None), time(1.0, Some(0.0))];
        assert_eq!(of(&two, (&workers, 1.0), (&times, &nothing()), false).by_elapsed, None);
        assert_eq!(
            of(&two, (&workers, 1.0), (&times[..1], &nothing()), false),
            Undisturbed::default()
        );
        let free = arm("free", 2, 0, &[]);
        assert_eq!(of(&free, (&workers, 1.0), (&times, &nothing()), false), Undisturbed::default());
        let unused = [time(0.0, None); 2];
        assert_eq!(of(&two, (&workers, 1.0), (&unused, &nothing()), false), Undisturbed::default());
    }
}
