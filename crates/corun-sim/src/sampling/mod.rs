//! The windows of a sampled trace: each is simulated after its warm-up, and counted by itself.
//!
//! A core runs the windows of a section of the run one after the other, so that predictors keep what they learned as they
//! do in a whole run.

mod beside;
mod collected;
mod gaps;
mod intervals;
mod refill;
mod sections;
mod simulation;

use corun_record::MemoryRequests;
use corun_trace::BlockId;

use crate::core::{CycleStack, State};
use crate::simulate::Simulated;

pub use beside::{MAX_LAG, Recording, Sibling};
pub use collected::SimulatedSection;
pub use refill::{Refills, simulate_refills};
pub use simulation::{Mode, SampledRun, Step, WindowSimulation};

/// Simulated counts of a thread in the counted windows of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedWindows {
    /// Each of them, in the order of the run; none is empty.
    pub windows: Vec<SimulatedWindow>,
    /// Cycle stack of each, in the same order.
    pub stacks: Vec<CycleStack>,
    /// The instructions that cost most in each, in the same order; nothing for windows of an unfinished simulation.
    pub attributed: Vec<Vec<AttributedInstruction>>,
    /// All of them together.
    pub together: Simulated,
}

impl SimulatedWindows {
    /// These and other windows of another recording of the same run, whose blocks are numbered otherwise: which instructions
    /// cost most there is left out.
    #[must_use]
    pub fn with_recording(self, others: Self) -> Self {
        let attributed = vec![Vec::new(); others.windows.len()];
        self.with(Self { attributed, ..others })
    }

    /// These and other windows of the same run on the same core, in the order of the run.
    #[must_use]
    pub fn with(self, others: Self) -> Self {
        let both = |of: Self| of.windows.into_iter().zip(of.stacks.into_iter().zip(of.attributed));
        let together = self.together.plus(&others.together);
        let mut all: Vec<_> = both(self).chain(both(others)).collect();
        all.sort_by_key(|(window, _)| window.begin);
        let (windows, parts): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let (stacks, attributed) = parts.into_iter().unzip();
        Self { windows, stacks, attributed, together }
    }
}

/// An instruction, and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct AttributedInstruction {
    /// Block of the instruction.
    pub block: BlockId,
    /// Number of the instruction in its block.
    pub instruction: u32,
    /// The component of the cycle stack.
    pub component: String,
    /// Cycles of that component.
    pub cycles: f64,
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
    /// The window in pieces of equal length, but for the last one.
    pub pieces: Vec<Piece>,
    /// Weight, if windows do not stand for equal parts of the run.
    pub weight: Option<SimulationWeight>,
}

/// The weight of a window, in instructions of all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationWeight {
    /// Of the window itself.
    pub own: u64,
    /// Of the cluster or the part of the run that it represents.
    pub all: u64,
    /// As a simulation point; none if it lies at random in its part.
    pub point: Option<ChosenPoint>,
}

/// Part of the run that a simulation point represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenPoint {
    /// Instructions of its cluster that are not recorded.
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
    /// Memory requests.
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

/// Instructions of a piece of a window.
const PIECE: u64 = 25_000;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use corun_model::find;
    use corun_model::timing::TimingTable;
    use corun_record::{PageSize, Progress, Stage, Unwatched};
    use corun_trace::format::{Opening, Options, Trace, Writer};
    use corun_trace::{
        Marker, OrderedMarker, Phase, Sink, ThreadId, TracePlan, TracedPoint, decode,
    };

    use crate::sampling::*;
    use crate::{Part, simulate};

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
        planned(TracePlan::Whole, intervals)
    }

    fn planned(plan: TracePlan, intervals: &[(Phase, u64, u32)]) -> Trace {
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
        simulated_while(trace, |_| true).unwrap()
    }

    fn simulated_while(
        trace: &Trace,
        goes_on: impl FnMut(Step) -> bool,
    ) -> Option<SimulatedWindows> {
        let model = find("zen3").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let run = SampledRun::of(Recording { trace, thread: ThreadId(0), total: 0 }).unwrap();
        let core = (&model, &timings);
        let windows = WindowSimulation::new(core, &run, Vec::new(), PageSize::Small, 0).unwrap();
        windows.run(goes_on).unwrap()
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
    fn lost_cycles_are_attributed_to_the_instruction_that_the_others_wait_for() {
        use Phase::{Counted, WarmUp};
        let found = simulated(&trace(&[(WarmUp, 0, 1000), (Counted, 0, 2000), (Counted, 0, 1000)]));
        for (stack, attributed) in found.stacks.iter().zip(&found.attributed) {
            let (_, waited) = stack.cycles().find(|(name, _)| *name == "dependency").unwrap();
            let first = &attributed[0];
            let named = (first.block, first.instruction, first.component.as_str());
            assert_eq!(named, (BlockId(0), 0, "dependency"), "{attributed:?}");
            assert!(
                first.cycles > 0.9 * waited && first.cycles <= waited,
                "{attributed:?} of {waited}"
            );
        }
        assert_eq!(found.attributed.len(), 2);
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
            let window = |&(begin, instructions)| TracedPoint { begin, instructions, left_out: 7 };
            let windows = places.iter().map(window).collect();
            let plan = TracePlan::SimulationPoints {
                windows,
                length: 120,
                warm_up: 270,
                total: 1000,
                look_back: 0,
            };
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
    fn windows_in_unequal_parts_stand_for_their_parts() {
        use Phase::{Counted, WarmUp};
        let (count, length, warm_up, seed, look_back) = (2, 30, 0, 0, 0);
        let plan = |first_part| TracePlan::Samples {
            count,
            length,
            warm_up,
            total: 960,
            seed,
            look_back,
            first_part,
        };
        // The parts have 120, 120, 360 and 360 instructions.
        let all = [(Counted, 45, 10), (Counted, 90, 10), (Counted, 150, 10), (Counted, 210, 10)];
        let weights = |first_part, intervals: &[_]| {
            let windows = simulated(&planned(plan(first_part), intervals)).windows;
            windows.iter().map(|it| it.weight.map(|it| (it.all, it.point))).collect::<Vec<_>>()
        };
        let expected = [120, 120, 360, 360].map(|part| Some((part, None)));
        assert_eq!(weights(120, &all), expected);
        assert_eq!(weights(0, &all), [None; 4]);
        // The run ended before the last window.
        assert_eq!(weights(120, &[&[(WarmUp, 0, 5)], &all[..3]].concat()), expected[..3]);
    }

    #[test]
    fn what_lies_before_what_counts_is_reported_with_no_window() {
        use Phase::{Counted, WarmUp};
        let intervals = [(WarmUp, 30, 1000), (WarmUp, 0, 200), (Counted, 0, 100)];
        let rest = Box::new(TracePlan::Samples {
            count: 1,
            length: 300,
            warm_up: 600,
            total: 900,
            seed: 0,
            look_back: 0,
            first_part: 0,
        });
        let plan = TracePlan::After { skip: 3030, warm_up: 3000, rest };
        let windows = simulated(&planned(plan, &intervals)).windows;
        let recorded = |windows: &[SimulatedWindow]| windows[0].events_with_warm_up.instructions;
        assert_eq!((windows.len(), windows[0].begin), (1, 3630));
        assert!(recorded(&windows).abs_diff(900) < 16, "{windows:?}");
        let all = simulated(&trace(&intervals)).windows;
        assert!(recorded(&all).abs_diff(3900) < 16, "{all:?}");
        // Of a thread that has done less than all did before; what counts is reported in any case.
        let plan =
            TracePlan::After { skip: 1 << 40, warm_up: 3000, rest: Box::new(TracePlan::Whole) };
        let few = simulated(&planned(plan, &intervals)).windows;
        assert!(recorded(&few).abs_diff(300) < 16, "{few:?}");
    }

    #[test]
    fn it_stops_on_request() {
        let trace = trace(&[(Phase::Counted, 0, 500)]);
        assert_eq!(simulated_while(&trace, |_| false), None);
    }

    /// Stops after so many calls.
    fn stops_after(trace: &Trace, calls: usize) -> Option<SimulatedWindows> {
        let mut called = 0;
        let goes_on = |_| {
            called += 1;
            called <= calls
        };
        simulated_while(trace, goes_on)
    }

    #[test]
    fn windows_that_are_done_when_it_stops_are_those_of_the_whole_simulation() {
        use Phase::{Counted, WarmUp};
        let three = trace(&[(WarmUp, 0, 4000), (Counted, 0, 2000)].repeat(3));
        let whole = simulated(&three);
        let mut found = Vec::new();
        for calls in 0.. {
            let part = stops_after(&three, calls);
            let Some(part) = part.filter(|it| !it.windows.is_empty()) else { continue };
            let done = part.windows.len();
            assert_eq!(part.windows, whole.windows[..done]);
            assert_eq!(part.stacks, whole.stacks[..done]);
            let cycles: u64 = part.windows.iter().map(|it| it.cycles).sum();
            assert_eq!(part.together.cycles, cycles);
            found.push(done);
            if part == whole {
                break;
            }
        }
        found.dedup();
        assert_eq!(found, [1, 2, 3]);
    }

    #[test]
    fn of_a_window_that_is_not_done_its_pieces_are_a_result() {
        let one = trace(&[(Phase::Counted, 0, 50_000)]);
        let whole = simulated(&one);
        let pieces = &whole.windows[0].pieces;
        assert_eq!(pieces.len(), 6);
        let model = find("zen3").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let run = SampledRun::of(Recording { trace: &one, thread: ThreadId(0), total: 0 }).unwrap();
        let core = (&model, &timings);
        let all = WindowSimulation::new(core, &run, Vec::new(), PageSize::Small, 0).unwrap();
        let mut has_result = Vec::new();
        let section = all.simulate(0, |step| {
            has_result.push(step.has_result);
            has_result.len() <= 3
        });
        assert_eq!(has_result, [false, false, true, true, true]);
        let section = section.unwrap().unwrap();
        assert_eq!((section.is_whole(), section.begins().count()), (false, 0));
        let mut section = section.in_pieces();
        assert_eq!(section.begins().collect::<Vec<_>>(), [0, PIECE, 2 * PIECE]);
        section.retain(|begin| begin != PIECE);
        assert_eq!(all.counted(0), 150_000);
        let instructions = pieces[0].events.instructions + pieces[2].events.instructions;
        assert_eq!(section.instructions(), instructions);
        let found = all.join([section]).unwrap();
        let cycles: Vec<u64> = found.windows.iter().map(|it| it.cycles).collect();
        assert_eq!(cycles, [pieces[0].cycles, pieces[2].cycles]);
        assert_eq!(found.together.cycles, cycles[0] + cycles[1]);
    }

    #[test]
    fn it_says_what_was_warmed_and_what_was_timed() {
        use Phase::{Counted, WarmUp};
        let trace = trace(&[(WarmUp, 0, 300_000), (Counted, 0, 2000), (Counted, 0, 50_000)]);
        let (mut warmed, mut timed, mut mode) = (0, 0, Mode::Warming);
        let done = |Step { instructions, next, .. }: Step| {
            match mode {
                Mode::Warming => warmed += instructions,
                Mode::Detailed => timed += instructions,
            }
            mode = next;
            true
        };
        simulated_while(&trace, done).unwrap();
        let detailed = 3 * 52_000 + crate::machine::DETAILED;
        assert_eq!(warmed + timed, 3 * 352_000);
        assert!(timed.abs_diff(detailed) < 16, "{timed}, expected {detailed}");
    }
}
