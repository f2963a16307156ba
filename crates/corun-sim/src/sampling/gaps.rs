//! Activity of a thread where nothing was recorded, as far as caches notice: the lines that it touched there, if the
//! trace has them, so that a cache holds after a gap what it would.

use corun_trace::TouchedLine;
use corun_trace::format::FormatError;
use rustc_hash::FxHashSet;

use super::beside::Recording;
use super::intervals::Interval;

/// Lines that are looked for before a section: more than a last level holds for one core.
const MAX_LINES: usize = 1 << 20;

/// The gaps of a recorded thread.
#[derive(Debug)]
pub(super) struct Gaps<'t> {
    recording: Recording<'t>,
    /// Up to where there are lists of touched lines, in instructions of the thread.
    lists: Vec<u64>,
    /// True if there are no lists, or some gap is longer than what its list is of.
    pub(super) are_unknown: bool,
}

impl<'t> Gaps<'t> {
    pub(super) fn of(recording: Recording<'t>, intervals: &[Interval]) -> Self {
        let lists: Vec<u64> = recording.trace.touched_at(recording.thread).collect();
        let known = recording.trace.opening().plan.look_back();
        let are_unknown = lists.is_empty() || lengths(intervals).any(|gap| gap > known);
        Self { recording, lists, are_unknown }
    }

    /// Lines touched in the gap that ends at this place; nothing if the trace does not have it.
    pub(super) fn before(&self, place: u64) -> Result<Vec<TouchedLine>, FormatError> {
        let Recording { trace, thread, .. } = self.recording;
        match self.lists.binary_search(&place) {
            Ok(number) => Ok(trace.touched(thread, number)?.lines),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Lines touched from the start of the run to this place or a little before, in gaps or not: each line once, the one
    /// that was touched first in front.
    pub(super) fn all_before(&self, place: u64) -> Result<Vec<TouchedLine>, FormatError> {
        let Recording { trace, thread, .. } = self.recording;
        let count = self.lists.partition_point(|&list| list <= place);
        let (mut all, mut known) = (Vec::new(), FxHashSet::default());
        for number in (0..count).rev() {
            let lines = trace.touched(thread, number)?.lines;
            let is_new = |line: &TouchedLine| known.insert((line.address(), line.is_code()));
            all.extend(lines.into_iter().rev().filter(is_new));
            if all.len() >= MAX_LINES {
                break;
            }
        }
        all.reverse();
        Ok(all)
    }
}

/// Instructions of the thread between each interval and the one before, or the start of the run.
fn lengths(intervals: &[Interval]) -> impl Iterator<Item = u64> {
    intervals.iter().scan(0, |end, it| {
        let gap = it.place.saturating_sub(*end);
        *end = it.place + (it.end - it.begin);
        Some(gap)
    })
}
