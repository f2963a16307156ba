//! A hardware thread: the units that belong to it alone.

use crate::core::InstructionSource;
use crate::core::attribution::Attribution;
use crate::core::cycle_stack::CycleStack;
use crate::core::occupancy::Occupancy;
use crate::core::wrong_path::BeforeWrongPath;
use crate::frontend::{Fetcher, UopQueue, Values};
use crate::lsq::StoreQueue;
use crate::memory::Pages;
use crate::rename::RegisterMap;
use crate::retire::ReorderBuffer;
use crate::sharing::Requester;
use crate::uops::{Buffer, Entries};
use corun_model::CoreModel;
use corun_record::IssueCycles;

/// A hardware thread of a core.
pub(super) struct Thread<F> {
    pub(super) source: F,
    /// The thread as a user of the core's shared structures.
    pub(super) requester: Requester,
    pub(super) pages: Pages,
    pub(super) fetcher: Fetcher,
    /// Instructions on their way to renaming.
    pub(super) queue: UopQueue,
    /// Values of the instructions of queue and reorder buffer.
    pub(super) values: Values,
    pub(super) registers: RegisterMap,
    pub(super) rob: ReorderBuffer,
    pub(super) stores: StoreQueue,
    /// State before the wrong path, once anything of that is renamed.
    pub(super) before_wrong_path: Option<Box<BeforeWrongPath>>,
    /// Slots that a wrong path took in this cycle.
    pub(super) renamed_wrongly: u32,
    /// Slots of an instruction that was renamed in part.
    pub(super) debt: u32,
    /// Cycle from which on it renames again, after a spin-wait hint (PAUSE, TPAUSE, UMWAIT).
    pub(super) paused: u64,
    /// Cycle from which on it continues after the last synchronisation point.
    pub(super) resumes: u64,
    /// Cycle from which on it renames again, after a machine clear.
    pub(super) cleared: u64,
    /// Cycle since which siblings have left it no entry of a buffer.
    pub(super) starved_since: Option<u64>,
    /// Entries of a full buffer that siblings have.
    pub(super) sibling_entries: SiblingEntries,
    pub(super) mispredicts: u64,
    pub(super) stack: CycleStack,
    /// The newest mispredicted branch that was renamed, as block and place in it.
    pub(super) mispredicted: Option<(u32, u32)>,
    /// Instructions that slots are lost to, where that is asked for.
    pub(super) attribution: Option<Attribution>,
    pub(super) occupancy: Occupancy,
    pub(super) issue: IssueCycles,
}

/// Entries that siblings have, while the thread could fill them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SiblingEntries {
    /// The oldest micro-op when it was counted last what they would hold.
    pub(super) to: Option<u64>,
    /// When they would be full.
    pub(super) until: u64,
}

impl<F: InstructionSource> Thread<F> {
    /// One at rest, by its number and its program, on a core with these groups of ports.
    pub(super) fn new(
        (number, source): (u8, F),
        model: &CoreModel,
        groups: &[String],
        siblings: usize,
    ) -> Self {
        Self {
            requester: Requester { thread: number, is_alone: siblings == 0 },
            pages: source.pages(),
            source,
            fetcher: Fetcher::new(model),
            queue: UopQueue::default(),
            values: Values::default(),
            registers: RegisterMap::of(model),
            rob: ReorderBuffer::default(),
            stores: StoreQueue::of(model),
            before_wrong_path: None,
            renamed_wrongly: 0,
            debt: 0,
            paused: 0,
            resumes: 0,
            cleared: 0,
            starved_since: None,
            sibling_entries: SiblingEntries::default(),
            mispredicts: 0,
            stack: CycleStack::new(model.back.dispatch.entries, groups, siblings > 0),
            mispredicted: None,
            attribution: None,
            occupancy: Occupancy::default(),
            issue: IssueCycles::default(),
        }
    }

    /// True if nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.fetcher.is_at_end() && self.is_drained()
    }

    /// True if nothing of it is in the core: what its siblings may use is theirs.
    pub(super) fn is_halted(&self) -> bool {
        self.fetcher.has_nothing() && self.is_drained() && self.stores.is_empty()
    }

    /// Entries taken, those of the store queue included.
    #[inline]
    pub(super) fn taken(&self) -> Entries {
        self.rob.entries() + Entries::of(Buffer::Stores, self.stores.len())
    }

    /// True if everything that was fetched is retired.
    pub(super) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.rob.is_empty()
    }

    /// The next cycle in which this thread may go on by itself.
    pub(super) fn next_event(&self, now: u64) -> Option<u64> {
        let queued = self.queue.front().map(|queued| queued.at.max(self.cleared).max(self.paused));
        // From then on siblings are no longer to blame.
        let sibling_entries = Some(self.sibling_entries.until);
        let own = [self.fetcher.next_event(now), queued, sibling_entries];
        let all = own.into_iter().chain(self.rob.next_events()).chain(self.stores.next_events());
        all.flatten().filter(|at| *at > now).min()
    }
}
