//! What is fetched before it is asked for: strides of single instructions, and streams of lines in a page.
//!
//! After what Intel's optimization manual and AMD's optimization guides tell of their prefetchers.

use super::cache::Line;
use super::ways::Ways;
use crate::model::Prefetch;

/// Lines of a page of 4 KiB.
const LINES_OF_A_PAGE: u64 = 64;
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
        }
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

    /// The lines that are to be fetched when one was asked for that the first level did not have. They
    /// lie in its page.
    pub(super) fn stream(&mut self, line: Line) -> std::ops::Range<Line> {
        let nothing = 0..0;
        let page = line / LINES_OF_A_PAGE;
        let Some(pages) = &mut self.pages else { return nothing };
        let (place, is_known) = pages.place(page);
        let stream = &mut self.streams[place];
        if !is_known {
            *stream = Stream { last: line, run: 0, ahead: line };
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
        let first_of_page = page * LINES_OF_A_PAGE;
        if stream.run > 0 {
            let end = (line + 1 + self.stream_ahead).min(first_of_page + LINES_OF_A_PAGE);
            let begin = (line + 1).max(stream.ahead).min(end);
            stream.ahead = end;
            begin..end
        } else {
            let begin = line.saturating_sub(self.stream_ahead).max(first_of_page);
            let end = line.min(if stream.ahead > line { line } else { stream.ahead }).max(begin);
            stream.ahead = begin;
            begin..end
        }
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
