//! Requests to memory, and its replies.

use crate::memory::Pages;
use crate::memory::line::Line;
use crate::sharing::Requester;
use corun_model::LINE;

/// Origin of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The first-level cache.
    L1,
    /// The second-level cache.
    L2,
    /// The last-level cache.
    L3,
    /// Memory.
    Main,
    /// Another core that had changed it.
    OtherCore,
}

/// A request of a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// The core that asks.
    pub(crate) core: usize,
    /// Which of its threads.
    pub(crate) requester: Requester,
    /// A number for the instruction.
    pub(crate) instruction: u64,
    /// A linear address; its line is meant.
    pub(crate) linear: u64,
    /// The pages of the process.
    pub(crate) pages: Pages,
}

/// An access to a line at some level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) core: usize,
    pub(super) requester: Requester,
    pub(super) line: Line,
    pub(super) is_write: bool,
}

impl Access {
    /// A read of another line, by the same thread.
    pub(super) fn read(self, line: Line) -> Self {
        Self { line, is_write: false, ..self }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The cycle in which the first level has both translation and line; what a hit takes comes on top.
    pub(crate) ready: u64,
    /// Cycles of them for the translation.
    pub(crate) translation: u64,
    pub(crate) origin: Origin,
    /// Cycles of them that the line would not have taken if a sibling had not evicted it.
    pub(crate) evicted: SiblingEviction,
}

/// Cycles that a line takes longer because a sibling evicted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SiblingEviction {
    pub(crate) cycles: u16,
    /// True if it was evicted from the second level, not from the first.
    pub(crate) is_second: bool,
}

impl SiblingEviction {
    /// From the first level, if it was, or as from the second.
    pub(super) fn of(is_evicted: bool, cycles: u64, second: u64) -> Self {
        match is_evicted {
            true => Self { cycles: cycles.min(u16::MAX.into()) as u16, is_second: false },
            false => Self { cycles: second.min(u16::MAX.into()) as u16, is_second: true },
        }
    }
}

/// An address in each line of these bytes.
pub(crate) fn lines(address: u64, span: u64) -> impl Iterator<Item = u64> {
    let (line, end) = (u64::from(LINE), address.wrapping_add(span));
    let first = (address < end).then_some(address);
    std::iter::successors(first, move |at| {
        Some((at / line + 1).wrapping_mul(line)).filter(|next| (address..end).contains(next))
    })
}

#[cfg(test)]
mod tests {
    use crate::memory::request::lines;

    #[test]
    fn bytes_lie_in_the_lines_from_their_first_to_their_last() {
        let all = |address, span| lines(address, span).collect::<Vec<u64>>();
        assert_eq!(all(70, 8), [70]);
        assert_eq!(all(60, 8), [60, 64]);
        assert_eq!(all(60, 5), [60, 64]);
        assert_eq!(all(60, 4), [60]);
        assert_eq!(all(0, 256), [0, 64, 128, 192]);
        assert!(all(70, 0).is_empty());
        assert_eq!(all(u64::MAX - 1, 1), [u64::MAX - 1]);
        assert!(all(u64::MAX - 1, 8).is_empty(), "what goes round the end is nowhere");
    }
}
