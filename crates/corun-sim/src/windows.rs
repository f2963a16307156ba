//! The windows of a sampled trace: each is simulated behind its warm-up, and counted by itself.
//!
//! One core runs them all, one after the other, so that predictors keep what they learned as they do in
//! a whole run.

use corun_trace::format::{FormatError, Trace};
use corun_trace::{Event, Marker, Phase, ThreadId};

use crate::Simulated;
use crate::model::CoreModel;
use crate::simulate::{alone, the_feed};
use crate::timing::TimingTable;

/// What a thread takes in the counted windows of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedWindows {
    /// Each of them, in the order of the run; none is empty.
    pub windows: Vec<SimulatedWindow>,
    /// All of them together.
    pub together: Simulated,
}

/// One counted stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedWindow {
    /// Instructions of the thread before it, recorded or not.
    pub begin: u64,
    /// Instructions in it.
    pub instructions: u64,
    /// Cycles that they take.
    pub cycles: u64,
}

/// Instructions between two calls of `goes_on`.
const STRIDE: u64 = 1 << 18;

/// Runs the windows of a thread alone on a core. `goes_on` is told now and then how many of all
/// instructions are done, warm-ups included; when it says no, there is no result.
///
/// # Errors
/// If the trace is damaged where it is read, or has no such thread.
pub fn simulate_windows(
    model: &CoreModel,
    timings: &TimingTable,
    trace: &Trace,
    thread: ThreadId,
    mut goes_on: impl FnMut(u64, u64) -> bool,
) -> Result<Option<SimulatedWindows>, FormatError> {
    let stretches = stretches(trace, thread)?;
    let all = stretches.last().map_or(0, |stretch| stretch.end);
    let mut machine = alone(model, timings, trace, thread)?;
    let mut together = machine.state(0).since(&machine.state(0));
    let mut windows = Vec::new();
    for stretch in stretches {
        let before = machine.state(0);
        let mut next = before.retired;
        while next < stretch.end {
            if !goes_on(next, all) {
                return Ok(None);
            }
            next = (next + STRIDE).min(stretch.end);
            machine.run(&[next]);
        }
        let state = machine.state(0).since(&before);
        if stretch.phase == Phase::Counted && state.retired > 0 {
            windows.push(SimulatedWindow {
                begin: stretch.place,
                instructions: state.retired,
                cycles: state.cycles,
            });
            together = together.plus(&state);
        }
    }
    let feed = the_feed(machine)?;
    Ok(Some(SimulatedWindows { windows, together: Simulated::of(together, &feed.lowering) }))
}

/// Recorded instructions up to the next marker that begins a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    phase: Phase,
    /// Instructions of the thread before it, recorded or not.
    place: u64,
    /// Recorded instructions before its end.
    end: u64,
}

fn stretches(trace: &Trace, thread: ThreadId) -> Result<Vec<Stretch>, FormatError> {
    let mut events = trace.events(thread)?;
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut recorded = 0;
    let mut open = Stretch { phase: Phase::Counted, place: 0, end: 0 };
    loop {
        match events.next_event()? {
            Some(Event::Block { executed, .. }) => recorded += u64::from(executed),
            Some(Event::Marker(marker)) => {
                if let Marker::Begin { phase, .. } = marker.marker {
                    stretches.push(Stretch { end: recorded, ..open });
                    open = Stretch { phase, place: events.instruction(), end: recorded };
                }
            }
            None => {
                stretches.push(Stretch { end: recorded, ..open });
                break;
            }
        }
    }
    let mut begin = 0;
    stretches.retain(|stretch| stretch.end > std::mem::replace(&mut begin, stretch.end));
    Ok(stretches)
}
