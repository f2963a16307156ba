//! Which tasks ran on the siblings of a core at the same time, from all switches of tasks.
//!
//! A sweep over the switches of a core's CPUs in the order of time; it has no clock and reads no files.

use std::collections::HashMap;

/// The idle task of every CPU.
pub(super) const IDLE: u32 = 0;

/// A CPU changes from one task to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) at_ns: u64,
    /// Which of the core's siblings.
    pub(super) sibling: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Tasks that the siblings of a core run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Siblings {
    /// The task of each sibling; `None` until a switch has shown it.
    pub(super) running: Vec<Option<u32>>,
    /// The thread that reads the switches; `IDLE` for none.
    pub(super) reader: u32,
    /// True if that thread came to an idle CPU, which still counts as idle then.
    reader_is_alone: bool,
}

/// Times of a core in an interval, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CoreTimes {
    /// With 0, 1, ... S siblings busy.
    pub(super) busy_siblings: Vec<u64>,
    /// Each sibling, with the time of the thread that reads the switches.
    pub(super) busy: Vec<u64>,
}

/// Times of tasks in an interval.
#[derive(Debug, Default)]
pub(crate) struct TaskTimes {
    pub(crate) tasks: HashMap<u32, TaskTime>,
    /// Time for which two tasks ran at once, the lower number first, in nanoseconds.
    pub(crate) pairs: HashMap<(u32, u32), u64>,
}

/// Times of a task in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TaskTime {
    pub(crate) ran_ns: u64,
    /// While at least one sibling was busy.
    pub(crate) beside_ns: u64,
    /// The logical CPUs that it ran on, in the order of their first use.
    pub(crate) cpus: Vec<u32>,
}

/// The times of the present tasks of a core since each came.
struct Open {
    ran_ns: Vec<u64>,
    beside_ns: Vec<u64>,
    /// Of siblings i and j at i * S + j, i < j.
    together_ns: Vec<u64>,
}

impl Siblings {
    /// A core of `width` siblings of which nothing is known.
    pub(super) fn unknown(width: usize) -> Self {
        Self { running: vec![None; width], reader: IDLE, reader_is_alone: false }
    }

    /// Says what a sibling runs of which no switch has been seen before those that follow: what its first switch
    /// ends, or without a switch the idle task or one without a number.
    pub(super) fn begin(&mut self, switches: &[Switch], is_idle: impl Fn(usize) -> bool) {
        for (sibling, running) in self.running.iter_mut().enumerate() {
            if running.is_none() {
                let first = switches.iter().find(|it| it.sibling as usize == sibling);
                let guess = || if is_idle(sibling) { IDLE } else { u32::MAX };
                *running = Some(first.map_or_else(guess, |it| it.from));
            }
        }
    }

    /// Sweeps over switches in the order of time, and adds what the tasks did. `cpus` are the siblings' numbers.
    pub(super) fn sweep(
        &mut self,
        switches: &[Switch],
        cpus: &[u32],
        [from_ns, to_ns]: [u64; 2],
        tasks: &mut TaskTimes,
    ) -> CoreTimes {
        let width = self.running.len();
        let mut core = CoreTimes { busy_siblings: vec![0; width + 1], busy: vec![0; width] };
        let mut open = Open {
            ran_ns: vec![0; width],
            beside_ns: vec![0; width],
            together_ns: vec![0; width * width],
        };
        let mut now_ns = from_ns;
        for switch in switches {
            let at_ns = switch.at_ns.clamp(now_ns, to_ns.max(now_ns));
            self.pass(at_ns - now_ns, &mut core, &mut open);
            now_ns = at_ns;
            let sibling = switch.sibling as usize;
            if sibling < width {
                self.close(sibling, cpus, &mut open, tasks);
                self.running[sibling] = Some(switch.to);
                if switch.to == self.reader {
                    self.reader_is_alone = switch.from == IDLE;
                }
            }
        }
        self.pass(to_ns.saturating_sub(now_ns), &mut core, &mut open);
        for sibling in 0..width {
            self.close(sibling, cpus, &mut open, tasks);
        }
        core
    }

    fn is_busy(&self, sibling: usize) -> bool {
        self.running[sibling]
            .is_some_and(|task| task != IDLE && !(self.reader_is_alone && task == self.reader))
    }

    /// Lets time pass without a switch.
    fn pass(&self, time_ns: u64, core: &mut CoreTimes, open: &mut Open) {
        if time_ns == 0 {
            return;
        }
        let width = self.running.len();
        for (busy_ns, task) in core.busy.iter_mut().zip(&self.running) {
            *busy_ns += if task.is_some_and(|task| task != IDLE) { time_ns } else { 0 };
        }
        let busy = (0..width).filter(|&it| self.is_busy(it)).count();
        core.busy_siblings[busy] += time_ns;
        if busy == 0 {
            return;
        }
        for sibling in (0..width).filter(|&it| self.is_busy(it)) {
            open.ran_ns[sibling] += time_ns;
            if busy > 1 {
                open.beside_ns[sibling] += time_ns;
                for other in (sibling + 1..width).filter(|&it| self.is_busy(it)) {
                    open.together_ns[sibling * width + other] += time_ns;
                }
            }
        }
    }

    /// Books what the task of a sibling has done since it came.
    fn close(&self, sibling: usize, cpus: &[u32], open: &mut Open, tasks: &mut TaskTimes) {
        let ran_ns = std::mem::take(&mut open.ran_ns[sibling]);
        let beside_ns = std::mem::take(&mut open.beside_ns[sibling]);
        let Some(task) = self.running[sibling].filter(|_| ran_ns > 0) else { return };
        let time = tasks.tasks.entry(task).or_default();
        time.ran_ns += ran_ns;
        time.beside_ns += beside_ns;
        if let Some(cpu) = cpus.get(sibling).filter(|cpu| !time.cpus.contains(cpu)) {
            time.cpus.push(*cpu);
        }
        if beside_ns == 0 {
            return;
        }
        let width = self.running.len();
        for other in (0..width).filter(|&it| it != sibling) {
            let place = sibling.min(other) * width + sibling.max(other);
            let together_ns = std::mem::take(&mut open.together_ns[place]);
            if let Some(companion) = self.running[other].filter(|_| together_ns > 0) {
                let pair = (task.min(companion), task.max(companion));
                *tasks.pairs.entry(pair).or_default() += together_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn switch(at_ns: u64, sibling: u32, from: u32, to: u32) -> Switch {
        Switch { at_ns, sibling, from, to }
    }

    #[test]
    fn overlaps_are_counted_by_core_and_by_pair() {
        let switches = [
            switch(10, 0, 0, 7),
            switch(20, 1, 0, 8),
            switch(40, 0, 7, 9),
            switch(50, 0, 9, 0),
            switch(70, 1, 8, 0),
        ];
        let mut siblings = Siblings::unknown(2);
        siblings.begin(&switches, |_| panic!("both have a switch"));
        let mut tasks = TaskTimes::default();
        let core = siblings.sweep(&switches, &[2, 3], [0, 100], &mut tasks);
        assert_eq!(core, CoreTimes { busy_siblings: vec![40, 30, 30], busy: vec![40, 50] });
        let of = |task: u32| tasks.tasks[&task].clone();
        assert_eq!(of(7), TaskTime { ran_ns: 30, beside_ns: 20, cpus: vec![2] });
        assert_eq!(of(8), TaskTime { ran_ns: 50, beside_ns: 30, cpus: vec![3] });
        assert_eq!(tasks.pairs, HashMap::from([((7, 8), 20), ((8, 9), 10)]));
        assert!(!tasks.tasks.contains_key(&IDLE));
        assert_eq!(siblings.running, [Some(0), Some(0)]);
    }

    #[test]
    fn the_thread_that_reads_the_switches_keeps_no_idle_sibling_busy() {
        let switches = [
            switch(10, 0, 0, 7),
            switch(20, 1, 0, 8),
            switch(40, 1, 8, 0),
            // Here it takes the CPU from another thread, which would have run.
            switch(60, 0, 7, 8),
            switch(65, 0, 8, 7),
        ];
        let mut siblings =
            Siblings { running: vec![Some(0); 2], reader: 8, ..Siblings::unknown(2) };
        let mut tasks = TaskTimes::default();
        let core = siblings.sweep(&switches, &[2, 3], [0, 100], &mut tasks);
        assert_eq!(core, CoreTimes { busy_siblings: vec![10, 90, 0], busy: vec![90, 20] });
        assert_eq!(tasks.tasks[&7], TaskTime { ran_ns: 85, beside_ns: 0, cpus: vec![2] });
        assert_eq!(tasks.pairs.len(), 0);
    }

    #[test]
    fn a_sibling_without_a_switch_runs_one_task_or_none() {
        let mut siblings = Siblings::unknown(3);
        siblings.begin(&[switch(5, 1, 4, 0)], |sibling| sibling == 0);
        assert_eq!(siblings.running, [Some(IDLE), Some(4), Some(u32::MAX)]);
    }

    proptest! {
        /// The sweep against the same schedule counted nanosecond by nanosecond.
        #[test]
        fn a_sweep_counts_what_counting_every_nanosecond_does(
            width in 1_usize..4,
            steps in proptest::collection::vec((0_u64..5, 0_u32..4, 0_u32..4), 0..40),
        ) {
            let mut at_ns = 0;
            let mut running = vec![0; width];
            let mut switches = Vec::new();
            let mut truth = vec![0_u64; width + 1];
            let mut pairs = HashMap::new();
            let mut pass = |running: &[u32], time_ns: u64| {
                truth[running.iter().filter(|it| **it != 0).count()] += time_ns;
                for (place, one) in running.iter().enumerate() {
                    for other in &running[place + 1..] {
                        if *one != 0 && *other != 0 && time_ns > 0 {
                            *pairs.entry((*one.min(other), *one.max(other))).or_insert(0) += time_ns;
                        }
                    }
                }
            };
            for (pause, sibling, task) in steps {
                let sibling = sibling as usize % width;
                // Every task has one CPU.
                let task = if task == 0 { 0 } else { task + 10 * sibling as u32 };
                pass(&running, pause);
                at_ns += pause;
                switches.push(switch(at_ns, sibling as u32, running[sibling], task));
                running[sibling] = task;
            }
            pass(&running, 3);
            let mut siblings = Siblings { running: vec![Some(0); width], ..Siblings::unknown(width) };
            let mut tasks = TaskTimes::default();
            let cpus: Vec<u32> = (0..width as u32).collect();
            let core = siblings.sweep(&switches, &cpus, [0, at_ns + 3], &mut tasks);
            prop_assert_eq!(core.busy_siblings, truth);
            prop_assert_eq!(tasks.pairs, pairs);
            let ran: u64 = tasks.tasks.values().map(|it| it.ran_ns).sum();
            prop_assert_eq!(ran, core.busy.iter().sum::<u64>());
        }
    }
}
