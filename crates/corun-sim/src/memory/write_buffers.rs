//! Write-combining buffers of a core: lines that stores past the caches gather.

use std::collections::VecDeque;

use crate::memory::line::Line;
use crate::memory::mshr::Buffers;

/// Lines that are gathered, or on their way, at a time.
const ENTRIES: usize = 8;

/// The lines that are gathered, and the buffers that they take.
#[derive(Debug)]
pub(super) struct WriteBuffers {
    /// The line that began first in front, each with the offset of its last store.
    lines: VecDeque<(Line, u64)>,
    buffers: Buffers,
}

impl WriteBuffers {
    /// Empty ones.
    pub(super) fn new() -> Self {
        Self { lines: VecDeque::new(), buffers: Buffers::new(ENTRIES as u32) }
    }

    /// True if a store is to a line that is gathered already. Who stores where it has stored before begins it again.
    pub(super) fn gathers(&mut self, line: Line, offset: u64) -> bool {
        if let Some(place) = self.lines.iter().position(|(other, _)| *other == line) {
            if self.lines[place].1 < offset {
                self.lines[place].1 = offset;
                return true;
            }
            self.lines.remove(place);
        }
        self.lines.push_back((line, offset));
        if self.lines.len() > ENTRIES {
            self.lines.pop_front();
        }
        false
    }

    /// From when on a buffer is free for a line that comes at `now`.
    pub(super) fn free(&self, now: u64) -> u64 {
        self.buffers.free(now)
    }

    /// Takes a buffer until memory has the line.
    pub(super) fn take(&mut self, end: u64) {
        self.buffers.take(end);
    }
}
