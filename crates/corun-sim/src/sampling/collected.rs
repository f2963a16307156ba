//! The windows of a section, as they are done: each with its counts, so that those of a section that was ended early are a
//! result, too.

use corun_trace::{BlockId, Phase};
use rustc_hash::FxHashMap;

use super::intervals::Interval;
use super::{AttributedInstruction, EventCounts, Piece, SimulatedWindow, SimulatedWindows};
use crate::core::{AttributedPlace, State};
use crate::replay::recorded::Recorded;
use crate::simulate::Simulated;

/// The windows that are done.
pub(super) struct Collected {
    windows: Vec<CountedWindow>,
    part: Option<CountedWindow>,
    /// Of the window at work.
    pieces: Vec<State>,
    /// Events since the last window.
    recorded: EventCounts,
    nothing: State,
    /// Instructions before what counts.
    not_counted: u64,
}

/// A window with its counts, and those of its pieces.
#[derive(Debug)]
struct CountedWindow {
    window: SimulatedWindow,
    state: State,
    pieces: Vec<State>,
    attributed: Vec<(AttributedPlace, u64)>,
}

/// The windows of one section that are done.
#[derive(Debug)]
pub struct SimulatedSection {
    windows: Vec<CountedWindow>,
    /// The window within which the simulation was stopped, as far as it came.
    part: Option<CountedWindow>,
    nothing: State,
    /// Counts of nothing in the section's code.
    code: Simulated,
    /// Blocks of the trace, by the place of their code.
    blocks: FxHashMap<u32, BlockId>,
    is_whole: bool,
}

impl Collected {
    /// Nothing yet, of a thread in this state.
    pub(super) fn new(state: State, not_counted: u64) -> Self {
        let nothing = state.since(&state);
        let (windows, part, pieces) = (Vec::new(), None, Vec::new());
        Self { windows, part, pieces, recorded: EventCounts::default(), nothing, not_counted }
    }

    /// An interval begins.
    pub(super) fn begin(&mut self) {
        self.pieces.clear();
    }

    /// A piece of a window is done.
    pub(super) fn piece(&mut self, state: State) {
        self.pieces.push(state);
    }

    /// True if what is done has an interval: two pieces of windows at least.
    pub(super) fn has_result(&self) -> bool {
        let done = self.windows.iter().chain(&self.part).map(|it| it.pieces.len());
        self.pieces.len() + done.sum::<usize>() > 1
    }

    /// The interval is done.
    pub(super) fn end(
        &mut self,
        interval: &Interval,
        state: State,
        attributed: Vec<(AttributedPlace, u64)>,
    ) {
        let events = EventCounts::of(&state);
        if interval.phase == Phase::Counted || interval.place >= self.not_counted {
            self.recorded = self.recorded.plus(&events);
        }
        if interval.phase == Phase::Counted && state.retired > 0 {
            let pieces = std::mem::take(&mut self.pieces);
            let window = SimulatedWindow {
                begin: interval.place,
                cycles: state.cycles,
                events,
                events_with_warm_up: std::mem::take(&mut self.recorded),
                pieces: pieces.iter().map(Piece::of).collect(),
                weight: interval.weight,
            };
            self.windows.push(CountedWindow { window, state, pieces, attributed });
        }
    }

    /// The simulation stops within a window.
    pub(super) fn stop(&mut self, interval: &Interval, state: State) {
        let before = self.windows.len();
        self.end(interval, state, Vec::new());
        self.part = self.windows.drain(before..).next();
    }

    /// All windows of a section with this code; none if it was ended before there was one.
    pub(super) fn all(self, is_whole: bool, source: &Recorded<'_>) -> Option<SimulatedSection> {
        let Self { windows, part, nothing, .. } = self;
        let code = Simulated::of(nothing.clone(), &source.lowering);
        let blocks = source.executed_blocks();
        let is_result = is_whole || !windows.is_empty() || part.is_some();
        is_result.then_some(SimulatedSection { windows, part, nothing, code, blocks, is_whole })
    }
}

impl SimulatedSection {
    /// True if the section was simulated to its end.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Instructions of the thread before each window that is done, recorded or not.
    pub fn begins(&self) -> impl Iterator<Item = u64> {
        self.windows.iter().map(|it| it.window.begin)
    }

    /// Instructions of its windows.
    pub fn instructions(&self) -> u64 {
        self.windows.iter().map(|it| it.state.retired).sum()
    }

    /// Keeps the windows that begin at such places.
    pub fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.windows.retain(|it| is_kept(it.window.begin));
    }

    /// Each piece of a window as a window of its own, also of one that is not done; all have the same weight.
    #[must_use]
    pub fn in_pieces(self) -> Self {
        let windows = self.windows.into_iter().chain(self.part);
        let windows = windows.flat_map(CountedWindow::in_pieces).collect();
        Self { windows, part: None, ..self }
    }

    /// The windows, the stack of each, and what all of them did.
    pub(super) fn windows(self) -> SimulatedWindows {
        let together = self.windows.iter().fold(self.nothing, |sum, it| sum.plus(&it.state));
        let attributed = self.windows.iter().map(|it| it.attributed(&self.blocks)).collect();
        let both = self.windows.into_iter().map(|it| (it.window, it.state.stack));
        let (windows, stacks) = both.unzip();
        SimulatedWindows { windows, stacks, attributed, together: self.code.counting(together) }
    }
}

impl CountedWindow {
    fn attributed(&self, blocks: &FxHashMap<u32, BlockId>) -> Vec<AttributedInstruction> {
        let known =
            self.attributed.iter().filter_map(|((block, instruction, component), slots)| {
                let (component, cycles) = self.state.stack.part((*component, *slots));
                Some(AttributedInstruction {
                    block: *blocks.get(block)?,
                    instruction: *instruction,
                    component: component.to_owned(),
                    cycles,
                })
            });
        known.collect()
    }

    fn in_pieces(self) -> impl Iterator<Item = Self> {
        let begin = self.window.begin;
        (0..).zip(self.pieces).map(move |(number, state)| {
            let (piece, pieces) = (Piece::of(&state), vec![state.clone()]);
            let window = SimulatedWindow {
                begin: begin + number * super::PIECE,
                cycles: piece.cycles,
                events: piece.events,
                events_with_warm_up: piece.events,
                pieces: vec![piece],
                weight: None,
            };
            Self { window, state, pieces, attributed: Vec::new() }
        })
    }
}
