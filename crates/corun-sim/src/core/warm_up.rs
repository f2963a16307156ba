//! Warming: caches, translations and predictors see what a program does, and nothing is timed.
//!
//! That is many times faster than the pipeline, so that what lies long before a counted interval can be
//! there when it begins (Wunderlich and others 2003, "SMARTS: accelerating microarchitecture simulation
//! via rigorous statistical sampling").

use crate::core::Core;
use crate::frontend::branch::Outcome;
use crate::frontend::{InstructionSource, Values};
use crate::memory::{Memory, Reply, Request, lines};
use crate::uops::{DecodedInstruction, Kind};
use corun_model::LINE;
use corun_trace::TouchedLine;

/// Cycles by which a line may come later than it is asked for: about what a reorder buffer hides. Time
/// waits for the rest, so that buffers and links are no busier than they would be.
const HIDDEN: u64 = 400;

/// Steps in which a pipeline has finished what it has begun, whatever that is.
const LONGEST_DRAIN: u64 = 1 << 22;

/// Instructions of the thread with most to do in each turn, where several are taken on together: few beside what a
/// first-level cache holds.
const TURN: u64 = 1 << 8;

/// Instructions that the pipeline must have done for their rate to be known.
const TELLING: u64 = 4096;

/// Duration of instructions while nothing is timed: as long as in the pipeline the last time, so that what passes with
/// time, such as what others bring into a cache, passes as it would.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Cycles of an instruction.
    rate: f64,
    /// The cycle in which the next one is due, if it need not wait for a line.
    due: f64,
    /// Cycles and instructions when warming ended.
    since: (u64, u64),
}

impl Default for Pace {
    fn default() -> Self {
        Self { rate: 1.0, due: 0.0, since: (0, 0) }
    }
}

impl Pace {
    /// Warming begins, in this cycle and after so many instructions.
    fn begin(&mut self, now: u64, retired: u64) {
        let (cycles, instructions) = (now - self.since.0, retired - self.since.1);
        if instructions >= TELLING {
            self.rate = cycles as f64 / instructions as f64;
        }
        self.due = now as f64;
    }

    /// The cycle after so many instructions. Waits for lines are no more than their part of how long these take.
    #[inline]
    fn steps(&mut self, now: u64, count: u32) -> u64 {
        for _ in 0..count {
            self.due += self.rate;
        }
        now.max(self.due as u64)
    }

    fn end(&mut self, now: u64, retired: u64) {
        self.since = (now, retired);
    }
}

impl<F: InstructionSource> Core<F> {
    /// Takes each thread of the core on until so many of its instructions are done, as far as caches and predictors
    /// notice them. Threads are taken on in turns, each by its part of what it has left, so that they reach their
    /// targets together. A thread stops before its target at its program's end, or at a synchronisation point.
    ///
    /// Returns `None` if what the pipeline has begun comes to no end.
    #[must_use]
    pub(crate) fn warm(&mut self, targets: &[u64], memory: &mut Memory) -> Option<()> {
        let begun: Vec<u64> = self.threads.iter().map(|thread| thread.rob.retired()).collect();
        let left = |(begun, target): (&u64, &u64)| target.saturating_sub(*begun);
        let left: Vec<u64> = begun.iter().zip(targets).map(left).collect();
        let longest = left.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            return Some(());
        }
        self.drain(memory)?;
        for index in 0..left.len() {
            self.begin(index);
        }
        self.pace.begin(self.now, self.retired());
        // A thread alone has nobody to take turns with.
        let rounds = if left.len() > 1 { longest.div_ceil(TURN) } else { 1 };
        for round in 1..=rounds {
            for (index, (begun, left)) in begun.iter().zip(&left).enumerate() {
                let part = u128::from(*left) * u128::from(round) / u128::from(rounds);
                self.show_until(index, begun + part as u64, memory);
            }
        }
        self.pace.end(self.now, self.retired());
        self.begin_fetching_again();
        Some(())
    }

    /// So many instructions of each thread are not simulated. In them, each of the core's first `threads` threads touches
    /// these lines of its own memory, in this order.
    ///
    /// Returns `None` if what the pipeline has begun comes to no end.
    #[must_use]
    pub(crate) fn pass_over(
        &mut self,
        instructions: u64,
        lines: &[TouchedLine],
        threads: usize,
        memory: &mut Memory,
    ) -> Option<()> {
        self.drain(memory)?;
        self.pace.begin(self.now, self.retired());
        let (begin, all) = (self.now, instructions.saturating_mul(self.threads.len() as u64));
        let cycles = (self.pace.rate * all as f64) as u64;
        let threads = threads.clamp(1, self.threads.len());
        // Older lines have left the caches again.
        let first = lines.len().saturating_sub(memory.lines(self.number) / threads);
        for (number, line) in (0..).zip(lines).skip(first) {
            let passed = u128::from(cycles) * number / lines.len() as u128;
            for index in 0..threads {
                memory.touch(self.request(index, 0, 0), *line, begin + passed as u64);
            }
        }
        self.now = begin + cycles;
        self.pace.end(self.now, self.retired());
        self.begin_fetching_again();
        Some(())
    }

    /// Restart of each thread's front end at the line of its next instruction.
    fn begin_fetching_again(&mut self) {
        for thread in &mut self.threads {
            thread.fetcher.refetch(thread.requester, &mut self.front, self.now);
        }
    }

    /// Instructions that all threads have done.
    fn retired(&self) -> u64 {
        self.threads.iter().map(|thread| thread.rob.retired()).sum()
    }

    /// Takes one thread on.
    fn show_until(&mut self, index: usize, until: u64, memory: &mut Memory) {
        while self.threads[index].rob.retired() < until && self.show(index, memory) {
            // Its cost is charged to no thread.
            if self.ending(index) == Some(Outcome::Mispredict) {
                self.threads[index].mispredicts += 1;
            }
            self.advance(index);
            self.threads[index].fetcher.catch_up(self.now);
        }
    }

    /// Lets the pipeline finish what it has begun, so that nothing of it lies after what comes now.
    fn drain(&mut self, memory: &mut Memory) -> Option<()> {
        let most = self.steps + LONGEST_DRAIN;
        while !self.threads.iter().all(|it| it.is_drained() && it.stores.is_empty()) {
            self.cycle(memory, |_, _| {});
            if self.is_stuck || self.steps > most {
                return None;
            }
        }
        for thread in &mut self.threads {
            thread.fetcher.drain(self.now);
        }
        Some(())
    }

    /// Asks memory for what the rest of a step executes and touches. Returns whether there is a step.
    fn show(&mut self, index: usize, memory: &mut Memory) -> bool {
        let request = self.request(index, 0, 0);
        let Self { code, threads, pace, now, .. } = self;
        let thread = &mut threads[index];
        let Some(mut rest) = thread.fetcher.rest_of_step(code) else { return false };
        let mut passed = 0;
        for (number, outline) in (rest.first..).zip(rest.outlines) {
            let last = rest.address.wrapping_add(outline.end.into()).wrapping_sub(1);
            let is_other_line = rest.line != last / u64::from(LINE);
            if is_other_line || outline.has_memory {
                *now = pace.steps(*now, std::mem::take(&mut passed));
            }
            if is_other_line {
                rest.line = last / u64::from(LINE);
                let reply = memory.fetch(Request { linear: last, ..request }, *now);
                *now = after(reply, *now);
            }
            if outline.has_memory {
                let lowered = &rest.block.instructions[number as usize];
                let instruction = u64::from(rest.number << 6 ^ number);
                let request = Request { instruction, ..request };
                *now = show_access(lowered, &thread.values, rest.values, request, memory, *now);
                rest.values = thread.values.end(lowered, rest.values);
            }
            passed += 1;
        }
        *now = pace.steps(*now, passed);
        thread.fetcher.skip_to(rest.line);
        thread.rob.skip(rest.outlines.len() as u64);
        true
    }
}

/// Asks memory in cycle `now` for what an instruction touches whose values begin at `first`. Returns the cycle in which it
/// goes on.
fn show_access(
    lowered: &DecodedInstruction,
    values: &Values,
    first: u32,
    request: Request,
    memory: &mut Memory,
    mut now: u64,
) -> u64 {
    for uop in lowered.uops.iter().filter(|uop| uop.kind.is_access()) {
        let (of, ask): (u8, fn(&mut Memory, _, u64) -> Reply) = match uop.kind {
            Kind::Compute | Kind::StoreData(_) => continue,
            Kind::Load(of) => (of, Memory::load),
            Kind::StoreAddress(of) => (of, Memory::read_for_ownership),
            Kind::StreamAddress(of) => (of, Memory::stream),
        };
        let at = values.first(lowered, first, of);
        let (linear, span) = values.touched(&lowered.memory[usize::from(of)], at);
        for linear in lines(linear, span) {
            now = after(ask(memory, Request { linear, ..request }, now), now);
        }
    }
    now
}

/// When what waits for an answer goes on, if it would at cycle `now` without it.
fn after(reply: Reply, now: u64) -> u64 {
    now.max(reply.ready.saturating_sub(HIDDEN))
}

#[cfg(test)]
mod tests {
    use crate::core::warm_up::*;

    #[test]
    fn an_instruction_takes_as_long_as_it_did_in_the_pipeline() {
        let mut pace = Pace::default();
        let after = |pace: &mut Pace, begin| (0..100).fold(begin, |now, _| pace.steps(now, 10));
        assert_eq!(after(&mut pace, 0), 1000, "nothing is known yet");
        let now = 5 * TELLING;
        pace.begin(now, 2 * TELLING);
        assert_eq!(after(&mut pace, now), now + 2500);
        pace.end(6 * TELLING, 10 * TELLING);
        // Too few to judge.
        let now = 9 * TELLING;
        pace.begin(now, 11 * TELLING - 1);
        assert_eq!(after(&mut pace, now), now + 2500);
        // Who has waited for a line is late already, but for the last of the wait.
        let late = now + 2500 + 600;
        assert_eq!(after(&mut pace, late), now + 5000);
    }
}
