//! The threads of a `{workers}` process: which of them are workers, and pinning them one by one.
//!
//! A program that was asked for N threads shows N threads (its first one works too, as under OpenMP) or
//! N + 1 (the first one only starts and joins the others). Both are recognised; with any other
//! number, or where the first of N + 1 works, the threads stay on the arm's set of CPUs and the arm
//! says so.

use std::collections::{BTreeMap, BTreeSet};

use corun_files::TaskStat;
use corun_machine::{Affinity, CpuSet};
use corun_record::{Displaced, Pinning};

use crate::evidence::TaskAccount;

/// The threads of a process, ascending by id (the order of creation).
pub(crate) fn of_process(process: libc::pid_t) -> Vec<libc::pid_t> {
    let mut threads: Vec<libc::pid_t> = std::fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable();
    threads
}

/// The worker threads among all threads ever seen, in worker order; `None` if that is not clear.
pub(crate) fn workers_among(threads: &[libc::pid_t], workers: usize) -> Option<&[libc::pid_t]> {
    match threads.len() {
        count if count == workers => Some(threads),
        count if count == workers + 1 => Some(&threads[1..]),
        _ => None,
    }
}

/// True if a thread (0 is the calling one) may run on this CPU alone.
pub(crate) fn is_on_only(thread: libc::pid_t, cpu: u32) -> bool {
    Affinity::of(thread).is_ok_and(|affinity| affinity.cpus() == [cpu].into())
}

/// The CPU that the calling thread is on.
pub(crate) fn current_cpu() -> Option<u32> {
    // SAFETY: asks for a number.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The processes that descend from a process and still run, where the kernel lists children.
pub(crate) fn descendants_of(process: libc::pid_t) -> Vec<libc::pid_t> {
    let mut found = vec![process];
    let mut examined = 0;
    while let Some(&parent) = found.get(examined) {
        examined += 1;
        for thread in of_process(parent) {
            let path = format!("/proc/{parent}/task/{thread}/children");
            let children = corun_files::kernel_text(path).unwrap_or_default();
            let more = MAX_DESCENDANTS.saturating_sub(found.len());
            let children = children.split_ascii_whitespace().take(more);
            found.extend(children.filter_map(|number| number.parse::<libc::pid_t>().ok()));
        }
    }
    found.split_off(1)
}

/// A program that starts more processes than this is not observed as a whole.
const MAX_DESCENDANTS: usize = 256;

/// The CPU a thread last ran on.
pub(crate) fn cpu_of(process: libc::pid_t, thread: libc::pid_t) -> Option<u32> {
    let stat = corun_files::kernel_text(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    u32::try_from(TaskStat::parse(&stat)?.field(39)?).ok()
}

/// Migrations of a process's first thread between CPUs, also after its end.
pub(crate) fn migrations_of(process: libc::pid_t) -> Option<u64> {
    migrations(&corun_files::kernel_text(format!("/proc/{process}/sched")).ok()?)
}

/// The `se.nr_migrations` of a task's `sched`.
fn migrations(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Time that a thread has been on a CPU, in nanoseconds: the first field of its `schedstat`.
pub(crate) fn on_cpu_ns(process: libc::pid_t, thread: libc::pid_t) -> Option<u64> {
    Some(TaskAccount::of(process, thread)?.on_cpu_ns)
}

/// True if the first thread used at least half as much CPU time as the others on average. Times of
/// one another are compared, for on a busy machine even a worker may get little.
fn first_works(before: &[u64], after: &[u64]) -> bool {
    let mut used = before.iter().zip(after).map(|(before, after)| after.saturating_sub(*before));
    let first = used.next().unwrap_or(0);
    let (count, others) = used.fold((0, 0), |(count, sum), used| (count + 1, sum + used));
    first > 0 && first * 2 * count >= others
}

/// Samples between the two accounts of the threads' CPU time.
const SAMPLES: u32 = 20;

/// Pins the worker threads of one process as they appear.
pub(crate) struct ThreadPinner<'a> {
    process: libc::pid_t,
    cpus: &'a [u32],
    seen: BTreeSet<libc::pid_t>,
    pinned: bool,
    /// Samples since a first thread was found that should only wait.
    samples: u32,
    /// The CPU time of every thread at the first of these, in nanoseconds.
    on_cpu_ns: Vec<u64>,
    /// The place that each thread was given last.
    given: BTreeMap<libc::pid_t, CpuSet>,
    /// Threads whose affinity was changed by others, with the CPUs outside their place. They are not
    /// pinned again: corun does not fight the program.
    changed: BTreeMap<libc::pid_t, BTreeSet<u32>>,
}

impl<'a> ThreadPinner<'a> {
    /// A pinner that gives worker thread i of the process the CPU `cpus[i]`.
    pub(crate) fn new(process: libc::pid_t, cpus: &'a [u32]) -> Self {
        Self {
            process,
            cpus,
            seen: BTreeSet::new(),
            pinned: false,
            samples: 0,
            on_cpu_ns: Vec::new(),
            given: BTreeMap::new(),
            changed: BTreeMap::new(),
        }
    }

    /// Compares each thread's affinity with the one that corun gave it; a thread that has just begun
    /// may be anywhere on the arm's CPUs.
    fn read_back(&mut self) {
        let whole_set: CpuSet = self.cpus.iter().copied().collect();
        for thread in self.seen.clone() {
            let Ok(affinity) = Affinity::of(thread) else { continue };
            self.changed_from(&whole_set, thread, &affinity.cpus());
        }
    }

    fn changed_from(&mut self, whole_set: &CpuSet, thread: libc::pid_t, found: &CpuSet) {
        let given = self.given.get(&thread);
        let outside = |cpu: &u32| !given.unwrap_or(whole_set).contains(*cpu);
        let outside: BTreeSet<u32> = found.iter().filter(outside).collect();
        if !outside.is_empty() || given.is_some_and(|given| given != found) {
            self.changed.entry(thread).or_default().extend(outside);
        }
    }

    /// Reads the first thread's affinity once more, when the process has ended.
    pub(crate) fn sample_at_end(&mut self) {
        if let Ok(affinity) = Affinity::of(self.process) {
            let whole_set = self.cpus.iter().copied().collect();
            self.changed_from(&whole_set, self.process, &affinity.cpus());
        }
    }

    /// The workers whose threads did not keep their affinity.
    pub(crate) fn displaced(&self) -> Vec<Displaced> {
        let threads: Vec<_> = self.seen.iter().copied().collect();
        let workers = workers_among(&threads, self.cpus.len()).unwrap_or_default();
        let of_thread = |(thread, outside): (&libc::pid_t, &BTreeSet<u32>)| Displaced {
            worker: workers.iter().position(|worker| worker == thread).unwrap_or(0) as u32,
            outside: outside.iter().copied().collect(),
            moved: false,
        };
        self.changed.iter().map(of_thread).collect()
    }

    fn give(&mut self, thread: libc::pid_t, cpus: &CpuSet) -> bool {
        if self.changed.contains_key(&thread) {
            return false;
        }
        let verified = Affinity::new(cpus).apply_and_verify(thread);
        if verified.is_ok() {
            self.given.insert(thread, cpus.clone());
        }
        verified.is_ok_and(|found| found == *cpus)
    }

    /// Finds new threads and pins again when the workers can be distinguished from the others.
    pub(crate) fn tick(&mut self) {
        let before = self.seen.len();
        self.seen.extend(of_process(self.process));
        self.read_back();
        if self.seen.len() == before {
            self.sample_the_first();
            return;
        }
        let threads: Vec<_> = self.seen.iter().copied().collect();
        let whole_set: CpuSet = self.cpus.iter().copied().collect();
        match workers_among(&threads, self.cpus.len()) {
            None => {
                for &thread in &threads {
                    self.give(thread, &whole_set);
                }
                self.pinned = false;
            }
            Some(workers) => {
                if workers.len() < threads.len() {
                    self.give(threads[0], &whole_set);
                }
                let cpus = self.cpus;
                // Every one of them, even if one is refused.
                let refused = workers
                    .iter()
                    .zip(cpus)
                    .filter(|&(&worker, &cpu)| !self.give(worker, &[cpu].into()))
                    .count();
                self.pinned = refused == 0;
            }
        }
    }

    /// With a thread too many, the first one ought to wait. If it works, it is not known which of the
    /// others does not: all go back to the set.
    fn sample_the_first(&mut self) {
        if !self.pinned || self.seen.len() != self.cpus.len() + 1 || self.samples > SAMPLES {
            return;
        }
        if self.samples == 0 {
            self.on_cpu_ns = self.on_cpu_now();
        }
        self.samples += 1;
        if self.samples > SAMPLES && first_works(&self.on_cpu_ns, &self.on_cpu_now()) {
            let whole_set: CpuSet = self.cpus.iter().copied().collect();
            for thread in self.seen.clone() {
                self.give(thread, &whole_set);
            }
            self.pinned = false;
        }
    }

    fn on_cpu_now(&self) -> Vec<u64> {
        let thread_times = self.seen.iter().map(|&thread| on_cpu_ns(self.process, thread));
        thread_times.map(Option::unwrap_or_default).collect()
    }

    /// Pinning of the threads in the end.
    pub(crate) fn pinning(&self) -> Pinning {
        if self.pinned { Pinning::Pinned } else { Pinning::SetPinned }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thread_works_or_only_waits() {
        assert_eq!(workers_among(&[10, 11], 2), Some(&[10, 11][..]));
        assert_eq!(workers_among(&[10, 11, 12], 2), Some(&[11, 12][..]));
        assert_eq!(workers_among(&[10, 11, 12, 13], 2), None);
        assert_eq!(workers_among(&[10], 2), None);
    }

    #[test]
    fn migrations_stand_in_their_line() {
        let sched =
            "bash (7, #threads: 1)\n------\nse.exec_start   :  5.1\nse.nr_migrations    :     3\n";
        assert_eq!(migrations(sched), Some(3));
        assert_eq!(migrations("se.exec_start : 5\n"), None);
    }

    #[test]
    fn a_first_thread_works_that_uses_as_much_as_the_others() {
        assert!(first_works(&[5, 0, 0], &[105, 100, 90]));
        assert!(first_works(&[5, 0, 0], &[105, 200, 0]));
        assert!(!first_works(&[5, 0, 0], &[6, 100, 90]));
        assert!(!first_works(&[5, 0, 0], &[5, 0, 0]));
        assert!(!first_works(&[], &[]));
    }
}
