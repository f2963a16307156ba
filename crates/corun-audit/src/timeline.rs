//! Who ran where when: what a load's tasks noted, and what others did on the CPUs meanwhile.
//!
//! Everything that is judged is computed from this, without a clock: a made-up timeline serves as
//! well as a seen one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A task that reads the clock all the time was preempted if it missed more than this.
///
/// Well above an interrupt, well below the shortest time slice of the kernel (0.7 ms).
pub const GAP_NS: u64 = 100_000;

/// A CPU that others had for more than this share of the time was not idle.
const IDLE: f64 = 0.2;

/// Timeline of one load; times are nanoseconds from the common start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// Length of the load.
    pub length_ns: u64,
    /// The tasks of all processes, in the load's order.
    pub tasks: Vec<TaskLog>,
    /// Activity of all other tasks.
    pub others: Others,
}

/// Log of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLog {
    /// Intervals in which it ran, ascending.
    pub intervals: Vec<Interval>,
    /// When each step ended.
    pub steps_ended_ns: Vec<u64>,
    /// CPU time that the kernel had given it when each step ended.
    pub cpu_at_steps_ns: Vec<u64>,
    /// Every time that it slept and was woken.
    pub wakes: Vec<Wake>,
}

/// A task on a CPU, without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The logical CPU.
    pub cpu: u32,
    /// From here.
    pub from_ns: u64,
    /// To here.
    pub to_ns: u64,
}

/// A wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    /// The CPU that the task fell asleep on.
    pub from_cpu: u32,
    /// The CPU that it ran on next.
    pub to_cpu: u32,
    /// When it was due.
    pub due_ns: u64,
    /// When it ran.
    pub ran_ns: u64,
}

/// Activity of others on the CPUs while the load ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Others {
    /// Time that a CPU gave to others or lost to the hypervisor, in seconds, where it was not seen
    /// when.
    pub unplaced_s: BTreeMap<u32, f64>,
    /// When others ran where, as far as that was seen.
    pub intervals: Vec<Interval>,
}

/// Nanoseconds as seconds.
pub fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl Interval {
    /// Time of others between two times.
    pub fn within_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        self.to_ns.min(to_ns).saturating_sub(self.from_ns.max(from_ns))
    }
}

impl TaskLog {
    /// Notes that the task runs on `cpu` at `now_ns`.
    pub fn see(&mut self, now_ns: u64, cpu: u32) {
        match self.intervals.last_mut() {
            Some(last) if last.cpu == cpu && now_ns.saturating_sub(last.to_ns) <= GAP_NS => {
                last.to_ns = now_ns;
            }
            _ => self.intervals.push(Interval { cpu, from_ns: now_ns, to_ns: now_ns }),
        }
    }

    /// The CPU time that it was given between the ends of two steps, in seconds, by the kernel's own
    /// account; none if it did not come so far.
    pub fn cpu_s(&self, from_step: usize, to_step: usize) -> f64 {
        let at = |step: usize| self.cpu_at_steps_ns.get(step);
        let given = at(from_step).zip(at(to_step));
        given.map_or(0.0, |(before, after)| seconds(after.saturating_sub(*before)))
    }

    /// The CPU time of a task of [`Task::busy`](crate::load::Task::busy) once it had settled.
    pub fn settled_s(&self) -> f64 {
        self.cpu_s(1, 2)
    }

    /// The CPU time that it was given on one CPU, in seconds, as it was seen there.
    pub fn cpu_on_s(&self, cpu: u32) -> f64 {
        let length = |it: &Interval| it.to_ns - it.from_ns;
        let all: u64 = self.intervals.iter().map(length).sum();
        let there: u64 = self.intervals.iter().filter(|it| it.cpu == cpu).map(length).sum();
        let given = seconds(self.cpu_at_steps_ns.last().copied().unwrap_or(0));
        given * there as f64 / all.max(1) as f64
    }

    /// Time it ran between two times on the CPUs that `is_meant` selects, in seconds.
    pub fn ran_on_s(&self, from_ns: u64, to_ns: u64, is_meant: impl Fn(u32) -> bool) -> f64 {
        let meant = self.intervals.iter().filter(|it| is_meant(it.cpu));
        seconds(meant.map(|it| it.within_ns(from_ns, to_ns)).sum())
    }

    /// Number of migrations to another CPU between two times.
    pub fn migrations(&self, from_ns: u64, to_ns: u64) -> usize {
        let pairs = self.intervals.windows(2);
        let is_within = |pair: &&[Interval]| (from_ns..to_ns).contains(&pair[1].from_ns);
        pairs.filter(is_within).filter(|pair| pair[0].cpu != pair[1].cpu).count()
    }
}

impl Others {
    /// The most that others can have run on a CPU between two times, in seconds.
    pub fn at_most_s(&self, cpu: u32, from_ns: u64, to_ns: u64) -> f64 {
        let seen = self.intervals.iter().filter(|it| it.cpu == cpu);
        let seen_ns: u64 = seen.map(|it| it.within_ns(from_ns, to_ns)).sum();
        let unplaced = self.unplaced_s.get(&cpu).copied().unwrap_or(0.0);
        (seconds(seen_ns) + unplaced).min(seconds(to_ns.saturating_sub(from_ns)))
    }

    /// Part of the time between two times in which these CPUs may not have been there for a load, in
    /// seconds: all of it where they were not idle, since a balanced load is then another one.
    pub fn excused_s(&self, cpus: &[u32], from_ns: u64, to_ns: u64) -> f64 {
        let span_s = seconds(to_ns.saturating_sub(from_ns));
        match self.on_all_s(cpus, from_ns, to_ns) {
            others_s if others_s > IDLE * span_s => span_s,
            others_s => others_s,
        }
    }

    /// The most that others can have run on any of these CPUs between two times, in seconds of CPU time.
    pub fn on_all_s(&self, cpus: &[u32], from_ns: u64, to_ns: u64) -> f64 {
        cpus.iter().map(|&cpu| self.at_most_s(cpu, from_ns, to_ns)).sum()
    }
}

impl Timeline {
    /// The CPU that each task ran on last, as it was just before `from_ns` and after every change from
    /// then on, with the time; `None` for a task that had not run.
    pub fn last_cpus(&self, from_ns: u64) -> Vec<(u64, Vec<Option<u32>>)> {
        let intervals = self.tasks.iter().enumerate().flat_map(|(task, log)| {
            log.intervals.iter().map(move |interval| (interval.from_ns, task, interval.cpu))
        });
        let mut arrivals: Vec<(u64, usize, u32)> = intervals.collect();
        // Stable: what a task noted at one time stays in its order.
        arrivals.sort_by_key(|&(at_ns, ..)| at_ns);
        let mut on = vec![None; self.tasks.len()];
        let mut changes: Vec<(u64, Vec<Option<u32>>)> = Vec::new();
        for (at_ns, task, cpu) in arrivals {
            on[task] = Some(cpu);
            if at_ns < from_ns {
                changes.clear();
            }
            changes.push((at_ns.max(from_ns), on.clone()));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval(cpu: u32, from_ns: u64, to_ns: u64) -> Interval {
        Interval { cpu, from_ns, to_ns }
    }

    #[test]
    fn a_short_pause_is_an_interrupt_and_a_long_one_is_not() {
        let mut log = TaskLog::default();
        for (now, cpu) in [(0, 1), (50_000, 1), (150_000, 1), (250_001, 1), (250_002, 2)] {
            log.see(now, cpu);
        }
        assert_eq!(
            log.intervals,
            [interval(1, 0, 150_000), interval(1, 250_001, 250_001), interval(2, 250_002, 250_002)]
        );
        assert_eq!(log.migrations(0, 1_000_000), 1);
        assert_eq!(log.migrations(0, 250_002), 0);
    }

    #[test]
    fn others_count_where_they_were_seen_and_anywhere_where_they_were_not() {
        let mut others = Others { intervals: vec![interval(0, 10, 30)], ..Others::default() };
        assert_eq!(others.at_most_s(0, 20, 100), 10e-9);
        assert_eq!(others.at_most_s(1, 0, 100), 0.0);
        others.unplaced_s.insert(1, 50e-9);
        assert_eq!(others.at_most_s(1, 0, 100), 50e-9);
        assert_eq!(others.at_most_s(1, 0, 20), 20e-9);
        assert!((others.on_all_s(&[0, 1], 0, 20) - 30e-9).abs() < 1e-15);
        assert_eq!(others.excused_s(&[0], 0, 50), 50e-9);
        assert_eq!(others.excused_s(&[0], 0, 1000), 20e-9);
    }

    #[test]
    fn a_task_is_where_it_was_seen_last() {
        let log = |intervals| TaskLog { intervals, ..TaskLog::default() };
        let timeline = Timeline {
            length_ns: 100,
            tasks: vec![
                log(vec![interval(0, 0, 50), interval(1, 60, 100)]),
                log(vec![interval(1, 20, 40)]),
            ],
            others: Others::default(),
        };
        let all = [(0, vec![Some(0), None]), (20, vec![Some(0), Some(1)]), (60, vec![Some(1); 2])];
        assert_eq!(timeline.last_cpus(0), all);
        assert_eq!(timeline.last_cpus(30), [(30, vec![Some(0), Some(1)]), (60, vec![Some(1); 2])]);
        assert_eq!(
            timeline.last_cpus(60)[0],
            (60, vec![Some(0), Some(1)]),
            "as it was just before"
        );
        let moved_at_once = vec![log(vec![interval(3, 0, 0), interval(0, 0, 0)])];
        let timeline = Timeline { tasks: moved_at_once, ..timeline };
        assert_eq!(timeline.last_cpus(50), [(50, vec![Some(0)])]);
    }

    #[test]
    fn cpu_time_is_counted_from_step_to_step() {
        let log = TaskLog {
            intervals: vec![interval(0, 0, 30), interval(1, 40, 50)],
            cpu_at_steps_ns: vec![5, 10, 85],
            ..TaskLog::default()
        };
        assert_eq!((log.cpu_s(1, 2), log.cpu_s(0, 2), log.cpu_s(2, 3)), (75e-9, 80e-9, 0.0));
        assert!((log.cpu_on_s(0) - 63.75e-9).abs() < 1e-15);
        assert_eq!(TaskLog::default().cpu_on_s(0), 0.0);
    }

    proptest! {
        #[test]
        fn every_task_is_somewhere_once_it_has_run(
            times in proptest::collection::vec((0_u32..3, 1_u64..50, 0_u64..50), 1..20),
            from_ns in 0_u64..2000,
        ) {
            let mut at = 0;
            let mut log = TaskLog::default();
            for (cpu, length, gap) in times {
                log.intervals.push(interval(cpu, at, at + length));
                at += length + gap;
            }
            let last = log.intervals.last().map(|it| it.cpu);
            let timeline = Timeline { length_ns: at, tasks: vec![log], others: Others::default() };
            let states = timeline.last_cpus(from_ns);
            prop_assert!(states.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            prop_assert!(states.iter().all(|(at_ns, on)| *at_ns >= from_ns && on[0].is_some()));
            prop_assert_eq!(states.last().map(|(_, on)| on[0]), Some(last));
        }
    }
}
