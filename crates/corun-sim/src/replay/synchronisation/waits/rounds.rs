//! Rounds of a thread that does nothing: it executes the same blocks at the same addresses over and over, and carries
//! nothing from one round to the next. Only what another thread stores can end that, whatever the recording says of
//! values.

use std::collections::VecDeque;

use corun_trace::format::Trace;
use corun_trace::{BlockId, Direction, first_accesses};
use iced_x86::InstructionInfoFactory;

use super::effects::Effects;

/// Instructions of a round, at most.
const LONGEST_ROUND: u64 = 64;

/// Rounds in which a thread waits for a store. Positions are counted in its recorded instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait {
    /// The first round begins here, ...
    pub(super) begin: u64,
    /// ... the second here, ...
    pub(super) again: u64,
    /// ... and the last whole one, and the one after it that was left, here.
    last_whole: u64,
    last: u64,
    /// The blocks of that one that are like those of the others.
    matched: usize,
    /// Reads of a round from outside of it.
    pub(super) reads: Vec<Polled>,
}

/// A load of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Polled {
    pub(super) place: u64,
    /// The address of the instruction.
    pub(super) code: u64,
    /// The number of its block in the round.
    block: usize,
}

impl Wait {
    /// Begin of the last round.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Begin of the block of the poll that sees the change of what this reads.
    pub(super) fn end(&self, polled: &Polled) -> u64 {
        if polled.block < self.matched { self.last } else { self.last_whole }
    }
}

/// An executed block.
#[derive(Debug, Clone)]
struct Executed {
    block: BlockId,
    values: Vec<u64>,
    begin: u64,
    end: u64,
}

/// One thread as it goes on.
pub(super) struct Rounds<'t> {
    trace: &'t Trace,
    /// Of each block.
    effects: &'t [Effects],
    /// Blocks executed last, as far as it may be part of a round.
    recent: VecDeque<Executed>,
    going: Option<Going>,
    waits: Vec<Wait>,
}

/// Rounds that go on.
struct Going {
    round: Vec<Executed>,
    wait: Wait,
}

/// Of each block of a trace.
pub(super) fn effects(trace: &Trace) -> Vec<Effects> {
    let mut factory = InstructionInfoFactory::new();
    trace.blocks().iter().map(|block| Effects::of(block, &mut factory)).collect()
}

impl<'t> Rounds<'t> {
    pub(super) fn new(trace: &'t Trace, effects: &'t [Effects]) -> Self {
        Self { trace, effects, recent: VecDeque::new(), going: None, waits: Vec::new() }
    }

    /// A block was executed.
    pub(super) fn execute(&mut self, begin: u64, block: BlockId, executed: u32, values: &[u64]) {
        let end = begin + u64::from(executed);
        if let Some(Going { round, wait }) = &mut self.going {
            let expected = &round[wait.matched];
            if expected.block == block && expected.values == values {
                wait.matched += 1;
                if wait.matched == round.len() {
                    (wait.last_whole, wait.last, wait.matched) = (wait.last, end, 0);
                }
                return;
            }
            self.interrupt();
        }
        let is_whole = executed as usize == self.trace.block(block).instructions.len();
        if !is_whole || !self.effects[block.0 as usize].carry_nothing() {
            self.recent.clear();
            return;
        }
        while self.recent.front().is_some_and(|first| end - first.begin > LONGEST_ROUND) {
            self.recent.pop_front();
        }
        let is_same = |it: &Executed| it.block == block && it.values == values;
        if let Some(at) = self.recent.iter().rposition(is_same) {
            let round: Vec<Executed> = self.recent.range(at..).cloned().collect();
            if let Some(reads) = self.reads_of(&round) {
                let first = round[0].begin;
                let (last_whole, last, matched) = match round.len() {
                    1 => (begin, end, 0),
                    _ => (first, begin, 1),
                };
                let wait = Wait { begin: first, again: begin, last_whole, last, matched, reads };
                self.recent.clear();
                self.going = Some(Going { round, wait });
                return;
            }
        }
        self.recent.push_back(Executed { block, values: values.to_owned(), begin, end });
    }

    /// Something else happens.
    pub(super) fn interrupt(&mut self) {
        self.waits.extend(self.going.take().map(|going| going.wait));
        self.recent.clear();
    }

    /// All waits.
    pub(super) fn end(mut self) -> Vec<Wait> {
        self.interrupt();
        self.waits
    }

    /// Reads of a round that it has not stored before; none if it carries anything to the next one.
    fn reads_of(&self, round: &[Executed]) -> Option<Vec<Polled>> {
        let effects = round.iter().map(|it| &self.effects[it.block.0 as usize]);
        let all = effects.fold(Effects::default(), |all, next| all.then(next));
        let length: u64 = round.iter().map(|it| it.end - it.begin).sum();
        if !all.carry_nothing() || length > LONGEST_ROUND {
            return None;
        }
        let (mut reads, mut stored): (Vec<Polled>, Vec<u64>) = (Vec::new(), Vec::new());
        for (number, it) in round.iter().enumerate() {
            let block = self.trace.block(it.block);
            for access in first_accesses(block, (it.end - it.begin) as u32, &it.values) {
                let is_own = stored.contains(&access.address);
                let code = || block.addresses().nth(access.instruction as usize).unwrap_or(0);
                let reads_it = matches!(access.direction, Direction::Read | Direction::ReadWrite);
                if reads_it && !is_own {
                    reads.push(Polled { place: access.address, code: code(), block: number });
                }
                if matches!(access.direction, Direction::Write | Direction::ReadWrite) {
                    stored.push(access.address);
                }
            }
        }
        let carries = reads.iter().any(|read| stored.contains(&read.place));
        (!carries && !reads.is_empty()).then_some(reads)
    }
}
