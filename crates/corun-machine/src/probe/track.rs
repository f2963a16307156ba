//! From the times at which a loop's chunks ended to how fast it ran, and when it did not run.
//!
//! A chunk that takes many times as long as it should was interrupted: the CPU did something else.
//! So *slow* (a sibling takes ports) and *away* (a hypervisor runs another virtual CPU) are distinguished,
//! and time that others take from a window spoils neither figure.

/// Limit of the length of a running chunk, as a multiple of the nominal one. A sibling doubles it,
/// a low clock may double it again; the shortest slice of a scheduler is far longer.
const RUNNING: u64 = 6;

/// Track of one worker in a window; times in nanoseconds since the window's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Track {
    /// Length of the window.
    pub(super) window: u64,
    /// Duration of a chunk on this CPU when nothing disturbs it.
    pub(super) nominal: u64,
    /// The start of the first chunk, then the end of each chunk, ascending.
    pub(super) marks: Vec<u64>,
}

/// Two workers in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowPair {
    /// Length of the window in nanoseconds.
    pub(super) window: u64,
    /// The part of the window in which each ran.
    pub(super) running: [f64; 2],
    /// The part of the window in which both ran.
    pub(super) at_once: f64,
    /// Chunks per nanosecond of each while both ran; 0 if they never did.
    pub(super) speeds: [f64; 2],
    /// Chunks per nanosecond of the whole window.
    pub(super) work: [f64; 2],
}

/// From here to there, in nanoseconds.
type Span = (u64, u64);

impl WindowPair {
    pub(super) fn of(tracks: [&Track; 2]) -> Self {
        let window = tracks[0].window.max(tracks[1].window);
        let running = tracks.map(Track::running);
        let spans = [joined(&running[0]), joined(&running[1])];
        let both = common(&spans[0], &spans[1]);
        let speeds = running.map(|chunks| speed(&within(&chunks, &both)));
        Self {
            window,
            running: [part(&spans[0], window), part(&spans[1], window)],
            at_once: part(&both, window),
            speeds,
            work: tracks.map(Track::work),
        }
    }
}

impl Track {
    /// Chunks per nanosecond while it ran; 0 if it never did.
    pub(super) fn speed(&self) -> f64 {
        speed(&self.running())
    }

    /// The chunks that were not interrupted.
    fn running(&self) -> Vec<Span> {
        let longest = self.nominal.saturating_mul(RUNNING);
        let chunks = self.marks.windows(2).map(|ends| (ends[0], ends[1]));
        chunks.filter(|(start, end)| end.saturating_sub(*start) <= longest).collect()
    }

    fn work(&self) -> f64 {
        self.marks.len().saturating_sub(1) as f64 / self.window.max(1) as f64
    }
}

/// Chunks per nanosecond of the time that these chunks took.
fn speed(chunks: &[Span]) -> f64 {
    let time = length(chunks);
    if time == 0 { 0.0 } else { chunks.len() as f64 / time as f64 }
}

fn part(spans: &[Span], window: u64) -> f64 {
    (length(spans) as f64 / window.max(1) as f64).min(1.0)
}

fn length(spans: &[Span]) -> u64 {
    spans.iter().map(|(start, end)| end.saturating_sub(*start)).sum()
}

/// Chunks that follow each other without a gap become one span.
fn joined(chunks: &[Span]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for &(start, end) in chunks {
        match spans.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => spans.push((start, end)),
        }
    }
    spans
}

/// Spans that are in a span of each.
fn common(ones: &[Span], others: &[Span]) -> Vec<Span> {
    let (mut ones, mut others) = (ones.iter().peekable(), others.iter().peekable());
    let mut both = Vec::new();
    while let (Some(one), Some(other)) = (ones.peek(), others.peek()) {
        let (start, end) = (one.0.max(other.0), one.1.min(other.1));
        if start < end {
            both.push((start, end));
        }
        if one.1 < other.1 {
            ones.next()
        } else {
            others.next()
        };
    }
    both
}

/// The chunks that lie inside one of the spans.
fn within(chunks: &[Span], spans: &[Span]) -> Vec<Span> {
    let mut spans = spans.iter().peekable();
    let is_inside = |(start, end): &&Span| {
        while spans.next_if(|span| span.1 < *end).is_some() {}
        spans.peek().is_some_and(|span| span.0 <= *start)
    };
    chunks.iter().filter(is_inside).copied().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOMINAL: u64 = 20;

    /// Chunks of `length` in each of the spans.
    fn track(window: u64, length: u64, spans: &[Span]) -> Track {
        let mut marks = Vec::new();
        for &(start, end) in spans {
            if marks.last() != Some(&start) {
                marks.push(start);
            }
            marks.extend((1..=(end - start) / length).map(|chunk| start + chunk * length));
        }
        Track { window, nominal: NOMINAL, marks }
    }

    #[test]
    fn time_away_does_not_slow_what_runs() {
        let whole = track(10_000, 20, &[(0, 10_000)]);
        let half = track(10_000, 20, &[(0, 3000), (8000, 10_000)]);
        assert_eq!((whole.speed(), half.speed()), (0.05, 0.05));
    }

    #[test]
    fn turns_never_run_at_once() {
        let one = track(12_000, 20, &[(0, 4000), (8000, 12_000)]);
        let other = track(12_000, 20, &[(4000, 8000)]);
        let together = WindowPair::of([&one, &other]);
        assert_eq!((together.at_once, together.speeds), (0.0, [0.0; 2]));
        assert!((together.running[0] + together.running[1] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn speeds_count_only_while_both_run() {
        // Alone in the first half at full speed, then beside a sibling at half of it.
        let mut one = track(10_000, 20, &[(0, 5000)]);
        one.marks.extend((1..=125).map(|chunk| 5000 + chunk * 40));
        let other = track(10_000, 40, &[(5000, 10_000)]);
        let together = WindowPair::of([&one, &other]);
        assert_eq!((together.at_once, together.speeds), (0.5, [0.025; 2]));
    }

    #[test]
    fn a_worker_that_never_ran_is_nowhere() {
        let empty = Track { window: 1000, nominal: NOMINAL, marks: Vec::new() };
        assert_eq!(empty.speed(), 0.0);
        let other = track(1000, 20, &[(0, 1000)]);
        assert_eq!(WindowPair::of([&empty, &other]).running, [0.0, 1.0]);
    }

    fn any_track() -> impl Strategy<Value = Track> {
        let marks = prop::collection::btree_set(0_u64..100_000, 0..60);
        (marks, 1_u64..2000).prop_map(|(marks, nominal)| Track {
            window: 100_000,
            nominal,
            marks: marks.into_iter().collect(),
        })
    }

    proptest! {
        #[test]
        fn both_run_at_most_as_long_as_each(one in any_track(), other in any_track()) {
            let together = WindowPair::of([&one, &other]);
            prop_assert!(together.at_once <= together.running[0] + 1e-9);
            prop_assert!(together.at_once <= together.running[1] + 1e-9);
            prop_assert!(together.running.iter().all(|part| (0.0..=1.0).contains(part)));
            let mirrored = WindowPair::of([&other, &one]);
            prop_assert_eq!(together.at_once, mirrored.at_once);
            prop_assert_eq!(together.speeds, [mirrored.speeds[1], mirrored.speeds[0]]);
        }
    }
}
