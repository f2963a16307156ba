//! Programs that share one logical CPU by time slices, as a kernel schedules them.

use crate::core::{InstructionSource, Next};
use crate::memory::Pages;
use crate::uops::DecodedBlock;

/// Instruction source of several programs that run in time slices, one after another.
pub(crate) struct TimeSlicedSource<F> {
    programs: Vec<F>,
    running: usize,
    /// For each program: true at a synchronisation point of its own; and true once it has ended.
    are_at_sync_point: Vec<bool>,
    have_ended: Vec<bool>,
    /// Instructions that the running one has been given in this slice.
    given: u64,
    /// When its slice began, the change to it included, and when it is over.
    begin: u64,
    over: u64,
    /// The most instructions that are simulated of a slice.
    most: u64,
    slices: Slices,
    done: Vec<Slice>,
}

/// Lengths of a slice and of a context switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slices {
    /// Cycles of a slice.
    pub(crate) cycles: u64,
    /// Cycles from one program to the next.
    pub(crate) switch: u64,
}

/// A slice that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The program that ran in it.
    pub(crate) program: usize,
    /// Instructions in it.
    pub(crate) instructions: u64,
    /// From which cycle to which.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Cycles at its end that were not simulated.
    pub(crate) left: u64,
}

impl Slice {
    /// Cycles, those that were not simulated included.
    pub(crate) fn cycles(&self) -> f64 {
        (self.end - self.begin + self.left) as f64
    }

    /// Instructions, as many as if all of its cycles, of which the change to it took `switch`, had been simulated.
    pub(crate) fn instructions(&self, switch: u64) -> f64 {
        let simulated = (self.end - self.begin).saturating_sub(switch).max(1) as f64;
        self.instructions as f64 * (1.0 + self.left as f64 / simulated)
    }
}

impl<F: InstructionSource> TimeSlicedSource<F> {
    /// The first of these programs runs first; there is one at least.
    pub(crate) fn new(programs: Vec<F>, slices: Slices) -> Self {
        Self::bounded(programs, slices, u64::MAX)
    }

    /// The source with a limit of the instructions that are simulated of a slice; the rest of it proceeds at the
    /// rate of its instructions so far.
    pub(crate) fn bounded(programs: Vec<F>, slices: Slices, most: u64) -> Self {
        let none = vec![false; programs.len()];
        Self {
            programs,
            running: 0,
            are_at_sync_point: none.clone(),
            have_ended: none,
            given: 0,
            begin: 0,
            over: slices.cycles,
            most,
            slices,
            done: Vec::new(),
        }
    }

    /// The slices that are over.
    pub(crate) fn done(&self) -> &[Slice] {
        &self.done
    }

    /// The programs.
    pub(crate) fn programs(&self) -> &[F] {
        &self.programs
    }

    /// The programs, when nothing more is to be simulated.
    pub(crate) fn into_programs(self) -> Vec<F> {
        self.programs
    }

    fn is_alone(&self) -> bool {
        self.programs.len() == 1
    }

    fn is_over(&self, now: u64) -> bool {
        now >= self.over || self.given >= self.most
    }

    /// True if a program can continue now.
    fn can_continue(&mut self, program: usize, now: u64) -> bool {
        if self.have_ended[program] {
            return false;
        }
        let is_free =
            !self.are_at_sync_point[program] || self.programs[program].pass(now).is_some();
        self.are_at_sync_point[program] &= !is_free;
        is_free
    }
}

impl<F: InstructionSource> InstructionSource for TimeSlicedSource<F> {
    fn next(&mut self, now: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next {
        if !self.is_alone() && self.is_over(now) {
            return Next::SyncPoint;
        }
        let next = self.programs[self.running].next(now, code, values);
        match next {
            Next::Step(step) => self.given += u64::from(step.executed),
            Next::SyncPoint => self.are_at_sync_point[self.running] = true,
            Next::End => {
                self.have_ended[self.running] = true;
                if self.have_ended.contains(&false) {
                    return Next::SyncPoint;
                }
            }
        }
        next
    }

    fn pass(&mut self, now: u64) -> Option<u64> {
        let (running, count) = (self.running, self.programs.len());
        if !self.is_over(now) && self.can_continue(running, now) {
            return Some(now);
        }
        let next = (1..=count)
            .map(|ahead| (running + ahead) % count)
            .find(|&program| self.can_continue(program, now))?;
        let (instructions, begin) = (self.given, self.begin);
        let is_cut = instructions >= self.most;
        let left = if is_cut { self.over.saturating_sub(now) } else { 0 };
        self.done.push(Slice { program: running, instructions, begin, end: now, left });
        self.running = next;
        (self.given, self.begin) = (0, now);
        let from = if next == running { now } else { now + self.slices.switch };
        self.over = from + self.slices.cycles;
        Some(from)
    }

    /// Nothing of a program is left when another one goes on.
    fn retire(&mut self, instructions: u64) {
        self.programs[self.running].retire(instructions);
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
    use corun_record::PageSize;

    use crate::core::Step;
    use crate::replay::time_slices::*;

    /// A program of so many steps, which waits at a synchronisation point before each of them if asked to.
    struct Steps {
        left: u32,
        waits: bool,
        process: u32,
    }

    impl InstructionSource for Steps {
        fn next(&mut self, _: u64, _: &mut Vec<DecodedBlock>, _: &mut Vec<u64>) -> Next {
            match self.left.checked_sub(1) {
                None => Next::End,
                Some(_) if self.waits => Next::SyncPoint,
                Some(left) => {
                    self.left = left;
                    Next::Step(Step { block: self.process, address: 0, executed: 10 })
                }
            }
        }

        fn pass(&mut self, now: u64) -> Option<u64> {
            (!self.waits).then_some(now)
        }

        fn pages(&self) -> Pages {
            Pages::of(self.process, 0, PageSize::Small)
        }
    }

    fn sliced(programs: Vec<Steps>) -> TimeSlicedSource<Steps> {
        TimeSlicedSource::new(programs, Slices { cycles: 100, switch: 7 })
    }

    fn next(sliced: &mut TimeSlicedSource<Steps>, now: u64) -> Next {
        sliced.next(now, &mut Vec::new(), &mut Vec::new())
    }

    /// The program whose step comes next.
    fn program(sliced: &mut TimeSlicedSource<Steps>, now: u64) -> Option<u32> {
        match next(sliced, now) {
            Next::Step(step) => Some(step.block),
            _ => None,
        }
    }

    fn steps(process: u32, left: u32, waits: bool) -> Steps {
        Steps { left, waits, process }
    }

    #[test]
    fn everyone_gets_a_slice() {
        let mut sliced = sliced(vec![steps(0, 9, false), steps(1, 9, false)]);
        assert_eq!(program(&mut sliced, 0), Some(0));
        assert_eq!(program(&mut sliced, 99), Some(0));
        assert_eq!(next(&mut sliced, 100), Next::SyncPoint);
        assert_eq!(sliced.pass(110), Some(117));
        assert_eq!(sliced.pages().space(), Pages::of(1, 0, PageSize::Small).space());
        assert_eq!(program(&mut sliced, 117), Some(1));
        assert_eq!(program(&mut sliced, 216), Some(1), "a slice begins after the change to it");
        assert_eq!(next(&mut sliced, 217), Next::SyncPoint);
        assert_eq!(sliced.pass(217), Some(224));
        let slices: Vec<_> = sliced.done().iter().map(|it| (it.program, it.instructions)).collect();
        assert_eq!(slices, [(0, 20), (1, 20)]);
    }

    #[test]
    fn who_waits_or_has_ended_leaves_its_slice() {
        let mut sliced = sliced(vec![steps(0, 1, false), steps(1, 1, true), steps(2, 2, false)]);
        assert_eq!(program(&mut sliced, 0), Some(0));
        assert_eq!(next(&mut sliced, 1), Next::SyncPoint, "the others go on");
        assert_eq!(sliced.pass(2), Some(9));
        assert_eq!(next(&mut sliced, 9), Next::SyncPoint, "the second waits");
        assert_eq!(sliced.pass(10), Some(17));
        assert_eq!(program(&mut sliced, 17), Some(2));
        assert_eq!(program(&mut sliced, 18), Some(2));
        assert_eq!(next(&mut sliced, 19), Next::SyncPoint);
        assert_eq!(sliced.pass(20), None, "no program can continue");
        sliced.programs[1].waits = false;
        assert_eq!(sliced.pass(30), Some(37));
        assert_eq!(program(&mut sliced, 37), Some(1));
        assert_eq!(next(&mut sliced, 38), Next::End);
    }
}
