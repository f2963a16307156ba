//! What is fetched before it is asked for: strides of single instructions, and streams of lines in a page.
//!
//! After what Intel's optimization manual and AMD's optimization guides tell of their prefetchers. A stream that reaches
//! the end of its page goes on in the next one, of a huge page at once and else when that is entered.

use super::cache::Line;
use super::ways::Ways;
use crate::model::Prefetch;

/// Lines of a page of 4 KiB, and of a huge one.
const LINES_OF_A_PAGE: u64 = 64;
const LINES_OF_A_HUGE_PAGE: u64 = LINES_OF_A_PAGE << 9;
/// Same strides in a row before one is believed.
const BELIEVED: u8 = 2;
/// Lines in one direction before a stream is believed.
const STREAM: u8 = 2;

/// The prefetchers of a core.
#[derive(Debug)]
pub(super) struct Prefetchers {
    strides: Vec<Stride>,
    stride_ahead: i64,
    /// Where the stream of a page is; none if there are no streams.
    pages: Option<Ways>,
    streams: Vec<Stream>,
    stream_ahead: u64,
    /// The stream that was asked last.
    asked: usize,
    /// The page that was entered last.
    entered: Option<Page>,
}

/// Lines that are to be fetched, the nearest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead {
    lines: std::ops::Range<Line>,
    is_up: bool,
}

impl Iterator for Ahead {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if self.is_up { self.lines.next() } else { self.lines.next_back() }
    }
}

/// A page of 4 KiB, or the part of a huge one that is as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    /// Its number by linear addresses, ...
    pub(super) linear: u64,
    /// ... and in memory.
    pub(super) physical: u64,
    /// Whether it is a part of a huge page.
    pub(super) is_huge: bool,
}

/// What an instruction's last loads were apart.
#[derive(Debug, Clone, Copy, Default)]
struct Stride {
    at: u64,
    last: u64,
    stride: i64,
    seen: u8,
}

/// Where misses go in a page.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    last: u64,
    /// Lines in this direction in a row; below zero: downwards.
    run: i8,
    /// The line up to which it has fetched.
    ahead: u64,
    /// The page, where that is known.
    page: Option<Page>,
    /// Whether nothing was asked for there yet.
    is_new: bool,
}

impl Stream {
    /// One that is believed, as it goes on in the page behind.
    fn going_on(&self, page: Page) -> Option<Self> {
        let before = self.page.filter(|_| self.run.unsigned_abs() >= STREAM)?;
        let first = page.physical * LINES_OF_A_PAGE;
        let (is_next, last) = match self.run > 0 {
            true => (before.linear + 1 == page.linear, first.wrapping_sub(1)),
            false => (before.linear == page.linear + 1, first + LINES_OF_A_PAGE),
        };
        let follows = page.is_huge && before.physical.abs_diff(page.physical) == 1;
        let ahead = if follows { self.ahead } else { last.wrapping_add(u64::from(self.run > 0)) };
        is_next.then_some(Self { last, run: self.run, ahead, page: Some(page), is_new: false })
    }
}

impl Prefetchers {
    /// One of so many equal parts.
    pub(super) fn of(model: &Prefetch, parts: u32) -> Self {
        let streams = model.streams / parts;
        Self {
            strides: vec![Stride::default(); (model.strides / parts) as usize],
            stride_ahead: model.stride_ahead.into(),
            pages: (streams > 0).then(|| Ways::new(streams, streams)),
            streams: vec![Stream::default(); streams as usize],
            stream_ahead: model.stream_ahead.into(),
            asked: 0,
            entered: None,
        }
    }

    /// Data of a page is asked for that the first level does not have.
    #[inline]
    pub(super) fn enter(&mut self, page: Page) {
        if self.entered != Some(page) {
            self.entered = Some(page);
            self.enter_another(page);
        }
    }

    fn enter_another(&mut self, page: Page) {
        let Some(pages) = &mut self.pages else { return };
        let (place, is_known) = pages.place(page.physical);
        if is_known {
            self.streams[place].page = Some(page);
            return;
        }
        let going_on = self.streams.iter().find_map(|stream| stream.going_on(page));
        let new = Stream { page: Some(page), is_new: true, ..Stream::default() };
        self.streams[place] = going_on.unwrap_or(new);
    }

    /// The address that the instruction `at` is going to load, if its loads are as far apart as before.
    /// It lies in the page of `address`.
    #[inline]
    pub(super) fn stride(&mut self, at: u64, address: u64) -> Option<u64> {
        let entries = self.strides.len();
        let entry = self.strides.get_mut((at ^ at >> 8) as usize % entries.max(1))?;
        if entry.at != at {
            *entry = Stride { at, last: address, stride: 0, seen: 0 };
            return None;
        }
        let stride = address.wrapping_sub(entry.last).cast_signed();
        entry.last = address;
        if stride == entry.stride {
            entry.seen = entry.seen.saturating_add(1);
        } else {
            (entry.stride, entry.seen) = (stride, 0);
        }
        if stride == 0 || entry.seen < BELIEVED {
            return None;
        }
        let next = address.wrapping_add_signed(stride.saturating_mul(self.stride_ahead));
        (next >> 12 == address >> 12).then_some(next)
    }

    /// The lines that are to be fetched when one was asked for that the first level did not have. They lie in its page, or
    /// huge page.
    pub(super) fn stream(&mut self, line: Line) -> Ahead {
        let nothing = Ahead::default();
        let page = line / LINES_OF_A_PAGE;
        let Some(pages) = &mut self.pages else { return nothing };
        let (place, is_known) = pages.place(page);
        self.asked = place;
        let stream = &mut self.streams[place];
        if !is_known || stream.is_new {
            let page = stream.page.filter(|_| is_known);
            *stream = Stream { last: line, run: 0, ahead: line, page, is_new: false };
            return nothing;
        }
        let up = line > stream.last;
        let goes_on = line != stream.last && (stream.run == 0 || up == (stream.run > 0));
        stream.run = match (goes_on, up) {
            (true, true) => stream.run.saturating_add(1),
            (true, false) => stream.run.saturating_sub(1),
            (false, _) if line == stream.last => return nothing,
            (false, _) => 0,
        };
        stream.last = line;
        if stream.run == 0 {
            stream.ahead = line;
        }
        if stream.run.unsigned_abs() < STREAM {
            return nothing;
        }
        let lines = match stream.page {
            Some(Page { is_huge: true, .. }) => LINES_OF_A_HUGE_PAGE,
            _ => LINES_OF_A_PAGE,
        };
        let first_of_page = line / lines * lines;
        if stream.run > 0 {
            let end = (line + 1 + self.stream_ahead).min(first_of_page + lines);
            let begin = (line + 1).max(stream.ahead).min(end);
            stream.ahead = end;
            Ahead { lines: begin..end, is_up: true }
        } else {
            let begin = line.saturating_sub(self.stream_ahead).max(first_of_page);
            let end = line.min(if stream.ahead > line { line } else { stream.ahead }).max(begin);
            stream.ahead = begin;
            Ahead { lines: begin..end, is_up: false }
        }
    }

    /// Of the lines that the last stream was to fetch, this one and those behind it are not.
    pub(super) fn stop_before(&mut self, line: Line) {
        let stream = &mut self.streams[self.asked];
        stream.ahead = if stream.run > 0 { line } else { line + 1 };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Policy, Sharing};

    fn prefetchers() -> Prefetchers {
        let sharing =
            Sharing { policy: Policy::Shared, cap: None, source: "a test".into(), assumed: true };
        Prefetchers::of(
            &Prefetch {
                next_line: false,
                strides: 64,
                stride_ahead: 4,
                streams: 16,
                stream_ahead: 8,
                adjacent: false,
                sharing,
            },
            1,
        )
    }

    #[test]
    fn a_stride_is_followed_within_a_page() {
        let mut prefetchers = prefetchers();
        let next: Vec<_> =
            (0..8).map(|step| prefetchers.stride(0x40, 0x1000 + step * 0x100)).collect();
        assert_eq!(next[..3], [None, None, None]);
        assert_eq!(next[3], Some(0x1700));
        assert_eq!(prefetchers.stride(0x40, 0x1f00), None);
    }

    #[test]
    fn a_stream_is_fetched_once_in_both_directions() {
        for lines in [0..64u64, 64..128] {
            let mut up = prefetchers();
            let fetched: Vec<Line> = lines.clone().flat_map(|line| up.stream(line)).collect();
            assert_eq!(fetched, (lines.start + 3..lines.end).collect::<Vec<_>>());
            let mut down = prefetchers();
            let mut fetched: Vec<Line> =
                lines.clone().rev().flat_map(|line| down.stream(line)).collect();
            fetched.sort_unstable();
            assert_eq!(fetched, (lines.start..lines.end - 3).collect::<Vec<_>>());
        }
    }

    fn page(linear: u64, physical: u64, is_huge: bool) -> Page {
        Page { linear, physical, is_huge }
    }

    /// What is fetched when the lines of a page are asked for one after the other.
    fn fetched(prefetchers: &mut Prefetchers, page: Page, lines: &[u64]) -> Vec<Line> {
        prefetchers.enter(page);
        let ask = |line: &u64| prefetchers.stream(page.physical * LINES_OF_A_PAGE + line);
        lines.iter().flat_map(ask).collect()
    }

    #[test]
    fn a_stream_goes_on_in_the_page_behind_when_that_is_entered() {
        let all: Vec<u64> = (0..64).collect();
        for (next, is_believed) in [(8, true), (9, false)] {
            let mut up = prefetchers();
            fetched(&mut up, page(7, 100, false), &all);
            let first = fetched(&mut up, page(next, 3, false), &[0]);
            let expected = if is_believed { (193..201).collect() } else { Vec::new() };
            assert_eq!(first, expected, "{next}");
        }
        let mut down = prefetchers();
        fetched(&mut down, page(7, 100, false), &all.iter().rev().copied().collect::<Vec<_>>());
        let first = fetched(&mut down, page(6, 3, false), &[63]);
        assert_eq!(first, (247..255).rev().collect::<Vec<_>>());
    }

    #[test]
    fn in_a_huge_page_a_stream_does_not_end_where_small_ones_would() {
        let mut up = prefetchers();
        let lines: Vec<u64> = (50..64).collect();
        let before = fetched(&mut up, page(7, 519, true), &lines);
        assert_eq!(before.last(), Some(&(519 * 64 + 63 + 8)));
        // What was fetched already is not fetched again.
        assert_eq!(fetched(&mut up, page(8, 520, true), &[0]), [520 * 64 + 8]);
    }

    #[test]
    fn what_found_no_buffer_is_fetched_later() {
        let mut up = prefetchers();
        let before = fetched(&mut up, page(7, 100, false), &[0, 1, 2]);
        assert_eq!(before, (6403..6411).collect::<Vec<_>>());
        up.stop_before(6405);
        assert_eq!(up.stream(6403).collect::<Vec<_>>(), (6405..6412).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn nothing_beyond_the_page_is_fetched(lines in prop::collection::vec(0u64..512, 0..300)) {
            let mut prefetchers = prefetchers();
            for line in lines {
                for fetched in prefetchers.stream(line) {
                    prop_assert_eq!(fetched / LINES_OF_A_PAGE, line / LINES_OF_A_PAGE);
                    prop_assert_ne!(fetched, line);
                }
            }
        }
    }
}
