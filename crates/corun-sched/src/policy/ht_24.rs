//! The scheduler of Linux 2.4: one run queue, and a counter for each task; a CPU takes the task with the greatest
//! goodness, and when all that it may take have used their counters, all tasks get new ones. The change of 2.4.17
//! for siblings: a core that is idle as a whole comes before an idle sibling.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{AfterSlice, Arrival, Balance, Balanced, Decision, Policy, PolicyEntry, Why, least};
use crate::engine::{State, TaskId};
use crate::program::weight;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    name: "ht-2.4",
    summary: "one run queue and counters; an idle core is preferred; a decision examines all runnable tasks",
    source: "Linux 2.4.17 and later, kernel/sched.c: schedule, goodness, reschedule_idle",
    is_without_siblings: false,
    make: |topology, _| Box::new(Ht24::new(topology.cpus.len())),
};

/// A tick, with `HZ` 100, in nanoseconds.
const TICK: u64 = 10_000_000;
/// Bonus of a task where it ran last (`PROC_CHANGE_PENALTY` of i386).
const SAME_CPU: u64 = 15 * TICK;
/// The most that a task has when others that it started have ended (`MAX_COUNTER`).
const MAX_COUNTER: u64 = 20 * TICK;
/// Interval at which an idle CPU polls the queue: a task that was preempted may wait there.
const IDLE_INTERVAL: u64 = 1_000_000;

/// State of a task in the policy.
#[derive(Debug, Clone, Copy)]
struct Memory {
    number: u64,
    nice: i8,
    /// Nanoseconds that it may still run (`counter`), as of `epoch`.
    counter: u64,
    epoch: u64,
    /// The CPU that it was on last (`processor`).
    cpu: Option<usize>,
    /// When it was enqueued, as a count of such events: of equals the one that waits longest comes first.
    enqueued: u64,
    /// Goodness but for the CPU, as it waits.
    goodness: u64,
}

/// By goodness, the greatest first.
type Order = BTreeSet<(Reverse<u64>, u64, u32)>;

#[derive(Debug)]
struct Ht24 {
    tasks: Vec<Memory>,
    /// All that wait, and by the CPU that they were on last.
    waiting: Order,
    waiting_near: Vec<Order>,
    /// Number of renewals of the counters.
    epoch: u64,
    enqueued: u64,
    /// The highest nice value of all tasks so far.
    highest: i8,
    /// By CPU: until when its task is charged, and when it chose its task last; none has been idle longer than one that never
    /// chose.
    charged: Vec<u64>,
    chosen: Vec<Option<u64>>,
    is_idle: Vec<bool>,
}

/// A task's nice value.
fn nice(state: &State, task: TaskId) -> i8 {
    let own = state.task(task).weight;
    (-20..20).find(|&nice| weight(nice) <= own).unwrap_or(19)
}

/// `NICE_TO_TICKS`, in nanoseconds: 60 ms at nice 0, at least a tick.
fn full(nice: i8) -> u64 {
    (above_least(nice) / 4 + 1) * TICK
}

/// 20 at nice 0, and 1 at nice 19.
fn above_least(nice: i8) -> u64 {
    20_u64.saturating_add_signed(-i64::from(nice))
}

/// A new counter, in nanoseconds: half of the ticks that are left, and a full one.
///
/// Counters are kept in nanoseconds, so that also who runs for less than a tick is charged. But of a task that runs
/// on another CPU meanwhile the next tick comes as soon as it would have come anyway, so that it is through before
/// the CPU that renewed the counters does so again: otherwise a task that may use that CPU only could wait forever.
fn recalculated(counter: u64, nice: i8, runs: bool) -> u64 {
    let ticks = counter.div_ceil(TICK).max(u64::from(runs));
    let renewed = ticks / 2 * TICK + full(nice);
    match runs {
        true => renewed - (ticks * TICK - counter),
        false => renewed,
    }
}

impl Ht24 {
    fn new(cpus: usize) -> Self {
        Self {
            tasks: Vec::new(),
            waiting: Order::new(),
            waiting_near: vec![Order::new(); cpus],
            epoch: 0,
            enqueued: 0,
            highest: -20,
            charged: vec![0; cpus],
            chosen: vec![None; cpus],
            is_idle: vec![true; cpus],
        }
    }

    /// State of a task, with the counters that it got while it slept.
    fn memory(&mut self, state: &State, task: TaskId) -> &mut Memory {
        let (place, epoch) = (task.0 as usize, self.epoch);
        let number = state.task(task).number;
        let new = |nice: i8| Memory {
            number,
            nice,
            counter: full(nice),
            epoch,
            cpu: None,
            enqueued: 0,
            goodness: 0,
        };
        if self.tasks.len() <= place {
            self.tasks.resize(place + 1, Memory { number: u64::MAX, ..new(0) });
        }
        let held = &mut self.tasks[place];
        if held.number != number {
            *held = new(nice(state, task));
            self.highest = self.highest.max(held.nice);
        }
        // Each renewal halves what was there before.
        for _ in 0..(epoch - held.epoch).min(u64::from(u64::BITS)) {
            held.counter = recalculated(held.counter, held.nice, false);
        }
        held.epoch = epoch;
        held
    }

    /// `goodness` of a task but for what it gains where it ran last; 0 if its counter is used.
    fn goodness(&mut self, state: &State, task: TaskId) -> u64 {
        let &mut Memory { counter, nice, .. } = self.memory(state, task);
        if counter == 0 { 0 } else { (counter.div_ceil(TICK) + above_least(nice)) * TICK }
    }

    fn insert(&mut self, state: &State, task: TaskId) {
        let goodness = self.goodness(state, task);
        let held = self.memory(state, task);
        held.goodness = goodness;
        let key = (Reverse(goodness), held.enqueued, task.0);
        let near = held.cpu;
        self.waiting.insert(key);
        if let Some(cpu) = near {
            self.waiting_near[cpu].insert(key);
        }
    }

    fn remove(&mut self, task: TaskId) {
        let Memory { goodness, enqueued, cpu, .. } = self.tasks[task.0 as usize];
        let key = (Reverse(goodness), enqueued, task.0);
        self.waiting.remove(&key);
        if let Some(cpu) = cpu {
            self.waiting_near[cpu].remove(&key);
        }
    }

    /// The task with the greatest goodness on a CPU among those that wait, and its goodness there.
    fn best(&self, state: &State, cpu: usize) -> Option<(u64, TaskId)> {
        let first = |order: &Order| {
            let mut tasks =
                order.iter().map(|&(Reverse(goodness), _, task)| (goodness, TaskId(task)));
            tasks.find(|&(_, task)| state.may_run(task, cpu))
        };
        let anywhere = first(&self.waiting)?;
        let near = first(&self.waiting_near[cpu]).filter(|&(goodness, _)| goodness > 0);
        let near = near.map(|(goodness, task)| (goodness + SAME_CPU, task));
        Some(near.filter(|near| near.0 >= anywhere.0).unwrap_or(anywhere))
    }

    /// Charges the task that runs on a CPU up to now.
    fn settle(&mut self, state: &State, task: TaskId, cpu: usize) {
        let ran = state.now() - std::mem::replace(&mut self.charged[cpu], state.now());
        let held = self.memory(state, task);
        held.counter = held.counter.saturating_sub(ran);
    }

    /// Gives all tasks new counters, as this CPU finds none that has any left; those that sleep get theirs when
    /// they are examined.
    fn recalculate(&mut self, state: &State, own: usize) {
        let cpus = 0..state.topology().cpus.len();
        let running: Vec<(usize, TaskId)> =
            cpus.filter_map(|cpu| Some((cpu, state.running(cpu)?))).collect();
        for &(cpu, task) in &running {
            self.settle(state, task, cpu);
        }
        self.epoch += 1;
        for (cpu, task) in running {
            let held = &mut self.tasks[task.0 as usize];
            held.counter = recalculated(held.counter, held.nice, cpu != own);
            held.epoch = self.epoch;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_near.iter_mut().for_each(BTreeSet::clear);
        waiting.into_iter().for_each(|(.., task)| self.insert(state, TaskId(task)));
    }
}

impl Policy for Ht24 {
    fn place(&mut self, state: &State, task: TaskId, arrival: Arrival) -> usize {
        let last = arrival.cpu_before(state, task);
        let last = last.filter(|&cpu| state.may_run(task, cpu));
        self.memory(state, task).cpu = last;
        let cpu = self.choose(state, task, last);
        // A task from outside has a CPU too.
        self.memory(state, task).cpu.get_or_insert(cpu);
        cpu
    }

    fn decision(&self, state: &State, _cpu: usize) -> Decision {
        Decision { examined: state.waiting(), lock: 0 }
    }

    fn enqueue(&mut self, state: &State, task: TaskId, cpu: usize, why: Why) {
        self.enqueued += 1;
        let enqueued = self.enqueued;
        let held = self.memory(state, task);
        held.enqueued = enqueued;
        if !matches!(why, Why::New | Why::Woken) {
            held.cpu = Some(cpu);
        }
        self.insert(state, task);
    }

    /// `schedule`, which an idle CPU does not call while there is nothing for it.
    fn pick(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        self.charged[cpu] = state.now();
        let task = self.take_best(state, cpu);
        if task.is_some() || !self.is_idle[cpu] {
            self.chosen[cpu] = Some(state.now());
        }
        self.is_idle[cpu] = task.is_none();
        task
    }

    fn charge(&mut self, state: &State, task: TaskId, cpu: usize, _ran: u64) {
        self.settle(state, task, cpu);
    }

    /// `do_fork`: the counter is shared.
    fn fork(&mut self, state: &State, parent: TaskId, child: TaskId) -> bool {
        let held = self.memory(state, parent);
        let share = held.counter.div_ceil(2);
        held.counter -= share;
        self.memory(state, child).counter = share;
        true
    }

    /// `release_task`: what is left goes to the parent.
    fn exit(&mut self, state: &State, child: TaskId, parent: TaskId) {
        let left = self.memory(state, child).counter;
        let held = self.memory(state, parent);
        held.counter = (held.counter + left).min(MAX_COUNTER);
    }

    fn slice(&mut self, state: &State, _cpu: usize, task: TaskId) -> Option<u64> {
        Some(self.memory(state, task).counter)
    }

    fn slice_is_over(&mut self, state: &State, cpu: usize, task: TaskId) -> AfterSlice {
        if self.memory(state, task).counter > 0 {
            return AfterSlice::Keep;
        }
        if self.best(state, cpu).is_some() {
            return AfterSlice::Next;
        }
        self.recalculate(state, cpu);
        AfterSlice::Keep
    }

    fn preempts(&mut self, state: &State, woken: TaskId, running: TaskId, cpu: usize) -> bool {
        debug_assert_eq!(state.running(cpu), Some(running));
        self.gain(state, woken, cpu) > 0
    }

    /// The queue is that of all CPUs.
    fn balance(&mut self, state: &State, cpu: usize, when: Balance) -> Balanced {
        match when == Balance::Idle && self.best(state, cpu).is_some() {
            true => Balanced::Pulled,
            false => Balanced::Nothing,
        }
    }

    fn balance_interval(&self, _state: &State, is_idle: bool) -> Option<u64> {
        is_idle.then_some(IDLE_INTERVAL)
    }
}

impl Ht24 {
    /// Takes the task with the greatest goodness out of the queue.
    fn take_best(&mut self, state: &State, cpu: usize) -> Option<TaskId> {
        let (mut goodness, mut task) = self.best(state, cpu)?;
        if goodness == 0 {
            self.recalculate(state, cpu);
            (goodness, task) = self.best(state, cpu)?;
        }
        debug_assert!(goodness > 0, "every task has a counter after they were renewed");
        self.remove(task);
        self.memory(state, task).cpu = Some(cpu);
        Some(task)
    }

    /// `reschedule_idle`: the CPU that the task ran on last if it is idle, else one of an idle core, else the one
    /// that is idle longest, else the one whose task is worst beside this one.
    fn choose(&mut self, state: &State, task: TaskId, last: Option<usize>) -> usize {
        if let Some(last) = last.filter(|&cpu| state.is_idle(cpu)) {
            return last;
        }
        let count = state.topology().cpus.len();
        if state.idle_cpus() > 0 {
            let idle = (0..count).filter(|&cpu| state.is_idle(cpu));
            let key = |cpu| match state.topology().smt_width() > 1 && state.has_idle_core(cpu) {
                true => (false, None),
                false => (true, self.chosen[cpu]),
            };
            if let Some(cpu) = least(state, task, idle, key) {
                return cpu;
            }
        }
        // The running task gains as much where it is as the task that ran there last; elsewhere few can be better.
        let least_of_others = SAME_CPU + (above_least(self.highest) + 1) * TICK;
        if let Some(last) = last.filter(|_| self.goodness(state, task) <= least_of_others) {
            return last;
        }
        for cpu in 0..count {
            if let Some(running) = state.running(cpu) {
                self.settle(state, running, cpu);
            }
        }
        let gains: Vec<u64> = (0..count).map(|cpu| self.gain(state, task, cpu)).collect();
        let key = |cpu: usize| (Reverse(gains[cpu]), Some(cpu) != last);
        least(state, task, 0..count, key).unwrap_or(0)
    }

    /// `preemption_goodness`: how much better a task is on a CPU than the one that runs there.
    fn gain(&mut self, state: &State, task: TaskId, cpu: usize) -> u64 {
        let Some(running) = state.running(cpu) else { return 0 };
        let near = if self.memory(state, task).cpu == Some(cpu) { SAME_CPU } else { 0 };
        let own = match self.goodness(state, task) {
            0 => 0,
            goodness => goodness + near,
        };
        let other = match self.goodness(state, running) {
            0 => 0,
            goodness => goodness + SAME_CPU,
        };
        own.saturating_sub(other)
    }
}
