//! Samples of which siblings are busy, and with whom: the states of the threads that use CPUs, read from `/proc`.
//!
//! A thread in state R runs or waits on its last CPU, so that this CPU is busy. The thread that samples is left out of
//! samples and of busy time: where it alone runs, the CPU would be idle. Samples are taken at random times, one in each
//! of many equal parts of the interval, so that no rhythm of a program can hide from them.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use corun_files::decimal;
use corun_machine::kernel_clock::{cpu_time_ns, now_ns, own_thread, sleep_until, this_cpu};

use super::Cores;
use super::overlap::TaskTimes;
use crate::proc::{CpuUse, ProcFiles, Range, Stat, Task, TaskFiles};

/// The most samples in a second, and the fewest that are worth taking.
const RATES: [f64; 2] = [10.0, 100.0];
/// New tasks that are looked at for each sample; more are left to the next reading.
const NEW_TASKS: u32 = 32;

/// The threads that are watched, and what was seen of them since the interval began.
#[derive(Debug)]
pub(super) struct Watch {
    watched: Vec<Watched>,
    /// The newest task of the system, by `/proc/loadavg`.
    newest: Option<u32>,
    load: Option<OwnedFd>,
    text: Vec<u8>,
    running: Vec<(u32, u32)>,
    /// The thread that samples, and its CPU time when it was last accounted for.
    own: u32,
    own_ns: u64,
    /// The CPU time of a sample, in nanoseconds.
    cost_ns: f64,
    seen: CoBusySamples,
}

/// Samples of an interval, counted.
#[derive(Debug, Default)]
pub(super) struct CoBusySamples {
    pub(super) samples: u32,
    /// For each core the number of samples by set of busy siblings.
    pub(super) cores: Vec<Vec<u32>>,
    tasks: HashMap<u32, SampledTask>,
    pairs: HashMap<(u32, u32), f64>,
    /// By CPU, how long the thread that samples used it while no other thread wanted it, in nanoseconds.
    own_ns: HashMap<u32, u64>,
}

/// A task in samples; one of n on a CPU counts as 1/n.
#[derive(Debug, Default)]
struct SampledTask {
    ran: f64,
    beside: f64,
    cpus: Vec<u32>,
}

#[derive(Debug)]
struct Watched {
    task: Task,
    file: Option<OwnedFd>,
}

impl Watched {
    fn thread(&self) -> u32 {
        match self.task {
            Task::Process(thread) | Task::Thread(_, thread) => thread,
        }
    }
}

impl Watch {
    /// Watches nothing yet.
    pub(super) fn new(cores: &Cores) -> Self {
        Self {
            watched: Vec::new(),
            newest: None,
            load: None,
            text: Vec::new(),
            running: Vec::new(),
            own: 0,
            own_ns: cpu_time_ns(),
            cost_ns: 50_000.0,
            seen: CoBusySamples::of(cores),
        }
    }

    /// Watches these threads, given with their processes, and begins a new interval.
    pub(super) fn begin(&mut self, threads: &[(u32, u32)], cores: &Cores) {
        let mut files: HashMap<u32, Option<OwnedFd>> =
            self.watched.drain(..).map(|it| (it.thread(), it.file)).collect();
        self.watched.extend(threads.iter().map(|&(process, thread)| Watched {
            task: Task::Thread(process, thread),
            file: files.remove(&thread).flatten(),
        }));
        self.seen = CoBusySamples::of(cores);
    }

    /// Samples until then, at a rate that costs no more than `cost` of one CPU.
    pub(super) fn sample_until(
        &mut self,
        files: &mut ProcFiles,
        cores: &Cores,
        until_ns: u64,
        cost: f64,
    ) {
        self.own = own_thread();
        self.watched.retain(|it| it.thread() != self.own);
        self.account_for_own_time();
        let mut part_ns = now_ns();
        loop {
            let rate = (cost * 1e9 / self.cost_ns.max(1.0)).clamp(RATES[0], RATES[1]);
            let length_ns = (1e9 / rate) as u64;
            if part_ns + length_ns > until_ns {
                break;
            }
            sleep_until(part_ns + (rand::random::<f64>() * length_ns as f64) as u64);
            let began_ns = cpu_time_ns();
            self.sample(files, cores);
            let sampled_ns = cpu_time_ns().saturating_sub(began_ns);
            self.cost_ns += (sampled_ns as f64 - self.cost_ns) / 16.0;
            self.account_for_own_time();
            part_ns += length_ns;
            let now_ns = now_ns();
            if now_ns > part_ns + length_ns {
                // Others had the CPU meanwhile.
                part_ns = now_ns;
            }
        }
        sleep_until(until_ns);
    }

    /// Adds what the calling thread has used since the last call, by what was running in the last sample.
    fn account_for_own_time(&mut self) {
        let now_ns = cpu_time_ns();
        let used_ns = now_ns.saturating_sub(std::mem::replace(&mut self.own_ns, now_ns));
        let cpu = this_cpu();
        self.seen.add_own_time(cpu, used_ns, &self.running);
    }

    /// Samples since the interval began.
    pub(super) fn seen(&self) -> &CoBusySamples {
        &self.seen
    }

    fn sample(&mut self, files: &mut impl Samples, cores: &Cores) {
        self.add_new_tasks(files);
        self.running.clear();
        let running = &mut self.running;
        self.watched.retain_mut(|it| {
            let (thread, task) = (it.thread(), it.task);
            let Ok(line) = files.read(task, "stat", &mut it.file) else { return false };
            let Some(stat) = Stat::parse(line) else { return false };
            if stat.is_running() {
                running.push((stat.cpu, thread));
            }
            true
        });
        self.seen.add(&mut self.running, cores);
    }

    /// Watches tasks that were started since the last sample, too.
    fn add_new_tasks(&mut self, files: &mut impl Samples) {
        let Some(newest) = files.newest(&mut self.load, &mut self.text) else { return };
        let before = self.newest.replace(newest).unwrap_or(newest);
        // The numbers begin again at their end.
        if newest <= before || newest - before > NEW_TASKS {
            return;
        }
        for id in before + 1..=newest {
            if id != self.own && !self.watched.iter().any(|it| it.thread() == id) {
                self.watched.push(Watched { task: Task::Process(id), file: None });
            }
        }
    }
}

/// Files that a sample reads.
trait Samples: TaskFiles {
    /// The newest task.
    fn newest(&mut self, kept: &mut Option<OwnedFd>, text: &mut Vec<u8>) -> Option<u32>;
}

impl Samples for ProcFiles {
    /// The last number in `/proc/loadavg`.
    fn newest(&mut self, kept: &mut Option<OwnedFd>, text: &mut Vec<u8>) -> Option<u32> {
        self.whole("loadavg", kept, text).ok()?;
        let last = text.trim_ascii_end().rsplit(|&byte| byte == b' ').next()?;
        u32::try_from(decimal(last)?).ok()
    }
}

impl CoBusySamples {
    pub(super) fn of(cores: &Cores) -> Self {
        let seen = |core: &super::Core| vec![0; 1 << core.cpus.len().min(super::estimate::WIDEST)];
        Self { cores: cores.all.iter().map(seen).collect(), ..Self::default() }
    }

    /// Adds time of the thread that samples on a CPU, unless one of the running tasks, each with its CPU, waited there.
    pub(super) fn add_own_time(&mut self, cpu: u32, used_ns: u64, running: &[(u32, u32)]) {
        if running.iter().all(|(other, _)| *other != cpu) {
            *self.own_ns.entry(cpu).or_default() += used_ns;
        }
    }

    /// The busy shares of a core's CPUs without that time.
    pub(super) fn busy_by_others(&self, cpus: &[CpuUse], interval_ns: u64) -> Vec<Range> {
        let of = |it: &CpuUse| {
            let own_ns = self.own_ns.get(&it.activity.cpu).copied().unwrap_or(0);
            it.busy.less(own_ns as f64 / interval_ns.max(1) as f64)
        };
        cpus.iter().map(of).collect()
    }

    /// Adds a sample: the tasks that were running, each with its CPU.
    pub(super) fn add(&mut self, running: &mut [(u32, u32)], cores: &Cores) {
        running.sort_unstable();
        self.samples += 1;
        let mut rest = &running[..];
        // One core after the other: the tasks of its CPUs. Siblings may be far apart in numbers.
        let mut of_core: Vec<(usize, usize, u32)> = Vec::with_capacity(rest.len());
        while let [(cpu, task), others @ ..] = rest {
            if let Some((core, sibling)) = cores.place(*cpu) {
                of_core.push((core, sibling, *task));
            }
            rest = others;
        }
        of_core.sort_unstable();
        let mut is_busy = vec![false; self.cores.len()];
        for tasks in of_core.chunk_by(|one, other| one.0 == other.0) {
            let core = tasks[0].0;
            is_busy[core] = true;
            self.add_core(core, tasks, &cores.all[core].cpus);
        }
        for (core, _) in is_busy.iter().enumerate().filter(|(_, is_busy)| !**is_busy) {
            self.cores[core][0] += 1;
        }
    }

    /// Adds the running tasks of a core, sorted by sibling.
    fn add_core(&mut self, core: usize, tasks: &[(usize, usize, u32)], cpus: &[u32]) {
        let which = tasks.iter().fold(0, |which, (_, sibling, _)| which | 1 << sibling);
        if let Some(count) = self.cores[core].get_mut(which) {
            *count += 1;
        }
        let weight =
            |sibling: usize| 1.0 / tasks.iter().filter(|it| it.1 == sibling).count().max(1) as f64;
        for (place, &(_, sibling, task)) in tasks.iter().enumerate() {
            let own = weight(sibling);
            let seen = self.tasks.entry(task).or_default();
            seen.ran += own;
            if which.count_ones() > 1 {
                seen.beside += own;
            }
            if let Some(cpu) = cpus.get(sibling).filter(|cpu| !seen.cpus.contains(cpu)) {
                seen.cpus.push(*cpu);
            }
            for &(_, other, companion) in tasks[place + 1..].iter().filter(|it| it.1 != sibling) {
                let pair = (task.min(companion), task.max(companion));
                *self.pairs.entry(pair).or_default() += own * weight(other);
            }
        }
    }

    /// Samples as times in an interval of this length.
    pub(super) fn times(&self, interval_ns: u64) -> TaskTimes {
        let ns = interval_ns as f64 / f64::from(self.samples.max(1));
        let mut times = TaskTimes::default();
        for (task, seen) in &self.tasks {
            let time = times.tasks.entry(*task).or_default();
            time.ran_ns = (seen.ran * ns) as u64;
            time.beside_ns = (seen.beside * ns) as u64;
            time.cpus.clone_from(&seen.cpus);
        }
        times.pairs.extend(self.pairs.iter().map(|(pair, seen)| (*pair, (seen * ns) as u64)));
        times
    }
}
