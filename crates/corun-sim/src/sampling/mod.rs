//! The windows of a sampled trace: each is simulated after its warm-up, and counted by itself.
//!
//! One core runs them all, one after the other, so that predictors keep what they learned as they do in
//! a whole run.

mod beside;
mod refill;

use corun_record::{PageSize, Unwatched};
use corun_trace::format::{FormatError, Trace};
use corun_trace::{Event, Marker, Phase, Plan, SimulationPoint, ThreadId};

use crate::Simulated;
use crate::core::{CycleStack, State};
use crate::error::SimulationError;
use crate::plausible;
use crate::simulate::{alone, the_source};
use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::MemoryRequests;

pub use beside::{MAX_LAG, Recording, Sibling, simulate_windows_beside};
pub use refill::{Refills, simulate_refills};

/// What a thread takes in the counted windows of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedWindows {
    /// Each of them, in the order of the run; none is empty.
    pub windows: Vec<SimulatedWindow>,
    /// Where the cycles of each went, in the same order.
    pub stacks: Vec<CycleStack>,
    /// All of them together.
    pub together: Simulated,
}

/// One counted interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedWindow {
    /// Instructions of the thread before it, recorded or not.
    pub begin: u64,
    /// Cycles that it takes.
    pub cycles: u64,
    /// Event counts of it.
    pub events: EventCounts,
    /// Event counts of it and in the warm-up before it.
    pub events_with_warm_up: EventCounts,
    /// The same window in pieces of equal length, but for the last one.
    pub pieces: Vec<Piece>,
    /// Its weight as a simulation point, if it was chosen as one.
    pub weight: Option<SimulationWeight>,
}

/// The weight of a simulation point, in instructions of all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationWeight {
    /// Of the window itself.
    pub own: u64,
    /// Of the cluster that it represents, ...
    pub all: u64,
    /// ... and those of them that are not recorded.
    pub left_out: u64,
}

/// A part of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Cycles that it takes.
    pub cycles: u64,
    /// Event counts of it.
    pub events: EventCounts,
}

impl Piece {
    fn of(state: &State) -> Self {
        Self { cycles: state.cycles, events: EventCounts::of(state) }
    }
}

/// Event counts of an interval, whether it goes through the pipeline or only warms them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Instructions.
    pub instructions: u64,
    /// Mispredicted branches.
    pub mispredicts: u64,
    /// What was asked of memory.
    pub requests: MemoryRequests,
}

impl EventCounts {
    fn of(state: &State) -> Self {
        Self {
            instructions: state.retired,
            mispredicts: state.mispredicts,
            requests: state.requests,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            mispredicts: self.mispredicts + other.mispredicts,
            requests: self.requests.plus(&other.requests),
        }
    }
}

/// Instructions between two calls of `goes_on` in a warm-up.
const STRIDE: u64 = 1 << 18;
/// Instructions of a piece of a window.
const PIECE: u64 = 25_000;

/// Runs the windows of a thread alone on a core, its data in pages of that size. `goes_on` is called now and then with how many of all
/// instructions are done, warm-ups included; when it says no, there is no result.
///
/// # Errors
/// If the trace is damaged where it is read, or has no such thread, or the core makes no progress.
pub fn simulate_windows(
    model: &CoreModel,
    timings: &TimingTable,
    trace: &Trace,
    thread: ThreadId,
    pages: PageSize,
    mut goes_on: impl FnMut(u64, u64) -> bool,
) -> Result<Option<SimulatedWindows>, SimulationError> {
    trace.require_code()?;
    let intervals = intervals(trace, thread)?;
    let all = intervals.last().map_or(0, |interval| interval.end);
    let mut machine = alone(model, timings, trace, thread, pages, &Unwatched)?;
    let mut collected = Collected::new(machine.state(0, 0), before(trace));
    for interval in intervals {
        let begun = machine.state(0, 0);
        let mut next = begun.retired;
        collected.begin();
        while next < interval.end {
            if !goes_on(next, all) {
                return Ok(None);
            }
            match interval.phase {
                Phase::WarmUp => {
                    next = (next + STRIDE).min(interval.end);
                    machine.warm_up(next, interval.end)?;
                }
                Phase::Counted => {
                    let begin = machine.state(0, 0);
                    next = (next + PIECE).min(interval.end);
                    machine.run(&[vec![next]])?;
                    collected.piece(machine.state(0, 0).since(&begin));
                }
            }
        }
        collected.end(&interval, machine.state(0, 0).since(&begun));
    }
    let (windows, stacks, together) = collected.all();
    let source = the_source(machine)?;
    let together = Simulated::of(together, &source.lowering);
    plausible::of_thread(&together, model)?;
    for window in &windows {
        plausible::of_rate(window.events.instructions as f64, window.cycles as f64, model)?;
    }
    Ok(Some(SimulatedWindows { windows, stacks, together }))
}

/// The windows that are done.
struct Collected {
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
    fn new(state: State, not_counted: u64) -> Self {
        let together = state.since(&state);
        let (windows, stacks, pieces) = (Vec::new(), Vec::new(), Vec::new());
        Self { windows, stacks, pieces, recorded: EventCounts::default(), together, not_counted }
    }

    /// An interval begins.
    fn begin(&mut self) {
        self.pieces.clear();
    }

    /// A piece of a window is done.
    fn piece(&mut self, state: State) {
        self.pieces.push(Piece::of(&state));
    }

    /// The interval is done.
    fn end(&mut self, interval: &Interval, state: State) {
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
    fn all(self) -> (Vec<SimulatedWindow>, Vec<CycleStack>, State) {
        (self.windows, self.stacks, self.together)
    }
}

/// Instructions before what counts, which are not reported with the first window. They are those of all threads: of
/// one among several, more warm-ups are left out.
fn before(trace: &Trace) -> u64 {
    trace.opening().plan.rest().1
}

/// Recorded instructions up to the next marker that begins a interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    phase: Phase,
    /// Instructions of the thread before it, recorded or not.
    place: u64,
    /// Recorded instructions before its end.
    end: u64,
    /// If it is a window that was chosen to stand for others.
    weight: Option<SimulationWeight>,
}

fn intervals(trace: &Trace, thread: ThreadId) -> Result<Vec<Interval>, FormatError> {
    let mut events = trace.events(thread)?;
    let mut intervals: Vec<Interval> = Vec::new();
    let mut recorded = 0;
    let mut open = Interval { phase: Phase::Counted, place: 0, end: 0, weight: None };
    loop {
        match events.next_event()? {
            Some(Event::Block { executed, .. }) => recorded += u64::from(executed),
            Some(Event::Marker(marker)) => {
                if let Marker::Begin { phase, .. } = marker.marker {
                    intervals.push(Interval { end: recorded, ..open });
                    let place = events.instruction();
                    open = Interval { phase, place, end: recorded, weight: None };
                }
            }
            None => {
                intervals.push(Interval { end: recorded, ..open });
                break;
            }
        }
    }
    set_weights(trace, &mut intervals);
    let mut begin = 0;
    intervals.retain(|interval| interval.end > std::mem::replace(&mut begin, interval.end));
    Ok(intervals)
}

/// Windows were chosen for all threads together, and a run that is not quite the same may lack some. A thread's only one is
/// known by its place; of several threads one that has missed a window does not know which.
fn set_weights(trace: &Trace, intervals: &mut [Interval]) {
    let Plan::SimulationPoints { windows, length, total, .. } = trace.opening().plan.rest().0
    else {
        return;
    };
    let not_counted = before(trace);
    let weight = |window: &SimulationPoint| SimulationWeight {
        own: (*length).min(total.saturating_sub(window.begin)).max(1),
        all: window.instructions,
        left_out: window.left_out,
    };
    // Before the first marker nothing is recorded.
    let counted = intervals.iter_mut().skip(1).filter(|interval| interval.phase == Phase::Counted);
    let mut counted: Vec<&mut Interval> = counted.collect();
    let are_all = counted.len() == windows.len();
    let is_one = trace.threads().len() == 1;
    for (at, interval) in counted.iter_mut().enumerate() {
        let window = match (are_all, is_one) {
            (true, _) => windows.get(at),
            (false, true) => windows
                .iter()
                .min_by_key(|it| not_counted.saturating_add(it.begin).abs_diff(interval.place)),
            (false, false) => None,
        };
        interval.weight = window.map(weight);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use corun_record::{Progress, Stage};
    use corun_trace::format::{Opening, Options, Writer};
    use corun_trace::{OrderedMarker, Sink, decode};

    use crate::sampling::*;
    use crate::{Part, simulate};
    use corun_model::find;

    #[derive(Default)]
    struct Heard {
        stage: Mutex<Option<Stage>>,
        done: AtomicU64,
    }

    impl Progress for Heard {
        fn begin(&self, stage: Stage) {
            assert_eq!(self.stage.lock().unwrap().replace(stage), None);
        }

        fn advance(&self, units: u64) {
            self.done.fetch_add(units, Ordering::Relaxed);
        }
    }

    /// A loop of three instructions, in intervals: phase, instructions left out before, rounds.
    fn trace(intervals: &[(Phase, u64, u32)]) -> Trace {
        planned(Plan::Whole, intervals)
    }

    fn planned(plan: Plan, intervals: &[(Phase, u64, u32)]) -> Trace {
        let opening = Opening { plan, ..Opening::default() };
        let mut writer = Writer::new(Vec::new(), &opening, Options::default()).unwrap();
        // imul rax, rax; dec rcx; jnz to the first
        let code = [0x48, 0x0f, 0xaf, 0xc0, 0x48, 0xff, 0xc9, 0x75, 0xf7];
        let block = writer.define(decode(0x1000, &code).unwrap()).unwrap();
        let thread = writer.thread(1).unwrap();
        for (order, &(phase, skipped, rounds)) in (1..).zip(intervals) {
            let marker = Marker::Begin { phase, skipped };
            writer.mark(thread, OrderedMarker { order, marker }).unwrap();
            for _ in 0..rounds {
                writer.execute(thread, block, 3, &[]).unwrap();
            }
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    fn simulated(trace: &Trace) -> SimulatedWindows {
        let model = find("zen3").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        simulate_windows(&model, &timings, trace, ThreadId(0), PageSize::Small, |_, _| true)
            .unwrap()
            .unwrap()
    }

    #[test]
    fn counted_stretches_are_windows_and_warm_ups_are_not() {
        use Phase::{Counted, WarmUp};
        // Shorter than what goes through the pipeline, and longer.
        for rounds in [1000, 100_000] {
            let intervals = [(WarmUp, 500, rounds), (Counted, 0, 2000), (WarmUp, 700, rounds)];
            let last = [(Counted, 0, 1000), (Counted, 90, 0)];
            check_windows(&trace(&[&intervals[..], &last].concat()), 3 * u64::from(rounds));
        }
    }

    fn check_windows(trace: &Trace, warm_up: u64) {
        let SimulatedWindows { windows, together, .. } = simulated(trace);
        let agus: Vec<u64> = windows.iter().map(|window| window.begin).collect();
        assert_eq!(agus, [500 + warm_up, 500 + warm_up + 6000 + 700 + warm_up]);
        for (window, instructions) in windows.iter().zip([6000, 3000]) {
            // Whole cycles of retirement.
            assert!(window.events.instructions.abs_diff(instructions) < 16, "{windows:?}");
            // Each round waits for the multiplication of the one before.
            assert!(window.cycles.abs_diff(instructions) < 100, "{windows:?}");
        }
        let sums = windows.iter().fold((0, 0), |(instructions, cycles), window| {
            (instructions + window.events.instructions, cycles + window.cycles)
        });
        assert_eq!((together.instructions, together.cycles), sums);
        let stack: f64 = together.stack.cycles().map(|(_, cycles)| cycles).sum();
        assert!((stack - together.cycles as f64).abs() < 1e-6, "{stack} of {}", together.cycles);
    }

    #[test]
    fn a_whole_run_is_one_window_of_what_simulating_says() {
        let trace = trace(&[(Phase::Counted, 0, 500)]);
        let found = simulated(&trace);
        let model = find("zen3").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let whole = simulate(&model, &timings, &trace, Part::default(), &Unwatched).unwrap();
        assert_eq!((found.windows.len(), found.windows[0].begin), (1, 0));
        // Told in steps, and the rest at the end.
        let heard = Heard::default();
        let watched = simulate(&model, &timings, &trace, Part::default(), &heard).unwrap();
        assert_eq!(watched, whole);
        let total = heard.stage.into_inner().unwrap().and_then(|it| it.total);
        assert_eq!((total, heard.done.into_inner()), (Some(1500), 1500));
        assert_eq!((found.together.instructions, found.together.cycles), (1500, whole.cycles));
    }

    #[test]
    fn windows_that_were_chosen_stand_for_others() {
        use Phase::{Counted, WarmUp};
        let intervals = [(WarmUp, 0, 90), (Counted, 0, 40), (Counted, 50, 20), (WarmUp, 7, 9)];
        let weights_of = |places: &[(u64, u64)]| {
            let window =
                |&(begin, instructions)| SimulationPoint { begin, instructions, left_out: 7 };
            let windows = places.iter().map(window).collect();
            let plan = Plan::SimulationPoints { windows, length: 120, warm_up: 270, total: 1000 };
            let windows = simulated(&planned(plan, &intervals)).windows;
            let all = |window: &SimulatedWindow| window.weight.map(|it| it.all);
            windows.iter().map(all).collect::<Vec<_>>()
        };
        assert_eq!(weights_of(&[(0, 700), (0, 300)]), [Some(700), Some(300)]);
        // The run was over before the last one.
        let three = [(270, 600), (440, 300), (900, 100)];
        assert_eq!(weights_of(&three), [Some(600), Some(300)]);
    }

    #[test]
    fn what_lies_before_what_counts_is_reported_with_no_window() {
        use Phase::{Counted, WarmUp};
        let intervals = [(WarmUp, 30, 1000), (WarmUp, 0, 200), (Counted, 0, 100)];
        let rest =
            Box::new(Plan::Samples { count: 1, length: 300, warm_up: 600, total: 900, seed: 0 });
        let plan = Plan::After { skip: 3030, warm_up: 3000, rest };
        let windows = simulated(&planned(plan, &intervals)).windows;
        let recorded = |windows: &[SimulatedWindow]| windows[0].events_with_warm_up.instructions;
        assert_eq!((windows.len(), windows[0].begin), (1, 3630));
        assert!(recorded(&windows).abs_diff(900) < 16, "{windows:?}");
        let all = simulated(&trace(&intervals)).windows;
        assert!(recorded(&all).abs_diff(3900) < 16, "{all:?}");
        // Of a thread that has done less than all did before; what counts is reported in any case.
        let plan = Plan::After { skip: 1 << 40, warm_up: 3000, rest: Box::new(Plan::Whole) };
        let few = simulated(&planned(plan, &intervals)).windows;
        assert!(recorded(&few).abs_diff(300) < 16, "{few:?}");
    }

    #[test]
    fn it_stops_on_request() {
        let trace = trace(&[(Phase::Counted, 0, 500)]);
        let model = find("zen3").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let none =
            simulate_windows(&model, &timings, &trace, ThreadId(0), PageSize::Small, |_, _| false)
                .unwrap();
        assert_eq!(none, None);
    }
}
