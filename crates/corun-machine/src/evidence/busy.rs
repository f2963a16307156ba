//! Busy time of each CPU, by two accounts of the kernel.
//!
//! `/proc/stat` (`proc_stat(5)`) counts ticks, and reports stolen time; `/proc/schedstat`
//! (`Documentation/scheduler/sched-stats.rst`) counts nanoseconds, where the kernel keeps it.

use std::collections::BTreeMap;

use crate::SystemFiles;

/// Time of a CPU by state since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuTime {
    /// Time in programs, the kernel and interrupts, in seconds; stolen time is not in it.
    pub busy_s: f64,
    /// Time that the hypervisor gave to others although there was work, in seconds.
    pub steal_s: f64,
}

/// The times of all online CPUs, by their numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CpuTimes(pub BTreeMap<u32, CpuTime>);

impl CpuTimes {
    /// Reads `/proc/stat`, whose resolution is a tick (10 ms as a rule).
    pub fn read(files: &mut impl SystemFiles) -> Option<Self> {
        Some(Self::parse(files.read("proc/stat").ok()?, ticks_per_second()))
    }

    /// Reads the text of `/proc/stat`, in which a second has `ticks_per_second` (USER_HZ).
    /// Lines that are not as documented are left out.
    pub fn parse(text: &str, ticks_per_second: f64) -> Self {
        let times = cpu_lines(text).filter_map(|(cpu, fields)| {
            let [user, nice, system, _idle, _waiting, interrupt, soft, rest @ ..] = &*fields else {
                return None;
            };
            let busy = [user, nice, system, interrupt, soft].map(|ticks| *ticks as f64);
            let steal = rest.first().map_or(0.0, |ticks| *ticks as f64);
            let time = CpuTime {
                busy_s: busy.iter().sum::<f64>() / ticks_per_second,
                steal_s: steal / ticks_per_second,
            };
            Some((cpu, time))
        });
        Self(times.collect())
    }

    /// Time of a CPU since `earlier`; `None` if either reading lacks it.
    pub fn since(&self, earlier: &Self, cpu: u32) -> Option<CpuTime> {
        let (before, after) = (earlier.0.get(&cpu)?, self.0.get(&cpu)?);
        Some(CpuTime {
            // The kernel's sums may step back by a tick.
            busy_s: (after.busy_s - before.busy_s).max(0.0),
            steal_s: (after.steal_s - before.steal_s).max(0.0),
        })
    }
}

/// Reads from `/proc/schedstat` how long tasks ran on each CPU, in nanoseconds; `None` where the
/// kernel does not keep it. Interrupts are in no task's time.
pub fn run_times_ns(files: &mut impl SystemFiles) -> Option<BTreeMap<u32, u64>> {
    parse_run_times(files.read("proc/schedstat").ok()?)
}

fn parse_run_times(text: &str) -> Option<BTreeMap<u32, u64>> {
    let version: u32 = text.lines().next()?.strip_prefix("version ")?.trim().parse().ok()?;
    // Older versions count in jiffies.
    if version < 15 {
        return None;
    }
    const RUNNING: usize = 6;
    Some(cpu_lines(text).filter_map(|(cpu, fields)| Some((cpu, *fields.get(RUNNING)?))).collect())
}

/// Lines such as `cpu3 17 0 4`, up to the first field that is no number.
fn cpu_lines(text: &str) -> impl Iterator<Item = (u32, Vec<u64>)> + '_ {
    text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((cpu, words.map_while(|word| word.parse().ok()).collect()))
    })
}

/// The step in which `/proc/stat` advances, in seconds.
pub fn tick_s() -> f64 {
    1.0 / ticks_per_second()
}

fn ticks_per_second() -> f64 {
    // SAFETY: sysconf has no preconditions.
    match unsafe { libc::sysconf(libc::_SC_CLK_TCK) } {
        ticks if ticks > 0 => ticks as f64,
        _ => 100.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_out_idle_waiting_and_stolen_time() {
        let before = CpuTimes::parse("cpu  9 9\ncpu1 100 10 20 5000 70 3 4 50 0 0\n", 100.0);
        let after = CpuTimes::parse("cpu1 150 10 20 6000 90 3 5 60 9 9\ncpu2 1 x", 100.0);
        assert_eq!(before.0.keys().collect::<Vec<_>>(), [&1]);
        assert_eq!(before.0[&1], CpuTime { busy_s: 1.37, steal_s: 0.5 });
        let since = after.since(&before, 1).unwrap();
        assert!((since.busy_s - 0.51).abs() < 1e-12 && (since.steal_s - 0.1).abs() < 1e-12);
        assert_eq!(after.since(&before, 2), None);
    }

    #[test]
    fn an_old_kernel_without_stolen_time_has_none() {
        let times = CpuTimes::parse("cpu0 1 1 1 1 1 1 1", 100.0);
        assert_eq!(times.0[&0], CpuTime { busy_s: 0.05, steal_s: 0.0 });
    }

    #[test]
    fn run_times_are_those_of_tasks_and_only_in_nanoseconds() {
        let text = "version 17\ntimestamp 4294\ncpu0 0 0 0 0 0 0 123456789 42 7\ndomain0 03 1 2\n";
        assert_eq!(parse_run_times(text), Some(BTreeMap::from([(0, 123_456_789)])));
        assert_eq!(parse_run_times("version 14\ncpu0 0 0 0 0 0 0 1 2 3"), None);
        assert_eq!(parse_run_times(""), None);
    }
}
