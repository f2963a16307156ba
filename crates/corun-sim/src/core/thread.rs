//! A hardware thread: what belongs to it alone.

use std::collections::VecDeque;

use crate::core::InstructionSource;
use crate::core::cycle_stack::CycleStack;
use crate::core::entries::{Buffer, Entries};
use crate::core::in_flight::{Handle, InFlightUops, NEVER, filled};
use crate::core::occupancy::Occupancy;
use crate::core::parameters::Parameters;
use crate::execute::ports::MAX_PORTS;
use crate::frontend::wrong_path::{BeforeWrongPath, Visited};
use crate::frontend::{Fetcher, Place};
use crate::lsq::predictive_forwarding::ForwardingPredictor;
use crate::lsq::store_queue::{Gathered, StoreQueue};
use crate::memory::Pages;
use crate::rename::move_elimination::MoveElimination;
use crate::sharing::Requester;
use crate::uops::{DecodedInstruction, REGISTERS};
use corun_model::{CoreModel, WIDEST};
use corun_record::IssueCycles;

pub(crate) struct Thread<F> {
    pub(crate) source: F,
    /// How it shares what its core has.
    pub(crate) requester: Requester,
    pub(crate) pages: Pages,
    pub(crate) fetcher: Fetcher,
    /// Code that wrong paths may lead to.
    pub(crate) visited: Visited,
    /// What it had when it went wrong, once anything after that is renamed.
    pub(crate) before_wrong_path: Option<Box<BeforeWrongPath>>,
    /// Instructions on their way to renaming.
    pub(crate) queue: VecDeque<Queued>,
    /// Slots of the queue that are taken.
    pub(crate) queue_used: u32,
    /// Values of the queue's instructions, a ring.
    pub(crate) values: Box<[u64; VALUES]>,
    pub(crate) next_value: u32,
    /// For each register the micro-op that gives it; one before `head` is done.
    pub(crate) registers: [u64; REGISTERS],
    pub(crate) in_flight_uops: InFlightUops,
    /// The first micro-op of the oldest instruction.
    pub(crate) oldest: u64,
    /// The oldest micro-op that is not final.
    pub(crate) head: u64,
    /// The micro-op that is renamed next.
    pub(crate) next: u64,
    pub(crate) rob: VecDeque<Renamed>,
    /// Entries taken of all buffers but the store queue.
    pub(crate) entries: Entries,
    /// Slots that a wrong path took in this cycle.
    pub(crate) renamed_wrongly: u32,
    /// Slots of an instruction that was renamed in part.
    pub(crate) debt: u32,
    /// Registers that share a value.
    pub(crate) move_elimination: MoveElimination,
    /// Loads that wait for a buffer of the first level's misses.
    pub(crate) mshr_blocked: VecDeque<Handle>,
    /// Its entries of each scheduler.
    pub(crate) scheduler_used: [u32; MAX_PORTS],
    pub(crate) stores: StoreQueue,
    /// Those that have left the queue, and have not reached the cache.
    pub(crate) gathered: Gathered,
    /// Which of them loads got their bytes from.
    pub(crate) pairs: ForwardingPredictor,
    /// Whether the stack engine's pointer differs from the back end's.
    pub(crate) stack_moved: bool,
    /// Whether an instruction in flight keeps back what comes after it.
    pub(crate) is_held: bool,
    /// From when on it renames again, after an instruction that says that it waits.
    pub(crate) paused: u64,
    /// From when on it continues after the last synchronisation point.
    pub(crate) resumes: u64,
    /// From when on it renames again, after it had to begin again.
    pub(crate) cleared: u64,
    /// The oldest load that it has to begin again with, once that is the oldest instruction.
    pub(crate) ordering_violation: Option<u64>,
    /// Whether it has begun again with the oldest instruction, which then is not too early again.
    pub(crate) is_reexecuting: bool,
    /// Until when the oldest micro-op is not retired because another core may take back what it loaded.
    pub(crate) held_until: u64,
    /// Since when siblings have left it no entry of something.
    pub(crate) starved: Option<u64>,
    /// What siblings have of a full buffer.
    pub(crate) sibling_entries: SiblingEntries,
    pub(crate) retired: u64,
    pub(crate) first_retired: u64,
    pub(crate) last_retired: u64,
    pub(crate) mispredicts: u64,
    pub(crate) stack: CycleStack,
    pub(crate) occupancy: Occupancy,
    pub(crate) issue: IssueCycles,
}

/// Entries that siblings have, while the thread could fill them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SiblingEntries {
    /// The oldest micro-op when it was counted last what they would hold.
    pub(crate) to: Option<u64>,
    /// When they would be full.
    pub(crate) until: u64,
}

/// The most hardware threads of a core.
pub(crate) const MAX_THREADS: usize = WIDEST as usize;

/// Values that the ring holds: more than the queue's instructions have.
pub(crate) const VALUES: usize = 1 << 14;

/// An instruction in the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queued {
    pub(crate) block: u32,
    pub(crate) instruction: u32,
    /// Its first value in the ring.
    pub(crate) values: u32,
    pub(crate) slots: u8,
    /// Whether it is a NOP that is renamed in the slot of the instruction before it.
    pub(crate) shares_slot: bool,
    /// From when on it can be renamed.
    pub(crate) at: u64,
    /// Whether fetch waits for it to be executed.
    pub(crate) is_mispredicted: bool,
    /// Whether it comes after a mispredicted branch, and is going to be squashed.
    pub(crate) is_wrong: bool,
    /// Whether the ring has its values; on a wrong path those of another execution of the same instruction.
    pub(crate) has_values: bool,
}

impl Queued {
    /// An instruction that is fetched in cycle `now`.
    #[inline]
    pub(crate) fn of(
        place: &Place,
        lowered: &DecodedInstruction,
        shares_slot: bool,
        now: u64,
    ) -> Self {
        Self {
            block: place.step.block,
            instruction: place.instruction,
            values: place.values,
            slots: lowered.slots,
            shares_slot,
            at: now + 1,
            is_mispredicted: false,
            is_wrong: false,
            has_values: true,
        }
    }
}

/// An instruction in the reorder buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renamed {
    /// As it was in the queue, but for the slots, which are those that it takes here.
    pub(crate) queued: Queued,
    /// The micro-op after its last one.
    pub(crate) end: u64,
    /// What it has of the thread's entries.
    pub(crate) entries: Entries,
    pub(crate) stores: u8,
    pub(crate) instructions: u8,
    pub(crate) is_serializing: bool,
}

impl<F: InstructionSource> Thread<F> {
    pub(crate) fn new(
        thread: usize,
        source: F,
        parameters: &Parameters,
        model: &CoreModel,
        siblings: usize,
    ) -> Self {
        Self {
            requester: Requester { thread: thread as u8, is_alone: siblings == 0 },
            pages: source.pages(),
            source,
            fetcher: Fetcher::new(model),
            visited: Visited::default(),
            before_wrong_path: None,
            queue: VecDeque::new(),
            queue_used: 0,
            values: filled(0),
            next_value: 0,
            registers: [0; REGISTERS],
            in_flight_uops: InFlightUops::default(),
            oldest: 1,
            head: 1,
            next: 1,
            rob: VecDeque::new(),
            entries: Entries::default(),
            renamed_wrongly: 0,
            debt: 0,
            move_elimination: MoveElimination::new(model.back.elimination.move_slots.as_ref()),
            mshr_blocked: VecDeque::new(),
            scheduler_used: [0; MAX_PORTS],
            stores: StoreQueue::default(),
            gathered: Gathered::default(),
            pairs: ForwardingPredictor::new(model.memory.forwarding.predictive_forwarding),
            stack_moved: false,
            is_held: false,
            paused: 0,
            resumes: 0,
            cleared: 0,
            ordering_violation: None,
            is_reexecuting: false,
            held_until: 0,
            starved: None,
            sibling_entries: SiblingEntries::default(),
            retired: 0,
            first_retired: 0,
            last_retired: 0,
            mispredicts: 0,
            occupancy: Occupancy::default(),
            issue: IssueCycles::default(),
            stack: CycleStack::new(
                parameters.widths.dispatch,
                &parameters.port_map.groups,
                siblings > 0,
            ),
        }
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.fetcher.is_at_end() && self.is_drained()
    }

    /// Whether nothing of it is in the core: what its siblings may use is theirs.
    pub(crate) fn is_halted(&self) -> bool {
        self.fetcher.has_nothing() && self.is_drained() && self.stores.len() == 0
    }

    /// Whether stores have not reached the cache yet.
    pub(crate) fn has_stores(&self, now: u64) -> bool {
        self.stores.len() > 0 || self.gathered.until() > now
    }

    /// Entries taken, those of the store queue included.
    #[inline]
    pub(crate) fn taken(&self) -> Entries {
        self.entries + Entries::of(Buffer::Stores, self.stores.len())
    }

    /// Takes the next instruction off the queue.
    #[inline]
    pub(crate) fn dequeue(&mut self) -> Option<Queued> {
        let queued = self.queue.pop_front()?;
        self.queue_used -= u32::from(queued.slots);
        Some(queued)
    }

    /// Whether everything that was fetched is retired.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.rob.is_empty()
    }

    /// The next cycle in which this thread may go on by itself.
    pub(crate) fn next_event(&self, now: u64) -> Option<u64> {
        let oldest = (self.head < self.next).then(|| self.in_flight_uops.at(self.head));
        let oldest = oldest.filter(|oldest| oldest.done != NEVER);
        let head = oldest.map(|oldest| oldest.done);
        // From then on a sibling is to blame.
        let evicted = oldest.map(|oldest| oldest.done.saturating_sub(oldest.evicted.cycles.into()));
        let queued = self.queue.front().map(|queued| queued.at.max(self.cleared).max(self.paused));
        let fetch = self.fetcher.next_event(now);
        // From then on it is not.
        let sibling_entries = Some(self.sibling_entries.until);
        let is_to_come = |at: &u64| *at > now;
        let stores = self.stores.next_event();
        let gathered = Some(self.gathered.until());
        let held_until = Some(self.held_until);
        [head, held_until, evicted, sibling_entries, queued, fetch, stores, gathered]
            .into_iter()
            .flatten()
            .filter(is_to_come)
            .min()
    }

    /// A value in the ring.
    pub(crate) fn value(&self, at: u32) -> u64 {
        self.values[at as usize % VALUES]
    }
}
