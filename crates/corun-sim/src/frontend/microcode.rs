//! The sequencer of microprograms: which cycles of it each thread's program has.

use crate::sharing::Requester;
use corun_model::{MicrocodeSequencer as Model, Policy};

/// The sequencer of a core.
#[derive(Debug)]
pub(crate) struct Sequencer {
    policy: Policy,
    width: u32,
    /// When the last program of each thread ends.
    until: Vec<u64>,
}

impl Sequencer {
    /// An idle one, for so many threads.
    pub(crate) fn new(model: &Model, threads: usize) -> Self {
        let (policy, width) = (model.sharing.policy, model.width.max(1));
        Self { policy, width, until: vec![0; threads.max(1)] }
    }

    /// When the last program of a thread ends.
    pub(crate) fn until(&self, thread: usize) -> u64 {
        self.until[thread]
    }

    /// Begins a program of so many micro-ops; returns when it ends. Where threads alternate, this may
    /// put off the end of a sibling's.
    pub(crate) fn run(&mut self, requester: Requester, begin: u64, uops: u32) -> u64 {
        let own = usize::from(requester.thread);
        let siblings = self.until.len() as u32;
        let parts = match self.policy {
            Policy::Partitioned if !requester.is_alone => siblings,
            _ => 1,
        };
        let cycles = u64::from(uops.div_ceil((self.width / parts).max(1)));
        let mut end = begin + cycles;
        match self.policy {
            Policy::Replicated | Policy::Partitioned => {}
            Policy::Shared => {
                end = self.until.iter().fold(begin, |free, until| free.max(*until)) + cycles;
            }
            Policy::Alternating => {
                for (thread, until) in self.until.iter_mut().enumerate() {
                    let both = until.saturating_sub(begin).min(cycles);
                    if thread != own && both > 0 {
                        *until += both;
                        end += both;
                    }
                }
            }
        }
        self.until[own] = end;
        end
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::microcode::*;

    /// When programs of eight micro-ops of two threads end that begin together.
    fn ends(policy: Policy) -> [u64; 2] {
        let mut model = corun_model::find("ivy-bridge").unwrap().front.microcode;
        model.sharing.policy = policy;
        let mut sequencer = Sequencer::new(&model, 2);
        for thread in [0, 1] {
            sequencer.run(Requester { thread, is_alone: false }, 10, 8);
        }
        [sequencer.until(0), sequencer.until(1)]
    }

    #[test]
    fn each_policy_gives_a_program_its_cycles() {
        assert_eq!(ends(Policy::Replicated), [12, 12]);
        assert_eq!(ends(Policy::Partitioned), [14, 14]);
        assert_eq!(ends(Policy::Shared), [12, 14]);
        assert_eq!(ends(Policy::Alternating), [14, 14]);
    }
}
