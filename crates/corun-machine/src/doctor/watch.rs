//! Activity of the machine while corun was idle: two readings around a pause.
//!
//! The readings at both ends of the pause are nested, the CPU times innermost, so that corun's own
//! reading of thousands of small files is not taken for load.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::interrupts::Interrupts;
use super::system::CPUS;
use crate::evidence::{CpuTime, CpuTimes};
use crate::tasks::{TaskTime, Tasks};
use crate::{Machine, SystemFiles};

/// Lets time pass; a test lets something else happen instead.
pub trait Pause {
    /// Pauses; returns for how long.
    fn pause(&mut self) -> Duration;
}

/// Sleeps for at least this long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep(pub Duration);

impl Pause for Sleep {
    fn pause(&mut self) -> Duration {
        let begin = Instant::now();
        std::thread::sleep(self.0);
        begin.elapsed()
    }
}

/// Events during a pause.
#[derive(Debug)]
pub(super) struct Watch {
    /// The length of the pause, in seconds, never zero.
    pub(super) seconds: f64,
    /// Time of each CPU; `None` where the kernel does not report it.
    pub(super) cpus: Option<BTreeMap<u32, CpuTime>>,
    /// The tasks that used CPU time, the busiest first; corun itself is not among them.
    pub(super) tasks: Vec<TaskTime>,
    /// Duration of the watch of tasks: somewhat longer than the pause, in seconds.
    pub(super) tasks_seconds: f64,
    /// Interrupts of devices; `None` where the kernel does not report it.
    pub(super) interrupts: Option<Interrupts>,
    /// Pages that were moved from or to swap; `None` where the kernel does not report it.
    pub(super) swapped_pages: Option<u64>,
    /// Time that each CPU was idle in a loop that polls, in seconds, where the kernel reports it.
    pub(super) polling_s: BTreeMap<u32, f64>,
}

impl Watch {
    pub(super) fn take(
        files: &mut impl SystemFiles,
        machine: &Machine,
        pause: &mut dyn Pause,
    ) -> Self {
        let polling = Polling::find(files, machine);
        let (tasks, uptime) = (Tasks::read(files), uptime_s(files));
        let slow = SlowSources::read(files, &polling);
        let cpus = CpuTimes::read(files);
        let seconds = pause.pause().as_secs_f64().max(1e-9);
        let cpus_after = CpuTimes::read(files);
        let slow_after = SlowSources::read(files, &polling);
        let (tasks_after, uptime_after) = (Tasks::read(files), uptime_s(files));

        let longer = uptime.zip(uptime_after).map_or(0.0, |(before, after)| after - before);
        let both = cpus.zip(cpus_after);
        let cpus = both.map(|(before, after)| {
            let since = |&cpu| Some((cpu, after.since(&before, cpu)?));
            after.0.keys().filter_map(since).collect()
        });
        let interrupts = slow.interrupts.zip(slow_after.interrupts);
        let swapped = slow.swapped_pages.zip(slow_after.swapped_pages);
        let polled = slow_after.polling_us.into_iter().filter_map(|(cpu, after)| {
            let before = slow.polling_us.get(&cpu)?;
            Some((cpu, after.saturating_sub(*before) as f64 / 1e6))
        });
        Self {
            seconds,
            cpus,
            tasks_seconds: seconds.max(longer),
            tasks: tasks_after.since(&tasks),
            interrupts: interrupts.map(|(before, after)| after.since(&before)),
            swapped_pages: swapped.map(|(before, after)| after.saturating_sub(before)),
            polling_s: polled.collect(),
        }
    }
}

/// Sources that take a while to read.
struct SlowSources {
    interrupts: Option<Interrupts>,
    swapped_pages: Option<u64>,
    polling_us: BTreeMap<u32, u64>,
}

impl SlowSources {
    fn read(files: &mut impl SystemFiles, polling: &Polling) -> Self {
        Self {
            interrupts: files.read("proc/interrupts").ok().and_then(Interrupts::parse),
            swapped_pages: files.read("proc/vmstat").ok().and_then(swapped_pages),
            polling_us: polling.read(files),
        }
    }
}

/// The CPUs whose first idle state is a loop, with its file
/// (`Documentation/admin-guide/pm/cpuidle.rst`).
struct Polling(Vec<(u32, String)>);

impl Polling {
    fn find(files: &mut impl SystemFiles, machine: &Machine) -> Self {
        let state = |cpu| format!("{CPUS}/cpu{cpu}/cpuidle/state0");
        let mut polls = |cpu: &u32| files.read(&format!("{}/name", state(*cpu))) == Ok("POLL");
        let cpus = machine.online().iter().filter(&mut polls).collect::<Vec<_>>();
        Self(cpus.into_iter().map(|cpu| (cpu, format!("{}/time", state(cpu)))).collect())
    }

    /// The time spent so, in microseconds.
    fn read(&self, files: &mut impl SystemFiles) -> BTreeMap<u32, u64> {
        let time = |(cpu, file): &(u32, String)| Some((*cpu, files.read(file).ok()?.parse().ok()?));
        self.0.iter().filter_map(time).collect()
    }
}

/// The first number of `/proc/uptime`, in seconds.
fn uptime_s(files: &mut impl SystemFiles) -> Option<f64> {
    let text = files.read("proc/uptime").ok()?;
    text.split(' ').next()?.parse().ok().filter(|uptime: &f64| uptime.is_finite())
}

/// `pswpin` and `pswpout` of `/proc/vmstat`.
fn swapped_pages(text: &str) -> Option<u64> {
    let pages = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    pages("pswpin")?.checked_add(pages("pswpout")?)
}
