//! Cost of handing the turn to another worker: on one logical CPU a switch by the kernel, on two
//! the way between them, on two siblings the shortest there is.
//!
//! A token goes round a ring, as in `lat_ctx` of lmbench (McVoy and Staelin 1996).

mod handover;

use std::num::NonZeroUsize;

use memmap2::MmapMut;

use crate::{
    Choice, DefaultPlacement, Descriptor, Domain, Job, Kernel, Mode, Parameter, Parameters, Tag,
    Workload, WorkloadError, memory,
};
use handover::{Handover, Mailboxes, Pipes, Sleep, Watch};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "ctxswitch",
    summary: "a token goes round a ring of workers: what it costs to switch between them",
    tags: &[Tag::ContextSwitch, Tag::SystemCalls, Tag::Waiting, Tag::CacheCapacity],
    parameters: &[BY, FOOTPRINT],
    operation: "a handover",
    counted: "handovers",
    default_mode: Mode::WorkersTotal,
    default_placement: DefaultPlacement::Switched,
    ..Descriptor::PLAIN
};

const BY: Parameter = Parameter {
    name: "by",
    summary: "what the token goes through",
    default: "pipe",
    domain: Domain::Choice(&[
        Choice { value: "pipe", summary: "a pipe: a write, and a read that sleeps" },
        Choice { value: "futex", summary: "memory, a sleep and a wake-up by futex" },
        Choice {
            value: "spin",
            summary: "memory that is watched in a loop; soon with sched_yield",
        },
    ]),
};

const FOOTPRINT: Parameter = Parameter {
    name: "footprint",
    summary: "memory that each worker reads through while it has the token",
    default: "0",
    domain: Domain::Size { least: 0, most: 1 << 30, multiple_of: size_of::<u64>() as u64 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let footprint = parameters.number(&FOOTPRINT)?;
    match parameters.choice(&BY)? {
        "futex" => ring(Mailboxes::<Sleep>::ring(workers), footprint),
        "spin" => ring(Mailboxes::<Watch>::ring(workers), footprint),
        _ => {
            let pipes = Pipes::ring(workers)
                .map_err(|source| WorkloadError::NoDescriptors { workload: ABOUT.name, source })?;
            ring(pipes, footprint)
        }
    }
}

/// A kernel for each of these, which are in the order of the ring.
fn ring<H: Handover + 'static>(handovers: Vec<H>, footprint: u64) -> Result<Job, WorkloadError> {
    let workers = handovers.len() as u64;
    memory::ensure_available(ABOUT.name, footprint.saturating_mul(workers))?;
    let kernels = (0..).zip(handovers).map(|(worker, handover)| {
        let memory = match footprint {
            0 => None,
            bytes => Some(memory::map(ABOUT.name, bytes)?),
        };
        Ok(Member { handover, worker, workers, memory, token: 0, turns_after: 0 })
    });
    Job::of_each(kernels)
}

/// A worker of the ring.
struct Member<H> {
    handover: H,
    worker: u64,
    workers: u64,
    memory: Option<MmapMut>,
    /// The token as it was when this worker had it last: the number of turns up to then.
    token: u64,
    /// The turns that others have after that.
    turns_after: u64,
}

impl<H: Handover> Kernel for Member<H> {
    fn reset(&mut self) {
        self.token = 0;
        self.turns_after = 0;
        if let Some(memory) = &mut self.memory {
            memory.fill(0);
            memory[0] = 1;
        }
    }

    /// The token begins with worker 0, and has been handed over `turn` times when it is the turn of
    /// worker `turn % workers`.
    fn run(&mut self, operations: u64) {
        self.handover.begin();
        self.turns_after = operations + 1;
        for turn in (self.worker..=operations).step_by(self.workers as usize) {
            let token = if turn == 0 { 0 } else { self.handover.receive() };
            self.token = token + one(self.memory.as_deref());
            self.turns_after = operations - turn;
            if turn < operations {
                self.handover.send(self.token);
            }
        }
        self.handover.end();
    }

    /// All turns: those that the token has counted, and those that came after; one more than there
    /// were handovers.
    fn check(&self) -> u64 {
        self.token + self.turns_after
    }
}

/// Increment of the token: 1, by way of the sum over a memory that holds a single one.
fn one(memory: Option<&[u8]>) -> u64 {
    let Some(memory) = memory else { return 1 };
    // SAFETY: any eight bytes are a 64-bit number.
    let (_, numbers, _) = unsafe { memory.align_to::<u64>() };
    numbers.iter().map(|&number| u64::from_le(number)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unless_ended;

    #[test]
    fn a_worker_whose_neighbour_is_gone_ends_with_an_error() {
        // Worker 0 begins with a write, worker 1 with a read.
        for (worker, reason) in [(0, "cannot be written"), (1, "cannot be read")] {
            let mut ring = Pipes::ring(NonZeroUsize::new(2).unwrap()).unwrap();
            let handover = ring.remove(worker);
            drop(ring);
            let (worker, workers, turns_after) = (worker as u64, 2, 0);
            let mut kernel =
                Member { handover, worker, workers, memory: None, token: 0, turns_after };
            let error = unless_ended(ABOUT.name, &mut kernel, |kernel| kernel.run(4)).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
