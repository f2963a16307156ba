//! The messages of one worker, whatever carries them: the lengths in turn, and a carrier that is made
//! and closed again and again.

use std::io;

use crate::ended::end;
use crate::{Job, Kernel, WorkloadError};

/// The lengths of messages, in turn: all of them twice, then more of those that the original's authors
/// saw in windowing systems (32 bytes) and data bases (512).
const SIZES: [usize; 37] = [
    1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048, 4096, 1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048, 4096,
    32, 32, 32, 32, 32, 32, 512, 512, 512, 512, 512, 2048, 2048, 2048, 2048,
];

const LONGEST: usize = 4096;

/// Carrier that brings a message from one buffer of the worker to another.
pub(super) trait Carrier: Send + 'static {
    /// Moves `out` to `into`, which is as long.
    fn carry(&self, out: &[u8], into: &mut [u8]) -> io::Result<()>;
}

/// A kernel for each worker, which makes a carrier for every `each` messages.
///
/// # Errors
/// Error that `refused` makes of the system's refusal of a first message.
pub(super) fn messages<C: Carrier>(
    workers: impl Iterator<Item = impl FnMut() -> io::Result<C> + Send + 'static>,
    each: u64,
    refused: impl Fn(io::Error) -> WorkloadError,
) -> Result<Job, WorkloadError> {
    Job::of_each(workers.map(|open| {
        let mut kernel = Messages { open, each, carrier: None, left: 0, traffic: Traffic::new() };
        // Kept, so that all workers together have what they need.
        kernel.message().map_err(&refused)?;
        Ok(kernel)
    }))
}

struct Messages<C, F> {
    open: F,
    /// Messages that a carrier is made for.
    each: u64,
    carrier: Option<C>,
    /// Messages until the carrier is closed.
    left: u64,
    traffic: Traffic,
}

impl<C: Carrier, F: FnMut() -> io::Result<C>> Messages<C, F> {
    #[inline(always)]
    fn message(&mut self) -> io::Result<()> {
        if self.left == 0 {
            self.carrier = Some((self.open)()?);
            self.left = self.each;
        }
        let carrier = self.carrier.as_ref().expect("it was made with the first message");
        self.traffic.message(carrier)?;
        self.left -= 1;
        if self.left == 0 {
            self.carrier = None;
        }
        Ok(())
    }
}

impl<C: Carrier, F: FnMut() -> io::Result<C> + Send> Kernel for Messages<C, F> {
    fn reset(&mut self) {
        (self.carrier, self.left) = (None, 0);
        self.traffic = Traffic::new();
    }

    /// # Panics
    /// If the system refuses what it did before.
    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.message().unwrap_or_else(|error| end("a message is lost", error));
        }
    }

    fn tallies(&self) -> Vec<u64> {
        vec![self.traffic.bytes]
    }

    fn check(&self) -> u64 {
        self.traffic.received
    }
}

/// Messages sent and received: the lengths in turn, and messages that differ.
struct Traffic {
    out: Box<[u8; LONGEST]>,
    into: Box<[u8; LONGEST]>,
    /// Messages so far.
    messages: u64,
    /// Bytes of all messages so far.
    bytes: u64,
    /// The sum of the first and the last byte of each message received.
    received: u64,
}

impl Traffic {
    /// The bytes after a message's first count from 0 to 250, again and again.
    fn new() -> Self {
        let out = std::array::from_fn(|place| (place % 251) as u8);
        Self {
            out: Box::new(out),
            into: Box::new([0; LONGEST]),
            messages: 0,
            bytes: 0,
            received: 0,
        }
    }

    /// Has the next message moved from one buffer to the other; it begins with its number.
    #[inline(always)]
    fn message(&mut self, carrier: &impl Carrier) -> io::Result<()> {
        let size = SIZES[(self.messages % SIZES.len() as u64) as usize];
        self.out[0] = self.messages as u8;
        carrier.carry(&self.out[..size], &mut self.into[..size])?;
        self.messages += 1;
        self.bytes += size as u64;
        self.received += u64::from(self.into[0]) + u64::from(self.into[size - 1]);
        Ok(())
    }
}
