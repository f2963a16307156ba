//! A core whose threads no longer retire anything: what each of them waits for.
//!
//! That is a fault of the simulator, never a property of the program, so that it is an error with what
//! is needed to find it, and never a number of cycles.

use std::fmt::{self, Display, Formatter};

use crate::core::thread::Thread;
use crate::core::{Core, InstructionSource};
use crate::frontend::Queued;
use crate::uops::{Buffer, Kind, NEVER};

/// Cycles that nothing waits for at once: minutes of the simulated core's time.
const LONGEST_WAIT: u64 = 1 << 40;

/// Simulated cores that stopped making progress.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the simulated {model} made no progress from cycle {cycle} on: expected every hardware thread to retire \
     instructions, found threads that wait for something that does not come{}",
    listed(threads)
)]
pub struct Deadlock {
    /// The model's name.
    pub model: String,
    /// The cycle at which the first of these cores was found so.
    pub cycle: u64,
    /// Each hardware thread of all cores.
    pub threads: Vec<DeadlockedThread>,
}

/// A hardware thread of such a core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockedThread {
    /// The core, and the thread's number there.
    pub core: usize,
    /// The hardware thread.
    pub thread: usize,
    /// Instructions that it has retired.
    pub retired: u64,
    /// True if it is one of those that make no progress.
    pub is_stuck: bool,
    /// The instruction at the head of the reorder buffer, or of the queue if that is empty.
    pub head: Option<String>,
    /// Reason for which it waits.
    pub waits_for: String,
    /// Entries of each buffer that it holds.
    pub occupancy: Vec<(&'static str, u32)>,
}

fn listed(threads: &[DeadlockedThread]) -> String {
    threads.iter().map(|thread| format!("\n  {thread}")).collect()
}

impl Display for DeadlockedThread {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { core, thread, retired, .. } = self;
        let state = if self.is_stuck { "stuck" } else { "not stuck" };
        write!(f, "core {core}, thread {thread}: {state}, {retired} instructions retired; ")?;
        match &self.head {
            Some(head) => write!(f, "at the head {head}; ")?,
            None => write!(f, "nothing in in_flight; ")?,
        }
        write!(f, "it waits for {}; entries:", self.waits_for)?;
        for (place, (name, used)) in self.occupancy.iter().enumerate() {
            write!(f, "{} {name} {used}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// Progress of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// So many instructions are retired.
    Retired(u64),
    /// It waits until a known cycle, because an instruction or a change of programs says so.
    Paused,
    /// It has done all that it has to do.
    Ended,
    /// It waits at a synchronisation point for other threads.
    AtSyncPoint,
}

impl<F: InstructionSource> Core<F> {
    /// Steps of the core: cycles, with those in which nothing could happen counted once.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// True if what comes next lies so far ahead that it never comes.
    pub(crate) fn never_comes(&self, passed: u64) -> bool {
        passed > LONGEST_WAIT
    }

    /// Of each thread how far it has come.
    pub(crate) fn progress(&self) -> impl Iterator<Item = Progress> {
        let is_to_come = |at: u64| at > self.now && !self.never_comes(at - self.now);
        self.threads.iter().map(move |thread| {
            if thread.is_done() {
                Progress::Ended
            } else if is_to_come(thread.paused) || is_to_come(thread.resumes) {
                Progress::Paused
            } else if thread.fetcher.awaits_sync()
                && thread.is_drained()
                && thread.stores.is_empty()
            {
                Progress::AtSyncPoint
            } else {
                Progress::Retired(thread.rob.retired())
            }
        })
    }

    /// Reason for which each thread waits; `is_stuck` says which are those that make no progress.
    pub(crate) fn dump(&self, is_stuck: impl Fn(usize) -> bool) -> Vec<DeadlockedThread> {
        let of_thread = |(index, thread): (usize, &Thread<F>)| DeadlockedThread {
            core: self.number,
            thread: index,
            retired: thread.rob.retired(),
            is_stuck: is_stuck(index),
            head: self.head(thread),
            waits_for: self.waits_for(index),
            occupancy: vec![
                ("queue", thread.queue.slots()),
                ("reorder buffer", thread.rob.count(Buffer::Rob)),
                ("schedulers", self.schedulers.occupied_by(index)),
                ("integer registers", thread.rob.count(Buffer::IntegerRegisters)),
                ("vector registers", thread.rob.count(Buffer::VectorRegisters)),
                ("mask registers", thread.rob.count(Buffer::MaskRegisters)),
                ("load queue", thread.rob.count(Buffer::Loads)),
                ("store queue", thread.stores.len()),
                ("loads without a miss buffer", self.loads.blocked_of(index) as u32),
            ],
        };
        self.threads.iter().enumerate().map(of_thread).collect()
    }

    fn head(&self, thread: &Thread<F>) -> Option<String> {
        let named = |queued: &Queued| {
            let Queued { block, instruction, .. } = *queued;
            thread
                .source
                .describe(block, instruction)
                .unwrap_or_else(|| format!("instruction {instruction} of block {block}"))
        };
        if let Some(renamed) = thread.rob.front() {
            let name = named(&renamed.queued);
            let head = thread.rob.head();
            if head >= renamed.end {
                return Some(format!("{name}, executed"));
            }
            let number = head - thread.rob.front_uop();
            let kind = kind(thread.rob.uop_at(head).kind);
            return Some(format!("{name}, micro-op {number} ({kind})"));
        }
        thread.queue.front().map(|queued| format!("{}, not renamed", named(queued)))
    }

    fn waits_for(&self, index: usize) -> String {
        let thread = &self.threads[index];
        if thread.is_done() {
            return "nothing: its program has ended".to_owned();
        }
        if let Some(in_flight) = thread.rob.oldest_uop() {
            return if in_flight.done != NEVER {
                format!("cycle {}, when the micro-op is done", in_flight.done)
            } else if in_flight.awaits_buffer() {
                "a miss buffer of the first-level cache".to_owned()
            } else if in_flight.pending > 0 && in_flight.is_forwarded {
                "a store before it that has not reached the cache".to_owned()
            } else if in_flight.pending > 0 {
                format!("{} operands", in_flight.pending)
            } else {
                format!("port {}", in_flight.port)
            };
        }
        if !thread.rob.is_empty() {
            return "its turn to retire".to_owned();
        }
        if !thread.queue.is_empty() {
            return "renaming".to_owned();
        }
        thread.fetcher.waits_for(self.now)
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Compute => "compute",
        Kind::Load(_) => "load",
        Kind::StoreAddress(_) => "store address",
        Kind::StreamAddress(_) => "non-temporal store address",
        Kind::StoreData(_) => "store data",
    }
}
