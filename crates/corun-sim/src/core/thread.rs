//! A hardware thread: what belongs to it alone.

use std::collections::VecDeque;

use super::Feed;
use super::copies::Copies;
use super::fetch::Fetcher;
use super::flight::{Flights, Handle, NEVER, filled};
use super::occupancy::Occupancy;
use super::pairs::Pairs;
use super::parameters::Parameters;
use super::ports::MOST_PORTS;
use super::stack::CycleStack;
use super::store_queue::{Gathered, StoreQueue};
use crate::code::REGISTERS;
use crate::divided::User;
use crate::memory::Pages;
use corun_model::{CoreModel, WIDEST};

pub(super) struct Thread<F> {
    pub(super) feed: F,
    /// How it shares what its core has.
    pub(super) user: User,
    pub(super) pages: Pages,
    pub(super) fetcher: Fetcher,
    /// Instructions on their way to renaming.
    pub(super) queue: VecDeque<Queued>,
    /// Slots of the queue that are taken.
    pub(super) queue_used: u32,
    /// Values of the queue's instructions, a ring.
    pub(super) values: Box<[u64; VALUES]>,
    pub(super) next_value: u32,
    /// For each register the operation that gives it; one before `head` is done.
    pub(super) registers: [u64; REGISTERS],
    pub(super) flights: Flights,
    /// The first operation of the oldest instruction.
    pub(super) oldest: u64,
    /// The oldest operation that is not final.
    pub(super) head: u64,
    /// The operation that is renamed next.
    pub(super) next: u64,
    pub(super) rob: VecDeque<Renamed>,
    pub(super) rob_used: u32,
    /// Slots of an instruction that was renamed in part.
    pub(super) debt: u32,
    /// Registers that share a value.
    pub(super) copies: Copies,
    /// General-purpose, vector and mask registers taken.
    pub(super) registers_used: [u32; 3],
    pub(super) loads_used: u32,
    /// Loads that wait for a buffer of the first level's misses.
    pub(super) unasked: VecDeque<Handle>,
    /// Its entries of each scheduler.
    pub(super) scheduler_used: [u32; MOST_PORTS],
    pub(super) stores: StoreQueue,
    /// Those that have left the queue, and have not reached the cache.
    pub(super) gathered: Gathered,
    /// Which of them loads got their bytes from.
    pub(super) pairs: Pairs,
    /// Whether the stack engine's pointer differs from the back end's.
    pub(super) stack_moved: bool,
    /// Whether an instruction in flight keeps back what comes behind it.
    pub(super) is_held: bool,
    /// From when on it renames again, after an instruction that says that it waits.
    pub(super) paused: u64,
    /// From when on it goes on behind the last gate.
    pub(super) resumes: u64,
    /// From when on it renames again, after it had to begin anew.
    pub(super) cleared: u64,
    /// The oldest load that it has to begin anew with, once that is the oldest instruction.
    pub(super) too_early: Option<u64>,
    /// Whether it has begun anew with the oldest instruction, which then is not too early again.
    pub(super) is_anew: bool,
    /// Until when the oldest operation is not retired because another core may take back what it loaded.
    pub(super) exposed: u64,
    /// Since when siblings have left it no entry of something.
    pub(super) starved: Option<u64>,
    /// What siblings have of a full buffer.
    pub(super) lent: Lent,
    pub(super) retired: u64,
    pub(super) first_retired: u64,
    pub(super) last_retired: u64,
    pub(super) mispredicts: u64,
    pub(super) stack: CycleStack,
    pub(super) occupancy: Occupancy,
}

/// Entries that siblings have, while the thread could fill them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lent {
    /// The oldest operation when it was counted last what they would hold.
    pub(super) to: Option<u64>,
    /// When they would be full.
    pub(super) until: u64,
}

/// The most hardware threads of a core.
pub(super) const MOST_THREADS: usize = WIDEST as usize;

/// Values that the ring holds: more than the queue's instructions have.
pub(super) const VALUES: usize = 1 << 14;

/// An instruction in the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    pub(super) block: u32,
    pub(super) instruction: u32,
    /// Its first value in the ring.
    pub(super) values: u32,
    pub(super) slots: u8,
    /// From when on it can be renamed.
    pub(super) at: u64,
    /// Whether fetch waits for it to be executed.
    pub(super) is_mispredicted: bool,
}

/// An instruction in the reorder buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renamed {
    /// As it was in the queue, but for the slots, which are those that it takes here.
    pub(super) queued: Queued,
    /// The operation behind its last one.
    pub(super) end: u64,
    pub(super) registers: [u8; 3],
    pub(super) loads: u8,
    pub(super) stores: u8,
    pub(super) instructions: u8,
    pub(super) is_serializing: bool,
}

impl<F: Feed> Thread<F> {
    pub(super) fn new(
        thread: usize,
        feed: F,
        parameters: &Parameters,
        model: &CoreModel,
        siblings: usize,
    ) -> Self {
        Self {
            user: User { thread: thread as u8, is_alone: siblings == 0 },
            pages: feed.pages(),
            feed,
            fetcher: Fetcher::new(model),
            queue: VecDeque::new(),
            queue_used: 0,
            values: filled(0),
            next_value: 0,
            registers: [0; REGISTERS],
            flights: Flights::default(),
            oldest: 1,
            head: 1,
            next: 1,
            rob: VecDeque::new(),
            rob_used: 0,
            debt: 0,
            copies: Copies::new(model.back.elimination.copy_slots.as_ref()),
            registers_used: [0; 3],
            loads_used: 0,
            unasked: VecDeque::new(),
            scheduler_used: [0; MOST_PORTS],
            stores: StoreQueue::default(),
            gathered: Gathered::default(),
            pairs: Pairs::new(model.memory.forwarding.pairs),
            stack_moved: false,
            is_held: false,
            paused: 0,
            resumes: 0,
            cleared: 0,
            too_early: None,
            is_anew: false,
            exposed: 0,
            starved: None,
            lent: Lent::default(),
            retired: 0,
            first_retired: 0,
            last_retired: 0,
            mispredicts: 0,
            occupancy: Occupancy::default(),
            stack: CycleStack::new(parameters.dispatch, &parameters.groups, siblings > 0),
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.fetcher.is_at_end() && self.is_drained()
    }

    /// Whether nothing of it is in the core: what its siblings may use is theirs.
    pub(super) fn is_halted(&self) -> bool {
        self.fetcher.has_nothing() && self.is_drained() && self.stores.len() == 0
    }

    /// Whether stores have not reached the cache yet.
    pub(super) fn has_stores(&self, now: u64) -> bool {
        self.stores.len() > 0 || self.gathered.until() > now
    }

    /// Whether everything that was fetched is retired.
    pub(super) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.rob.is_empty()
    }

    /// The next cycle in which this thread may go on by itself.
    pub(super) fn next_event(&self, now: u64) -> Option<u64> {
        let oldest = (self.head < self.next).then(|| self.flights.at(self.head));
        let oldest = oldest.filter(|oldest| oldest.done != NEVER);
        let head = oldest.map(|oldest| oldest.done);
        // From then on a sibling is to blame.
        let displaced =
            oldest.map(|oldest| oldest.done.saturating_sub(oldest.displaced.cycles.into()));
        let queued = self.queue.front().map(|queued| queued.at.max(self.cleared).max(self.paused));
        let fetch = self.fetcher.next_event(now);
        // From then on it is not.
        let lent = Some(self.lent.until);
        let is_to_come = |at: &u64| *at > now;
        let stores = self.stores.next_event();
        let gathered = Some(self.gathered.until());
        let exposed = Some(self.exposed);
        [head, exposed, displaced, lent, queued, fetch, stores, gathered]
            .into_iter()
            .flatten()
            .filter(is_to_come)
            .min()
    }

    /// A value in the ring.
    pub(super) fn value(&self, at: u32) -> u64 {
        self.values[at as usize % VALUES]
    }
}
