//! How much memory was touched: distinct cache lines and pages.

use std::collections::HashMap;

use serde::Serialize;

const LINE: u64 = 64;
const PAGE: u64 = 4096;
/// Bytes of one access or one `rep` instruction that are looked at: 1 GiB, so that a count which is
/// not true takes neither all time nor all memory.
const LONGEST: u64 = 1 << 30;

/// Memory that was touched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Distinct lines of 64 bytes.
    pub lines: u64,
    /// Distinct pages of 4 KiB.
    pub pages: u64,
}

/// The lines that were touched: a bit each, by page.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pages: HashMap<u64, u64>,
    /// The page touched last and its lines, which are not in `pages` yet.
    last: Option<(u64, u64)>,
}

impl Touched {
    /// Adds bytes; none, where their number is not known, stand for one. Address 0 is none.
    pub(super) fn touch(&mut self, address: u64, length: u64) {
        if address == 0 {
            return;
        }
        let end = address.saturating_add(length.clamp(1, LONGEST) - 1);
        let (first, last) = (address / LINE, end / LINE);
        for page in address / PAGE..=end / PAGE {
            let lines = page * (PAGE / LINE);
            let from = first.saturating_sub(lines);
            let to = (last - lines).min(63);
            self.add(page, (u64::MAX << from) & (u64::MAX >> (63 - to)));
        }
    }

    pub(super) fn footprint(mut self) -> Footprint {
        self.put_away();
        Footprint {
            lines: self.pages.values().map(|lines| u64::from(lines.count_ones())).sum(),
            pages: self.pages.len() as u64,
        }
    }

    fn add(&mut self, page: u64, lines: u64) {
        match &mut self.last {
            Some((last, known)) if *last == page => *known |= lines,
            _ => {
                self.put_away();
                self.last = Some((page, lines));
            }
        }
    }

    fn put_away(&mut self) {
        if let Some((page, lines)) = self.last.take() {
            *self.pages.entry(page).or_default() |= lines;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(touched: &[(u64, u64)]) -> (u64, u64) {
        let mut all = Touched::default();
        touched.iter().for_each(|&(address, length)| all.touch(address, length));
        let footprint = all.footprint();
        (footprint.lines, footprint.pages)
    }

    #[test]
    fn lines_and_pages_count_once() {
        assert_eq!(of(&[(64, 8), (72, 8), (0x1_0000, 1), (64, 1)]), (2, 2));
        assert_eq!(of(&[(60, 8)]), (2, 1));
        assert_eq!(of(&[(4090, 8)]), (2, 2));
        assert_eq!(of(&[(4096, 8192)]), (128, 2));
        assert_eq!(of(&[(0, 8), (64, 0)]), (1, 1));
        assert_eq!(of(&[(u64::MAX, u64::MAX)]), (1, 1));
    }
}
