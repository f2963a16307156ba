//! Branch prediction: whether the front end goes on where the program went, and when it knows.
//!
//! It learns each outcome at once, in program order; what a wrong path would do to it is left out.

mod direction;
mod hash;
mod history;
mod indirect;
mod return_stack;
mod targets;
#[cfg(test)]
mod tests;

use corun_trace::BranchKind;

use corun_model::{BranchPrediction, Policy};
use direction::Direction;
use history::History;
use indirect::Indirect;
use return_stack::ReturnStack;
use targets::{BtbHit, Targets};

/// The branch predictors of a core.
///
/// History and return stack are each thread's own. The tables are one for all threads where the model
/// shares them, and then know a branch by its linear address alone; else each thread has its own, of
/// the full size where they are replicated and of its part where they are partitioned.
#[derive(Debug)]
pub(crate) struct Predictor {
    model: BranchPrediction,
    /// One, or one a thread.
    tables: Vec<Tables>,
    threads: Vec<Thread>,
}

/// Outcome of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Rightly.
    Right {
        /// Cycles without fetch after it.
        bubble: u32,
    },
    /// A direct target, or a branch, that only decoding finds.
    Resteer,
    /// Wrongly until it is executed.
    Mispredict,
}

impl Outcome {
    /// The outcome if a right prediction takes so many cycles longer.
    fn after(self, cycles: u32) -> Self {
        match self {
            Self::Right { bubble } => Self::Right { bubble: bubble + cycles },
            wrong => wrong,
        }
    }
}

#[derive(Debug)]
struct Tables {
    direction: Direction,
    targets: Targets,
    indirect: Indirect,
}

#[derive(Debug)]
struct Thread {
    history: History,
    returns: ReturnStack,
    space: u64,
}

impl Predictor {
    /// Predictors that know nothing yet.
    pub(crate) fn new(model: &BranchPrediction) -> Self {
        let mut predictor = Self { model: model.clone(), tables: Vec::new(), threads: Vec::new() };
        predictor.admit(0);
        predictor
    }

    /// From now on the thread runs a process whose addresses are distinguished by `space`.
    pub(crate) fn enter(&mut self, thread: usize, space: u64) {
        if thread >= self.threads.len() {
            self.admit(thread);
        }
        self.threads[thread].space = space;
    }

    /// Predicts a branch that the program executed, and learns from it at once.
    ///
    /// `at` is where the branch lies, `length` its bytes, `target` where the program went on. A thread
    /// is active from its first branch on; partitioned tables begin again when one more is.
    pub(crate) fn branch(
        &mut self,
        thread: usize,
        at: u64,
        length: u8,
        kind: BranchKind,
        target: u64,
    ) -> Outcome {
        if thread >= self.threads.len() {
            self.admit(thread);
        }
        let tables = if self.tables.len() == 1 { 0 } else { thread };
        let tables = &mut self.tables[tables];
        let thread = &mut self.threads[thread];
        let fall_through = at.wrapping_add(length.into());
        let is_taken = target != fall_through;
        let model = &self.model;
        let taken = &model.taken;
        // Where siblings share the tables, the code of one process is not that of another.
        let at = at ^ thread.space;
        match kind {
            BranchKind::Conditional => {
                tables.conditional(&mut thread.history, at, target, is_taken, taken)
            }
            BranchKind::Jump => {
                thread.history.pass(tables.direction.lengths(), at, target);
                tables.direct(at, target, taken)
            }
            BranchKind::Call => {
                thread.history.pass(tables.direction.lengths(), at, target);
                // A call of what follows it asks where it is, and never returns.
                if is_taken {
                    thread.returns.push(fall_through);
                }
                tables.direct(at, target, taken).after(model.linking)
            }
            BranchKind::IndirectJump => tables.indirect(&mut thread.history, at, target, model),
            BranchKind::IndirectCall => {
                thread.returns.push(fall_through);
                tables.indirect(&mut thread.history, at, target, model).after(model.linking)
            }
            BranchKind::Return => {
                thread.history.pass(tables.direction.lengths(), at, target);
                let predicted = thread.returns.pop();
                tables.predicted(at, Some(predicted), target, taken).after(model.linking)
            }
            BranchKind::Other if !is_taken => Outcome::Right { bubble: 0 },
            BranchKind::Other => tables.indirect(&mut thread.history, at, target, model),
        }
    }

    /// Last target of a thread's branch, if that is known.
    pub(crate) fn target(&self, thread: usize, at: u64) -> Option<u64> {
        let tables = if self.tables.len() == 1 { 0 } else { thread };
        let space = self.threads.get(thread)?.space;
        self.tables.get(tables)?.targets.find(at ^ space).map(|known| known.target)
    }

    /// Makes room for a thread.
    #[cold]
    fn admit(&mut self, thread: usize) {
        let active = thread + 1;
        match self.model.sharing.policy {
            Policy::Shared | Policy::Alternating => {
                self.tables.resize_with(1, || Tables::new(&self.model));
            }
            Policy::Replicated => self.tables.resize_with(active, || Tables::new(&self.model)),
            Policy::Partitioned => {
                let part = part(&self.model, active as u32);
                self.tables.clear();
                self.tables.resize_with(active, || Tables::new(&part));
            }
        }
        let lengths = self.tables[0].direction.lengths();
        let of_taken = self.model.direction.of_taken;
        self.threads.resize_with(active, || Thread {
            history: History::new(lengths, of_taken),
            returns: ReturnStack::new(self.model.return_stack),
            space: 0,
        });
    }
}

/// Part of each of `active` threads in partitioned tables.
fn part(model: &BranchPrediction, active: u32) -> BranchPrediction {
    let mut part = model.clone();
    let power_of_two = |entries: &mut u32| *entries = 1 << (*entries / active).max(1).ilog2();
    power_of_two(&mut part.direction.base);
    power_of_two(&mut part.direction.table);
    part.indirect.entries = (part.indirect.entries / active).max(1);
    part.indirect.of_branch =
        part.indirect.of_branch.map(|targets| targets.min(part.indirect.entries));
    part.targets.iter_mut().for_each(|entries| *entries = (*entries / active).max(1));
    part
}

impl Tables {
    fn new(model: &BranchPrediction) -> Self {
        Self {
            direction: Direction::new(&model.direction),
            targets: Targets::new(model.targets.iter().copied()),
            indirect: Indirect::new(&model.indirect),
        }
    }

    /// A branch that the target buffer does not know is one for decoding alone, which believes the
    /// direction predictor: one that is taken is found there.
    fn conditional(
        &mut self,
        history: &mut History,
        at: u64,
        target: u64,
        is_taken: bool,
        taken: &[u32],
    ) -> Outcome {
        let predicted = self.direction.predict(history, at, is_taken);
        history.decide(self.direction.lengths(), at, target, is_taken);
        match (predicted, is_taken) {
            (true, true) => self.direct(at, target, taken),
            (false, false) => Outcome::Right { bubble: 0 },
            (true, false) if self.targets.find(at).is_none() => Outcome::Right { bubble: 0 },
            (true, false) => Outcome::Mispredict,
            (false, true) => {
                self.targets.put(at, target);
                Outcome::Mispredict
            }
        }
    }

    /// A target that the code names.
    fn direct(&mut self, at: u64, target: u64, taken: &[u32]) -> Outcome {
        match self.targets.put(at, target) {
            Some(known) if known.target == target => right(known, taken),
            _ => Outcome::Resteer,
        }
    }

    fn indirect(
        &mut self,
        history: &mut History,
        at: u64,
        target: u64,
        model: &BranchPrediction,
    ) -> Outcome {
        let last = self.targets.find(at).map(|known| known.target);
        let predicted = self.indirect.predict(history.targets(), at, last, target);
        history.pass(self.direction.lengths(), at, target);
        history.turn(target);
        let is_chosen = predicted.is_some_and(|predicted| predicted.is_chosen);
        let predicted = predicted.map(|predicted| predicted.address);
        let outcome = self.predicted(at, predicted, target, &model.taken);
        outcome.after(if is_chosen { model.indirect.bubble } else { 0 })
    }

    /// A target that only execution finds; with a right one, a branch that the target buffer does not
    /// know is found by decoding.
    fn predicted(
        &mut self,
        at: u64,
        predicted: Option<u64>,
        target: u64,
        taken: &[u32],
    ) -> Outcome {
        match self.targets.put(at, target) {
            _ if predicted != Some(target) => Outcome::Mispredict,
            Some(known) => right(known, taken),
            None => Outcome::Resteer,
        }
    }
}

fn right(known: BtbHit, taken: &[u32]) -> Outcome {
    Outcome::Right { bubble: taken.get(known.level).copied().unwrap_or(0) }
}
