//! Prefetchers: strides and streams by linear addresses, and streams in pages of memory.
//!
//! After what Intel's optimization manual and AMD's optimization guides say of their prefetchers, and what the caches of
//! an EPYC of Zen 4 have after accesses in a row.

mod issue;
mod line_streams;
mod page_streams;
mod reach;
mod strides;

use std::ops::RangeInclusive;

use crate::memory::LINE_SHIFT;
use crate::memory::line::Line;
use crate::memory::pages::PAGE_SHIFT;
use corun_model::Prefetch;
use line_streams::{LineStreams, Part};
pub(super) use page_streams::Lines;
use page_streams::PageStreams;
pub(super) use reach::Level;
use strides::Strides;

/// The prefetchers of a core.
#[derive(Debug)]
pub(super) struct Prefetchers {
    strides: Strides,
    stride_distance: [u32; 2],
    lines: LineStreams,
    are_across_pages: bool,
    pages: PageStreams,
    /// The prefetcher that was last to fetch by linear addresses.
    last: LastPrefetcher,
}

#[derive(Debug, Clone, Copy)]
enum LastPrefetcher {
    Stride(u64),
    Lines(usize),
}

/// Places ahead of the demand accesses that are to be fetched, by linear addresses.
#[derive(Debug, Clone)]
pub(super) struct Ahead {
    from: u64,
    step: i64,
    /// Steps to them: for the first level, and for the second.
    pub(super) steps: [RangeInclusive<u32>; 2],
    is_across_pages: bool,
}

impl Ahead {
    /// None if there is no step.
    fn new(
        from: u64,
        step: i64,
        steps: [RangeInclusive<u32>; 2],
        is_across_pages: bool,
    ) -> Option<Self> {
        let is_any = steps.iter().any(|steps| !steps.is_empty());
        is_any.then_some(Self { from, step, steps, is_across_pages })
    }

    /// The address so many steps ahead, if that may be fetched.
    #[inline]
    pub(super) fn at(&self, step: u32) -> Option<u64> {
        let there = self.from.wrapping_add_signed(self.step.wrapping_mul(step.into()));
        let is_same = there >> PAGE_SHIFT == self.from >> PAGE_SHIFT;
        (is_same || self.is_across_pages).then_some(there)
    }
}

impl Prefetchers {
    /// One of so many equal parts.
    pub(super) fn of(model: &Prefetch, parts: u32) -> Self {
        Self {
            strides: Strides::new(model.strides / parts),
            stride_distance: model.stride_distance,
            lines: LineStreams::of(model.lines.as_ref(), parts),
            are_across_pages: model.stride_across_pages,
            pages: PageStreams::new(model.streams / parts, model.stream_distance),
            last: LastPrefetcher::Lines(0),
        }
    }

    /// Prefetches on a demand access to data, an instruction if it is a load; and whether the first level did not have
    /// it.
    #[inline]
    pub(super) fn follow(
        &mut self,
        instruction: Option<u64>,
        address: u64,
        is_new: bool,
    ) -> Option<Ahead> {
        match self.lines.follow(address >> LINE_SHIFT, is_new) {
            Part::Known => None,
            Part::Next(place, direction) => {
                self.last = LastPrefetcher::Lines(place);
                let steps = self.lines.extend(place);
                Ahead::new(address, direction << LINE_SHIFT, steps, true)
            }
            Part::None => {
                let at = instruction?;
                let entry = self.strides.of(at)?;
                let stride = entry.follow(at, address)?;
                self.last = LastPrefetcher::Stride(at);
                let steps = entry.reach.extend(self.stride_distance);
                Ahead::new(address, stride, steps, self.are_across_pages)
            }
        }
    }

    /// Of what was last to be fetched by linear addresses, this step and those after it were not.
    pub(super) fn stop_before(&mut self, level: Level, step: u32) {
        match self.last {
            LastPrefetcher::Lines(place) => self.lines.stop_before(place, level, step),
            LastPrefetcher::Stride(at) => {
                if let Some(stride) = self.strides.of(at) {
                    stride.reach.stop_before(level, step);
                }
            }
        }
    }

    /// The lines that the second level is to fetch when it was asked for one.
    pub(super) fn stream(&mut self, line: Line) -> Lines {
        self.pages.follow(line)
    }

    /// Of the lines that the last stream was to fetch, this one and those after it were not.
    pub(super) fn stop_stream_before(&mut self, line: Line) {
        self.pages.stop_before(line);
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::prefetch::*;
    use corun_model::{LinePrefetch, Policy, Sharing};

    fn prefetchers(has_lines: bool, stride_across_pages: bool) -> Prefetchers {
        let sharing =
            Sharing { policy: Policy::Shared, cap: None, source: "a test".into(), assumed: true };
        let lines = LinePrefetch { streams: 16, distance: [3, 5], long: 100, long_distance: 40 };
        Prefetchers::of(
            &Prefetch {
                next_line: false,
                strides: 64,
                stride_distance: [4, 6],
                stride_across_pages,
                lines: has_lines.then_some(lines),
                streams: 0,
                stream_distance: 0,
                adjacent: false,
                sharing,
            },
            1,
        )
    }

    /// Lines fetched into each level while one instruction loads so many times.
    fn fetched(prefetchers: &mut Prefetchers, first: u64, step: u64, loads: u64) -> [Vec<u64>; 2] {
        let mut fetched = [Vec::new(), Vec::new()];
        for load in 0..loads {
            let ahead = prefetchers.follow(Some(0x40), first + load * step, true);
            let Some(ahead) = ahead else { continue };
            for (all, steps) in fetched.iter_mut().zip(ahead.steps.clone()) {
                all.extend(steps.filter_map(|step| ahead.at(step)));
            }
        }
        fetched
    }

    fn places(steps: RangeInclusive<u64>, first: u64, step: u64) -> Vec<u64> {
        steps.map(|place| first + place * step).collect()
    }

    #[test]
    fn strides_end_with_their_page_or_do_not() {
        let [first, second] = fetched(&mut prefetchers(false, true), 0x1000, 0x300, 9);
        assert_eq!(first, places(4..=12, 0x1000, 0x300));
        assert_eq!(second, places(6..=14, 0x1000, 0x300));
        let all = fetched(&mut prefetchers(false, false), 0x1000, 0x100, 16);
        assert!(all.iter().flatten().all(|place| *place < 0x2000), "{all:x?}");
    }

    #[test]
    fn lines_in_a_row_are_a_stream_whatever_the_strides() {
        let [first, second] = fetched(&mut prefetchers(true, false), 0x1fc0, 64, 9);
        assert_eq!(first, places(3..=11, 0x1fc0, 64));
        assert_eq!(second, places(5..=13, 0x1fc0, 64));
        // Each line is loaded from twice.
        let [first, _] = fetched(&mut prefetchers(true, false), 0x1fc0, 32, 18);
        assert_eq!(first.last(), Some(&(0x1fc0 + 11 * 64)));
    }

    #[test]
    fn a_long_stream_is_fetched_from_afar() {
        let mut prefetchers = prefetchers(true, false);
        for (loads, ahead) in [(90, 5), (120, 5 + 20), (200, 40)] {
            let [_, second] = fetched(&mut prefetchers, 0x10_0000, 64, loads);
            assert_eq!(second.last(), Some(&(0x10_0000 + (loads - 1 + ahead) * 64)), "{loads}");
        }
    }

    #[test]
    fn what_was_refused_is_fetched_later() {
        let mut prefetchers = prefetchers(true, false);
        fetched(&mut prefetchers, 0x1000, 64, 3);
        prefetchers.stop_before(Level::First, 2);
        let ahead = prefetchers.follow(None, 0x10c0, false).unwrap();
        assert_eq!(ahead.steps[0], 1..=2);
    }
}
