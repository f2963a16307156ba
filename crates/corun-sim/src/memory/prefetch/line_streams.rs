//! Streams of lines by linear addresses, whichever instruction asks for them: the ends of pages do not matter.

use std::ops::RangeInclusive;

use crate::memory::line::Line;
use crate::memory::prefetch::reach::{Level, Reach};
use corun_model::LinePrefetch;

/// Lines one after the other before a stream is believed.
const BELIEVED: u32 = 2;
/// A line so near to a stream belongs to it: loads are not asked for in their order.
const NEAR: u64 = 4;
/// Lines for which the last answer is kept.
const ANSWERED: usize = 64;
/// No line was asked for at this time.
const NEVER: u64 = u64::MAX;

/// The streams that are followed.
#[derive(Debug)]
pub(super) struct LineStreams {
    /// Last line of each.
    last: Vec<Line>,
    streams: Vec<LineStream>,
    /// Lines that streams have come on, which are as many as there were changes of `last`.
    time: u64,
    /// For some lines what was answered, and at which time.
    answered: [(Line, u64, Part); ANSWERED],
    ahead: [u32; 2],
    long: u32,
    long_distance: u32,
}

/// Lines one after the other.
#[derive(Debug, Clone, Copy, Default)]
struct LineStream {
    is_down: bool,
    run: u32,
    used: u64,
    reach: Reach,
}

/// A line as part of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Of none that is believed.
    None,
    /// The stream, at this place, was here already.
    Known,
    /// The stream comes to it, and goes so many lines further at a time: one, or one back.
    Next(usize, i64),
}

impl LineStreams {
    /// One of so many equal parts of what a core has.
    pub(super) fn of(model: Option<&LinePrefetch>, parts: u32) -> Self {
        let entries = model.map_or(0, |model| model.streams / parts) as usize;
        Self {
            last: vec![0; entries],
            streams: vec![LineStream::default(); entries],
            time: 0,
            answered: [(0, NEVER, Part::None); ANSWERED],
            ahead: model.map_or([0, 0], |model| model.distance),
            long: model.map_or(u32::MAX, |model| model.long),
            long_distance: model.map_or(0, |model| model.long_distance),
        }
    }

    /// Somebody asks for a line. One may begin with it if it `is_new` to the first level.
    #[inline]
    pub(super) fn follow(&mut self, line: Line, is_new: bool) -> Part {
        let slot = line as usize % ANSWERED;
        if let (known, time, part) = self.answered[slot]
            && (known, time) == (line, self.time)
            && !is_new
        {
            return part;
        }
        let time = self.time;
        let part = self.search(line, is_new);
        // What changed nothing is answered in the same way until something changes.
        if self.time == time {
            self.answered[slot] = (line, time, part);
        }
        part
    }

    fn search(&mut self, line: Line, is_new: bool) -> Part {
        let near = |last: &Line| line.wrapping_sub(*last).wrapping_add(NEAR) <= 2 * NEAR;
        match self.last.iter().position(near) {
            Some(place) => self.go_on(place, line),
            None => {
                if is_new {
                    self.begin(line);
                }
                Part::None
            }
        }
    }

    fn go_on(&mut self, place: usize, line: Line) -> Part {
        let (last, stream) = (&mut self.last[place], &mut self.streams[place]);
        let is_down = line < *last;
        let steps = line.abs_diff(*last);
        let is_believed = stream.run >= BELIEVED;
        if steps == 0 || is_believed && is_down != stream.is_down {
            return if is_believed { Part::Known } else { Part::None };
        }
        *last = line;
        self.time += 1;
        stream.used = self.time;
        if !is_believed && (steps > 1 || is_down != stream.is_down) {
            *stream = LineStream {
                is_down,
                run: u32::from(steps == 1),
                used: self.time,
                reach: Reach::default(),
            };
            return Part::None;
        }
        stream.run = stream.run.saturating_add(1);
        stream.reach.advance(steps as u32);
        match (stream.run >= BELIEVED, is_down) {
            (false, _) => Part::None,
            (true, false) => Part::Next(place, 1),
            (true, true) => Part::Next(place, -1),
        }
    }

    /// A new one takes the place of that which has been asked for least recently.
    fn begin(&mut self, line: Line) {
        let oldest =
            self.streams.iter_mut().zip(&mut self.last).min_by_key(|(stream, _)| stream.used);
        self.time += 1;
        if let Some((stream, last)) = oldest {
            (*stream, *last) = (LineStream { used: self.time, ..LineStream::default() }, line);
        }
    }

    /// The steps that the stream at a place fetches now, into the first level and into the second.
    pub(super) fn extend(&mut self, place: usize) -> [RangeInclusive<u32>; 2] {
        let stream = &mut self.streams[place];
        let [first, second] = self.ahead;
        let second = if stream.run >= self.long { self.long_distance } else { second };
        stream.reach.extend([first, second])
    }

    /// The stream at a place has fetched neither this step nor those after it.
    pub(super) fn stop_before(&mut self, place: usize, level: Level, step: u32) {
        self.streams[place].reach.stop_before(level, step);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::memory::prefetch::line_streams::*;

    fn four() -> LineStreams {
        let model = LinePrefetch { streams: 4, distance: [2, 2], long: 100, long_distance: 2 };
        LineStreams::of(Some(&model), 1)
    }

    fn parts(streams: &mut LineStreams, lines: impl IntoIterator<Item = Line>) -> Vec<Part> {
        lines.into_iter().map(|line| streams.follow(line, true)).collect()
    }

    #[test]
    fn three_lines_in_a_row_are_believed_up_and_down() {
        let mut streams = four();
        assert_eq!(parts(&mut streams, 100..104)[..2], [Part::None; 2]);
        assert_eq!(parts(&mut streams, 104..106), [Part::Next(0, 1); 2]);
        assert_eq!(
            parts(&mut streams, [105, 103, 106]),
            [Part::Known, Part::Known, Part::Next(0, 1)]
        );
        let down = parts(&mut streams, (200..205).rev());
        assert_eq!(
            down,
            [Part::None, Part::None, Part::Next(1, -1), Part::Next(1, -1), Part::Next(1, -1)]
        );
    }

    #[test]
    fn longer_steps_are_no_stream() {
        let mut streams = four();
        assert_eq!(parts(&mut streams, (0..100).map(|step| 1000 + step * 2)), [Part::None; 100]);
        // One line after the other, and then two further, again and again.
        assert_eq!(
            parts(&mut streams, (0..100).map(|step| 9000 + step * 3 / 2)),
            [Part::None; 100]
        );
    }

    #[test]
    fn hits_begin_nothing() {
        let mut streams = four();
        for line in 100..110 {
            assert_eq!(streams.follow(line, false), Part::None);
        }
    }

    proptest! {
        /// As many streams are followed at once as there are entries, in whatever order they take turns.
        #[test]
        fn streams_do_not_hinder_each_other(turns in prop::collection::vec(0u64..4, 30..200)) {
            let mut streams = four();
            let mut lines = [1000, 2000, 3000, 4000];
            for turn in turns {
                let line = &mut lines[turn as usize];
                let part = streams.follow(*line, true);
                prop_assert_eq!(matches!(part, Part::Next(_, 1)), *line % 1000 >= 2, "{}", line);
                *line += 1;
            }
        }
    }
}
