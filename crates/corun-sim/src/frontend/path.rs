//! The path that a thread's fetch takes: steps from the instruction source, and how far prediction has come on them.
//!
//! Prediction may be ahead of fetch, and asks for the lines of code that it comes to before they are
//! needed (Reinman, Calder and Austin 1999, "Fetch directed instruction prefetching").

use std::collections::VecDeque;

use crate::frontend::branch::Outcome;
use crate::frontend::loop_buffer::{End, Looping};
use crate::frontend::op_cache::Reading;
use crate::frontend::source::{InstructionSource, Next, Step};
use crate::frontend::structures::{Code, Front, lines_of_code};
use crate::frontend::values::Values;
use crate::memory::Request;
use crate::parameters::Parameters;
use crate::uops::{DecodedBlock, DecodedInstruction, NEVER};
use corun_model::LINE;

/// Instructions that a thread executes next.
#[derive(Debug)]
pub(super) struct Path {
    /// The step that is being fetched.
    pub(super) current: Option<Place>,
    /// Those after it, as far as they were taken from the instruction source.
    following: VecDeque<Coming>,
    /// Number of these that prediction has reached: the end of the step before each is predicted.
    reached: usize,
    /// From when on it can predict the next end; `NEVER` after a wrong one.
    free: u64,
    /// Limit of the steps that prediction may be ahead.
    most: usize,
    /// The loop that prediction goes round in.
    looping: Looping,
    supply: Supply,
    /// Begin of the run of code that prediction is in, which may be several steps up to its branch.
    run: u64,
    /// The line of code that prediction asked for last.
    line: u64,
    values: Vec<u64>,
    /// Begin of the wrong path, if that is known.
    wrong: Option<u64>,
}

/// Last answer of the instruction source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supply {
    /// It was not asked yet.
    NotRequested,
    Step,
    SyncPoint,
    End,
}

/// The next instruction of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(super) step: Step,
    pub(super) instruction: u32,
    pub(super) address: u64,
    pub(super) values: u32,
    /// The line of the op cache, while it gives the instructions.
    pub(super) reading: Reading,
    /// From when on prediction lets fetch begin with the step.
    pub(super) from: u64,
    /// True if the loop buffer has it.
    pub(super) is_looping: bool,
    /// Outcome of the prediction of its end.
    end: Option<Outcome>,
}

impl Place {
    /// Goes on after its instruction, with values from the ring.
    #[inline]
    pub(super) fn pass(&mut self, lowered: &DecodedInstruction, values: &Values) {
        self.instruction += 1;
        self.address += u64::from(lowered.length);
        self.values = values.end(lowered, self.values);
    }
}

/// A step that is not being fetched yet.
#[derive(Debug, Clone, Copy)]
struct Coming {
    step: Step,
    /// First value in the ring.
    values: u32,
    from: u64,
    is_looping: bool,
    end: Option<Outcome>,
}

impl Path {
    /// Of a core whose prediction may be so many steps ahead of fetch.
    pub(super) fn new(most: u32) -> Self {
        Self {
            current: None,
            following: VecDeque::new(),
            reached: 0,
            free: 0,
            most: most as usize,
            looping: Looping::default(),
            supply: Supply::NotRequested,
            run: 0,
            line: u64::MAX,
            values: Vec::new(),
            wrong: None,
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.supply == Supply::End && self.current.is_none()
    }

    /// True if there is nothing to fetch, now or for good.
    pub(super) fn has_nothing(&self) -> bool {
        self.supply != Supply::NotRequested && self.current.is_none()
    }

    /// True if it waits at a synchronisation point.
    pub(super) fn waits(&self) -> bool {
        self.supply == Supply::SyncPoint && self.current.is_none()
    }

    /// The synchronisation point is open.
    pub(super) fn pass(&mut self) {
        self.supply = Supply::NotRequested;
    }

    /// Prediction was wrong, and goes on rightly at cycle `at`.
    pub(super) fn redirect(&mut self, at: u64) {
        self.free = at;
    }

    /// Begin of the last wrong path.
    pub(super) fn take_wrong(&mut self) -> Option<u64> {
        self.wrong.take()
    }

    /// Prediction is where fetch is at cycle `now`, unless it is ahead.
    pub(super) fn catch_up(&mut self, now: u64) {
        if self.reached == 0 {
            self.free = now;
        }
    }

    /// When prediction goes on to be ahead.
    #[inline]
    pub(super) fn next_event(&self) -> Option<u64> {
        let is_free = self.reached < self.most.min(self.following.len()) && self.free != NEVER;
        is_free.then_some(self.free)
    }

    /// Goes to the following step.
    pub(super) fn advance(&mut self) {
        self.current = self.following.pop_front().map(|coming| Place {
            step: coming.step,
            instruction: 0,
            address: coming.step.address,
            values: coming.values,
            reading: Reading::default(),
            from: coming.from,
            is_looping: coming.is_looping,
            end: coming.end,
        });
        self.reached = self.reached.saturating_sub(1);
    }

    /// True if nothing was taken from the instruction source since its last synchronisation point.
    pub(super) fn is_to_begin(&self) -> bool {
        self.supply == Supply::NotRequested
    }

    /// Takes steps from the instruction source: one, and as many more as prediction may be ahead and the ring of values
    /// has room for; the value at `oldest` is still needed.
    pub(super) fn supply(
        &mut self,
        source: &mut impl InstructionSource,
        oldest: Option<u32>,
        values: &mut Values,
        code: &mut Vec<DecodedBlock>,
        now: u64,
    ) {
        while self.following.len() <= self.most
            && matches!(self.supply, Supply::NotRequested | Supply::Step)
        {
            let oldest = oldest.or(self.current.map(|place| place.values));
            if !self.following.is_empty() && !oldest.is_none_or(|oldest| values.has_room(oldest)) {
                break;
            }
            self.values.clear();
            self.supply = match source.next(now, code, &mut self.values) {
                Next::Step(step) => {
                    let values = values.next();
                    let (from, is_looping, end) = (0, false, None);
                    self.following.push_back(Coming { step, values, from, is_looping, end });
                    Supply::Step
                }
                Next::SyncPoint => Supply::SyncPoint,
                Next::End => Supply::End,
            };
            values.push(&self.values);
        }
    }

    /// The prediction of the end of the step that is being fetched, if something follows.
    pub(super) fn ending(
        &mut self,
        thread: usize,
        front: &mut Front,
        code: &[DecodedBlock],
        parameters: &Parameters,
        now: u64,
    ) -> Option<Outcome> {
        let end = self.current?.end;
        end.or_else(|| self.predict(thread, front, code, parameters, now))
    }

    /// Predicts the next end on the path, if something follows it.
    pub(super) fn predict(
        &mut self,
        thread: usize,
        front: &mut Front,
        code: &[DecodedBlock],
        parameters: &Parameters,
        now: u64,
    ) -> Option<Outcome> {
        let reached = self.reached;
        let next = self.following.get(reached)?.step.address;
        let step = match reached {
            0 => self.current?.step,
            _ => self.following[reached - 1].step,
        };
        let block = &code[step.block as usize];
        let instructions = &block.instructions;
        let executed = &instructions[..(step.executed as usize).min(instructions.len())];
        let fall_through = step.address.wrapping_add(block.bytes_of(executed.len()));
        let is_whole = executed.len() == instructions.len();
        let last = executed.last().filter(|_| is_whole);
        let is_looping = parameters.limits.loop_buffer > 0 && {
            let uops = executed.iter().map(|it| u32::from(it.slots)).sum();
            let branch = last.and_then(|last| last.branch);
            let end = End { uops, branch, fall_through, next };
            self.looping.pass(end, parameters.limits.loop_buffer)
        };
        let branch = last.and_then(|last| Some((last.length, last.branch?)));
        let outcome = match branch {
            Some((length, kind)) => {
                let at = fall_through.wrapping_sub(length.into());
                front.predictor.branch(thread, at, length, kind, next)
            }
            None => Outcome::Right { bubble: 0 },
        };
        let at = self.free.max(now);
        let begins = match reached {
            0 => self.current.map_or(NEVER, |place| place.from),
            _ => self.following[reached - 1].from,
        };
        let is_far = self.most > 0 && next / u64::from(LINE) != self.run / u64::from(LINE);
        let goes_on = branch.is_none() && next == fall_through;
        self.run = if goes_on { self.run } else { next };
        let (from, free) = match outcome {
            // Where a block ends without a branch there is nothing to predict.
            Outcome::Right { .. } if goes_on => {
                (if begins == NEVER { at } else { begins }, self.free)
            }
            Outcome::Right { bubble } if next != fall_through => {
                let from = at + 1 + if is_looping { 0 } else { u64::from(bubble) };
                (from, from)
            }
            Outcome::Right { .. } => (at, at + u64::from(is_far)),
            Outcome::Resteer | Outcome::Mispredict => (NEVER, NEVER),
        };
        if outcome == Outcome::Mispredict {
            let branch = last.map_or(0, |last| fall_through.wrapping_sub(last.length.into()));
            self.wrong = match next == fall_through {
                true => front.predictor.target(thread, branch),
                false => Some(fall_through),
            };
        }
        self.free = free;
        self.following[reached].from = from;
        self.following[reached].is_looping = is_looping;
        match reached {
            0 => self.current.as_mut()?.end = Some(outcome),
            _ => self.following[reached - 1].end = Some(outcome),
        }
        self.reached += 1;
        Some(outcome)
    }

    /// Asks for the lines of the step that prediction has reached, unless the op cache has its beginning.
    pub(super) fn ask_ahead(
        &mut self,
        front: &mut Front,
        blocks: &[DecodedBlock],
        code: &mut Code<'_>,
    ) {
        let reached = self.reached.checked_sub(1).and_then(|at| self.following.get(at));
        let Some(&Coming { step, .. }) = reached.filter(|_| self.free != NEVER) else { return };
        if front.holds(Request { linear: step.address, ..code.request }) {
            return;
        }
        for line in lines_of_code(&blocks[step.block as usize], step.address) {
            if std::mem::replace(&mut self.line, line) != line {
                let linear = line * u64::from(LINE);
                code.memory.fetch(Request { linear, ..code.request }, code.now);
            }
        }
    }
}
