//! When instructions have passed the predecoder: a block of fetched bytes at a time, so many instructions
//! a cycle, into a queue of limited length (Abel and Reineke, uiCA, 2022, section 4.1).
//!
//! It runs ahead of the decoders, so that the cycle of each instruction follows from those before it.

use std::collections::VecDeque;

use crate::sharing::Requester;
use corun_model::{CoreModel, Policy, Predecoder as Model};

/// Predecoder of one thread, between fetch and decoders.
#[derive(Debug)]
pub(crate) struct Predecoder {
    model: Model,
    /// Instructions a cycle and entries of the queue that are the thread's at the moment.
    width: u32,
    queue: u32,
    block_bytes: u64,
    /// Stall of a prefix that changes a length.
    stall: u64,
    /// The present block, and how many of the cycle's instructions are taken.
    block: u64,
    taken: u32,
    cycle: u64,
    /// Cycles of the block before that hide a stall.
    hidden: u64,
    cycles_of_block: u64,
    /// When the last instructions left the queue.
    left: VecDeque<u64>,
    /// The cycle from which on the decoders may take the next instruction, once it is known.
    ready: Option<u64>,
    is_restarted: bool,
}

/// The cycles in which threads that share the way to their predecoders have used it.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// True if they share the fetch of a block, and what takes its instructions apart.
    fetch: bool,
    predecoder: bool,
    /// Number of parts of the predecoder and its queue while several threads are active.
    parts: u32,
    last: VecDeque<u64>,
}

/// Cycles that are remembered: more than any predecoder runs ahead.
const CLAIMED: usize = 64;

impl Claims {
    /// Of so many threads of a core.
    pub(crate) fn of(core: &CoreModel, threads: usize) -> Self {
        let front = &core.front;
        let predecoder = front.predecoder.as_ref().map(|one| one.sharing.policy);
        let is_partitioned = predecoder == Some(Policy::Partitioned);
        Self {
            fetch: threads > 1 && front.fetch.sharing.policy != Policy::Replicated,
            predecoder: threads > 1
                && matches!(predecoder, Some(Policy::Shared | Policy::Alternating)),
            parts: if is_partitioned { threads as u32 } else { 1 },
            last: VecDeque::new(),
        }
    }

    /// The first free cycle from this one on, for a block that is fetched or for more of the present one.
    fn claim(&mut self, mut cycle: u64, is_fetched: bool) -> u64 {
        if !(self.predecoder || (self.fetch && is_fetched)) {
            return cycle;
        }
        while self.last.contains(&cycle) {
            cycle += 1;
        }
        if self.last.len() == CLAIMED {
            self.last.pop_front();
        }
        self.last.push_back(cycle);
        cycle
    }
}

/// An instruction as the predecoder sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes {
    pub(crate) address: u64,
    pub(crate) length: u8,
    pub(crate) opcode_at: u8,
    pub(crate) has_length_changing_prefix: bool,
}

impl Predecoder {
    pub(crate) fn new(model: &Model, block_bytes: u32, stall: u32) -> Self {
        Self {
            width: model.instructions,
            queue: model.queue,
            model: model.clone(),
            block_bytes: block_bytes.into(),
            stall: stall.into(),
            block: u64::MAX,
            taken: 0,
            cycle: 0,
            hidden: 0,
            cycles_of_block: 0,
            left: VecDeque::new(),
            ready: None,
            is_restarted: true,
        }
    }

    /// Fetch goes on elsewhere, and nothing is in the queue.
    pub(crate) fn restart(&mut self) {
        self.is_restarted = true;
        self.ready = None;
    }

    /// The next instruction is not after the last one.
    pub(crate) fn jump(&mut self) {
        self.block = u64::MAX;
    }

    /// From when on the decoders may take the instruction; `missed` is the cycles lost to fetch a
    /// block.
    pub(crate) fn ready(
        &mut self,
        bytes: Bytes,
        now: u64,
        requester: Requester,
        claims: &mut Claims,
        mut missed: impl FnMut(u64) -> u64,
    ) -> u64 {
        if let Some(ready) = self.ready {
            return ready;
        }
        let parts = if requester.is_alone { 1 } else { claims.parts.max(1) };
        self.width = (self.model.instructions / parts).max(1);
        self.queue = (self.model.queue / parts).max(self.width);
        let delay = u64::from(self.model.delay);
        let first = bytes.address / self.block_bytes;
        let last = (bytes.address + u64::from(bytes.length).max(1) - 1) / self.block_bytes;
        if self.is_restarted {
            self.is_restarted = false;
            self.left.clear();
            self.block = u64::MAX;
            // One cycle back, since a block begins a new one.
            self.cycle = now.saturating_sub(delay + 1);
        }
        if first != self.block {
            self.begin(first, missed(bytes.address), claims);
        }
        if last != first {
            let offset = bytes.address % self.block_bytes + u64::from(bytes.opcode_at);
            if self.taken >= self.width && offset < self.block_bytes {
                self.go_on(claims, false);
            }
            self.begin(last, missed(last * self.block_bytes), claims);
        } else if self.taken >= self.width {
            self.go_on(claims, false);
        }
        self.taken += 1;
        if bytes.has_length_changing_prefix {
            self.cycle += self.stall.saturating_sub(self.hidden);
            self.hidden = self.hidden.saturating_sub(self.stall);
        }
        let ready = self.cycle + delay;
        self.ready = Some(ready);
        ready
    }

    /// The decoders took it.
    pub(crate) fn take(&mut self, now: u64) {
        self.ready = None;
        if self.left.len() >= self.model.queue as usize {
            self.left.pop_front();
        }
        self.left.push_back(now);
    }

    fn begin(&mut self, block: u64, missed: u64, claims: &mut Claims) {
        self.hidden = self.cycles_of_block.saturating_sub(1);
        self.cycles_of_block = 0;
        self.block = block;
        self.go_on(claims, true);
        self.cycle += missed;
    }

    /// Another cycle, when the queue has room for what it may bring.
    fn go_on(&mut self, claims: &mut Claims, is_fetched: bool) {
        self.cycles_of_block += 1;
        self.taken = 0;
        let full_at = self.queue.saturating_sub(self.width) as usize + 1;
        let room = self.left.len().checked_sub(full_at).map_or(0, |at| self.left[at] + 1);
        self.cycle = claims.claim((self.cycle + 1).max(room), is_fetched);
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::predecoder::*;

    fn predecoder() -> Predecoder {
        let front = corun_model::find("ivy-bridge").unwrap().front;
        let stall = front.fetch.length_changing_prefix;
        Predecoder::new(&front.predecoder.unwrap(), front.fetch.bytes, stall)
    }

    /// The cycles in which instructions of these lengths are ready that are taken at once.
    fn ready(lengths: &[u8], longer: usize) -> Vec<u64> {
        let mut predecoder = predecoder();
        let mut address = 0;
        let one = |(index, &length): (usize, &u8)| {
            let has_length_changing_prefix = index == longer;
            let bytes = Bytes { address, length, opcode_at: 0, has_length_changing_prefix };
            address += u64::from(length);
            let ready =
                predecoder.ready(bytes, 100, Requester::ALONE, &mut Claims::default(), |_| 0);
            predecoder.take(ready.max(100));
            ready
        };
        lengths.iter().enumerate().map(one).collect()
    }

    #[test]
    fn five_instructions_of_a_block_pass_in_a_cycle() {
        let found = ready(&[2; 9], usize::MAX);
        assert_eq!(found, [100, 100, 100, 100, 100, 101, 101, 101, 102]);
    }

    #[test]
    fn an_instruction_across_blocks_passes_with_the_second() {
        assert_eq!(ready(&[7, 7, 4, 4], usize::MAX), [100, 100, 101, 101]);
        // The block's sixth, which begins in it, takes a cycle of its own.
        let found = ready(&[3, 3, 3, 3, 3, 3, 3], usize::MAX);
        assert_eq!(found, [100, 100, 100, 100, 100, 102, 102]);
    }

    #[test]
    fn a_prefix_that_changes_a_length_stalls() {
        assert_eq!(ready(&[4, 4, 4, 4], 1), [100, 103, 103, 103]);
    }

    #[test]
    fn a_full_queue_holds_the_next_block_back() {
        let mut predecoder = predecoder();
        let mut ready = Vec::new();
        for index in 0..24 {
            let bytes = Bytes {
                address: 4 * index,
                length: 4,
                opcode_at: 0,
                has_length_changing_prefix: false,
            };
            let claims = &mut Claims::default();
            ready.push(predecoder.ready(bytes, 100, Requester::ALONE, claims, |_| 0));
            // The decoders take nothing before cycle 200.
            predecoder.take(200);
        }
        assert_eq!(ready[15], 103, "fifteen wait, and five more have room");
        assert_eq!(ready[16], 204);
    }

    #[test]
    fn who_shares_a_way_takes_turns() {
        let mut claims = Claims { fetch: true, ..Claims::default() };
        let claimed: Vec<u64> = [5, 5, 6, 5, 20].map(|cycle| claims.claim(cycle, true)).to_vec();
        assert_eq!(claimed, [5, 6, 7, 8, 20]);
        assert_eq!(claims.claim(5, false), 5, "what was fetched is taken apart by its own");
        let mut own = Claims::default();
        assert_eq!([5, 5].map(|cycle| own.claim(cycle, true)), [5, 5]);
    }
}
