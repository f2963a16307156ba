//! The intervals of a sampled trace: which of its instructions warm up, and which are counted.

use corun_trace::format::{FormatError, Trace};
use corun_trace::{Event, Marker, Phase, ThreadId, TracePlan, TracedPoint};

use super::{ChosenPoint, SimulationWeight};

/// Recorded instructions up to the next marker that begins a interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) phase: Phase,
    /// Instructions of the thread before it, recorded or not.
    pub(super) place: u64,
    /// Recorded instructions before it.
    pub(super) begin: u64,
    /// Recorded instructions before its end.
    pub(super) end: u64,
    /// If it is a window that does not stand for as much as every other.
    pub(super) weight: Option<SimulationWeight>,
}

/// The intervals of a thread that have instructions, in the order of the run.
pub(super) fn intervals(trace: &Trace, thread: ThreadId) -> Result<Vec<Interval>, FormatError> {
    let mut events = trace.events(thread)?;
    let mut intervals: Vec<Interval> = Vec::new();
    let mut recorded = 0;
    let mut open = Interval { phase: Phase::Counted, place: 0, begin: 0, end: 0, weight: None };
    loop {
        match events.next_event()? {
            Some(Event::Block { executed, .. }) => recorded += u64::from(executed),
            Some(Event::Marker(marker)) => {
                if let Marker::Begin { phase, .. } = marker.marker {
                    intervals.push(Interval { end: recorded, ..open });
                    let place = events.instruction();
                    open = Interval { phase, place, begin: recorded, end: recorded, weight: None };
                }
            }
            None => {
                intervals.push(Interval { end: recorded, ..open });
                break;
            }
        }
    }
    set_weights(trace, &mut intervals);
    intervals.retain(|interval| interval.end > interval.begin);
    Ok(intervals)
}

/// Instructions before what counts, which are not reported with the first window. They are those of all threads: of
/// one among several, more warm-ups are left out.
pub(super) fn before(trace: &Trace) -> u64 {
    trace.opening().plan.rest().1
}

/// The weights of a plan's windows, each with where the window begins; none if all stand for as much.
fn weights(plan: &TracePlan) -> Vec<(u64, SimulationWeight)> {
    match plan {
        TracePlan::SimulationPoints { windows, length, total, .. } => {
            let weight = |window: &TracedPoint| SimulationWeight {
                own: (*length).min(total.saturating_sub(window.begin)).max(1),
                all: window.instructions,
                point: Some(ChosenPoint { left_out: window.left_out }),
            };
            windows.iter().map(|window| (window.begin, weight(window))).collect()
        }
        TracePlan::Samples { first_part: 1.., .. } => {
            let windows =
                corun_trace::intervals(plan.clone()).filter(|it| it.phase == Phase::Counted);
            let weight = |own, all| SimulationWeight { own, all, point: None };
            let parts = plan.parts().into_iter().map(|part| part.end - part.start);
            windows
                .zip(parts)
                .map(|(it, part)| (it.begin, weight(it.end - it.begin, part)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Windows were chosen for all threads together, and a run that is not quite the same may lack some. A thread's only one is
/// known by its place; of several threads one that has missed a window does not know which.
fn set_weights(trace: &Trace, intervals: &mut [Interval]) {
    let windows = weights(trace.opening().plan.rest().0);
    let not_counted = before(trace);
    // Before the first marker nothing is recorded.
    let counted = intervals.iter_mut().skip(1).filter(|interval| interval.phase == Phase::Counted);
    let mut counted: Vec<&mut Interval> = counted.collect();
    let are_all = counted.len() == windows.len();
    let is_one = trace.threads().len() == 1;
    for (at, interval) in counted.iter_mut().enumerate() {
        let window = match (are_all, is_one) {
            (true, _) => windows.get(at),
            (false, true) => windows.iter().min_by_key(|(begin, _)| {
                not_counted.saturating_add(*begin).abs_diff(interval.place)
            }),
            (false, false) => None,
        };
        interval.weight = window.map(|(_, weight)| *weight);
    }
}
