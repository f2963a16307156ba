//! The lines of memory that a thread touched while nothing else of it was recorded: what caches hold when recording goes on.
//!
//! Such a list takes the place of all accesses of a gap (the memory timestamp record of Barr, Pan, Zhang and Asanović 2005):
//! each line once, in the order of the last accesses.

use std::fmt;

/// Bits of an offset in a line of 64 bytes.
const LINE_SHIFT: u32 = 6;
const IS_WRITTEN: u64 = 1;
const IS_CODE: u64 = 2;
/// Bits of a line beside its number.
const FLAGS: u32 = 2;

/// A line of 64 bytes, and what was done to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TouchedLine(u64);

impl TouchedLine {
    /// The line of this linear address.
    pub fn new(address: u64, is_written: bool, is_code: bool) -> Self {
        let kind = if is_code { IS_CODE } else { 0 };
        Self(address >> LINE_SHIFT << FLAGS | kind | u64::from(is_written))
    }

    /// The linear address of its first byte.
    pub fn address(self) -> u64 {
        self.0 >> FLAGS << LINE_SHIFT
    }

    /// True if it was written.
    pub fn is_written(self) -> bool {
        self.0 & IS_WRITTEN != 0
    }

    /// True if it was executed, not read or written.
    pub fn is_code(self) -> bool {
        self.0 & IS_CODE != 0
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits & !(0b1111 << (64 - LINE_SHIFT + FLAGS)))
    }
}

impl fmt::Debug for TouchedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match (self.is_code(), self.is_written()) {
            (true, _) => "executed",
            (false, true) => "written",
            (false, false) => "read",
        };
        write!(f, "{:#x} {kind}", self.address())
    }
}

/// Lines that a thread touched up to a place of its run, since the list before or its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TouchedLines {
    /// Instructions of the thread before that place, recorded or not.
    pub position: u64,
    /// Each line once, the one whose last access is the oldest first.
    pub lines: Vec<TouchedLine>,
}

/// Lines of a list at most, the latest ones: 64 MiB, more than a last level holds for one core.
pub(crate) const MAX_LINES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_address_and_what_was_done_to_it() {
        let line = TouchedLine::new(0x7fff_1234_5678, true, false);
        assert_eq!(
            (line.address(), line.is_written(), line.is_code()),
            (0x7fff_1234_5640, true, false)
        );
        let line = TouchedLine::new(u64::MAX, false, true);
        assert_eq!((line.address(), line.is_written(), line.is_code()), (!63, false, true));
        assert_eq!(TouchedLine::from_bits(line.bits()), line);
        assert_eq!(TouchedLine::from_bits(u64::MAX).bits(), u64::MAX >> 4);
    }
}
