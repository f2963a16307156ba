//! The threads of a `{workers}` process: which of them are workers, and pinning them one by one.
//!
//! A program told to use N threads shows N threads (its first one works too, as under OpenMP) or
//! N + 1 (the first one only starts and joins the others). Both are recognised; with any other
//! number the threads stay on the arm's set of CPUs and the arm says so.

use std::collections::BTreeSet;
use std::path::PathBuf;

use corun_machine::Affinity;
use corun_record::Pinning;

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

/// Pins a thread (0 is the calling one) to one CPU; tells whether the kernel did it.
pub(crate) fn pins(thread: libc::pid_t, cpu: u32) -> bool {
    let only = [cpu].into();
    Affinity::new(&only).apply_and_verify(thread).is_ok_and(|cpus| cpus == only)
}

/// The CPU a thread last ran on.
pub(crate) fn cpu_of(process: libc::pid_t, thread: libc::pid_t) -> Option<u32> {
    let path = PathBuf::from(format!("/proc/{process}/task/{thread}/stat"));
    processor(&std::fs::read_to_string(path).ok()?)
}

/// Field 39 of a task's `stat`, counted behind the name, which may contain anything.
fn processor(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(36)?.parse().ok()
}

/// How often a process's first thread moved between CPUs, also after its end.
pub(crate) fn migrations_of(process: libc::pid_t) -> Option<u64> {
    migrations(&std::fs::read_to_string(format!("/proc/{process}/sched")).ok()?)
}

/// The `se.nr_migrations` of a task's `sched`.
fn migrations(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Pins the worker threads of one process as they appear.
pub(crate) struct ThreadPinner<'a> {
    process: libc::pid_t,
    cpus: &'a [u32],
    seen: BTreeSet<libc::pid_t>,
    pinned: bool,
}

impl<'a> ThreadPinner<'a> {
    /// A pinner that gives worker thread i of the process the CPU `cpus[i]`.
    pub(crate) fn new(process: libc::pid_t, cpus: &'a [u32]) -> Self {
        Self { process, cpus, seen: BTreeSet::new(), pinned: false }
    }

    /// Looks for new threads and pins again when the workers can be told from the others.
    pub(crate) fn tick(&mut self) {
        let before = self.seen.len();
        self.seen.extend(of_process(self.process));
        if self.seen.len() == before {
            return;
        }
        let threads: Vec<_> = self.seen.iter().copied().collect();
        let whole_set = Affinity::new(&self.cpus.iter().copied().collect());
        match workers_among(&threads, self.cpus.len()) {
            None => {
                for &thread in &threads {
                    let _ = whole_set.apply(thread);
                }
                self.pinned = false;
            }
            Some(workers) => {
                if workers.len() < threads.len() {
                    let _ = whole_set.apply(threads[0]);
                }
                self.pinned =
                    workers.iter().zip(self.cpus).all(|(&worker, &cpu)| pins(worker, cpu));
            }
        }
    }

    /// How the threads were kept in place in the end.
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
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
        let stat = format!("77 (a ) b (c) {}", fields.join(" "));
        assert_eq!(processor(&stat), Some(39));
        assert_eq!(processor("77 (short) R 1"), None);
        assert_eq!(processor(""), None);
    }
}
