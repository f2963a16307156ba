//! The path that a thread's fetch takes: steps from the instruction source, and how far prediction has come on them.
//!
//! Prediction may be ahead of fetch, and asks for the lines of code that it comes to before they are
//! needed (Reinman, Calder and Austin 1999, "Fetch directed instruction prefetching").

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::core::{Next, Step};
use crate::frontend::branch::Outcome;
use crate::frontend::loop_buffer::{End, Looping};
use crate::frontend::op_cache::Reading;
use crate::frontend::{Core, InstructionSource, NEVER, VALUES};
use crate::lsq::operands::values_end;
use crate::memory::Memory;
use crate::uops::DecodedInstruction;
use corun_model::{LINE, Policy};

/// What a thread executes next.
#[derive(Debug)]
pub(crate) struct Path {
    /// The step that is being fetched.
    pub(crate) current: Option<Place>,
    /// Those after it, as far as they were taken from the instruction source.
    following: VecDeque<Coming>,
    /// How many of these prediction has reached: the end of the step before each is predicted.
    reached: usize,
    /// From when on it can predict the next end; `NEVER` after a wrong one.
    free: u64,
    /// How many steps prediction may be ahead.
    most: usize,
    /// The loop that prediction goes round in.
    looping: Looping,
    supply: Supply,
    /// Where the run of code that prediction is in begins, which may be several steps up to its branch.
    run: u64,
    /// The branch that prediction took last, by the addresses after it and behind it.
    taken: (u64, u64),
    /// The line of code that prediction asked for last.
    line: u64,
    values: Vec<u64>,
    /// Where prediction went wrongly, if that is known.
    wrong: Option<u64>,
}

/// What the instruction source gave last.
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
    pub(crate) step: Step,
    pub(crate) instruction: u32,
    pub(crate) address: u64,
    pub(crate) values: u32,
    /// The line of the op cache, while it gives the instructions.
    pub(crate) reading: Reading,
    /// From when on prediction lets fetch begin with the step.
    pub(crate) from: u64,
    /// Whether the loop buffer has it.
    pub(crate) is_looping: bool,
    /// How its end is predicted.
    end: Option<Outcome>,
}

impl Place {
    /// Goes on after its instruction, with values from the ring.
    #[inline]
    pub(crate) fn pass(&mut self, lowered: &DecodedInstruction, values: &[u64; VALUES]) {
        self.instruction += 1;
        self.address += u64::from(lowered.length);
        self.values = values_end(lowered, self.values, values);
    }
}

/// A step that is not being fetched yet.
#[derive(Debug, Clone, Copy)]
struct Coming {
    step: Step,
    /// Its first value in the ring.
    values: u32,
    from: u64,
    is_looping: bool,
    end: Option<Outcome>,
}

impl Path {
    /// Of a core whose prediction may be so many steps ahead of fetch.
    pub(crate) fn new(most: u32) -> Self {
        Self {
            current: None,
            following: VecDeque::new(),
            reached: 0,
            free: 0,
            most: most as usize,
            looping: Looping::default(),
            supply: Supply::NotRequested,
            run: 0,
            taken: (0, 0),
            line: u64::MAX,
            values: Vec::new(),
            wrong: None,
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.supply == Supply::End && self.current.is_none()
    }

    /// Whether there is nothing to fetch, now or for good.
    pub(crate) fn has_nothing(&self) -> bool {
        self.supply != Supply::NotRequested && self.current.is_none()
    }

    /// Whether it waits at a synchronisation point.
    pub(crate) fn waits(&self) -> bool {
        self.supply == Supply::SyncPoint && self.current.is_none()
    }

    /// The synchronisation point is open.
    pub(crate) fn pass(&mut self) {
        self.supply = Supply::NotRequested;
    }

    /// Prediction was wrong, and goes on rightly at cycle `at`.
    pub(crate) fn redirect(&mut self, at: u64) {
        self.free = at;
    }

    /// Where prediction went wrongly the last time.
    pub(crate) fn take_wrong(&mut self) -> Option<u64> {
        self.wrong.take()
    }

    /// Prediction is where fetch is at cycle `now`, unless it is ahead.
    pub(crate) fn catch_up(&mut self, now: u64) {
        if self.reached == 0 {
            self.free = now;
        }
    }

    /// When prediction goes on to be ahead.
    pub(crate) fn next_event(&self) -> Option<u64> {
        let is_free = self.reached < self.most.min(self.following.len()) && self.free != NEVER;
        is_free.then_some(self.free)
    }
}

impl<F: InstructionSource> Core<F> {
    /// Takes the first steps from the instruction source, unless that was done.
    pub(crate) fn begin(&mut self, index: usize) {
        if self.threads[index].fetcher.path.supply == Supply::NotRequested {
            self.supply(index);
            self.advance(index);
            self.is_active = true;
        }
    }

    /// Goes to the following step, and takes more from the instruction source.
    pub(crate) fn advance(&mut self, index: usize) {
        let is_followed = self.follows_wrong_paths();
        let thread = &mut self.threads[index];
        let path = &mut thread.fetcher.path;
        path.current = path.following.pop_front().map(|coming| Place {
            step: coming.step,
            instruction: 0,
            address: coming.step.address,
            values: coming.values,
            reading: Reading::default(),
            from: coming.from,
            is_looping: coming.is_looping,
            end: coming.end,
        });
        path.reached = path.reached.saturating_sub(1);
        if let Some(Place { step, values, .. }) = path.current.filter(|_| is_followed) {
            thread.visited.visit(step, values);
        }
        self.supply(index);
    }

    /// Takes steps from the instruction source: one, and as many more as prediction may be ahead and the ring of values
    /// has room for.
    fn supply(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let path = &mut thread.fetcher.path;
        while path.following.len() <= path.most
            && matches!(path.supply, Supply::NotRequested | Supply::Step)
        {
            let in_flight = thread.rob.front().map(|renamed| renamed.queued.values);
            let oldest = in_flight.or(thread.queue.front().map(|queued| queued.values));
            let oldest = oldest.or(path.current.map(|place| place.values));
            let used = oldest.map_or(0, |oldest| thread.next_value.wrapping_sub(oldest));
            if !path.following.is_empty() && used as usize > VALUES / 2 {
                break;
            }
            path.values.clear();
            let next = thread.source.next(self.now, &mut self.code, &mut path.values);
            path.supply = match next {
                Next::Step(step) => {
                    let values = thread.next_value;
                    path.following.push_back(Coming {
                        step,
                        values,
                        from: 0,
                        is_looping: false,
                        end: None,
                    });
                    Supply::Step
                }
                Next::SyncPoint => Supply::SyncPoint,
                Next::End => Supply::End,
            };
            for &value in &path.values {
                thread.values[thread.next_value as usize % VALUES] = value;
                thread.next_value = thread.next_value.wrapping_add(1);
            }
        }
    }

    /// How the end of the step that is being fetched is predicted, if something follows.
    pub(crate) fn ending(&mut self, index: usize) -> Option<Outcome> {
        let current = self.threads[index].fetcher.path.current?;
        if current.end.is_some() { current.end } else { self.predict(index) }
    }

    /// Lets prediction be ahead of fetch; threads take turns where they fetch in turns.
    pub(crate) fn predict_ahead(&mut self, memory: &mut Memory) {
        let count = self.threads.len();
        let is_one =
            matches!(self.parameters.widths.fetch_policy, Policy::Alternating | Policy::Shared);
        for place in 0..count {
            let index = self.predict_turn.thread(place, count);
            if self.predict_thread_ahead(index, memory) && is_one {
                self.predict_turn.take(index);
                break;
            }
        }
    }

    /// Returns whether anything was predicted.
    fn predict_thread_ahead(&mut self, index: usize, memory: &mut Memory) -> bool {
        let mut is_used = false;
        loop {
            let path = &self.threads[index].fetcher.path;
            if path.next_event().is_none_or(|free| free > self.now) {
                return is_used;
            }
            if self.predict(index).is_none() {
                return is_used;
            }
            is_used = true;
            self.is_active = true;
            self.ask_ahead(index, memory);
        }
    }

    /// Predicts the next end on the path, if something follows it.
    fn predict(&mut self, index: usize) -> Option<Outcome> {
        let path = &mut self.threads[index].fetcher.path;
        let reached = path.reached;
        let next = path.following.get(reached)?.step.address;
        let step = match reached {
            0 => path.current?.step,
            _ => path.following[reached - 1].step,
        };
        let block = &self.code[step.block as usize];
        let instructions = &block.instructions;
        let executed = &instructions[..(step.executed as usize).min(instructions.len())];
        let fall_through = step.address.wrapping_add(block.bytes_of(executed.len()));
        let is_whole = executed.len() == instructions.len();
        let last = executed.last().filter(|_| is_whole);
        let is_looping = self.parameters.limits.loop_buffer > 0 && {
            let uops = executed.iter().map(|it| u32::from(it.slots)).sum();
            let branch = last.and_then(|last| last.branch);
            path.looping
                .pass(End { uops, branch, fall_through, next }, self.parameters.limits.loop_buffer)
        };
        let branch = last.and_then(|last| Some((last.length, last.branch?)));
        let outcome = match branch {
            Some((length, kind)) => {
                let at = fall_through.wrapping_sub(length.into());
                self.predictor.branch(index, at, length, kind, next)
            }
            None => Outcome::Right { bubble: 0 },
        };
        let at = path.free.max(self.now);
        let begins = match reached {
            0 => path.current.map_or(NEVER, |place| place.from),
            _ => path.following[reached - 1].from,
        };
        let is_far = path.most > 0 && next / u64::from(LINE) != path.run / u64::from(LINE);
        let goes_on = branch.is_none() && next == fall_through;
        path.run = if goes_on { path.run } else { next };
        let (from, free) = match outcome {
            // Where a block ends without a branch there is nothing to predict.
            Outcome::Right { .. } if goes_on => {
                (if begins == NEVER { at } else { begins }, path.free)
            }
            Outcome::Right { bubble } if next != fall_through => {
                let before = std::mem::replace(&mut path.taken, (fall_through, next));
                // A round of a loop without any other branch.
                let is_round = before == path.taken && next == step.address;
                let round = if is_round { self.parameters.penalties.round } else { 0 };
                let bubble = bubble.max(round);
                let from = at + 1 + if is_looping { 0 } else { u64::from(bubble) };
                (from, from)
            }
            Outcome::Right { .. } => (at, at + u64::from(is_far)),
            Outcome::Resteer | Outcome::Mispredict => (NEVER, NEVER),
        };
        if outcome == Outcome::Mispredict {
            let branch = last.map_or(0, |last| fall_through.wrapping_sub(last.length.into()));
            path.wrong = match next == fall_through {
                true => self.predictor.target(index, branch),
                false => Some(fall_through),
            };
        }
        path.free = free;
        path.following[reached].from = from;
        path.following[reached].is_looping = is_looping;
        match reached {
            0 => path.current.as_mut()?.end = Some(outcome),
            _ => path.following[reached - 1].end = Some(outcome),
        }
        path.reached += 1;
        Some(outcome)
    }

    /// Asks for the lines of the step that prediction has reached, unless the op cache has its beginning.
    fn ask_ahead(&mut self, index: usize, memory: &mut Memory) {
        let path = &self.threads[index].fetcher.path;
        let Some(&Coming { step, .. }) =
            path.reached.checked_sub(1).and_then(|at| path.following.get(at))
        else {
            return;
        };
        if path.free == NEVER {
            return;
        }
        if self.is_in_op_cache(index, step.address) {
            return;
        }
        for line in self.lines_of_code(step.block, step.address) {
            if std::mem::replace(&mut self.threads[index].fetcher.path.line, line) != line {
                memory.fetch(self.request(index, 0, line * u64::from(LINE)), self.now);
            }
        }
    }

    /// Asks for the lines of a block, unless the op cache has its beginning. Returns when the last one is there.
    pub(crate) fn fetch_lines(
        &mut self,
        index: usize,
        block: u32,
        address: u64,
        memory: &mut Memory,
    ) -> u64 {
        if self.is_in_op_cache(index, address) {
            return self.now;
        }
        let fetched = |line| memory.fetch(self.request(index, 0, line * u64::from(LINE)), self.now);
        self.lines_of_code(block, address).map(fetched).map(|it| it.ready).max().unwrap_or(self.now)
    }

    fn is_in_op_cache(&mut self, index: usize, address: u64) -> bool {
        let request = self.request(index, 0, address);
        let space = request.pages.space() & !0xfff;
        let cache = self.front.decoded.as_mut();
        cache.is_some_and(|cache| cache.of(request.requester).holds(address ^ space))
    }

    /// The numbers of the lines that a block lies in.
    fn lines_of_code(&self, block: u32, address: u64) -> RangeInclusive<u64> {
        let bytes = self.code[block as usize].bytes();
        address / u64::from(LINE)..=address.wrapping_add(bytes - 1) / u64::from(LINE)
    }
}
