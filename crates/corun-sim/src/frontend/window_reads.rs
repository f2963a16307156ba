//! Reads of the op cache for a window of code that has more lines than one read brings.
//!
//! On Zen 5 a read brings two lines of a window, and each further one takes cycles in which nothing else is read. It may have
//! room for more lines of the windows that follow straight on. What waits for renaming hides this
//! (docs/evidence/zen5-code.md#windows-of-more-than-two-lines).

use crate::frontend::op_cache::Reading;
use crate::frontend::structures::Budget;
use corun_model::OpCache;

/// What a thread has read since the last taken branch.
#[derive(Debug, Default)]
pub(crate) struct WindowReads {
    /// The window that is being read, and its lines so far.
    window: Option<u64>,
    lines: u32,
    /// Whether another window came before it.
    follows: bool,
    /// When the last further read is made.
    at: Option<u64>,
    /// Places of micro-ops that it still has.
    room: u32,
    /// Whether it was made for this window, and can bring as much again.
    may_extend: bool,
}

/// How many reads must wait for renaming so that further ones cost nothing.
const READS_AHEAD: u32 = 2;

/// What brings a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// The first read of its window, which counts against what a cycle can bring.
    First,
    /// A further one.
    Further,
}

impl WindowReads {
    /// A branch was taken, or prediction began again.
    pub(crate) fn jump(&mut self) {
        *self = Self::default();
    }

    /// What brings the next line in cycle `now`, which can still bring so much.
    ///
    /// Errors: the cycle from which on it can be brought.
    pub(crate) fn find(
        &mut self,
        address: u64,
        line: &Reading,
        (now, budget): (u64, &Budget),
        model: &OpCache,
    ) -> Result<Read, u64> {
        let Some(cycles) = model.further_read else { return Ok(Read::First) };
        if budget.waiting >= READS_AHEAD * model.lines * model.line {
            self.jump();
            return Ok(Read::First);
        }
        let window = address / u64::from(model.window);
        if self.window != Some(window) {
            self.follows = self.window.is_some();
            (self.window, self.lines, self.may_extend) = (Some(window), 0, false);
        }
        if self.lines < model.lines {
            return if self.at == Some(now) { Err(now + 1) } else { Ok(Read::First) };
        }
        if self.room < line.places && self.may_extend {
            (self.room, self.may_extend) = (self.room + model.line, false);
        }
        if self.room < line.places {
            // The first one begins early where another window was read before.
            let is_early = self.follows && self.at.is_none();
            let later = cycles - u32::from(is_early) - u32::from(budget.is_first);
            (self.room, self.may_extend) = (self.room + model.line.max(line.places), true);
            self.at = Some(now + u64::from(later));
        }
        self.at.filter(|at| *at > now).map_or(Ok(Read::Further), Err)
    }

    /// The line was brought so.
    pub(crate) fn take(&mut self, line: &Reading, read: Read) {
        self.lines += 1;
        if read == Read::Further {
            self.room -= line.places;
        }
    }
}
