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
/// Accounts of tasks say how long a process waited if they have this share of the CPU time that it used: the rest is that of
/// threads after their last reading.
const ACCOUNTED: f64 = 0.75;
/// As [`ACCOUNTED`], of a process with one worker, whose account is read at its end.
const ACCOUNTED_AT_END: f64 = 0.98;
/// A task that used less of the CPU time of its process made no other wait.
const WORKED: f64 = 0.02;

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

    /// The account of the calling thread; `None` where the kernel does not count.
    pub(crate) fn of_this_thread() -> Option<Self> {
        let text = corun_files::kernel_text("/proc/thread-self/schedstat").ok()?;
        Self::parse(&text)?.if_counted()
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
        beyond_wake_ups_ns(self.waited_ns.saturating_sub(earlier.waited_ns), turns)
    }
}

/// Waiting time beyond what so many wake-ups take.
pub(crate) fn beyond_wake_ups_ns(waited_ns: u64, wake_ups: u64) -> u64 {
    waited_ns.saturating_sub(wake_ups.saturating_mul(OF_WAKE_UP_NS))
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

    /// Waiting time of the only worker, whose first thread did all the work.
    fn of_only_worker_ns(&self, process: libc::pid_t) -> Option<u64> {
        let (_, account) = self.last.get(&process)?;
        let before = self.first.get(&process).map_or(0, |first| first.waited_ns);
        Some(account.waited_ns.saturating_sub(before))
    }

    /// CPU time of each task since the start, in nanoseconds.
    fn on_cpu_ns(&self) -> impl Iterator<Item = u64> {
        self.last.iter().map(|(task, (_, account))| {
            let before = self.first.get(task).map_or(0, |first| first.on_cpu_ns);
            account.on_cpu_ns.saturating_sub(before)
        })
    }

    /// True if waiting of the tasks is all that the process waited, and for others: they are no more than its workers,
    /// which have a CPU each, and no child did a part of the work.
    fn waits_for_others_alone(&self, workers: usize, used_ns: f64) -> bool {
        let accounted = if workers == 1 { ACCOUNTED_AT_END } else { ACCOUNTED };
        let seen_ns = self.on_cpu_ns().sum::<u64>() as f64;
        let worked = self.on_cpu_ns().filter(|&ns| ns as f64 > WORKED * used_ns).count();
        worked <= workers && seen_ns >= accounted * used_ns
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
    /// True if of some process it is not known for how long it waited for others.
    is_unknown: bool,
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

    /// A process of `workers` workers has ended, having used so much CPU time in all: the waiting time of its only
    /// worker in nanoseconds, if it has but one and waited for others alone. Tasks of its own that are more than its
    /// workers, or children, wait for each other too: how long it waited for others is then not known.
    pub(crate) fn end(
        &mut self,
        process: libc::pid_t,
        workers: usize,
        at_ns: u64,
        used: &libc::rusage,
    ) -> Option<u64> {
        let known = self.processes.remove(&process)?;
        let time_ns = at_ns.saturating_sub(known.begun_ns) as f64 * workers as f64;
        let used_ns = cpu_time_ns(used).saturating_sub(known.on_cpu_before_ns()) as f64;
        let most = known.most().filter(|_| known.waits_for_others_alone(workers, used_ns));
        let Some(most) = most else {
            self.is_unknown = true;
            return None;
        };
        let unused = if time_ns > 0.0 { (1.0 - used_ns / time_ns).max(0.0) } else { 0.0 };
        // Of several workers one may have lost all that all of them did not use.
        let lost = most.min(unused * workers as f64);
        self.most = Some(self.most.map_or(lost, |other| other.max(lost)));
        known.of_only_worker_ns(process).filter(|_| workers == 1)
    }

    /// Accounts of the first threads before the common start, by process id.
    pub(crate) fn before_start(&self, process: libc::pid_t) -> Option<TaskAccount> {
        self.processes.get(&process)?.first.get(&process).copied()
    }

    /// The share of its time for which the worker waited for others that waited most; `None` where that is not known.
    pub(crate) fn most(&self) -> Option<f64> {
        self.most.filter(|_| !self.is_unknown)
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
    fn what_children_did_leaves_unknown_for_whom_it_waited() {
        assert_eq!(most("794005 19237558 2", "7211553 69822245 5", 57_070, 57_900), None);
        // A Python parent beside two children that work, all on two CPUs.
        let mut waits = Waits::default();
        waits.add(7, 0);
        let parent = TaskAccount { on_cpu_ns: 40 * MS, waited_ns: 20 * MS, turns: 30 };
        waits.processes.get_mut(&7).unwrap().last.insert(7, (220 * MS, parent));
        waits.end(7, 2, 220 * MS, &used(300_000));
        assert_eq!(waits.most(), None);
    }

    #[test]
    fn more_threads_than_workers_wait_for_each_other() {
        for (threads, expected) in [(2, Some(0.2)), (3, None)] {
            let mut waits = Waits::default();
            waits.add(7, 0);
            let account = TaskAccount { on_cpu_ns: 50 * MS, waited_ns: 20 * MS, turns: 0 };
            let last = (7..7 + threads).map(|task| (task, (100 * MS, account)));
            waits.processes.get_mut(&7).unwrap().last.extend(last);
            waits.end(7, 2, 100 * MS, &used(50_000 * i64::from(threads)));
            assert_eq!(waits.most(), expected, "{threads} threads");
        }
    }

    #[test]
    fn a_kernel_that_does_not_count_says_nothing() {
        assert_eq!(most("0 0 0", "0 0 0", 6, 6), None);
        assert_eq!(TaskAccount::parse(""), None);
        assert_eq!(TaskAccount::parse("1 2"), None);
        assert_eq!(TaskAccount::parse("1 x 3"), None);
    }

    #[test]
    fn a_thread_counts_up_to_its_last_reading() {
        let mut waits = Waits::default();
        waits.add(7, 0);
        let account = TaskAccount { on_cpu_ns: 40 * MS, waited_ns: 40 * MS, turns: 3 };
        waits.processes.get_mut(&7).unwrap().last.insert(9, (80 * MS, account));
        waits.end(7, 2, 100 * MS, &used(50_000));
        assert_eq!(waits.most(), Some(0.49625));
    }
}
