//! The engine: discrete events in whole nanoseconds. It owns time, tasks, what they share, and how fast
//! they run beside their siblings; where they run is the policy's decision.

mod cpus;
mod events;
mod shared;
mod state;
mod steps;
mod tasks;

use std::collections::VecDeque;

use self::cpus::Cpu;
use self::events::Events;
use self::shared::Shared;
pub(super) use self::state::Record;
pub use self::state::{State, Task, TaskId};
use super::ScheduleError;
use super::costs::Costs;
use super::outcome::{Outcome, Tally};
use super::policy::{Policy, PolicyEntry};
use super::program::{Load, MAX_TASKS};
use super::slowdowns::{Slowdowns, Speeds};
use super::topology::Topology;

/// Settings of a simulated schedule.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The machine, with all its siblings.
    pub topology: Topology,
    /// Slowdowns of siblings by each other.
    pub slowdowns: Slowdowns,
    /// Costs of the kernel's work.
    pub costs: Costs,
    /// Of all that is random.
    pub seed: u64,
    /// Nanoseconds after which it ends, done or not.
    pub until: Option<u64>,
}

/// An interval of time that a task had a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunInterval {
    /// The CPU.
    pub cpu: usize,
    /// The task, by how many were born before it.
    pub task: u64,
    /// Program of the task.
    pub program: usize,
    /// Core-scheduling cookie.
    pub cookie: u32,
    /// When it began and ended, in nanoseconds.
    pub begin: u64,
    /// The end.
    pub end: u64,
}

/// Records what ran where.
pub trait Observer {
    /// A task had a CPU, and has left it.
    fn ran(&mut self, interval: RunInterval);
}

/// Sees nothing.
impl Observer for () {
    fn ran(&mut self, _stretch: RunInterval) {}
}

/// Keeps all.
impl Observer for Vec<RunInterval> {
    fn ran(&mut self, interval: RunInterval) {
        self.push(interval);
    }
}

/// The last nanosecond that is simulated: some 146 years.
const LAST: u64 = 1 << 62;

/// Schedules a load under a policy.
///
/// # Errors
/// If the load cannot be simulated, would never end or takes no time, or has a task that no CPU may run.
pub fn schedule(
    policy: &PolicyEntry,
    load: &Load,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Outcome, ScheduleError> {
    load.check()?;
    if settings.until.is_none() {
        load.check_end()?;
    }
    policy.check(load, &settings.topology)?;
    let topology = policy.topology(&settings.topology);
    let mut engine = Engine::new(policy, load, settings, topology, observer);
    engine.begin();
    engine.run();
    let refused = |why| Err(ScheduleError::Load { load: load.name.clone(), why });
    if engine.has_too_many_events() {
        return refused(format!("more than {MAX_TASKS} tasks live at once"));
    }
    let outcome = engine.outcome();
    // A rate over no time is none.
    if outcome.is_finished && outcome.makespan == 0 {
        return refused("expected tasks that work or wait, found that all end at once".to_owned());
    }
    Ok(outcome)
}

struct Engine<'a> {
    load: &'a Load,
    costs: Costs,
    seed: u64,
    until: u64,
    speeds: Speeds,
    policy: Box<dyn Policy>,
    observer: &'a mut dyn Observer,
    state: State,
    events: Events,
    shared: Shared,
    cpus: Vec<Cpu>,
    /// When each lock of the policy is free, by its number.
    policy_locks: Vec<u64>,
    /// CPUs that are to pick their next task, now.
    called: VecDeque<usize>,
    /// Cores on which something changed now, so that speeds may differ.
    changed: Vec<usize>,
    /// Idle CPUs whose timer is off, since there is nothing to balance.
    parked: Vec<usize>,
    /// For each core, true if it has several running tasks; and the number of such cores.
    is_shared: Vec<bool>,
    shared_cores: usize,
    free: Vec<TaskId>,
    /// Places in the load's tasks, by start, the next last.
    starts: Vec<usize>,
    /// Tasks that the run waits for.
    foreground: usize,
    /// True if there is nothing to wait for.
    is_endless: bool,
    /// True if nothing more can happen.
    is_stuck: bool,
    tally: Tally,
}

/// Places of events: the CPUs' own timers, their balancing timers, starts, sources, tasks.
impl Engine<'_> {
    fn balance_place(&self, cpu: usize) -> usize {
        self.cpus.len() + cpu
    }

    fn start_place(&self) -> usize {
        2 * self.cpus.len()
    }

    fn source_place(&self, source: usize) -> usize {
        self.start_place() + 1 + source
    }

    fn task_place(&self, task: TaskId) -> usize {
        self.start_place() + 1 + self.load.sources.len() + task.0 as usize
    }
}

impl<'a> Engine<'a> {
    fn new(
        policy: &PolicyEntry,
        load: &'a Load,
        settings: &Settings,
        topology: Topology,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let mut starts: Vec<usize> = (0..load.tasks.len()).collect();
        starts.sort_by_key(|&place| (load.tasks[place].start, place));
        starts.reverse();
        let count = topology.cpus.len();
        let cores = topology.cores.len();
        Self {
            load,
            costs: settings.costs,
            seed: settings.seed,
            until: settings.until.into_iter().chain(load.until).chain([LAST]).min().unwrap_or(LAST),
            speeds: settings.slowdowns.speeds(&load.kinds, topology.smt_width()),
            policy: policy.make(&topology, settings.seed),
            observer,
            state: State::new(topology),
            events: Events::default(),
            shared: Shared::new(load, settings.seed),
            cpus: vec![Cpu::default(); count],
            policy_locks: Vec::new(),
            called: VecDeque::new(),
            changed: Vec::new(),
            parked: Vec::new(),
            is_shared: vec![false; cores],
            shared_cores: 0,
            free: Vec::new(),
            starts,
            is_endless: load.has_daemons_only(),
            foreground: load.tasks.iter().filter(|it| !load.programs[it.program].is_daemon).count(),
            is_stuck: false,
            tally: Tally::new(cores),
        }
    }

    fn begin(&mut self) {
        self.set_phases();
        if let Some(&first) = self.starts.last() {
            self.events.set(self.start_place(), self.load.tasks[first].start);
        }
        for source in 0..self.load.sources.len() {
            self.expect_message(source);
        }
    }

    fn run(&mut self) {
        self.is_stuck = true;
        while let Some((time, place)) = self.events.pop() {
            if time > self.until {
                self.state.now = self.until;
                self.is_stuck = false;
                break;
            }
            self.state.now = time;
            self.tally.events += 1;
            self.happen(place);
            self.settle_instant();
            if self.is_over() || self.has_too_many_events() {
                break;
            }
        }
        self.finish();
    }

    fn happen(&mut self, place: usize) {
        let count = self.cpus.len();
        if place < count {
            self.cpu_timer(place);
        } else if place < 2 * count {
            self.balance_timer(place - count);
        } else if place == self.start_place() {
            self.start_tasks();
        } else if place < self.source_place(self.load.sources.len()) {
            self.message_comes(place - self.source_place(0));
        } else {
            let task = TaskId((place - self.source_place(self.load.sources.len())) as u32);
            self.wake(task, None);
        }
    }

    /// Lets called CPUs find their tasks, then sets speeds and timers where something changed.
    fn settle_instant(&mut self) {
        while let Some(cpu) = self.called.pop_front().filter(|_| !self.has_too_many_events()) {
            self.cpus[cpu].is_called = false;
            self.find_next(cpu);
        }
        while let Some(core) = self.changed.pop() {
            self.set_speeds(core);
        }
    }

    /// True if all that the run waits for has ended; one of daemons alone waits for its time limit.
    fn is_over(&self) -> bool {
        let have_all_ended = self.starts.is_empty() && self.tally.born == self.tally.ended;
        self.foreground == 0 && self.shared.is_served() && (!self.is_endless || have_all_ended)
    }

    /// True if there are more tasks than a load may have.
    fn has_too_many_events(&self) -> bool {
        self.state.tasks.len() - self.free.len() > MAX_TASKS
    }

    fn finish(&mut self) {
        for cpu in 0..self.cpus.len() {
            if self.state.running(cpu).is_some() {
                self.settle(cpu);
                self.report(cpu);
            }
        }
        for core in 0..self.state.busy.len() {
            self.count_core(core);
        }
    }

    fn outcome(mut self) -> Outcome {
        let is_finished = self.is_over();
        let is_stuck = self.is_stuck && !is_finished;
        let tasks = std::mem::take(&mut self.state.tasks);
        let left: Vec<Task> = tasks.into_iter().flatten().collect();
        for task in &left {
            self.tally.task_leaves(task, self.state.now, self.speeds.unit);
        }
        let cpus = self.cpus.iter().map(|cpu| cpu.used).collect();
        let unit = self.speeds.unit;
        self.tally.outcome(self.load, &self.state, unit, cpus, left.len(), [is_finished, is_stuck])
    }
}
