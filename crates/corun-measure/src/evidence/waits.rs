//! Time for which workers were ready to run and had to wait for their CPU, as the scheduler counts it.
//!
//! `/proc/PID/schedstat` (`Documentation/scheduler/sched-stats.rst`) gives in nanoseconds how long a
//! task ran and waited, and how often it got a CPU. Nothing is divided by ticks, so that a run of a
//! millisecond can be judged too. Of a process that has ended it can be read until it is collected.

use std::collections::BTreeMap;

/// A wait of this length, at each turn on a CPU, is that of a wake-up or of the kernel's own short
/// work: an idle CPU needs about as long to leave its deepest sleep.
const OF_WAKE_UP_NS: u64 = 100_000;
/// A process is read again when it is older by a quarter.
const GROWTH: f64 = 1.25;

/// Scheduler's account of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TaskAccount {
    pub(crate) on_cpu_ns: u64,
    pub(crate) waited_ns: u64,
    /// Number of times it got a CPU.
    pub(crate) turns: u64,
}

impl TaskAccount {
    /// The account of a task; zeros where the kernel does not count, or the task has not run yet.
    pub(crate) fn of(process: libc::pid_t, task: libc::pid_t) -> Option<Self> {
        let file = format!("/proc/{process}/task/{task}/schedstat");
        Self::parse(&corun_files::kernel_text(file).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { on_cpu_ns: next()?, waited_ns: next()?, turns: next()? })
    }

    /// The account, if the kernel counts.
    fn if_counted(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    /// Waiting time since `earlier` beyond what wake-ups take.
    fn waited_since(self, earlier: Self) -> u64 {
        let turns = self.turns.saturating_sub(earlier.turns);
        let waited = self.waited_ns.saturating_sub(earlier.waited_ns);
        waited.saturating_sub(turns.saturating_mul(OF_WAKE_UP_NS))
    }
}

/// The waits of one process's tasks.
#[derive(Debug, Default)]
struct ProcessWaits {
    begun_ns: u64,
    first: BTreeMap<libc::pid_t, TaskAccount>,
    /// The last account of each task, and when it was taken.
    last: BTreeMap<libc::pid_t, (u64, TaskAccount)>,
}

impl ProcessWaits {
    /// The share of its time for which the task waited that waited most.
    fn most(&self) -> Option<f64> {
        let share = |(task, (at_ns, account)): (&libc::pid_t, &(u64, TaskAccount))| {
            let before = self.first.get(task).copied().unwrap_or_default();
            let time_ns = at_ns.checked_sub(self.begun_ns).filter(|&ns| ns > 0)?;
            Some((account.waited_since(before) as f64 / time_ns as f64).min(1.0))
        };
        self.last.iter().filter_map(share).reduce(f64::max)
    }

    fn on_cpu_before_ns(&self) -> u64 {
        self.first.values().map(|account| account.on_cpu_ns).sum()
    }
}

/// The waits of a sample's processes.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    processes: BTreeMap<libc::pid_t, ProcessWaits>,
    due_ns: u64,
    /// The most that a worker of a process that has ended waited, as a share of its time.
    most: Option<f64>,
}

impl Waits {
    /// Takes the accounts before the common start.
    pub(crate) fn assemble(&mut self, process: libc::pid_t, tasks: &[libc::pid_t]) {
        let first =
            tasks.iter().filter_map(|&it| Some((it, TaskAccount::of(process, it)?.if_counted()?)));
        let of_process = ProcessWaits { first: first.collect(), ..ProcessWaits::default() };
        self.processes.insert(process, of_process);
    }

    /// Time runs from here for these processes, and for each that is added later.
    pub(crate) fn start(&mut self, at_ns: u64) {
        self.processes.values_mut().for_each(|process| process.begun_ns = at_ns);
        self.due_ns = at_ns;
    }

    /// A process that starts at once.
    pub(crate) fn add(&mut self, process: libc::pid_t, at_ns: u64) {
        let of_process = ProcessWaits { begun_ns: at_ns, ..ProcessWaits::default() };
        self.processes.insert(process, of_process);
    }

    /// True if it is time to read threads, whose accounts go away with them.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Reads these tasks of a process.
    pub(crate) fn sample(&mut self, process: libc::pid_t, tasks: &[libc::pid_t], now_ns: u64) {
        let Some(known) = self.processes.get_mut(&process) else { return };
        for &task in tasks {
            let account = TaskAccount::of(process, task);
            if let Some(account) = account.and_then(TaskAccount::if_counted) {
                known.last.insert(task, (now_ns, account));
            }
        }
        let age = now_ns.saturating_sub(known.begun_ns) as f64;
        self.due_ns = known.begun_ns + (age * GROWTH) as u64;
    }

    /// A process of `workers` workers has ended, having used so much CPU time in all. Its own
    /// threads and children may have waited for each other: only time that the process did not use
    /// can have been lost to others.
    pub(crate) fn end(
        &mut self,
        process: libc::pid_t,
        workers: usize,
        at_ns: u64,
        used: &libc::rusage,
    ) {
        let Some(known) = self.processes.remove(&process) else { return };
        let time_ns = at_ns.saturating_sub(known.begun_ns) as f64 * workers as f64;
        let used_ns = cpu_time_ns(used).saturating_sub(known.on_cpu_before_ns()) as f64;
        let Some(most) = known.most() else { return };
        let unused = if time_ns > 0.0 { (1.0 - used_ns / time_ns).max(0.0) } else { 0.0 };
        // Of several workers one may have lost all that all of them did not use.
        let lost = most.min(unused * workers as f64);
        self.most = Some(self.most.map_or(lost, |other| other.max(lost)));
    }

    /// The share of its time for which the worker waited that waited most; `None` where the kernel
    /// does not say.
    pub(crate) fn most(&self) -> Option<f64> {
        self.most
    }
}

fn cpu_time_ns(used: &libc::rusage) -> u64 {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(used.ru_utime) + ns(used.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn used(us: i64) -> libc::rusage {
        // SAFETY: plain data.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        usage.ru_utime.tv_usec = us;
        usage
    }

    /// The waits of a process with these accounts at the barrier and at its end, which came so many
    /// microseconds after the common start, and which had used so many.
    fn most(before: &str, after: &str, end_us: u64, used_us: i64) -> Option<f64> {
        let mut waits = Waits::default();
        let end_ns = end_us * 1000;
        let account = |text| TaskAccount::parse(text).and_then(TaskAccount::if_counted);
        let first = account(before).map(|it| (7, it)).into_iter().collect();
        let last = account(after).map(|it| (7, (end_ns, it))).into_iter().collect();
        waits.processes.insert(7, ProcessWaits { begun_ns: 0, first, last });
        waits.end(7, 1, end_ns, &used(used_us));
        waits.most()
    }

    // The accounts of loops of 6 ms were recorded on Linux 6.18: one that nothing could disturb (it
    // had a real-time priority), and one with two busy loops on its CPU.
    #[test]
    fn a_loop_that_nobody_disturbs_waits_for_nothing() {
        assert_eq!(most("794917 4229000 2", "7082670 4229000 3", 6360, 7080), Some(0.0));
        assert_eq!(most("2298561 6596173 2", "8859642 6596173 3", 6620, 8860), Some(0.0));
    }

    #[test]
    fn a_loop_beside_two_others_waits_for_its_cpu() {
        let share = most("794005 19237558 2", "7211553 69822245 5", 57_070, 7210).unwrap();
        assert!((0.85..0.9).contains(&share), "{share}");
    }

    #[test]
    fn wake_ups_are_no_waits() {
        let share = most("310000 52000 2", "6290000 4052000 102", 60_000, 6000);
        assert_eq!(share, Some(0.0), "a hundred times 40 microseconds");
    }

    #[test]
    fn what_its_own_threads_and_children_use_is_not_lost_to_others() {
        let share = most("794005 19237558 2", "7211553 69822245 5", 57_070, 57_900);
        assert_eq!(share, Some(0.0));
    }

    #[test]
    fn a_kernel_that_does_not_count_says_nothing() {
        assert_eq!(most("0 0 0", "0 0 0", 6, 6), None);
        assert_eq!(TaskAccount::parse(""), None);
        assert_eq!(TaskAccount::parse("1 2"), None);
        assert_eq!(TaskAccount::parse("1 x 3"), None);
    }

    #[test]
    fn a_thread_that_is_seen_but_once_counts_up_to_then() {
        let mut waits = Waits::default();
        waits.add(7, 0);
        let account = TaskAccount { on_cpu_ns: 5 * MS, waited_ns: 5 * MS, turns: 3 };
        waits.processes.get_mut(&7).unwrap().last.insert(9, (10 * MS, account));
        waits.end(7, 2, 100 * MS, &used(20_000));
        assert_eq!(waits.most(), Some(0.47));
    }
}
