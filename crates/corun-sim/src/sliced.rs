//! Programs that take turns on one logical CPU, as a kernel lets them.

use crate::code::CodeBlock;
use crate::core::{Feed, Next};
use crate::memory::Pages;

/// Programs with a slice of time each.
pub(crate) struct Sliced<F> {
    programs: Vec<F>,
    running: usize,
    /// Which are at a gate of their own, and which have ended.
    are_at_gate: Vec<bool>,
    have_ended: Vec<bool>,
    /// Instructions that the running one has been given in this slice.
    given: u64,
    begin: u64,
    slices: Slices,
    done: Vec<Slice>,
}

/// How long each may run.
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
    /// Whose it was.
    pub(crate) program: usize,
    /// Instructions in it.
    pub(crate) instructions: u64,
    /// From which cycle to which.
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl<F: Feed> Sliced<F> {
    /// The first of these programs runs first; there is one at least.
    pub(crate) fn new(programs: Vec<F>, slices: Slices) -> Self {
        let none = vec![false; programs.len()];
        Self {
            programs,
            running: 0,
            are_at_gate: none.clone(),
            have_ended: none,
            given: 0,
            begin: 0,
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
        now >= self.begin + self.slices.cycles
    }

    /// Whether a program can go on now.
    fn goes_on(&mut self, program: usize, now: u64) -> bool {
        if self.have_ended[program] {
            return false;
        }
        let is_free = !self.are_at_gate[program] || self.programs[program].pass(now).is_some();
        self.are_at_gate[program] &= !is_free;
        is_free
    }
}

impl<F: Feed> Feed for Sliced<F> {
    fn next(&mut self, now: u64, code: &mut Vec<CodeBlock>, values: &mut Vec<u64>) -> Next {
        if !self.is_alone() && self.is_over(now) {
            return Next::Gate;
        }
        let next = self.programs[self.running].next(now, code, values);
        match next {
            Next::Step(step) => self.given += u64::from(step.executed),
            Next::Gate => self.are_at_gate[self.running] = true,
            Next::End => {
                self.have_ended[self.running] = true;
                if self.have_ended.contains(&false) {
                    return Next::Gate;
                }
            }
        }
        next
    }

    fn pass(&mut self, now: u64) -> Option<u64> {
        let (running, count) = (self.running, self.programs.len());
        if !self.is_over(now) && self.goes_on(running, now) {
            return Some(now);
        }
        let next = (1..=count)
            .map(|ahead| (running + ahead) % count)
            .find(|&program| self.goes_on(program, now))?;
        let (instructions, begin) = (self.given, self.begin);
        self.done.push(Slice { program: running, instructions, begin, end: now });
        self.running = next;
        (self.given, self.begin) = (0, now);
        Some(if next == running { now } else { now + self.slices.switch })
    }

    fn pages(&self) -> Pages {
        self.programs[self.running].pages()
    }
}
