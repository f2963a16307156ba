//! Busy time of each logical CPU in an interval, by `/proc/stat` (`proc_stat(5)`).
//!
//! The kernel knows idle time to the nanosecond and prints whole ticks of it; busy time it counts in ticks, by
//! what ran when the tick came. So idle time bounds the busy share, and the ticks choose within the bounds.

use corun_files::decimal;
use corun_record::CpuActivity;

/// Idle time that steps back by more ticks than this was not corrected but counted from 0 again.
const STEP_BACK: u64 = 5;

/// Kernel's account of a logical CPU since it started, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Account {
    user: u64,
    system: u64,
    interrupts: u64,
    idle: u64,
    waiting: u64,
    steal: u64,
}

/// The accounts of all online CPUs at a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts {
    /// By their numbers, ascending.
    cpus: Vec<(u32, Account)>,
}

/// A logical CPU over an interval, and how exactly that is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CpuUse {
    pub(crate) activity: CpuActivity,
    /// The least and the largest share of time that it can have been busy.
    pub(crate) busy: Range,
    /// The share of time that it spent in interrupts.
    pub(crate) interrupts: f64,
}

/// A value between two others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) value: f64,
    pub(crate) high: f64,
}

impl Range {
    /// All three less a share, and not below 0.
    pub(crate) fn less(self, share: f64) -> Self {
        let less = |it: f64| (it - share).max(0.0);
        Self { low: less(self.low), value: less(self.value), high: less(self.high) }
    }

    /// The largest distance from the value to a bound.
    pub(crate) fn error(self) -> f64 {
        (self.high - self.value).max(self.value - self.low)
    }
}

impl Accounts {
    /// Takes over the text of `/proc/stat`; lines that are not as documented are left out.
    pub(crate) fn parse(&mut self, text: &[u8]) {
        self.cpus.clear();
        for line in text.split(|&byte| byte == b'\n') {
            let Some(line) = line.strip_prefix(b"cpu") else {
                // The lines of CPUs come first; what follows is long.
                if self.cpus.is_empty() {
                    continue;
                }
                break;
            };
            let mut numbers = line.split(|&byte| byte == b' ').map_while(decimal);
            if let (Some(cpu), Some(account)) = (numbers.next(), Account::read(&mut numbers)) {
                self.cpus.push((cpu as u32, account));
            }
        }
        self.cpus.sort_unstable_by_key(|(cpu, _)| *cpu);
    }

    /// The online CPUs, ascending.
    pub(crate) fn online(&self) -> impl Iterator<Item = u32> + '_ {
        self.cpus.iter().map(|(cpu, _)| *cpu)
    }

    /// Use of a CPU since `earlier`, `ticks` ticks ago; `None` if either reading lacks it, or it was offline
    /// for most of the time.
    pub(crate) fn since(&self, earlier: &Self, cpu: u32, ticks: f64) -> Option<CpuUse> {
        let (before, after) = (earlier.of(cpu)?, self.of(cpu)?);
        (ticks > 0.0).then(|| CpuUse::between(before, after, ticks))?
    }

    /// True if nothing of a CPU's account has changed since `earlier`, though it is in both readings.
    pub(crate) fn stands_still(&self, earlier: &Self, cpu: u32) -> bool {
        earlier.of(cpu).is_some_and(|before| self.of(cpu) == Some(before))
    }

    fn of(&self, cpu: u32) -> Option<Account> {
        let place = self.cpus.binary_search_by_key(&cpu, |(cpu, _)| *cpu).ok()?;
        self.cpus.get(place).map(|(_, account)| *account)
    }
}

impl Account {
    /// The fields after the CPU's number; kernels before 2.6.11 have no stolen time.
    fn read(fields: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let mut next = || fields.next();
        let (user, nice, system) = (next()?, next()?, next()?);
        let (idle, waiting) = (next()?, next()?);
        let interrupts = next()?.saturating_add(next()?);
        let steal = next().unwrap_or(0);
        Some(Self { user: user.saturating_add(nice), system, interrupts, idle, waiting, steal })
    }
}

impl CpuUse {
    /// Of a CPU whose account stands still while those of others go on: it was not idle, since idle time is accounted
    /// without ticks, and what it did is not known to the last part.
    pub(crate) fn unaccounted() -> Self {
        let activity = CpuActivity { cpu: 0, user: 1.0, system: 0.0, idle: 0.0, steal: 0.0 };
        Self { activity, busy: Range { low: 0.0, value: 1.0, high: 1.0 }, interrupts: 0.0 }
    }

    fn between(before: Account, after: Account, ticks: f64) -> Option<Self> {
        // The kernel's sums may step back: by a tick at any time, to 0 where a CPU was offline.
        let grown = |of: fn(Account) -> u64| of(after).saturating_sub(of(before)) as f64;
        let user = grown(|it| it.user);
        let interrupts = grown(|it| it.interrupts);
        let system = grown(|it| it.system) + interrupts;
        let steal = grown(|it| it.steal);
        let waiting = grown(|it| it.waiting);
        let idle = grown(|it| it.idle) + waiting;
        // Two ticks are what rounding can hide. Kernels before 6.8 count idle time from 0 after a CPU was offline.
        let is_short = user + system + idle + steal + 2.0 < ticks / 2.0;
        if is_short || after.idle.saturating_add(STEP_BACK) < before.idle {
            return None;
        }
        let share = |ticks_of: f64| (ticks_of / ticks).clamp(0.0, 1.0);
        let is_idle_known =
            after.idle >= before.idle && after.waiting.saturating_add(1) >= before.waiting;
        // Each of the two sums is rounded down at both ends.
        let rounding = if waiting > 0.0 { 2.0 } else { 1.0 };
        let stolen = share(steal);
        let counted = share(user + system);
        let busy = match is_idle_known {
            true => {
                let at_idle = |idle: f64| (1.0 - idle / ticks - stolen).clamp(0.0, 1.0);
                let (low, high) = (at_idle(idle + rounding), at_idle(idle - rounding));
                Range { low, value: counted.clamp(low, high), high }
            }
            false => Range { low: 0.0, value: counted.min(1.0 - stolen), high: 1.0 - stolen },
        };
        let in_kernel = if user + system > 0.0 { system / (user + system) } else { 0.0 };
        let activity = CpuActivity {
            cpu: 0,
            user: busy.value * (1.0 - in_kernel),
            system: busy.value * in_kernel,
            idle: (1.0 - busy.value - stolen).max(0.0),
            steal: stolen,
        };
        Some(Self { activity, busy, interrupts: share(interrupts) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(text: &str) -> Accounts {
        let mut accounts = Accounts::default();
        accounts.parse(text.as_bytes());
        accounts
    }

    fn since(before: &str, after: &str, ticks: f64) -> Option<CpuUse> {
        let line = |rest: &str| format!("cpu  1 2 3\ncpu0 {rest}\nintr 5 6\ncpu7 1 1 1 1 1 1 1\n");
        accounts(&line(after)).since(&accounts(&line(before)), 0, ticks)
    }

    #[test]
    fn a_cpu_is_busy_when_it_is_neither_idle_nor_stolen() {
        let used =
            since("100 10 20 5000 70 3 4 50 0 0", "120 10 25 5050 70 4 8 65 9 9", 100.0).unwrap();
        assert!((used.activity.busy() - 0.35).abs() < 0.011, "{used:?}");
        assert!((used.activity.user / used.activity.busy() - 20.0 / 30.0).abs() < 1e-9, "{used:?}");
        assert_eq!((used.activity.steal, used.interrupts), (0.15, 0.05));
        let all = used.activity.busy() + used.activity.idle + used.activity.steal;
        assert!((all - 1.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_decide_only_what_idle_time_leaves_open() {
        // Not quite a tick was lost by rounding: the CPU was idle.
        let idle = since("0 0 0 0 0 0 0 0", "0 0 0 100 0 0 0 0", 100.4).unwrap();
        assert_eq!((idle.activity.busy(), idle.busy.low), (0.0, 0.0));
        // Work that always ends before the tick comes is not counted, but the CPU was not idle.
        let hidden = since("0 0 0 0 0 0 0 0", "0 0 0 60 0 0 0 0", 100.0).unwrap();
        assert!((hidden.activity.busy() - 0.39).abs() < 1e-9, "{hidden:?}");
        let busy = since("0 0 0 7 0 0 0 0", "100 0 0 7 0 0 0 0", 100.4).unwrap();
        assert!(busy.activity.busy() > 0.99 && busy.busy.high == 1.0);
    }

    #[test]
    fn idle_time_that_steps_back_is_not_believed() {
        let used = since("0 0 0 5000 0 0 0 0", "60 0 0 4998 0 0 0 0", 100.0).unwrap();
        assert_eq!((used.activity.busy(), used.busy.low, used.busy.high), (0.6, 0.0, 1.0));
        assert_eq!(since("0 0 0 5000 0 0 0 0", "60 0 0 70 0 0 0 0", 100.0), None, "it was offline");
        let step = since("9 0 0 500 3 0 0 0", "8 0 0 600 2 0 0 0", 100.0).unwrap();
        assert_eq!(step.activity.busy(), 0.0);
    }

    #[test]
    fn a_cpu_that_was_offline_is_left_out() {
        assert_eq!(since("5 0 0 500 0 0 0 0", "9 0 0 530 0 0 0 0", 100.0), None);
        let (before, after) = (accounts("cpu0 1 1 1 1 1 1 1"), accounts("cpu1 9 9 9 9 9 9 9"));
        assert_eq!(after.since(&before, 0, 1.0), None);
        assert_eq!(after.since(&before, 1, 1.0), None);
        assert_eq!(after.since(&after, 1, 0.0), None, "no time has passed");
        assert_eq!(after.online().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn an_account_that_stands_still_is_told_from_one_that_is_missing() {
        let (before, after) = (
            accounts("cpu0 1 0 0 5 0 0 0\ncpu1 1 0 0 5 0 0 0"),
            accounts("cpu0 1 0 0 9 0 0 0\ncpu1 1 0 0 5 0 0 0"),
        );
        let still = [0, 1, 2].map(|cpu| after.stands_still(&before, cpu));
        assert_eq!(still, [false, true, false]);
    }

    #[test]
    fn lines_of_another_form_are_left_out() {
        let text = "cpu\ncpux 1 1 1 1 1 1 1\ncpu3 1 1 x\ncpu5 1 1 1 1 1 1 1\ncpu4 1 1 1 1 1 1 1 1";
        assert_eq!(accounts(text).online().collect::<Vec<_>>(), [4, 5]);
        assert!(accounts("").cpus.is_empty());
    }
}
