//! CPUs of the engine: each finds its next task, runs it as fast as its siblings allow, and is timed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::outcome::CpuUse;
use crate::policy::{AfterSlice, Balance, Balanced, Why};
use crate::topology::Distance;

use super::state::Doing;
use super::{Engine, RunInterval, TaskId};

/// State of a CPU in the engine beside what it does.
#[derive(Debug, Clone, Default)]
pub(super) struct Cpu {
    /// Units of work in a nanosecond.
    speed: u64,
    /// True if a sibling runs something.
    is_shared: bool,
    /// Until when the running task has been accounted for.
    settled: u64,
    since: u64,
    slice_end: Option<u64>,
    /// The task that ran last, by its number.
    last_task: Option<u64>,
    pub(super) is_called: bool,
    /// True if its balancing timer is off.
    is_parked: bool,
    /// Reason for which the running task is to be rescheduled, as the kernel's `need_resched`.
    need_resched: Option<Why>,
    phase: u64,
    pub(super) used: CpuUse,
}

/// Timers of different CPUs begin apart by up to this share of their interval.
const PHASES: u64 = 1 << 20;

impl Engine<'_> {
    pub(super) fn set_phases(&mut self) {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        for cpu in &mut self.cpus {
            cpu.phase = random.random_range(0..PHASES);
            cpu.is_parked = true;
        }
        self.parked = (0..self.cpus.len()).collect();
    }

    /// Has a CPU pick its next task in this instant.
    pub(super) fn call(&mut self, cpu: usize) {
        if self.state.is_idle(cpu) {
            self.state.set(cpu, Doing::Called);
        }
        if !std::mem::replace(&mut self.cpus[cpu].is_called, true) {
            self.called.push_back(cpu);
        }
    }

    /// Wakes an idle CPU from another, which takes the time of an interrupt.
    pub(super) fn interrupt(&mut self, cpu: usize, from: Option<usize>) {
        if self.costs.interrupt == 0 || from == Some(cpu) {
            return self.call(cpu);
        }
        self.state.set(cpu, Doing::Called);
        self.events.set(cpu, self.state.now + self.costs.interrupt);
    }

    /// Has the running task of a CPU rescheduled.
    pub(super) fn resched(&mut self, cpu: usize, why: Why) {
        self.cpus[cpu].need_resched.get_or_insert(why);
        self.call(cpu);
    }

    pub(super) fn cpu_timer(&mut self, cpu: usize) {
        let Some(task) = self.state.running(cpu) else {
            return self.call(cpu);
        };
        self.settle(cpu);
        if self.state.task(task).inside.left == 0 && !self.advance(cpu, task) {
            return self.call(cpu);
        }
        let is_over = self.cpus[cpu].slice_end.is_some_and(|end| end <= self.state.now);
        if is_over && self.cpus[cpu].need_resched.is_none() {
            match self.policy.slice_is_over(&self.state, cpu, task) {
                AfterSlice::Keep => self.set_slice(cpu, task),
                AfterSlice::Next => self.resched(cpu, Why::Expired),
                AfterSlice::WholeCore => {
                    let core = self.state.topology.cpus[cpu].core;
                    for place in 0..self.state.topology.cores[core].len() {
                        let sibling = self.state.topology.cores[core][place];
                        self.put_back(sibling, Why::Expired);
                        self.call(sibling);
                    }
                }
            }
        }
        self.set_timer(cpu);
    }

    pub(super) fn set_slice(&mut self, cpu: usize, task: TaskId) {
        let slice = self.policy.slice(&self.state, cpu, task);
        self.cpus[cpu].slice_end = slice.map(|slice| self.state.now.saturating_add(slice.max(1)));
    }

    /// After a task was enqueued at a busy CPU: slices that had no end may have one now.
    pub(super) fn end_slices(&mut self, cpu: usize) {
        let core = self.state.topology.cpus[cpu].core;
        for place in 0..self.state.topology.cores[core].len() {
            let sibling = self.state.topology.cores[core][place];
            if self.cpus[sibling].slice_end.is_none()
                && let Some(task) = self.state.running(sibling)
            {
                self.set_slice(sibling, task);
                self.set_timer(sibling);
            }
        }
    }

    /// Sets the timer of a CPU to the next step of its task, or the end of its slice.
    fn set_timer(&mut self, cpu: usize) {
        let Some(task) = self.state.running(cpu) else { return };
        let Cpu { speed, settled, slice_end, .. } = self.cpus[cpu];
        if speed == 0 {
            return;
        }
        let left = self.state.task(task).inside.left;
        let time = match (u64::try_from(left), u64::try_from(left.div_ceil(u128::from(speed)))) {
            (Ok(left), _) => left.div_ceil(speed),
            (Err(_), Ok(time)) => time,
            (Err(_), Err(_)) => u64::MAX,
        };
        let done = settled.saturating_add(time);
        self.events.set(cpu, slice_end.map_or(done, |end| end.min(done)));
    }

    /// Accounts for what the running task did up to now.
    pub(super) fn settle(&mut self, cpu: usize) {
        let Some(task) = self.state.running(cpu) else { return };
        let now = self.state.now;
        let Cpu { speed, is_shared, settled, .. } = self.cpus[cpu];
        let time = now - settled;
        if time == 0 {
            return;
        }
        let inside = &mut self.state.task_mut(task).inside;
        let did = (u128::from(speed) * u128::from(time)).min(inside.left);
        let overhead = did.min(inside.overhead);
        inside.left -= did;
        inside.overhead -= overhead;
        inside.worked += did - overhead;
        inside.ran += time;
        let used = &mut self.cpus[cpu].used;
        used.busy += time;
        used.beside_sibling += if is_shared { time } else { 0 };
        used.overhead += overhead;
        self.cpus[cpu].settled = now;
        self.policy.charge(&self.state, task, cpu, time);
    }

    /// Accounts for what the running tasks of a CPU's core did up to now.
    pub(super) fn settle_core(&mut self, cpu: usize) {
        let core = self.state.topology.cpus[cpu].core;
        for place in 0..self.state.topology.cores[core].len() {
            self.settle(self.state.topology.cores[core][place]);
        }
    }

    /// Takes the running task off a CPU; what becomes of it is the caller's matter.
    pub(super) fn take_off(&mut self, cpu: usize) -> Option<TaskId> {
        let task = self.state.running(cpu)?;
        self.settle(cpu);
        self.report(cpu);
        self.note_core(cpu);
        self.state.set(cpu, Doing::Called);
        let now = self.state.now;
        let held = self.state.task_mut(task);
        held.last_cpu = Some(cpu);
        held.last_ran = now;
        self.cpus[cpu].last_task = Some(held.number);
        self.cpus[cpu].speed = 0;
        self.cpus[cpu].slice_end = None;
        self.cpus[cpu].need_resched = None;
        Some(task)
    }

    /// Puts the running task of a CPU back into its queue.
    fn put_back(&mut self, cpu: usize, why: Why) {
        if let Some(task) = self.take_off(cpu) {
            self.wait(task);
            self.policy.enqueue(&self.state, task, cpu, why);
        }
    }

    /// The CPU picks its next task.
    pub(super) fn find_next(&mut self, cpu: usize) {
        if self.state.running(cpu).is_some() {
            let Some(why) = self.cpus[cpu].need_resched else { return };
            self.put_back(cpu, why);
        }
        let decision = self.policy.decision(&self.state, cpu);
        let mut next = self.policy.pick(&self.state, cpu);
        if next.is_none() {
            self.balance(cpu, Balance::NewlyIdle);
            next = self.policy.pick(&self.state, cpu);
        }
        match next {
            Some(task) => {
                let hold = decision.hold(&self.costs);
                let locked = if hold > 0 { self.lock_policy(decision.lock, hold) } else { 0 };
                self.put_on(cpu, task, locked);
            }
            None => {
                self.note_core(cpu);
                self.state.set(cpu, Doing::Idle);
                self.events.cancel(cpu);
                self.set_balance_timer(cpu);
                if let Some(sibling) = self.policy.leaves_choice_to(&self.state, cpu) {
                    self.call(sibling);
                }
            }
        }
    }

    /// Nanoseconds that a decision waits for its lock and holds it.
    fn lock_policy(&mut self, lock: usize, hold: u64) -> u64 {
        if self.policy_locks.len() <= lock {
            self.policy_locks.resize(lock + 1, 0);
        }
        let begin = self.policy_locks[lock].max(self.state.now);
        self.policy_locks[lock] = begin + hold;
        begin + hold - self.state.now
    }

    fn put_on(&mut self, cpu: usize, task: TaskId, locked: u64) {
        let now = self.state.now;
        self.note_core(cpu);
        self.state.set(cpu, Doing::Running(task));
        self.stop_waiting(task);
        let held = self.state.task(task);
        let is_another = self.cpus[cpu].last_task != Some(held.number);
        let from = held.last_cpu;
        let distance = from.map(|from| self.state.topology.distance(from, cpu));
        let mut cost = locked;
        if is_another {
            self.tally.switches += 1;
            cost += self.costs.switch;
        }
        match distance {
            None | Some(Distance::SameCpu) => {}
            Some(Distance::SameCore) => self.tally.migrations.same_core += 1,
            Some(Distance::SameCache) => {
                self.tally.migrations.same_cache += 1;
                cost += self.costs.refill;
            }
            Some(Distance::Elsewhere) => {
                self.tally.migrations.elsewhere += 1;
                cost += self.costs.refill_far;
            }
        }
        self.add_overhead(task, cost);
        let held = &mut self.cpus[cpu];
        held.since = now;
        held.settled = now;
        held.speed = 0;
        self.set_slice(cpu, task);
        if self.state.waiting > 0 && self.policy.calls_siblings() {
            self.call_idle_siblings(cpu);
        }
        if self.state.task(task).inside.left == 0 && !self.advance(cpu, task) {
            self.call(cpu);
        }
    }

    fn call_idle_siblings(&mut self, cpu: usize) {
        let core = self.state.topology.cpus[cpu].core;
        for place in 0..self.state.topology.cores[core].len() {
            let sibling = self.state.topology.cores[core][place];
            if self.state.is_idle(sibling) {
                self.call(sibling);
            }
        }
    }

    /// Notes that a core changes now.
    fn note_core(&mut self, cpu: usize) {
        let core = self.state.topology.cpus[cpu].core;
        self.count_core(core);
        if !self.changed.contains(&core) {
            self.changed.push(core);
        }
    }

    /// Accounts for how many siblings were busy at a time.
    pub(super) fn count_core(&mut self, core: usize) {
        self.tally.core_was(core, self.state.busy[core], self.state.now);
    }

    /// Sets speeds and timers of a core's CPUs after changes.
    pub(super) fn set_speeds(&mut self, core: usize) {
        let siblings = self.state.topology.cores[core].len();
        let mut busy = 0;
        for place in 0..siblings {
            let cpu = self.state.topology.cores[core][place];
            let Some(task) = self.state.running(cpu) else { continue };
            busy += 1;
            let speed = self.speed(core, cpu, task);
            if speed != self.cpus[cpu].speed {
                self.settle(cpu);
                self.cpus[cpu].speed = speed;
                self.set_timer(cpu);
            }
        }
        for place in 0..siblings {
            let cpu = self.state.topology.cores[core][place];
            let is_shared = busy > 1 && self.state.running(cpu).is_some();
            if is_shared != self.cpus[cpu].is_shared {
                self.settle(cpu);
                self.cpus[cpu].is_shared = is_shared;
            }
        }
        let was_shared = std::mem::replace(&mut self.is_shared[core], busy > 1);
        match (was_shared, busy > 1) {
            (false, true) => {
                self.shared_cores += 1;
                if self.policy.moves_running() {
                    self.unpark();
                }
            }
            (true, false) => self.shared_cores -= 1,
            _ => {}
        }
    }

    fn speed(&self, core: usize, cpu: usize, task: TaskId) -> u64 {
        let kind = |task: TaskId| self.state.task(task).inside.kind;
        let own = kind(task);
        match self.state.topology.cores[core][..] {
            [_] => self.speeds.unit,
            [one, other] => {
                let sibling = if one == cpu { other } else { one };
                match self.state.running(sibling) {
                    None => self.speeds.unit,
                    Some(beside) => self.speeds.beside_one(own, kind(beside)),
                }
            }
            ref all => {
                let others = all.iter().filter(|&&sibling| sibling != cpu);
                let others = others.filter_map(|&sibling| self.state.running(sibling)).map(kind);
                self.speeds.beside(own, others)
            }
        }
    }

    /// Reports to the observer that the running task leaves.
    pub(super) fn report(&mut self, cpu: usize) {
        let Some(task) = self.state.running(cpu) else { return };
        let held = self.state.task(task);
        let interval = RunInterval {
            cpu,
            task: held.number,
            program: held.inside.program,
            cookie: held.cookie,
            begin: self.cpus[cpu].since,
            end: self.state.now,
        };
        if interval.begin < interval.end {
            self.observer.ran(interval);
        }
    }

    pub(super) fn balance_timer(&mut self, cpu: usize) {
        let is_idle = self.state.is_idle(cpu);
        self.settle(cpu);
        if self.balance(cpu, if is_idle { Balance::Idle } else { Balance::Busy }) && is_idle {
            self.call(cpu);
        }
        self.set_balance_timer(cpu);
    }

    /// Lets the policy balance; whether the CPU's queue has got tasks.
    fn balance(&mut self, cpu: usize, when: Balance) -> bool {
        match self.policy.balance(&self.state, cpu, when) {
            Balanced::Nothing => false,
            Balanced::Pulled => {
                // The task may not be one that this CPU takes beside its siblings: their slices end now.
                self.end_slices(cpu);
                true
            }
            Balanced::Push(from) => {
                let Some(task) = self.take_off(from) else { return false };
                self.wait(task);
                self.policy.enqueue(&self.state, task, cpu, Why::Pushed);
                // In this order, or the CPU that lost the task would take it back.
                self.call(cpu);
                self.call(from);
                self.end_slices(cpu);
                true
            }
        }
    }

    /// Sets the next balancing of a CPU; an idle one with nothing to expect is parked.
    fn set_balance_timer(&mut self, cpu: usize) {
        let place = self.balance_place(cpu);
        let is_idle = self.state.is_idle(cpu);
        let has_use =
            self.state.waiting > 0 || (self.policy.moves_running() && self.shared_cores > 0);
        let next = self.policy.next_balance(&self.state, cpu, is_idle);
        let interval = self.policy.balance_interval(&self.state, is_idle);
        if next.is_none() && interval.is_none() {
            return self.events.cancel(place);
        }
        if is_idle && !has_use {
            self.events.cancel(place);
            if !std::mem::replace(&mut self.cpus[cpu].is_parked, true) {
                self.parked.push(cpu);
            }
            return;
        }
        let by_interval = |interval: u64| {
            let phase = u128::from(interval) * u128::from(self.cpus[cpu].phase);
            let phase = (phase / u128::from(PHASES)) as u64;
            self.state.now + interval - (self.state.now + interval - phase) % interval
        };
        if let Some(next) = next.or_else(|| interval.map(by_interval)) {
            self.events.set(place, next);
        }
    }

    /// Starts the timers of parked CPUs again.
    pub(super) fn unpark(&mut self) {
        for cpu in std::mem::take(&mut self.parked) {
            self.cpus[cpu].is_parked = false;
            self.set_balance_timer(cpu);
        }
    }
}
