//! Footprint: memory that was touched: distinct cache lines and pages.

use std::collections::HashMap;

use corun_record::TraceFootprint as Footprint;

const LINE: u64 = 64;
const PAGE: u64 = 4096;
/// Bounds of what is read of a trace, so that counts which are not true take neither all time nor all memory.
const BOUNDS: Bounds = Bounds { longest: 1 << 18, long: 1 << 28, pages: 1 << 23 };

/// Numbers of pages.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Of one access or one `rep` instruction: 1 GiB.
    longest: u64,
    /// Of all those together that touch more than two: 1 TiB.
    long: u64,
    /// Distinct ones: 32 GiB.
    pages: usize,
}

/// The lines that were touched: a bit each, by page.
#[derive(Debug)]
pub(super) struct Touched {
    pages: HashMap<u64, u64>,
    /// The page touched last and its lines, which are not in `pages` yet.
    last: Option<(u64, u64)>,
    /// Rest of the bounds.
    bounds: Bounds,
    is_bounded: bool,
}

impl Default for Touched {
    fn default() -> Self {
        Self { pages: HashMap::new(), last: None, bounds: BOUNDS, is_bounded: false }
    }
}

impl Touched {
    /// Adds bytes; none, where their number is not known, stand for one. Address 0 is none.
    pub(super) fn touch(&mut self, address: u64, length: u64) {
        if address == 0 {
            return;
        }
        let end = address.saturating_add(length.max(1) - 1);
        let last_page = self.bound(address / PAGE, end / PAGE);
        let (first, last) = (address / LINE, end / LINE);
        for page in address / PAGE..=last_page {
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
            at_least: self.is_bounded,
        }
    }

    /// The last of these pages that is counted.
    #[inline]
    fn bound(&mut self, first: u64, last: u64) -> u64 {
        let further = last - first;
        if further <= 1 {
            return last;
        }
        let counted = further.min(self.bounds.longest).min(self.bounds.long);
        self.bounds.long -= counted;
        self.is_bounded |= counted < further;
        first + counted
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
            if self.pages.len() < self.bounds.pages {
                *self.pages.entry(page).or_default() |= lines;
            } else if let Some(known) = self.pages.get_mut(&page) {
                *known |= lines;
            } else {
                self.is_bounded = true;
            }
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

    #[test]
    fn what_is_too_much_is_said_to_be_more() {
        let bounds = Bounds { longest: 4, long: 6, pages: 10 };
        let of = |touched: &[(u64, u64)]| {
            let mut all = Touched { bounds, ..Touched::default() };
            touched.iter().for_each(|&(page, pages)| all.touch(page * PAGE, pages * PAGE));
            let Footprint { pages, at_least, .. } = all.footprint();
            (pages, at_least)
        };
        assert_eq!(of(&[(1, 5)]), (5, false));
        assert_eq!(of(&[(1, 6)]), (5, true));
        assert_eq!(of(&[(1, 3), (1, 3), (1, 3)]), (3, false));
        assert_eq!(of(&[(1, 3), (1, 3), (1, 3), (11, 3)]), (4, true));
        assert_eq!(of(&[(1, 2), (3, 2), (5, 2), (7, 2), (9, 2), (1, 1)]), (10, false));
        assert_eq!(of(&[(1, 2), (3, 2), (5, 2), (7, 2), (9, 2), (11, 1)]), (10, true));
    }
}
