//! Lines that a first level cannot hold at once, since it tells them apart by the lowest bits of their linear addresses
//! alone: NetBurst's 64K aliasing. A line that is asked for evicts the other one, wherever in the cache that lies.

use crate::memory::LINE_SHIFT;
use crate::memory::line::Line;
use corun_model::LineAlias;

/// The line that was asked for last, of each group of lines that exclude each other.
#[derive(Debug)]
pub(super) struct Aliases {
    last: Vec<Line>,
}

/// No line has this number.
const NONE: Line = Line::MAX;

impl Aliases {
    pub(super) fn of(model: &LineAlias) -> Self {
        Self { last: vec![NONE; 1 << (model.bits - LINE_SHIFT)] }
    }

    /// A line is asked for through a linear address. Returns the one that has to leave, if it is still there.
    pub(super) fn replace(&mut self, linear: u64, line: Line) -> Option<Line> {
        let group = (linear >> LINE_SHIFT) as usize % self.last.len();
        let before = std::mem::replace(&mut self.last[group], line);
        (before != line && before != NONE).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::line_alias::*;

    #[test]
    fn one_line_of_those_that_agree_in_their_lowest_bits_stays() {
        let mut aliases = Aliases::of(&LineAlias { bits: 16, source: String::new() });
        assert_eq!(aliases.replace(0x1_2340, 7), None);
        assert_eq!(aliases.replace(0x1_2344, 7), None, "the same line");
        assert_eq!(aliases.replace(0x1_2380, 8), None, "the next line");
        assert_eq!(aliases.replace(0x5_2340, 9), Some(7), "64 KiB or a multiple of that away");
        assert_eq!(aliases.replace(0x1_2340, 7), Some(9));
    }
}
