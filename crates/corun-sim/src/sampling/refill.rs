//! What a time slice costs besides its switch: the caches and predictors that the other worker has filled meanwhile.
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
/// Instructions between two calls of `goes_on`.
const STRIDE: u64 = 1 << 18;

/// What a worker lost at each place.
#[derive(Debug, Clone, PartialEq)]
pub struct Refills {
    /// Cycles that the timed instructions took longer after another worker's slice.
    pub cycles: Vec<f64>,
    /// The part of these cycles that was lost in the later half of the timed instructions, of all places together: where it
    /// is large, more would be lost after them.
    pub late: f64,
}

/// Runs a thread in slices with a copy of itself that executes `between` instructions in each slice of its own. `goes_on` is
/// called now and then; when it says no, there is no result.
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
    mut goes_on: impl FnMut() -> bool,
) -> Result<Option<Refills>, SimulationError> {
    counted.trace.require_code()?;
    let mut run = |between: u64| {
        let mut slices = Slices::new(model, timings, counted, pages, seed, between)?;
        let cycles = slices.run(&mut goes_on)?;
        slices.check()?;
        Ok::<_, SimulationError>(cycles)
    };
    let Some(undisturbed) = run(0)? else { return Ok(None) };
    let Some(disturbed) = run(between)? else { return Ok(None) };
    let lost = |half: usize| -> Vec<f64> {
        let pairs = disturbed.iter().zip(&undisturbed);
        pairs.map(|(one, other)| one[half] as f64 - other[half] as f64).collect()
    };
    let (early, late) = (lost(0), lost(1));
    let cycles: Vec<f64> = early.iter().zip(&late).map(|(early, late)| early + late).collect();
    let all: f64 = cycles.iter().sum();
    let late = late.iter().sum::<f64>() / all.max(1.0);
    Ok(Some(Refills { cycles, late: late.clamp(0.0, 1.0) }))
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
        let once = Recorded::new(lowering(), trace, thread, own, Replay::Once, &Unwatched)?;
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

    /// The cycles of both halves of the timed part at each place.
    fn run(
        &mut self,
        goes_on: &mut impl FnMut() -> bool,
    ) -> Result<Option<Vec<[u64; 2]>>, SimulationError> {
        let mut all = Vec::new();
        for _ in 0..self.places {
            if !self.warm_to_end_of_turn(goes_on)? {
                return Ok(None);
            }
            if self.between > 0 {
                // Over to the other one, and through its slice.
                self.time(1)?;
                if !self.warm_to_end_of_turn(goes_on)? {
                    return Ok(None);
                }
            }
            all.push([self.time(self.half)?, self.time(self.half)?]);
        }
        Ok(Some(all))
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
        goes_on: &mut impl FnMut() -> bool,
    ) -> Result<bool, SimulationError> {
        loop {
            if !goes_on() {
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
        let model = find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let thread = &trace.threads()[0];
        let own = Recording { trace, thread: thread.id, total: thread.instructions };
        simulate_refills(&model, &timings, own, PageSize::Small, 3, between, || true)
            .unwrap()
            .unwrap()
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
        assert_eq!(refills(&walk(8, 10), 1000), Refills { cycles: Vec::new(), late: 0.0 });
    }
}
