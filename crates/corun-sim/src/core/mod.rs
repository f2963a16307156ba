//! The pipeline: one core, cycle by cycle, with its hardware threads.
//!
//! Each cycle goes backwards through the core (retire, execute, rename, fetch), so that nothing passes
//! two stages in one. Cycles in which nothing can happen are skipped, and counted where they belong.

mod binding;
mod copies;
mod execute;
mod fetch;
mod flight;
mod linear_tags;
mod occupancy;
mod op_cache;
mod parameters;
mod predecoder;
mod rename;
mod retire;
mod stack;
mod store_queue;
mod thread;

mod wheel;

use std::collections::VecDeque;

pub use occupancy::Occupancy;
pub use stack::CycleStack;

use fetch::Front;
use flight::{Flight, Handle};
use linear_tags::LinearTags;
use parameters::Parameters;
use thread::Thread;
use wheel::Wheel;

use crate::branch::Predictor;
use crate::code::{CodeBlock, CodeInstruction, PortSet};
use crate::memory::{Memory, Pages, Request, Requests};
use crate::model::CoreModel;

/// What a hardware thread executes, block by block.
pub(crate) trait Feed {
    /// Code that the next step needs for the first time is added to `code`.
    ///
    /// Returns none at the end of the program.
    fn next(&mut self, code: &mut Vec<CodeBlock>, values: &mut Vec<u64>) -> Option<Step>;

    /// Where its addresses lie in memory.
    fn pages(&self) -> Pages;
}

/// A block that a thread executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Index of its code.
    pub(crate) block: u32,
    /// Where it lies this time.
    pub(crate) address: u64,
    /// How many of its instructions are executed.
    pub(crate) executed: u32,
}

/// What a thread has done up to a moment, or between two.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) cycles: u64,
    pub(crate) retired: u64,
    pub(crate) mispredicts: u64,
    pub(crate) requests: Requests,
    pub(crate) stack: CycleStack,
    pub(crate) occupancy: Occupancy,
}

impl State {
    /// Together with another part of the same thread's run.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            retired: self.retired + other.retired,
            mispredicts: self.mispredicts + other.mispredicts,
            requests: self.requests.plus(&other.requests),
            stack: self.stack.plus(&other.stack),
            occupancy: self.occupancy.plus(&other.occupancy),
        }
    }

    /// What came after an earlier state.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            cycles: self.cycles - earlier.cycles,
            retired: self.retired - earlier.retired,
            mispredicts: self.mispredicts - earlier.mispredicts,
            requests: self.requests.since(&earlier.requests),
            stack: self.stack.since(&earlier.stack),
            occupancy: self.occupancy.since(&earlier.occupancy),
        }
    }
}

/// A core at work.
pub(crate) struct Core<F> {
    /// Its number among the cores that share memory.
    number: usize,
    parameters: Parameters,
    front: Front,
    code: Vec<CodeBlock>,
    threads: Vec<Thread<F>>,
    now: u64,
    wheel: Wheel,
    /// Operations that have their operands, of each port, the oldest first.
    waiting: Vec<VecDeque<(u64, Handle)>>,
    /// The ports that any wait for.
    ready_ports: PortSet,
    /// Operations that were given each port and have not started.
    assigned: Vec<u32>,
    /// The same as the renamer knows it.
    counts: binding::Counts,
    /// From when on each port takes another operation.
    port_free: Vec<u64>,
    /// Occupied entries of each scheduler.
    scheduler_used: Vec<u32>,
    /// Operations in the order of their renaming, over all threads.
    age: u64,
    /// Whether anything happened in this cycle.
    is_active: bool,
    due: Vec<Handle>,
    seats: rename::Seats,
    tags: LinearTags,
    predictor: Predictor,
}

impl<F: Feed> Core<F> {
    /// A core at rest, with a hardware thread for each feed.
    pub(crate) fn new(
        number: usize,
        model: &CoreModel,
        stack_update: CodeInstruction,
        feeds: Vec<F>,
    ) -> Self {
        let parameters = Parameters::of(model, feeds.len() as u32);
        let ports = parameters.ports.len();
        Self {
            number,
            code: vec![CodeBlock { instructions: vec![stack_update] }],
            threads: feeds.into_iter().map(|feed| Thread::new(feed, &parameters, model)).collect(),
            now: 0,
            wheel: Wheel::default(),
            waiting: vec![VecDeque::new(); ports],
            ready_ports: 0,
            assigned: vec![0; ports],
            counts: binding::Counts::new(model.back.binding, parameters.load_ports, ports),
            port_free: vec![0; ports],
            scheduler_used: vec![0; parameters.schedulers.len()],
            age: 0,
            is_active: false,
            due: Vec::new(),
            seats: rename::Seats::new(parameters.schedulers.len()),
            tags: LinearTags::of(model),
            predictor: Predictor::new(&model.front.prediction),
            front: Front::of(model),
            parameters,
        }
    }

    /// What a thread has done up to now, but for what it asked of memory.
    pub(crate) fn state(&self, thread: usize) -> State {
        let thread = &self.threads[thread];
        State {
            cycles: self.now,
            retired: thread.retired,
            mispredicts: thread.mispredicts,
            requests: Requests::default(),
            stack: thread.stack.clone(),
            occupancy: thread.occupancy.clone(),
        }
    }

    /// The feeds, when nothing more is to be simulated.
    pub(crate) fn into_feeds(self) -> Vec<F> {
        self.threads.into_iter().map(|thread| thread.feed).collect()
    }

    /// The cycle that comes next.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// How many instructions a thread has retired.
    pub(crate) fn retired(&self, thread: usize) -> u64 {
        self.threads[thread].retired
    }

    /// Goes on until the thread has retired so many instructions, or all there are, or cycle `until` has
    /// come. Returns whether there are more.
    pub(crate) fn run_until(
        &mut self,
        thread: usize,
        instructions: u64,
        until: u64,
        memory: &mut Memory,
    ) -> bool {
        while self.threads[thread].retired < instructions && self.now < until {
            if self.threads.iter().all(Thread::is_done) {
                return false;
            }
            self.cycle(memory);
        }
        true
    }

    fn cycle(&mut self, memory: &mut Memory) {
        self.is_active = false;
        self.clear(memory);
        self.commit_stores(memory);
        self.retire();
        self.execute(memory);
        self.rename();
        self.fetch(memory);
        let passed = if self.is_active { 1 } else { self.next_event() - self.now };
        for thread in &mut self.threads {
            thread.stack.pass(passed);
            thread.occupancy.pass(
                passed,
                [thread.queue_used, thread.rob_used, thread.loads_used, thread.stores.len()],
            );
        }
        self.now += passed;
    }

    /// The next cycle in which something may happen.
    fn next_event(&self) -> u64 {
        let soonest = self.now + 1;
        let ports = self.waiting.iter().zip(&self.port_free);
        let ports = ports.filter(|(waiting, _)| !waiting.is_empty()).map(|(_, free)| *free);
        let threads = self.threads.iter().filter_map(|thread| thread.next_event(self.now));
        let wheel = self.wheel.next(self.now);
        ports.chain(threads).chain(wheel).min().unwrap_or(soonest).max(soonest)
    }

    /// Of a thread for a linear address.
    fn request(&self, thread: usize, instruction: u64, linear: u64) -> Request {
        Request { core: self.number, instruction, linear, pages: self.threads[thread].pages }
    }

    fn flight(&self, handle: Handle) -> &Flight {
        self.threads[handle.thread()].flights.get(handle)
    }
}
