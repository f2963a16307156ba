//! The pipeline: one core, cycle by cycle, with its hardware threads.
//!
//! Each cycle goes backwards through the core (retire, execute, rename, fetch), so that nothing passes
//! two stages in one. Cycles in which nothing can happen are skipped, and counted where they belong.

mod access;
mod alias;
mod attribution;
mod commit;
mod cycle_stack;
mod deadlock;
mod fetch;
mod issue;
mod machine_clear;
mod occupancy;
mod rename;
mod replay;
mod retire;
mod round_robin;
mod stall;
mod thread;
mod warm_up;
mod wrong_path;

pub(crate) use attribution::AttributedPlace;
use cycle_stack::Component;
pub use cycle_stack::CycleStack;
pub(crate) use deadlock::Progress;
pub use deadlock::{Deadlock, DeadlockedThread};
pub use occupancy::Occupancy;

pub(crate) use crate::frontend::{InstructionSource, Next, Step};

use round_robin::Turns;
use thread::Thread;
use warm_up::Pace;

use crate::execute::Schedulers;
use crate::frontend::Front;
use crate::lsq::{LoadQueue, LoadStoreUnit};
use crate::memory::{Memory, Request};
use crate::parameters::Parameters;
#[cfg(test)]
use crate::uops::BUFFERS;
use crate::uops::{Buffer, DecodedBlock, DecodedInstruction, Handle, InFlightUop};
use corun_model::CoreModel;
use corun_record::{IssueCycles, MemoryRequests};

/// Counts of a thread up to a moment, or between two.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) cycles: u64,
    pub(crate) retired: u64,
    pub(crate) mispredicts: u64,
    pub(crate) requests: MemoryRequests,
    pub(crate) stack: CycleStack,
    pub(crate) occupancy: Occupancy,
    pub(crate) issue: IssueCycles,
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
            issue: self.issue.plus(other.issue),
        }
    }

    /// Counts since an earlier state.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            cycles: self.cycles - earlier.cycles,
            retired: self.retired - earlier.retired,
            mispredicts: self.mispredicts - earlier.mispredicts,
            requests: self.requests.since(&earlier.requests),
            stack: self.stack.since(&earlier.stack),
            occupancy: self.occupancy.since(&earlier.occupancy),
            issue: self.issue.since(earlier.issue),
        }
    }
}

/// Why a core stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// A thread has retired what was asked of it.
    Reached(usize),
    /// All programs have ended.
    Ended,
    /// The time is over.
    Time,
    /// Deadlock: the next event never comes.
    Deadlock,
}

/// A core at work.
pub(crate) struct Core<F> {
    /// Number of the core among the cores that share memory.
    number: usize,
    parameters: Parameters,
    /// Parameters of each of so many active threads, from one on.
    by_active: Vec<Parameters>,
    code: Vec<DecodedBlock>,
    threads: Vec<Thread<F>>,
    front: Front,
    schedulers: Schedulers,
    loads: LoadQueue,
    load_store: LoadStoreUnit,
    turns: Turns,
    now: u64,
    pace: Pace,
    /// Threads that are not halted.
    active: u32,
    /// When another core has the next of the lines that it takes from this one.
    next_snoop: Option<u64>,
    /// True if anything happened in this cycle.
    is_active: bool,
    /// Cycles that were simulated one by one.
    steps: u64,
    /// True if what comes next never comes.
    is_stuck: bool,
}

impl<F: InstructionSource> Core<F> {
    /// A core at rest, with a hardware thread for each instruction source.
    pub(crate) fn new(
        number: usize,
        model: &CoreModel,
        stack_update: DecodedInstruction,
        sources: Vec<F>,
    ) -> Self {
        let count = sources.len();
        let by_active: Vec<Parameters> =
            (1..=count as u32).map(|active| Parameters::of(model, active, count as u32)).collect();
        let mut front = Front::of(model, count);
        for (thread, source) in sources.iter().enumerate() {
            front.enter(thread, source.pages().space());
        }
        let schedulers = Schedulers::of(model, count);
        let groups = schedulers.groups();
        let threads = (0..).zip(sources);
        Self {
            number,
            parameters: by_active[count - 1].clone(),
            code: vec![DecodedBlock::new(vec![stack_update])],
            threads: threads.map(|it| Thread::new(it, model, groups, count - 1)).collect(),
            front,
            schedulers,
            loads: LoadQueue::new(count),
            load_store: LoadStoreUnit::of(model, count),
            turns: Turns::beginning(0, count),
            now: 0,
            pace: Pace::default(),
            active: count as u32,
            next_snoop: None,
            is_active: false,
            steps: 0,
            is_stuck: false,
            by_active,
        }
    }

    /// Counts of a thread up to now, but for its memory requests.
    pub(crate) fn state(&self, thread: usize) -> State {
        let thread = &self.threads[thread];
        State {
            cycles: self.now,
            retired: thread.rob.retired(),
            mispredicts: thread.mispredicts,
            requests: MemoryRequests::default(),
            stack: thread.stack.clone(),
            occupancy: thread.occupancy.clone(),
            issue: thread.issue,
        }
    }

    /// The feeds, when nothing more is to be simulated.
    pub(crate) fn into_sources(self) -> Vec<F> {
        self.threads.into_iter().map(|thread| thread.source).collect()
    }

    /// The cycle that comes next.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Gives a thread the first turn wherever they alternate.
    pub(crate) fn begin_with(&mut self, thread: usize) {
        let count = self.threads.len();
        self.turns = Turns::beginning(thread % count, count);
    }

    /// Instruction source of a thread.
    pub(crate) fn source(&self, thread: usize) -> &F {
        &self.threads[thread].source
    }

    /// Number of hardware threads.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The cycles in which a thread first and last retired something.
    pub(crate) fn retired_within(&self, thread: usize) -> (u64, u64) {
        self.threads[thread].rob.retired_within()
    }

    /// Goes on until cycle `until`, or until some thread has retired as many instructions as its target
    /// says, or all have ended.
    pub(crate) fn run_until(&mut self, targets: &[u64], until: u64, memory: &mut Memory) -> Pause {
        let has_reached = |(thread, target): (&Thread<F>, &u64)| thread.rob.retired() >= *target;
        while self.now < until {
            if let Some(thread) = self.threads.iter().zip(targets).position(has_reached) {
                return Pause::Reached(thread);
            }
            if self.threads.iter().all(Thread::is_done) {
                return Pause::Ended;
            }
            self.cycle(memory, Self::fetch);
            if self.is_stuck {
                return Pause::Deadlock;
            }
        }
        Pause::Time
    }

    /// One cycle, or more in which nothing happens.
    fn cycle(&mut self, memory: &mut Memory, fetch: fn(&mut Self, &mut Memory)) {
        self.is_active = false;
        self.count_active();
        self.check_snoops(memory);
        self.commit_stores(memory);
        self.retire(memory);
        self.replay_blocked_loads(memory);
        self.execute(memory);
        self.count_issue();
        self.resolve_branches();
        self.rename();
        fetch(self, memory);
        let mut passed = if self.is_active { 1 } else { self.next_event() - self.now };
        if self.never_comes(passed) {
            (self.is_stuck, passed) = (true, 1);
        }
        self.steps += 1;
        for index in 0..self.threads.len() {
            let thread = &mut self.threads[index];
            let (lost, lost_to) = thread.stack.pass(passed);
            thread.occupancy.pass(
                passed,
                [
                    thread.queue.slots(),
                    thread.rob.count(Buffer::Rob),
                    thread.rob.count(Buffer::Loads),
                    thread.stores.len(),
                ],
            );
            if lost > 0 && thread.attribution.is_some() {
                self.attribute(index, lost, lost_to);
            }
        }
        self.now += passed;
    }

    /// Notes which instruction these slots are lost to.
    fn attribute(&mut self, index: usize, slots: u64, lost_to: Component) {
        let Some((block, instruction)) = self.attributed(index, lost_to) else { return };
        let thread = &mut self.threads[index];
        let component = thread.stack.place(lost_to);
        if let Some(attribution) = &mut thread.attribution {
            attribution.note((block, instruction, component), slots);
        }
    }

    /// The instructions that cost a thread most since the last time, at most so many; from the first call on.
    pub(crate) fn take_attribution(
        &mut self,
        thread: usize,
        most: usize,
    ) -> Vec<(AttributedPlace, u64)> {
        self.threads[thread].attribution.get_or_insert_default().take(most)
    }

    /// Counts this cycle for each thread that started micro-ops in it.
    fn count_issue(&mut self) {
        let issuing = self.schedulers.take_issuing();
        for (index, thread) in self.threads.iter_mut().enumerate() {
            if issuing & 1 << index != 0 {
                thread.issue.note(issuing.count_ones() > 1);
            }
        }
    }

    /// Gives what halted threads had to those that are active.
    fn count_active(&mut self) {
        if self.threads.len() == 1 {
            return;
        }
        let active = self.threads.iter().filter(|thread| !thread.is_halted()).count().max(1) as u32;
        if active == self.active {
            return;
        }
        self.active = active;
        self.parameters = self.by_active[active as usize - 1].clone();
        for thread in &mut self.threads {
            thread.requester.is_alone = active == 1;
        }
    }

    /// The next cycle in which something may happen.
    fn next_event(&self) -> u64 {
        let soonest = self.now + 1;
        let threads = self.threads.iter().filter_map(|thread| thread.next_event(self.now));
        let units =
            [self.schedulers.next_event(self.now), self.loads.next_event(), self.next_snoop];
        threads.chain(units.into_iter().flatten()).min().unwrap_or(soonest).max(soonest)
    }

    /// The sum over all threads.
    fn all(&self, used: impl Fn(&Thread<F>) -> u32) -> u32 {
        self.threads.iter().map(used).sum()
    }

    /// Of a thread for a linear address.
    pub(crate) fn request(&self, thread: usize, instruction: u64, linear: u64) -> Request {
        let thread = &self.threads[thread];
        Request {
            core: self.number,
            requester: thread.requester,
            instruction,
            linear,
            pages: thread.pages,
        }
    }

    /// True if a thread has begun again because of other cores.
    #[cfg(test)]
    pub(crate) fn has_machine_cleared(&self) -> bool {
        self.threads.iter().any(|thread| thread.cleared > 0)
    }

    /// Entries of anything that are taken: none, when all programs have ended.
    #[cfg(test)]
    pub(crate) fn occupied(&self) -> u32 {
        let of_thread = |thread: &Thread<F>| {
            let entries = BUFFERS.into_iter().map(|buffer| thread.rob.count(buffer));
            thread.queue.slots() + entries.sum::<u32>()
        };
        self.all(of_thread) + self.schedulers.occupied()
    }

    fn in_flight(&self, handle: Handle) -> &InFlightUop {
        self.threads[handle.thread()].rob.uop(handle)
    }
}
