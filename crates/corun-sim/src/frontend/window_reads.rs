//! Reads of the op cache for a window of code that has more lines than one read brings.
//!
//! On Zen 5 a read brings two lines of a window, and each further one takes cycles in which nothing else is read. A further
//! read may have room for lines of the windows that follow straight on. While enough micro-ops wait for renaming, all of this
//! costs nothing (docs/evidence/zen5-code.md#windows-of-more-than-two-lines). Wrong paths are read without regard to it.

use crate::frontend::op_cache::Reading;
use crate::frontend::structures::Budget;
use corun_model::OpCache;

/// Windows that a thread has read since the last taken branch.
#[derive(Debug, Default)]
pub(crate) struct WindowReads {
    /// The window that is being read, and its lines so far.
    window: Option<u64>,
    lines: u32,
    /// True if another window came before it.
    follows: bool,
    /// When the last further read is made.
    at: Option<u64>,
    /// Places of micro-ops that it still has.
    room: u32,
    /// True if it was made for this window, and can bring as much again.
    may_extend: bool,
}

/// Reads whose micro-ops must wait for renaming so that further reads cost nothing.
const READS_AHEAD: u32 = 2;

impl WindowReads {
    /// Fetch goes on elsewhere.
    pub(crate) fn jump(&mut self) {
        *self = Self::default();
    }

    /// Finds out whether the first read of its window brings a line, or a further one.
    ///
    /// Errors: the cycle, after `now`, from which on the line can be brought.
    pub(crate) fn find(
        &mut self,
        window: u64,
        line: &mut Reading,
        now: u64,
        budget: &Budget,
        model: &OpCache,
    ) -> Result<(), u64> {
        let Some(cycles) = model.further_read else { return Ok(()) };
        if self.window != Some(window) {
            self.follows = self.window.is_some();
            (self.window, self.lines, self.may_extend) = (Some(window), 0, false);
        }
        if !budget.is_whole || budget.waiting >= READS_AHEAD * model.lines * model.line {
            (self.at, self.room, self.may_extend) = (None, 0, false);
            return Ok(());
        }
        if self.lines < model.lines {
            return if self.at == Some(now) { Err(now + 1) } else { Ok(()) };
        }
        if self.room < line.places && self.may_extend {
            (self.room, self.may_extend) = (self.room + model.line, false);
        }
        if self.room < line.places {
            // The first one begins early where another window was read before.
            let is_early = self.follows && self.at.is_none();
            let later = cycles - u32::from(is_early) - u32::from(budget.is_first);
            (self.room, self.may_extend) = (self.room + model.line, true);
            self.at = Some(now + u64::from(later));
        }
        line.is_further = true;
        self.at.filter(|at| *at > now).map_or(Ok(()), Err)
    }

    /// Counts a line that is read.
    pub(crate) fn take(&mut self, line: &Reading) {
        self.lines += 1;
        if line.is_further {
            self.room -= line.places;
        }
    }
}
