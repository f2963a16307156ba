//! The micro-op queue between decoding and renaming.

use std::collections::VecDeque;

use crate::parameters::Limit;

/// Instructions of a thread on their way to renaming.
#[derive(Debug, Default)]
pub(crate) struct UopQueue {
    instructions: VecDeque<Queued>,
    /// Slots that they take.
    slots: u32,
}

/// An instruction in the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queued {
    pub(crate) block: u32,
    pub(crate) instruction: u32,
    /// First value in the ring.
    pub(crate) values: u32,
    pub(crate) slots: u8,
    /// A NOP that is renamed in the slot of the instruction before it.
    pub(crate) shares_slot: bool,
    /// From when on it can be renamed.
    pub(crate) at: u64,
    /// Fetch waits for it to be executed.
    pub(crate) is_mispredicted: bool,
    /// It comes after a mispredicted branch, and is going to be squashed.
    pub(crate) is_wrong: bool,
    /// The ring has its values; on a wrong path those of another execution of the same instruction.
    pub(crate) has_values: bool,
}

impl UopQueue {
    /// Slots that are taken.
    #[inline]
    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// Room for so many slots more, beside those of siblings.
    #[inline]
    pub(crate) fn has_room(&self, limit: &Limit, siblings: u32, slots: u32) -> bool {
        limit.has_room(self.slots, siblings + self.slots, slots)
    }

    /// True if the queue admits an instruction, which an empty queue always does.
    #[inline]
    pub(crate) fn admits(&self, limit: &Limit, siblings: u32, slots: u32) -> bool {
        self.slots == 0 || self.has_room(limit, siblings, slots)
    }

    /// Adds a fetched instruction.
    #[inline]
    pub(crate) fn push(&mut self, queued: Queued) {
        self.slots += u32::from(queued.slots);
        self.instructions.push_back(queued);
    }

    /// The instruction that is renamed next.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Queued> {
        self.instructions.front()
    }

    /// The next instruction, if it can be renamed by now.
    #[inline]
    pub(crate) fn ready(&self, now: u64) -> Option<&Queued> {
        self.front().filter(|queued| queued.at <= now)
    }

    /// Takes the next instruction off the queue.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let queued = self.instructions.pop_front()?;
        self.slots -= u32::from(queued.slots);
        Some(queued)
    }

    /// Puts an instruction back that is renamed once more.
    pub(crate) fn put_back(&mut self, queued: Queued) {
        self.slots += u32::from(queued.slots);
        self.instructions.push_front(queued);
    }

    /// Marks the last instruction as a mispredicted branch.
    pub(crate) fn mark_mispredicted(&mut self) {
        if let Some(queued) = self.instructions.back_mut() {
            queued.is_mispredicted = true;
        }
    }

    /// Drops the instructions of a wrong path.
    pub(crate) fn squash(&mut self) {
        while let Some(queued) = self.instructions.back().filter(|queued| queued.is_wrong) {
            self.slots -= u32::from(queued.slots);
            self.instructions.pop_back();
        }
    }
}
