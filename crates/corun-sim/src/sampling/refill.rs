//! Cost of a time slice besides its switch: the caches and predictors that the other worker has filled meanwhile.
//!
//! The same instructions run twice, at places spread over what is recorded: directly after what comes before them, and after
//! a slice of another copy on the same logical CPU. The difference is what is lost to refills.

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{PageSize, Unwatched};

use super::beside::Recording;
use crate::core::{InstructionSource, Next};
use crate::error::SimulationError;
use crate::machine::Machine;
use crate::memory::Pages;
use crate::replay::recorded::{Recorded, Replay};
use crate::uops::{DecodedBlock, Lowering};

/// Places at which a slice begins.
const PLACES: u64 = 8;
/// Instructions after each that are timed, at most.
const TIMED: u64 = 500_000;
/// Instructions between two calls of `goes_on` and `has_time`.
const STRIDE: u64 = 1 << 18;

/// Misses of a worker after a switch, at each place.
#[derive(Debug, Clone, PartialEq)]
pub struct Refills {
    /// Cycles that the timed instructions took longer after another worker's slice.
    pub cycles: Vec<f64>,
    /// The part of these cycles that was lost in the later half of the timed instructions, of all places together: where it
    /// is large, more would be lost after them.
    pub late: f64,
    /// True if there was no time for all places.
    pub is_cut: bool,
}

/// Runs a thread in slices with a copy of itself that executes `between` instructions in each slice of its own. `goes_on` and
/// `has_time` are called now and then: when the first says no, there is no result; when the second does, there is one of the
/// places before.
///
/// # Errors
/// If the trace is damaged where it is read, or has no such thread, or the core makes no progress.
pub fn simulate_refills(
    model: &CoreModel,
    timings: &TimingTable,
    counted: Recording<'_>,
    pages: PageSize,
    seed: u64,
    between: u64,
    (goes_on, has_time): (impl Fn() -> bool, impl Fn() -> bool),
) -> Result<Option<Refills>, SimulationError> {
    counted.trace.require_code()?;
    let slices = |between| Slices::new(model, timings, counted, pages, seed, between);
    let (mut undisturbed, mut disturbed) = (slices(0)?, slices(between)?);
    let may_go_on = || goes_on() && has_time();
    let (mut cycles, mut late) = (Vec::new(), 0.0);
    for _ in 0..undisturbed.places {
        let Some(before) = undisturbed.time_place(&may_go_on)? else { break };
        let Some(after) = disturbed.time_place(&may_go_on)? else { break };
        let [lost_early, lost_late] = [0, 1].map(|half| after[half] as f64 - before[half] as f64);
        cycles.push(lost_early + lost_late);
        late += lost_late;
    }
    if !goes_on() {
        return Ok(None);
    }
    let is_cut = (cycles.len() as u64) < undisturbed.places;
    undisturbed.check()?;
    disturbed.check()?;
    let all: f64 = cycles.iter().sum();
    Ok(Some(Refills { cycles, late: (late / all.max(1.0)).clamp(0.0, 1.0), is_cut }))
}

/// A thread on a core that it shares in slices.
struct Slices<'t> {
    machine: Machine<Turns<'t>>,
    places: u64,
    /// Instructions of each half of the timed part.
    half: u64,
    between: u64,
}

impl<'t> Slices<'t> {
    fn new(
        model: &'t CoreModel,
        timings: &'t TimingTable,
        counted: Recording<'t>,
        pages: PageSize,
        seed: u64,
        between: u64,
    ) -> Result<Self, SimulationError> {
        let Recording { trace, thread, .. } = counted;
        let recorded = trace.threads().iter().find(|it| it.id == thread);
        let recorded = recorded.map_or(0, |it| it.instructions);
        let part = recorded / (PLACES + 1);
        let half = (TIMED / 2).min(part / 4);
        // Too short for slices: nothing is timed.
        let places = if half == 0 { 0 } else { PLACES };
        let lowering = || Lowering::new(model, timings);
        let pages_of = |number| Pages::of(number, seed, pages).on(model);
        let own = pages_of(0);
        let once = Recorded::new(lowering(), trace, thread, own, Replay::From(0), &Unwatched)?;
        let (begin, end) = counted.counted();
        let first = (begin + (end - begin) / 2).min(end.saturating_sub(1));
        let course = Replay::Looping { begin, end, first };
        let copy = pages_of(1).with_code_of(own);
        let other = Recorded::new(lowering(), trace, thread, copy, course, &Unwatched)?;
        let turns =
            Turns { programs: [once, other], lengths: [part, between], running: 0, given: 0 };
        let machine = Machine::new(model, vec![(lowering().stack_update(), vec![turns])]);
        Ok(Self { machine, places, half, between })
    }

    /// The cycles of both halves of the timed part at the next place; none where it may not go on.
    fn time_place(
        &mut self,
        may_go_on: &impl Fn() -> bool,
    ) -> Result<Option<[u64; 2]>, SimulationError> {
        if !self.warm_to_end_of_turn(may_go_on)? {
            return Ok(None);
        }
        if self.between > 0 {
            // Over to the other one, and through its slice.
            self.time(1)?;
            if !self.warm_to_end_of_turn(may_go_on)? {
                return Ok(None);
            }
        }
        Ok(Some([self.time(self.half)?, self.time(self.half)?]))
    }

    /// Fails if what it ran could not be read.
    fn check(self) -> Result<(), SimulationError> {
        let sources = self.machine.into_sources().into_iter().flatten();
        for mut program in sources.flat_map(|turns| turns.programs) {
            program.error()?;
        }
        Ok(())
    }

    /// The cycles of so many instructions from here on, a turn that begins here included.
    fn time(&mut self, instructions: u64) -> Result<u64, SimulationError> {
        let begun = self.machine.state(0, 0);
        self.machine.run(&[vec![begun.retired + instructions]])?;
        Ok(self.machine.state(0, 0).since(&begun).cycles)
    }

    /// Goes on, as far as caches and predictors notice, until the turn is over; says whether it may go on.
    fn warm_to_end_of_turn(
        &mut self,
        may_go_on: &impl Fn() -> bool,
    ) -> Result<bool, SimulationError> {
        loop {
            if !may_go_on() {
                return Ok(false);
            }
            let begun = self.machine.state(0, 0).retired;
            let target = begun + STRIDE;
            self.machine.warm(&[target])?;
            if self.machine.state(0, 0).retired < target {
                return Ok(true);
            }
        }
    }
}

/// Two programs that take turns of so many instructions each on a hardware thread.
struct Turns<'t> {
    programs: [Recorded<'t>; 2],
    lengths: [u64; 2],
    running: usize,
    /// Instructions that the running one was given in its turn.
    given: u64,
}

impl Turns<'_> {
    fn is_over(&self) -> bool {
        self.given >= self.lengths[self.running]
    }
}

impl InstructionSource for Turns<'_> {
    fn next(&mut self, now: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next {
        if self.is_over() {
            return Next::SyncPoint;
        }
        let next = self.programs[self.running].next(now, code, values);
        if let Next::Step(step) = next {
            self.given += u64::from(step.executed);
        }
        next
    }

    fn pass(&mut self, now: u64) -> Option<u64> {
        let other = 1 - self.running;
        self.given = 0;
        if self.lengths[other] > 0 {
            self.running = other;
        }
        Some(now)
    }

    fn pages(&self) -> Pages {
        self.programs[self.running].pages()
    }

    fn describe(&self, block: u32, instruction: u32) -> Option<String> {
        self.programs[self.running].describe(block, instruction)
    }
}

#[cfg(test)]
mod tests {
    use corun_model::find;
    use corun_trace::format::{Options, Trace, Writer};
    use corun_trace::{Sink, decode};

    use super::*;

    /// mov rdi, [rdi]; jmp to the first: loads of `lines` lines, a power of two, in turn, each of which waits for the one before.
    fn walk(lines: u64, rounds: u64) -> Trace {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let code = [0x48, 0x8b, 0x3f, 0xeb, 0xfb];
        let block = writer.define(decode(0x1000, &code).unwrap()).unwrap();
        let thread = writer.thread(1).unwrap();
        let mut line = 0;
        for _ in 0..rounds {
            // Every line once, in an order that no prefetcher follows (Hull and Dobell 1962).
            line = (line * 5 + 3) % lines;
            writer.execute(thread, block, 2, &[0x10_0000 + 64 * line]).unwrap();
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    fn refills(trace: &Trace, between: u64) -> Refills {
        refills_while(trace, between, || true, || true).unwrap()
    }

    fn refills_while(
        trace: &Trace,
        between: u64,
        goes_on: impl Fn() -> bool,
        has_time: impl Fn() -> bool,
    ) -> Option<Refills> {
        let model = find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let thread = &trace.threads()[0];
        let own = Recording { trace, thread: thread.id, total: thread.instructions };
        let pages = PageSize::Small;
        simulate_refills(&model, &timings, own, pages, 3, between, (goes_on, has_time)).unwrap()
    }

    fn mean(of: &Refills) -> f64 {
        of.cycles.iter().sum::<f64>() / of.cycles.len() as f64
    }

    #[test]
    fn who_holds_more_in_the_caches_loses_more_to_a_slice() {
        // The first level holds one of the larger walks, and not two.
        let (small, large) = (walk(8, 200_000), walk(512, 200_000));
        let of_small = refills(&small, 60_000);
        assert_eq!(of_small.cycles.len(), PLACES as usize);
        // Eight lines, a page and a branch.
        assert!((0.0..1000.0).contains(&mean(&of_small).max(0.0)), "{of_small:?}");
        let of_large = refills(&large, 60_000);
        // A hit in the second level takes some ten cycles longer, each line once.
        assert!((1500.0..12_000.0).contains(&mean(&of_large)), "{of_large:?} {of_small:?}");
        assert!(mean(&of_large) > 2.0 * mean(&of_small) && of_large.late < 0.2, "{of_large:?}");
    }

    #[test]
    fn nobody_between_costs_nothing() {
        assert!(refills(&walk(4096, 100_000), 0).cycles.iter().all(|it| *it == 0.0));
    }

    #[test]
    fn a_program_too_short_for_a_slice_has_no_refills() {
        let none = Refills { cycles: Vec::new(), late: 0.0, is_cut: false };
        assert_eq!(refills(&walk(8, 10), 1000), none);
    }

    #[test]
    fn what_there_is_no_time_for_is_left_out_and_said() {
        let trace = walk(512, 100_000);
        let all = refills(&trace, 60_000);
        let asked = std::cell::Cell::new(0);
        let has_time = || {
            asked.set(asked.get() + 1);
            asked.get() <= 7
        };
        let some = refills_while(&trace, 60_000, || true, has_time).unwrap();
        assert!((1..PLACES as usize).contains(&some.cycles.len()) && some.is_cut, "{some:?}");
        assert_eq!(some.cycles, all.cycles[..some.cycles.len()]);
        assert!(!all.is_cut);
        assert_eq!(refills_while(&trace, 60_000, || false, || true), None);
    }
}
