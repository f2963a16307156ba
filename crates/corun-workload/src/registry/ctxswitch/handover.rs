//! The ways from one worker of a ring to the next: pipes, and mailboxes in memory, beside which the
//! receiver sleeps or which it watches.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::thread::futex;

use crate::ended::end;

/// One worker's two ends: from the worker before, and to the next one.
pub(super) trait Handover: Send {
    /// Before the first token of a run.
    fn begin(&mut self) {}

    /// Waits for the token.
    fn receive(&mut self) -> u64;

    /// Hands the token on.
    fn send(&mut self, token: u64);

    /// After the last token of a run.
    fn end(&mut self) {}
}

/// Through pipes. Every worker owns its ends alone, so that a worker which fails takes the others
/// with it instead of leaving them asleep.
pub(super) struct Pipes {
    from: PipeReader,
    to: PipeWriter,
}

impl Pipes {
    /// The ends of each worker of a ring.
    ///
    /// # Errors
    /// The system's, if it does not give the descriptors.
    pub(super) fn ring(workers: NonZeroUsize) -> io::Result<Vec<Self>> {
        let pipes = (0..workers.get()).map(|_| io::pipe()).collect::<io::Result<Vec<_>>>()?;
        let (readers, mut writers): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
        writers.rotate_left(1);
        Ok(readers.into_iter().zip(writers).map(|(from, to)| Self { from, to }).collect())
    }
}

impl Handover for Pipes {
    fn receive(&mut self) -> u64 {
        let mut token = [0; 8];
        if let Err(error) = self.from.read_exact(&mut token) {
            end("the token of the worker before cannot be read", error);
        }
        u64::from_ne_bytes(token)
    }

    fn send(&mut self, token: u64) {
        if let Err(error) = self.to.write_all(&token.to_ne_bytes()) {
            end("the token cannot be written to the next worker", error);
        }
    }
}

/// Through memory: a mailbox for each worker, which the worker before writes into.
pub(super) struct Mailboxes<W> {
    own: Arc<Mailbox>,
    next: Arc<Mailbox>,
    received: u32,
    sent: u32,
    runs: u32,
    waiting: PhantomData<W>,
}

/// The counts begin at 0 with the mailbox, not with a run, and wrap around: a worker that comes
/// early waits, and one that comes late finds the token.
#[derive(Default)]
#[repr(align(128))]
struct Mailbox {
    token: AtomicU64,
    /// The tokens that were put in so far.
    sent: AtomicU32,
    /// The runs that the owner has ended.
    runs: AtomicU32,
}

impl<W> Mailboxes<W> {
    /// The mailboxes that each worker of a ring knows: its own, and the next worker's.
    pub(super) fn ring(workers: NonZeroUsize) -> Vec<Self> {
        let own: Vec<Arc<Mailbox>> = (0..workers.get()).map(|_| Arc::default()).collect();
        let mut next = own.clone();
        next.rotate_left(1);
        let pairs = own.into_iter().zip(next);
        pairs
            .map(|(own, next)| Self {
                own,
                next,
                received: 0,
                sent: 0,
                runs: 0,
                waiting: PhantomData,
            })
            .collect()
    }
}

impl<W: Waiting> Handover for Mailboxes<W> {
    /// Waits until the next worker has ended the run before, and so has emptied its mailbox; within
    /// a run the token itself says it.
    fn begin(&mut self) {
        while self.next.runs.load(Acquire).wrapping_sub(self.runs) >= 1 << 31 {
            std::thread::yield_now();
        }
    }

    fn receive(&mut self) -> u64 {
        W::wait_while(&self.own.sent, self.received);
        self.received = self.received.wrapping_add(1);
        self.own.token.load(Relaxed)
    }

    fn send(&mut self, token: u64) {
        self.next.token.store(token, Relaxed);
        self.sent = self.sent.wrapping_add(1);
        self.next.sent.store(self.sent, Release);
        W::wake(&self.next.sent);
    }

    fn end(&mut self) {
        self.runs = self.runs.wrapping_add(1);
        self.own.runs.store(self.runs, Release);
    }
}

/// Wait of the owner of a mailbox beside it.
pub(super) trait Waiting: Send {
    /// Returns when `word` is no longer `seen`.
    fn wait_while(word: &AtomicU32, seen: u32);

    /// Called when `word` has changed.
    fn wake(_word: &AtomicU32) {}
}

/// Asleep in the kernel.
pub(super) struct Sleep;

impl Waiting for Sleep {
    fn wait_while(word: &AtomicU32, seen: u32) {
        while word.load(Acquire) == seen {
            // Not asleep, or woken for nothing: the loop polls again.
            let _ = futex::wait(word, futex::Flags::PRIVATE, seen, None);
        }
    }

    fn wake(word: &AtomicU32) {
        // It fails for an address outside the process only.
        let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
    }
}

/// Watching, at first without a break; then the logical CPU goes to another task that wants it, which may
/// be the sender.
pub(super) struct Watch;

/// Polls before the first break: enough for a sender on another logical CPU, and few beside the
/// slice of time that a sender on the same one would otherwise wait for.
const POLLS: u32 = 100;

impl Waiting for Watch {
    fn wait_while(word: &AtomicU32, seen: u32) {
        let mut polls = 0;
        while word.load(Acquire) == seen {
            if polls < POLLS {
                polls += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}
