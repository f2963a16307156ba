//! Watching a sample's processes from the common start until the last one ended.
//!
//! One poll over the processes' handles and the user's interrupt; it wakes in between only where
//! there is something to sample (unpinned workers, new threads, a deadline, a flood of output).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use corun_machine::CpuSet;
use corun_machine::descendants::Leftover;
use corun_machine::kernel_clock::now_ns;
use corun_machine::switch::SmtSwitch;
use corun_record::{Displaced, LeftRunning};

use super::error::ExecutionError;
use super::interrupt::Interrupt;
use super::observed_placement::ObservedPlacement;
use super::process::Process;
use super::threads::{self, ThreadPinner};
use crate::evidence::Waits;

/// A process that ended.
pub(crate) struct Ended {
    /// The process's place among those of the sample.
    pub process: usize,
    /// When, in nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// Exit status.
    pub status: ExitStatus,
    /// Resources it used.
    pub usage: libc::rusage,
    /// Moves between CPUs, of a process with one thread where the kernel shows them.
    pub migrations: Option<u64>,
    /// Time for which its only worker waited for a CPU, wake-ups included, where nothing of the process's own can have held that
    /// up.
    pub waited_ns: Option<u64>,
}

/// Number of times each worker was seen on each CPU.
pub(crate) type Sightings = Vec<BTreeMap<u32, u32>>;

/// The processes of one sample that still run.
pub(crate) struct Watch<'a> {
    live: Vec<(usize, Process)>,
    /// Processes that ended at the same moment as something already reported.
    ended: VecDeque<Ended>,
    interrupt: &'a Interrupt,
    /// Whose watchdog ends the processes' groups should corun die.
    smt: Option<&'a RefCell<SmtSwitch>>,
    /// Workers in each process.
    threads: usize,
    sighting: Option<Sightings>,
    /// Moves between CPUs before the common start, by process id.
    moved_before: BTreeMap<libc::pid_t, Option<u64>>,
    /// Waiting times of workers for their CPUs.
    waits: Waits,
    pinner: Option<ThreadPinner<'a>>,
    deadline_ns: Option<u64>,
    started_ns: u64,
    /// Of each process of the sample that has a place of its own.
    observed_placement: Vec<ObservedPlacement>,
    /// Processes left running, of commands only.
    left: Option<Vec<Leftover>>,
}

/// Event that woke the watch.
pub(crate) enum Event {
    /// A process ended.
    Ended(Ended),
    /// Time to read output.
    Tick,
    /// The time allowed is over; everything was killed.
    TimedOut,
}

impl<'a> Watch<'a> {
    /// Watches nothing yet; processes of `threads` workers each can be added.
    pub(crate) fn new(
        threads: usize,
        interrupt: &'a Interrupt,
        smt: Option<&'a RefCell<SmtSwitch>>,
    ) -> Self {
        Self {
            live: Vec::new(),
            ended: VecDeque::new(),
            interrupt,
            smt,
            threads,
            sighting: None,
            moved_before: BTreeMap::new(),
            waits: Waits::default(),
            pinner: None,
            deadline_ns: None,
            started_ns: now_ns(),
            observed_placement: Vec::new(),
            left: None,
        }
    }

    /// Takes note of what commands leave running.
    pub(crate) fn note_leftovers(&mut self) {
        self.left = Some(Vec::new());
    }

    /// Checks whether the processes stay on these CPUs, one set for each.
    pub(crate) fn expect_places(&mut self, places: impl Iterator<Item = CpuSet>) {
        self.observed_placement = places.map(ObservedPlacement::new).collect();
    }

    /// Expects that what the only process starts has these CPUs together, and the process itself is not looked at.
    pub(crate) fn expect_ranks(&mut self, cpus: &[u32]) {
        let place = cpus.iter().copied().collect();
        self.observed_placement = vec![ObservedPlacement::of_descendants(place)];
    }

    /// The kernel has counted moves of these processes, whatever they started included.
    pub(crate) fn note_moves(&mut self, processes: &BTreeSet<usize>) {
        for process in processes {
            if let Some(observed_placement) = self.observed_placement.get_mut(*process) {
                observed_placement.note_moves();
            }
        }
    }

    /// The workers that did not keep their place.
    pub(crate) fn displaced(&self) -> Vec<Displaced> {
        let of_pinner = self.pinner.iter().flat_map(ThreadPinner::displaced);
        let of_processes = self.observed_placement.iter().enumerate();
        of_processes.filter_map(|(worker, it)| it.displaced(worker)).chain(of_pinner).collect()
    }

    /// Processes that were left running when they ended.
    pub(crate) fn left_running(&mut self) -> Vec<LeftRunning> {
        let left = self.left.take().unwrap_or_default().into_iter();
        left.map(|it| LeftRunning { name: it.name, ended: it.ended }).collect()
    }

    /// Notes where workers run, for an arm that does not pin them.
    pub(crate) fn note_sightings(&mut self, workers: usize) {
        self.sighting = Some(vec![BTreeMap::new(); workers]);
    }

    /// Pins the threads of the only process as they appear.
    pub(crate) fn pin_threads(&mut self, cpus: &'a [u32]) {
        self.pinner = self.live.first().map(|(_, process)| ThreadPinner::new(process.id, cpus));
    }

    /// Takes note of waits before the common start, at the last moment: workers that were woken just before may have waited
    /// for that.
    pub(crate) fn note_waits(&mut self) {
        for (_, process) in &self.live {
            self.waits.assemble(process.id, &threads::of_process(process.id));
        }
    }

    /// Waits of each process's first thread before the common start, in nanoseconds, in the order of processes.
    pub(crate) fn waited_before_ns(&self) -> Vec<Option<u64>> {
        self.ids().map(|id| Some(self.waits.before_start(id)?.waited_ns)).collect()
    }

    /// Takes note of moves before the common start.
    pub(crate) fn note_migrations(&mut self) {
        if self.threads == 1 {
            self.moved_before = self.ids().map(|id| (id, threads::migrations_of(id))).collect();
        }
    }

    /// The common start: time runs from here.
    pub(crate) fn start(&mut self, at_ns: u64, timeout: Option<Duration>) {
        self.started_ns = at_ns;
        self.waits.start(at_ns);
        self.deadline_ns = timeout.map(|timeout| {
            at_ns.saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
        });
    }

    /// Watches a process too; `number` is its place among those of the sample.
    pub(crate) fn add(&mut self, number: usize, process: Process) {
        if let Some(smt) = self.smt {
            smt.borrow_mut().watch_group(process.id.cast_unsigned());
        }
        self.live.push((number, process));
    }

    /// Watches a process that starts at once.
    pub(crate) fn add_started(&mut self, number: usize, process: Process) {
        self.waits.add(process.id, now_ns());
        self.add(number, process);
    }

    /// The share of its time for which the worker waited for its CPU that waited most.
    pub(crate) fn most_waited(&self) -> Option<f64> {
        self.waits.most()
    }

    /// The ids of the processes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = libc::pid_t> {
        self.live.iter().map(|(_, process)| process.id)
    }

    /// CPUs on which workers were seen.
    pub(crate) fn sightings(&mut self) -> Option<Sightings> {
        self.sighting.take()
    }

    /// Pinning of the threads, where this watch pinned them.
    pub(crate) fn pinning(&self) -> Option<corun_record::Pinning> {
        self.pinner.as_ref().map(ThreadPinner::pinning)
    }

    /// A process that ended before the common start, collected.
    ///
    /// # Errors
    /// If the system fails.
    pub(crate) fn ended_early(&mut self) -> Result<Option<Ended>, ExecutionError> {
        let mut polled = self.poll_list();
        // SAFETY: a valid array of descriptors; returns at once.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 0) };
        self.collect(&polled[1..], now_ns())?;
        Ok(self.ended.pop_front())
    }

    /// Kills what still runs; returns what it used.
    pub(crate) fn kill_rest(&mut self) -> Vec<libc::rusage> {
        let rest = std::mem::take(&mut self.live);
        let end = |(_, process): (usize, Process)| {
            let id = process.id;
            let collected = process.kill();
            self.forget(id);
            Some(collected.ok()?.usage)
        };
        rest.into_iter().filter_map(end).collect()
    }

    /// The process's group has ended, whatever it left behind included.
    fn forget(&self, process: libc::pid_t) {
        if let Some(smt) = self.smt {
            smt.borrow_mut().forget_group(process.cast_unsigned());
        }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// If the user interrupts, or the system fails.
    pub(crate) fn next(&mut self) -> Result<Event, ExecutionError> {
        self.next_within(i32::MAX)
    }

    /// As [`next`](Self::next), with a tick after so many milliseconds at the latest.
    ///
    /// # Errors
    /// If the user interrupts, or the system fails.
    pub(crate) fn next_within(&mut self, most_ms: i32) -> Result<Event, ExecutionError> {
        if let Some(ended) = self.ended.pop_front() {
            return Ok(Event::Ended(ended));
        }
        loop {
            let mut polled = self.poll_list();
            let timeout = self.timeout_ms().min(most_ms);
            // SAFETY: a valid array of descriptors.
            let ready =
                unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
            let now = now_ns();
            if ready < 0 {
                let error = std::io::Error::last_os_error();
                if error.kind() == std::io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(ExecutionError::System("wait for the workers", error));
            }
            if polled[0].revents != 0 {
                return Err(ExecutionError::Interrupted);
            }
            self.collect(&polled[1..], now)?;
            if let Some(ended) = self.ended.pop_front() {
                return Ok(Event::Ended(ended));
            }
            if self.deadline_ns.is_some_and(|deadline| now >= deadline) {
                return Ok(Event::TimedOut);
            }
            self.sample();
            return Ok(Event::Tick);
        }
    }

    fn poll_list(&self) -> Vec<libc::pollfd> {
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        std::iter::once(entry(self.interrupt.as_fd().as_raw_fd()))
            .chain(self.live.iter().map(|(_, process)| entry(process.handle.as_raw_fd())))
            .collect()
    }

    /// Frequent samples while a process is young and its threads appear, rare ones later.
    fn timeout_ms(&self) -> i32 {
        let age_ms = (now_ns() - self.started_ns) / 1_000_000;
        // A change of place can only be seen while the child or thread that made it lives.
        let young = if self.observed_placement.is_empty() { 100 } else { age_ms.clamp(10, 100) };
        let tick = match (&self.pinner, &self.sighting) {
            (Some(_), _) if age_ms < 50 => 1,
            (Some(_), _) if age_ms < 1000 => 5,
            (Some(_), _) => 50,
            (None, Some(_)) => 20,
            (None, None) => young,
        };
        let left = self
            .deadline_ns
            .map_or(u64::MAX, |deadline| deadline.saturating_sub(now_ns()).div_ceil(1_000_000));
        left.min(tick) as i32
    }

    fn sample(&mut self) {
        if let Some(pinner) = &mut self.pinner {
            pinner.tick();
        }
        for position in 0..self.live.len() {
            self.sight(position);
            let (number, process) = &self.live[position];
            if let Some(observed_placement) = self.observed_placement.get_mut(*number) {
                observed_placement.sample(process.id);
            }
        }
        let now = now_ns();
        if self.waits.is_due(now) {
            for (_, process) in &self.live {
                self.waits.sample(process.id, &threads::of_process(process.id), now);
            }
        }
    }

    /// Notes where the workers of one process are (or, if it has ended, where its last one was).
    fn sight(&mut self, position: usize) {
        let (Some(sighting), Some((index, process))) =
            (&mut self.sighting, self.live.get(position))
        else {
            return;
        };
        let all = threads::of_process(process.id);
        let workers = match self.threads {
            1 => all.get(..1),
            threads => threads::workers_among(&all, threads),
        };
        for (worker, &thread) in workers.unwrap_or_default().iter().enumerate() {
            if let Some(cpu) = threads::cpu_of(process.id, thread)
                && let Some(seen) = sighting.get_mut(index * self.threads + worker)
            {
                *seen.entry(cpu).or_insert(0) += 1;
            }
        }
    }

    /// Collects every process whose handle is ready, all of them as ended at `at_ns`.
    fn collect(&mut self, polled: &[libc::pollfd], at_ns: u64) -> Result<(), ExecutionError> {
        for position in (0..polled.len()).rev().filter(|&it| polled[it].revents != 0) {
            if self.threads == 1 {
                self.sight(position);
            }
            let (number, process) = self.live.remove(position);
            let before = self.moved_before.get(&process.id).copied().flatten();
            let migrations = before
                .zip(threads::migrations_of(process.id))
                .map(|(before, now)| now.saturating_sub(before));
            let id = process.id;
            // Only until it is collected can it be asked.
            self.waits.sample(id, &[id], at_ns);
            if let Some(observed_placement) = self.observed_placement.get_mut(number) {
                observed_placement.sample_at_end(id, migrations);
            }
            if let Some(pinner) = &mut self.pinner {
                pinner.sample_at_end();
            }
            let collected = process.collect();
            self.forget(id);
            let collected =
                collected.map_err(|error| ExecutionError::System("collect a worker", error))?;
            if let Some(left) = &mut self.left {
                left.extend(collected.left);
            }
            let status = ExitStatus::from_raw(collected.status);
            let usage = collected.usage;
            let waited_ns = self.waits.end(id, self.threads, at_ns, &usage);
            self.ended.push_back(Ended {
                process: number,
                at_ns,
                status,
                usage,
                migrations,
                waited_ns,
            });
        }
        Ok(())
    }
}

impl Drop for Watch<'_> {
    /// Nothing that was launched outlives its sample.
    fn drop(&mut self) {
        self.kill_rest();
    }
}
