//! The pipeline: one core, cycle by cycle, with its hardware threads.
//!
//! Each cycle goes backwards through the core (retire, execute, rename, fetch), so that nothing passes
//! two stages in one. Cycles in which nothing can happen are skipped, and counted where they belong.

pub(crate) mod cycle_stack;
mod deadlock;
pub(crate) mod entries;
pub(crate) mod in_flight;
pub(crate) mod limit;
mod occupancy;
pub(crate) mod parameters;
pub(crate) mod round_robin;
pub(crate) mod thread;

pub use cycle_stack::CycleStack;
pub(crate) use deadlock::Progress;
pub use deadlock::{Deadlock, DeadlockedThread};
pub use occupancy::Occupancy;

use entries::Buffer;
pub(crate) use in_flight::{Handle, InFlightUop};
use parameters::Parameters;
use round_robin::RoundRobin;
use thread::Thread;

use crate::execute::ports::{MAX_PORTS, Ports};
use crate::execute::wheel::Wheel;
use crate::frontend::branch::Predictor;
use crate::frontend::{Front, Pace};
use crate::lsq::agu::AguBandwidth;
use crate::lsq::microtags::Microtags;
use crate::lsq::repeats::Repeats;
use crate::lsq::translation::LateTranslations;
use crate::memory::{Memory, Pages, Request};
use crate::rename::allocation::Allocator;
use crate::uops::{DecodedBlock, DecodedInstruction};
use corun_model::CoreModel;
use corun_record::{IssueCycles, MemoryRequests};

/// What a hardware thread executes, block by block.
pub(crate) trait InstructionSource {
    /// What comes next at cycle `now`. Code that it needs for the first time is added to `code`, what its
    /// instructions touch to `values`.
    fn next(&mut self, now: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next;

    /// Tries to continue after a synchronisation point, now that everything before it is done. Returns from which cycle on
    /// it does, if it does.
    fn pass(&mut self, now: u64) -> Option<u64> {
        Some(now)
    }

    /// So many more of the instructions that it gave are done.
    fn retire(&mut self, _instructions: u64) {}

    /// Where its addresses lie in memory, from the last synchronisation point to the next.
    fn pages(&self) -> Pages;

    /// An instruction of a block that it gave, for people, if that is known.
    fn describe(&self, _block: u32, _instruction: u32) -> Option<String> {
        None
    }
}

/// What comes next in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A block.
    Step(Step),
    /// A place that is passed when everything before it is done, and [`InstructionSource::pass`] lets it.
    SyncPoint,
    /// Nothing: it has ended.
    End,
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

    /// What came after an earlier state.
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
    /// What comes next never comes.
    Deadlock,
}

/// A core at work.
pub(crate) struct Core<F> {
    /// Its number among the cores that share memory.
    pub(crate) number: usize,
    pub(crate) parameters: Parameters,
    /// What each of so many active threads gets, from one on.
    pub(crate) by_active: Vec<Parameters>,
    pub(crate) front: Front,
    pub(crate) code: Vec<DecodedBlock>,
    pub(crate) threads: Vec<Thread<F>>,
    pub(crate) now: u64,
    pub(crate) pace: Pace,
    pub(crate) wheel: Wheel,
    /// The ports of all threads, and those of single ones after them.
    pub(crate) ports: Vec<Ports>,
    /// Occupied entries of each scheduler.
    pub(crate) scheduler_used: [u32; MAX_PORTS],
    /// Whose turn it is to predict, to fetch, to rename, to retire, and to write to the cache.
    pub(crate) predict_turn: RoundRobin,
    pub(crate) fetch_turn: RoundRobin,
    pub(crate) rename_turn: RoundRobin,
    pub(crate) retire_turn: RoundRobin,
    pub(crate) commit_turn: RoundRobin,
    /// Micro-ops in the order of their renaming, over all threads.
    pub(crate) age: u64,
    /// Threads that are not halted.
    pub(crate) active: u32,
    /// When another core has the next of the lines that it takes from this one.
    pub(crate) next_snoop: Option<u64>,
    /// When loads that could not be asked for may be.
    pub(crate) next_replay: Option<u64>,
    /// Whether anything happened in this cycle.
    pub(crate) is_active: bool,
    /// Threads, a bit each, that started micro-ops in this cycle.
    pub(crate) issuing: u32,
    /// Cycles that were simulated one by one.
    pub(crate) steps: u64,
    /// Whether what comes next never comes.
    pub(crate) is_stuck: bool,
    pub(crate) due: Vec<Handle>,
    pub(crate) allocator: Allocator,
    /// Of all threads together, or of each.
    pub(crate) agus: Vec<AguBandwidth>,
    pub(crate) tags: Microtags,
    pub(crate) translations: LateTranslations,
    pub(crate) repeats: Repeats,
    pub(crate) predictor: Predictor,
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
        let parameters = by_active[count - 1].clone();
        let sets = parameters.sets_of_ports(count);
        let ports =
            (0..sets).map(|_| Ports::new(model.back.port_assignment, &parameters)).collect();
        let mut predictor = Predictor::new(&model.front.prediction);
        for (thread, source) in sources.iter().enumerate() {
            predictor.enter(thread, source.pages().space());
        }
        let turn = RoundRobin::beginning(0, count);
        Self {
            number,
            code: vec![DecodedBlock::new(vec![stack_update])],
            threads: (0..)
                .zip(sources)
                .map(|(thread, source)| Thread::new(thread, source, &parameters, model, count - 1))
                .collect(),
            now: 0,
            pace: Pace::default(),
            wheel: Wheel::default(),
            ports,
            predict_turn: turn,
            fetch_turn: turn,
            rename_turn: turn,
            retire_turn: turn,
            commit_turn: turn,
            scheduler_used: [0; MAX_PORTS],
            age: 0,
            active: count as u32,
            next_snoop: None,
            next_replay: None,
            is_active: false,
            issuing: 0,
            steps: 0,
            is_stuck: false,
            due: Vec::new(),
            allocator: Allocator::new(model.back.port_assignment),
            agus: vec![AguBandwidth::of(model); count],
            tags: Microtags::of(model),
            translations: LateTranslations::of(model),
            repeats: Repeats::default(),
            predictor,
            front: Front::of(model, count),
            parameters,
            by_active,
        }
    }

    /// What a thread has done up to now, but for what it asked of memory.
    pub(crate) fn state(&self, thread: usize) -> State {
        let thread = &self.threads[thread];
        State {
            cycles: self.now,
            retired: thread.retired,
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
        let turn = RoundRobin::beginning(thread % count, count);
        self.predict_turn = turn;
        self.fetch_turn = turn;
        self.rename_turn = turn;
        self.retire_turn = turn;
        self.commit_turn = turn;
    }

    /// What a thread executes.
    pub(crate) fn source(&self, thread: usize) -> &F {
        &self.threads[thread].source
    }

    /// How many hardware threads it has.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The cycles in which a thread first and last retired something.
    pub(crate) fn retired_within(&self, thread: usize) -> (u64, u64) {
        let thread = &self.threads[thread];
        (thread.first_retired, thread.last_retired)
    }

    /// Goes on until cycle `until`, or until some thread has retired as many instructions as its target
    /// says, or all have ended.
    pub(crate) fn run_until(&mut self, targets: &[u64], until: u64, memory: &mut Memory) -> Pause {
        let has_reached = |(thread, target): (&Thread<F>, &u64)| thread.retired >= *target;
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
    pub(crate) fn cycle(&mut self, memory: &mut Memory, fetch: fn(&mut Self, &mut Memory)) {
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
        for thread in &mut self.threads {
            thread.stack.pass(passed);
            thread.occupancy.pass(
                passed,
                [
                    thread.queue_used,
                    thread.entries.count(Buffer::Rob),
                    thread.entries.count(Buffer::Loads),
                    thread.stores.len(),
                ],
            );
        }
        self.now += passed;
    }

    /// Counts this cycle for each thread that started micro-ops in it.
    fn count_issue(&mut self) {
        let issuing = std::mem::take(&mut self.issuing);
        for (index, thread) in self.threads.iter_mut().enumerate() {
            if issuing & 1 << index != 0 {
                thread.issue.note(issuing.count_ones() > 1);
            }
        }
    }

    /// Gives what halted threads had to those that are active.
    pub(crate) fn count_active(&mut self) {
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
    pub(crate) fn next_event(&self) -> u64 {
        let soonest = self.now + 1;
        let ports = self.ports.iter().filter_map(Ports::next_event);
        let threads = self.threads.iter().filter_map(|thread| thread.next_event(self.now));
        let wheel = self.wheel.next(self.now);
        ports
            .chain(threads)
            .chain(wheel)
            .chain(self.next_snoop)
            .chain(self.next_replay)
            .min()
            .unwrap_or(soonest)
            .max(soonest)
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

    /// Whether a thread has begun again because of other cores.
    #[cfg(test)]
    pub(crate) fn has_machine_cleared(&self) -> bool {
        self.threads.iter().any(|thread| thread.cleared > 0)
    }

    /// Entries of anything that are taken: none, when all programs have ended.
    #[cfg(test)]
    pub(crate) fn occupied(&self) -> u32 {
        let of_thread = |thread: &Thread<F>| {
            let entries: u32 =
                entries::BUFFERS.into_iter().map(|buffer| thread.entries.count(buffer)).sum();
            let schedulers: u32 = thread.scheduler_used.iter().sum();
            thread.queue_used + entries + schedulers
        };
        let assigned: u32 = self.ports.iter().flat_map(|ports| ports.assigned).sum();
        let schedulers: u32 = self.scheduler_used.iter().sum();
        self.threads.iter().map(of_thread).sum::<u32>() + assigned + schedulers
    }

    pub(crate) fn in_flight(&self, handle: Handle) -> &InFlightUop {
        self.threads[handle.thread()].in_flight_uops.get(handle)
    }
}
