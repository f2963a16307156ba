//! Streams of lines within a page, as the second level is asked for them: what lies after it in memory may be somebody
//! else's.

use crate::memory::LINES_OF_A_PAGE;
use crate::memory::line::Line;
use crate::memory::prefetch::reach::Reach;
use crate::memory::set_associative::Ways;

/// Lines in one direction before a stream is believed.
const BELIEVED: u8 = 2;

/// The pages whose streams are followed.
#[derive(Debug)]
pub(super) struct PageStreams {
    /// Places of the streams by page; none if there are no streams.
    pages: Option<Ways>,
    streams: Vec<PageStream>,
    most: u32,
    /// The stream that was asked last.
    asked: usize,
}

/// Stream of misses in a page.
#[derive(Debug, Clone, Copy, Default)]
struct PageStream {
    last: Line,
    /// Lines in this direction in a row; below zero: downwards.
    run: i8,
    reach: Reach,
}

/// Lines that are to be fetched, the nearest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    lines: std::ops::Range<Line>,
    is_up: bool,
}

impl Iterator for Lines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if self.is_up { self.lines.next() } else { self.lines.next_back() }
    }
}

impl PageStreams {
    /// So many, each at most that many lines ahead.
    pub(super) fn new(streams: u32, most: u32) -> Self {
        Self {
            pages: (streams > 0).then(|| Ways::new(streams, streams)),
            streams: vec![PageStream::default(); streams as usize],
            most,
            asked: 0,
        }
    }

    /// The lines that are to be fetched when one was asked for that the first level did not have. They lie in its page.
    pub(super) fn follow(&mut self, line: Line) -> Lines {
        let page = line / LINES_OF_A_PAGE;
        let Some(pages) = &mut self.pages else { return Lines::default() };
        let (place, is_known) = pages.place(page);
        self.asked = place;
        let stream = &mut self.streams[place];
        if !is_known {
            *stream = PageStream { last: line, ..PageStream::default() };
            return Lines::default();
        }
        stream.follow(line, self.most)
    }

    /// Of the lines that the last stream was to fetch, this one and those after it are not.
    pub(super) fn stop_before(&mut self, line: Line) {
        let stream = &mut self.streams[self.asked];
        stream
            .reach
            .stop_before(crate::memory::prefetch::Level::Second, stream.last.abs_diff(line) as u32);
    }
}

impl PageStream {
    fn follow(&mut self, line: Line, most: u32) -> Lines {
        let steps = line.abs_diff(self.last);
        let up = line > self.last;
        let goes_on = self.run == 0 || up == (self.run > 0);
        self.run = match (goes_on, up) {
            _ if steps == 0 => return Lines::default(),
            (true, true) => self.run.saturating_add(1),
            (true, false) => self.run.saturating_sub(1),
            (false, _) => 0,
        };
        self.last = line;
        if self.run == 0 {
            self.reach = Reach::default();
        }
        self.reach.advance(steps as u32);
        if self.run.unsigned_abs() < BELIEVED {
            return Lines::default();
        }
        let [_, steps] = self.reach.extend([0, most]);
        let (nearest, farthest) = (u64::from(*steps.start()), u64::from(*steps.end()));
        let first = line / LINES_OF_A_PAGE * LINES_OF_A_PAGE;
        let lines = match self.run > 0 {
            true => line + nearest..(line + farthest + 1).min(first + LINES_OF_A_PAGE),
            false => line.saturating_sub(farthest).max(first)..(line + 1).saturating_sub(nearest),
        };
        Lines { lines, is_up: self.run > 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::memory::prefetch::page_streams::*;

    #[test]
    fn a_stream_is_fetched_once_in_both_directions() {
        for lines in [0..64u64, 64..128] {
            let mut up = PageStreams::new(16, 8);
            let fetched: Vec<Line> = lines.clone().flat_map(|line| up.follow(line)).collect();
            assert_eq!(fetched, (lines.start + 3..lines.end).collect::<Vec<_>>());
            let mut down = PageStreams::new(16, 8);
            let fetched: Vec<Line> =
                lines.clone().rev().flat_map(|line| down.follow(line)).collect();
            assert_eq!(fetched, (lines.start..lines.end - 3).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_found_no_buffer_is_fetched_later() {
        let mut up = PageStreams::new(16, 8);
        let before: Vec<Line> = (6400..6403).flat_map(|line| up.follow(line)).collect();
        assert_eq!(before, [6403, 6404]);
        up.stop_before(6404);
        assert_eq!(up.follow(6403).collect::<Vec<_>>(), [6404, 6405]);
    }

    proptest! {
        #[test]
        fn nothing_beyond_the_page_is_fetched(lines in prop::collection::vec(0u64..512, 0..300)) {
            let mut streams = PageStreams::new(16, 8);
            for line in lines {
                for fetched in streams.follow(line) {
                    prop_assert_eq!(fetched / LINES_OF_A_PAGE, line / LINES_OF_A_PAGE);
                    prop_assert_ne!(fetched, line);
                }
            }
        }
    }
}
