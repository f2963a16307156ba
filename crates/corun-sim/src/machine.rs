//! Cores that share memory, in step with each other.

use crate::code::CodeInstruction;
use crate::core::{Core, Feed, State};
use crate::memory::Memory;
use crate::model::CoreModel;

/// Cycles that a core may be ahead of the others: fewer than anything takes from one to another.
const AHEAD: u64 = 8;

/// Cores at work.
pub(crate) struct Machine<F> {
    cores: Vec<Core<F>>,
    /// Whether each core's program has ended.
    ended: Vec<bool>,
    memory: Memory,
}

impl<F: Feed> Machine<F> {
    /// A machine with one core for each list of feeds, each of which gets a hardware thread there.
    pub(crate) fn new(model: &CoreModel, cores: Vec<(CodeInstruction, Vec<F>)>) -> Self {
        let memory = Memory::new(model, cores.len());
        let ended = vec![false; cores.len()];
        let cores = (0..)
            .zip(cores)
            .map(|(number, (stack_update, feeds))| Core::new(number, model, stack_update, feeds));
        Self { cores: cores.collect(), ended, memory }
    }

    /// What the first thread of a core has done up to now.
    pub(crate) fn state(&self, core: usize) -> State {
        State { requests: self.memory.requests(core), ..self.cores[core].state(0) }
    }

    /// The feeds of each core, when nothing more is to be simulated.
    pub(crate) fn into_feeds(self) -> Vec<Vec<F>> {
        self.cores.into_iter().map(Core::into_feeds).collect()
    }

    /// Goes on until the first thread of some core has retired as many instructions as its target says,
    /// or its program has ended, and returns which; none, if all have ended before.
    pub(crate) fn run(&mut self, targets: &[u64]) -> Option<usize> {
        loop {
            let at_work = |core: &usize| !self.ended[*core];
            let behind =
                (0..self.cores.len()).filter(at_work).min_by_key(|&core| self.cores[core].now())?;
            let others = (0..self.cores.len()).filter(at_work).filter(|core| *core != behind);
            let next = others.map(|core| self.cores[core].now()).min();
            let until = next.map_or(u64::MAX, |next| next + AHEAD);
            let core = &mut self.cores[behind];
            self.ended[behind] = !core.run_until(0, targets[behind], until, &mut self.memory);
            if self.ended[behind] || core.retired(0) >= targets[behind] {
                return Some(behind);
            }
        }
    }
}
