//! Progress of simulated cores: every thread that has something to do retires instructions now and then,
//! unless it waits for other threads, and these do not all wait for each other.

use crate::core::{Core, Deadlock, InstructionSource, Progress};
use corun_model::CoreModel;

/// Steps of a core in which each of its threads has retired something.
const PATIENCE: u64 = 1 << 21;

/// Progress of each thread at the last look.
pub(crate) struct Watch {
    model: String,
    /// Of each core.
    cores: Vec<Watched>,
    /// Steps of all cores together since any thread made progress.
    at_sync_points: u64,
}

struct Watched {
    /// The core's steps when this was noted.
    steps: u64,
    threads: Vec<Progress>,
}

impl Watch {
    /// Of cores with so many threads each, which have done nothing yet.
    pub(crate) fn new(model: &CoreModel, threads: &[usize]) -> Self {
        let watched =
            |&threads: &usize| Watched { steps: 0, threads: vec![Progress::Ended; threads] };
        let cores = threads.iter().map(watched).collect();
        Self { model: model.name.clone(), cores, at_sync_points: 0 }
    }

    /// Checks a core that has just gone on, if it is time to.
    #[inline]
    pub(crate) fn check<F: InstructionSource>(
        &mut self,
        core: usize,
        cores: &[Core<F>],
    ) -> Result<(), Box<Deadlock>> {
        let steps = cores[core].steps() - self.cores[core].steps;
        if steps < PATIENCE { Ok(()) } else { self.compare(core, cores, steps) }
    }

    #[cold]
    fn compare<F: InstructionSource>(
        &mut self,
        core: usize,
        cores: &[Core<F>],
        steps: u64,
    ) -> Result<(), Box<Deadlock>> {
        let now: Vec<Progress> = cores[core].progress().collect();
        let before = std::mem::replace(&mut self.cores[core].threads, now.clone());
        self.cores[core].steps = cores[core].steps();
        let is_stuck =
            |thread: usize| is_at_work(now[thread]) && before.get(thread) == now.get(thread);
        if (0..now.len()).any(is_stuck) {
            return Err(self.stuck(cores, |at, thread| at == core && is_stuck(thread)));
        }
        // Who waits at a synchronisation point waits for others; if all do, it is for each other.
        let is_free = |one| is_at_work(one) || one == Progress::Paused;
        let is_any_free = cores.iter().flat_map(Core::progress).any(is_free);
        self.at_sync_points = if is_any_free { 0 } else { self.at_sync_points + steps };
        if self.at_sync_points >= PATIENCE * cores.len() as u64 {
            let progress: Vec<Vec<Progress>> =
                cores.iter().map(|core| core.progress().collect()).collect();
            return Err(
                self.stuck(cores, |at, thread| progress[at][thread] == Progress::AtSyncPoint)
            );
        }
        Ok(())
    }

    /// Error of a core that makes no progress.
    pub(crate) fn lost<F: InstructionSource>(
        &self,
        core: usize,
        cores: &[Core<F>],
    ) -> Box<Deadlock> {
        let progress: Vec<Progress> = cores[core].progress().collect();
        self.stuck(cores, |at, thread| at == core && progress[thread] != Progress::Ended)
    }

    /// Reasons for which all threads wait.
    fn stuck<F: InstructionSource>(
        &self,
        cores: &[Core<F>],
        is_stuck: impl Fn(usize, usize) -> bool,
    ) -> Box<Deadlock> {
        let dumps = cores.iter().enumerate();
        let dumps = dumps.flat_map(|(at, core)| core.dump(|thread| is_stuck(at, thread)));
        let cycle = cores.iter().map(Core::now).min().unwrap_or(0);
        Box::new(Deadlock { model: self.model.clone(), cycle, threads: dumps.collect() })
    }
}

fn is_at_work(one: Progress) -> bool {
    matches!(one, Progress::Retired(_))
}
