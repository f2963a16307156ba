//! The windows of a simulation, as they are done.

use corun_trace::Phase;

use super::intervals::Interval;
use super::{EventCounts, Piece, SimulatedWindow};
use crate::core::{CycleStack, State};

/// The windows that are done.
pub(super) struct Collected {
    windows: Vec<SimulatedWindow>,
    stacks: Vec<CycleStack>,
    /// Of the window at work.
    pieces: Vec<Piece>,
    /// Events since the last window.
    recorded: EventCounts,
    together: State,
    /// Instructions before what counts.
    not_counted: u64,
}

impl Collected {
    /// Nothing yet, of a thread in this state.
    pub(super) fn new(state: State, not_counted: u64) -> Self {
        let together = state.since(&state);
        let (windows, stacks, pieces) = (Vec::new(), Vec::new(), Vec::new());
        Self { windows, stacks, pieces, recorded: EventCounts::default(), together, not_counted }
    }

    /// An interval begins.
    pub(super) fn begin(&mut self) {
        self.pieces.clear();
    }

    /// A piece of a window is done.
    pub(super) fn piece(&mut self, state: State) {
        self.pieces.push(Piece::of(&state));
    }

    /// The interval is done.
    pub(super) fn end(&mut self, interval: &Interval, state: State) {
        let events = EventCounts::of(&state);
        if interval.phase == Phase::Counted || interval.place >= self.not_counted {
            self.recorded = self.recorded.plus(&events);
        }
        if interval.phase == Phase::Counted && state.retired > 0 {
            self.windows.push(SimulatedWindow {
                begin: interval.place,
                cycles: state.cycles,
                events,
                events_with_warm_up: std::mem::take(&mut self.recorded),
                pieces: std::mem::take(&mut self.pieces),
                weight: interval.weight,
            });
            self.together = self.together.plus(&state);
            self.stacks.push(state.stack);
        }
    }

    /// The windows, the stack of each, and what all of them did.
    pub(super) fn all(self) -> (Vec<SimulatedWindow>, Vec<CycleStack>, State) {
        (self.windows, self.stacks, self.together)
    }
}
