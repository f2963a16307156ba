//! A recorded thread in step with the others of its process: where it waits, where it spins, and how far it is.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use corun_trace::format::{Events, FormatError};
use corun_trace::{BlockId, Event, ThreadId};

use crate::replay::synchronisation::{Spin, Synchronisation, is_waited_for};

/// A thread, and the order that it keeps.
#[derive(Debug)]
pub(crate) struct SynchronisedReplay {
    thread: ThreadId,
    order: Rc<RefCell<Synchronisation>>,
    has_begun: bool,
    /// Recorded instructions that it was given, or that it spun instead of.
    position: u64,
    spinning: Option<Spinning>,
    /// Wait without polling, and the block that sees it.
    awaiting: Option<(Spin, Step)>,
    /// Blocks that are not done yet, if a thread waits for this one.
    in_flight: VecDeque<BlockInFlight>,
    is_awaited: bool,
}

/// Next action of a replayed thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayAction {
    /// So many instructions of a block.
    Block(BlockId, u32),
    /// It waits.
    SyncPoint,
    /// Nothing.
    End,
}

/// The way from one poll to the next, which is gone over and over.
#[derive(Debug)]
struct Spinning {
    spin: Spin,
    steps: Vec<Step>,
    next: usize,
    /// True if all polls are done that it was given.
    has_polled: bool,
}

#[derive(Debug)]
struct Step {
    block: BlockId,
    executed: u32,
    values: Vec<u64>,
}

/// A block that the core has not retired.
#[derive(Debug)]
struct BlockInFlight {
    /// Instructions that are not done.
    left: u64,
    /// Position of the thread when they are.
    position: u64,
}

impl SynchronisedReplay {
    pub(crate) fn new(thread: ThreadId, order: Rc<RefCell<Synchronisation>>) -> Self {
        let is_awaited = order.borrow().is_awaited(thread);
        let (has_begun, position, spinning, awaiting) = (false, 0, None, None);
        let in_flight = VecDeque::new();
        Self { thread, order, has_begun, position, spinning, awaiting, in_flight, is_awaited }
    }

    /// The next block and its values.
    pub(crate) fn next(
        &mut self,
        events: &mut Events<'_>,
        values: &mut Vec<u64>,
    ) -> Result<ReplayAction, FormatError> {
        if !self.has_begun {
            return Ok(ReplayAction::SyncPoint);
        }
        if let Some((spin, step)) = self.awaiting.take() {
            if spin.end == spin.begin {
                return Ok(self.deliver(step.block, step.executed, &step.values, values));
            }
            self.skip(spin.end, events)?;
        }
        loop {
            if self.spinning.is_some() {
                if let Some(taken) = self.poll_again(values) {
                    return Ok(taken);
                }
                self.leave_spin(events)?;
            }
            match events.next_event()? {
                Some(Event::Marker(it)) if is_waited_for(it.marker) => {
                    return Ok(ReplayAction::SyncPoint);
                }
                Some(Event::Marker(_)) => {}
                Some(Event::Block { block, executed, values: own }) => {
                    let begin = self.position;
                    self.position += u64::from(executed);
                    let spin = self.order.borrow_mut().spin(self.thread, begin);
                    let Some(spin) = spin else {
                        return Ok(self.deliver(block, executed, own, values));
                    };
                    let first = Step { block, executed, values: own.to_owned() };
                    if spin.again > spin.begin {
                        self.begin_to_spin(spin, first, events)?;
                    } else {
                        let is_over = self.order.borrow().is_over(&spin);
                        self.awaiting = Some((spin, first));
                        return if is_over {
                            self.next(events, values)
                        } else {
                            Ok(ReplayAction::SyncPoint)
                        };
                    }
                }
                None => {
                    self.order.borrow_mut().reach(self.thread, u64::MAX);
                    return Ok(ReplayAction::End);
                }
            }
        }
    }

    /// The block that was taken last is none for the core.
    pub(crate) fn leave_out(&mut self) {
        if let Some(last) = self.in_flight.back_mut() {
            last.left = 0;
        }
    }

    /// Tries to continue after a synchronisation point.
    pub(crate) fn pass(&mut self) -> bool {
        if let Some(spinning) = &mut self.spinning {
            spinning.has_polled = true;
            return true;
        }
        let mut order = self.order.borrow_mut();
        if let Some((spin, _)) = &self.awaiting {
            return order.is_over(spin);
        }
        if self.has_begun {
            return order.pass(self.thread);
        }
        self.has_begun = order.begins(self.thread);
        self.has_begun
    }

    /// So many more instructions are done.
    pub(crate) fn retire(&mut self, mut instructions: u64) {
        while let Some(first) = self.in_flight.front_mut() {
            let done = instructions.min(first.left);
            (first.left, instructions) = (first.left - done, instructions - done);
            if first.left > 0 {
                break;
            }
            self.order.borrow_mut().reach(self.thread, first.position);
            self.in_flight.pop_front();
        }
    }

    /// Keeps no thread back any more.
    pub(crate) fn give_up(&self) {
        self.order.borrow_mut().give_up();
    }

    /// The block that the thread was given last.
    fn deliver(
        &mut self,
        block: BlockId,
        executed: u32,
        own: &[u64],
        values: &mut Vec<u64>,
    ) -> ReplayAction {
        values.extend_from_slice(own);
        self.give(executed, self.position);
        ReplayAction::Block(block, executed)
    }

    fn give(&mut self, executed: u32, position: u64) {
        if self.is_awaited {
            self.in_flight.push_back(BlockInFlight { left: executed.into(), position });
        }
    }

    fn begin_to_spin(
        &mut self,
        spin: Spin,
        first: Step,
        events: &mut Events<'_>,
    ) -> Result<(), FormatError> {
        let mut steps = vec![first];
        while self.position < spin.again
            && let Some(event) = events.next_event()?
        {
            if let Event::Block { block, executed, values } = event {
                self.position += u64::from(executed);
                steps.push(Step { block, executed, values: values.to_owned() });
            }
        }
        let next = steps.len();
        self.spinning = Some(Spinning { spin, steps, next, has_polled: true });
        Ok(())
    }

    /// The next step of a spin, unless it is over. A core that goes on before it knows what a poll has seen goes back when it
    /// does; here it does not go on.
    fn poll_again(&mut self, values: &mut Vec<u64>) -> Option<ReplayAction> {
        let Spinning { spin, steps, next, has_polled } = self.spinning.as_mut()?;
        if *next == steps.len() {
            if self.order.borrow().is_over(spin) {
                return None;
            }
            if !*has_polled {
                return Some(ReplayAction::SyncPoint);
            }
            (*next, *has_polled) = (0, false);
        }
        let (step, position) = (&steps[*next], spin.begin);
        *next += 1;
        values.extend_from_slice(&step.values);
        let (block, executed) = (step.block, step.executed);
        self.give(executed, position);
        Some(ReplayAction::Block(block, executed))
    }

    /// Goes on with the poll that sees the change; those before it were the tracer's.
    fn leave_spin(&mut self, events: &mut Events<'_>) -> Result<(), FormatError> {
        match self.spinning.take() {
            Some(spinning) => self.skip(spinning.spin.end, events),
            None => Ok(()),
        }
    }

    /// Goes on where so many instructions were recorded before.
    fn skip(&mut self, end: u64, events: &mut Events<'_>) -> Result<(), FormatError> {
        while self.position < end
            && let Some(event) = events.next_event()?
        {
            if let Event::Block { executed, .. } = event {
                self.position += u64::from(executed);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use corun_trace::format::Trace;
    use proptest::prelude::*;

    use crate::replay::synchronisation::made::{
        CALL, EXCHANGE, GIVE_AND_TRY, INCREMENT, POLL, STORE, WORK, in_this_order, recorded,
    };
    use crate::replay::synchronised::*;

    /// Instructions of each thread when all proceed alternately on a core that takes no time, up to a time when all
    /// have long ended.
    fn done(trace: &Trace, threads: &[ThreadId], turns: usize) -> Vec<u64> {
        let order = Rc::new(RefCell::new(Synchronisation::of(trace, threads).unwrap()));
        let begun = |&thread| {
            (SynchronisedReplay::new(thread, order.clone()), trace.events(thread).unwrap(), false)
        };
        let mut all: Vec<_> = threads.iter().map(begun).collect();
        for _ in 0..turns {
            for (own, events, is_at_sync_point) in &mut all {
                *is_at_sync_point = *is_at_sync_point && !own.pass();
                if *is_at_sync_point {
                    continue;
                }
                match own.next(events, &mut Vec::new()).unwrap() {
                    ReplayAction::Block(_, executed) => own.retire(executed.into()),
                    ReplayAction::SyncPoint => *is_at_sync_point = true,
                    ReplayAction::End => {}
                }
            }
        }
        all.iter().map(|(own, ..)| own.position).collect()
    }

    proptest! {
        #[test]
        fn whatever_was_recorded_all_threads_come_to_their_end(
            threads in 2..5_u32,
            steps in prop::collection::vec((0..4_usize, 0..14_usize, 0..2_u64), 0..120),
        ) {
            // More polls than anything else.
            let codes =
                [EXCHANGE, EXCHANGE, EXCHANGE, POLL, POLL, POLL, POLL, STORE, INCREMENT, INCREMENT, GIVE_AND_TRY, CALL, STORE, WORK];
            let steps: Vec<_> = steps
                .into_iter()
                .map(|(thread, code, place)| (thread % threads as usize, codes[code], 0x100 + 8 * place))
                .collect();
            let (trace, threads) = recorded(threads, &in_this_order(&steps));
            let all: Vec<u64> = trace.threads().iter().map(|thread| thread.instructions).collect();
            prop_assert_eq!(done(&trace, &threads, 8 * steps.len() + 20), all);
        }
    }
}
