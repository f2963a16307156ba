//! The loop buffer: a small loop that prediction goes round in comes from there, without fetch, op cache or
//! decoders, and without the bubble after its branch (Intel's guide, 2.4.2.4).

use corun_trace::BranchKind;

/// The loop that a thread's path goes round in, if it does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Looping {
    /// First address, and that after the branch back to it.
    begin: u64,
    end: u64,
    /// Micro-ops of the round so far.
    uops: u32,
    rounds: u32,
}

/// Rounds after which it is taken for a loop.
const SEEN: u32 = 2;

/// The end of a step, as far as loops are concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// Micro-ops of the step.
    pub(crate) uops: u32,
    /// The branch that it ends with.
    pub(crate) branch: Option<BranchKind>,
    /// The address after it, and the one that is executed next.
    pub(crate) fall_through: u64,
    pub(crate) next: u64,
}

impl Looping {
    /// Goes past the end of a step. Returns whether what comes next is in a buffer of so many micro-ops.
    pub(crate) fn pass(&mut self, end: End, most: u32) -> bool {
        let End { uops, branch, fall_through, next } = end;
        self.uops = self.uops.saturating_add(uops);
        let is_plain = matches!(branch, None | Some(BranchKind::Jump | BranchKind::Conditional));
        if !is_plain || self.uops > most {
            *self = Self::default();
        } else if next < fall_through {
            match (next, fall_through) == (self.begin, self.end) {
                true => self.rounds = self.rounds.saturating_add(1),
                false => *self = Self { begin: next, end: fall_through, ..Self::default() },
            }
            self.uops = 0;
        } else if next >= self.end {
            *self = Self::default();
        }
        self.rounds >= SEEN
    }
}
