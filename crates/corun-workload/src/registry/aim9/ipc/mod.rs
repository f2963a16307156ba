//! Messages to itself: one process writes a message and reads it back, through whatever the system has
//! for two processes to talk.
//!
//! As in the original, the way that messages take is made and closed again and again while the clock
//! runs: once every 99 messages (TCP 89, shared memory 100). The original counts one message too many
//! each time, except with shared memory; [`Row::credit`](crate::Row) has that.

mod channel;
mod shared_memory;

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;

use self::channel::Channel;
use super::about;
use crate::row::{RowWorkload, anywhere};
use crate::scratch::Scratch;
use crate::{About, Job, Kernel, Row, Tag, Tally, WorkloadError};

pub(super) use shared_memory::SHARED_MEMORY;

/// The lengths of messages, in turn: all of them twice, then more of those that the original's authors
/// saw in windowing systems (32 bytes) and data bases (512).
const SIZES: [usize; 37] = [
    1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048, 4096, 1, 3, 5, 7, 16, 32, 64, 512, 1024, 2048, 4096,
    32, 32, 32, 32, 32, 32, 512, 512, 512, 512, 512, 2048, 2048, 2048, 2048,
];

const LONGEST: usize = 4096;

/// The tests: for how many messages a channel is made, what makes it, bytes of disk, summary.
macro_rules! rows {
    ($($row:ident: $name:literal, $unit:literal, $each:literal, $open:expr, $disk:literal, $summary:literal;)*) => {
        $(pub(super) static $row: RowWorkload = RowWorkload {
            about: &ipc($name, $summary, $unit, $each, $each + 1, $disk),
            unavailable: anywhere,
            prepare: |_, workers| prepare($row.about, $open, $each, workers),
        };)*
    };
}

rows! {
    TCP: "aim9/tcp_test", "messages/s", 89, channel::tcp, 0,
        "messages over a TCP connection to itself";
    UDP: "aim9/udp_test", "datagrams/s", 99, channel::udp, 0,
        "messages between two UDP sockets of its own";
    FIFO: "aim9/fifo_test", "messages/s", 99, channel::fifo, 4096,
        "messages through a named pipe";
    STREAM: "aim9/stream_pipe", "messages/s", 99, channel::stream_pair, 0,
        "messages through a pair of Unix stream sockets";
    DATAGRAM: "aim9/dgram_pipe", "messages/s", 99, channel::datagram_pair, 0,
        "messages through a pair of Unix datagram sockets";
    PIPE: "aim9/pipe_cpy", "messages/s", 99, channel::pipe, 0,
        "messages through a pipe";
}

/// `credited` messages are what the original counts for `done` of them.
const fn ipc(
    name: &'static str,
    summary: &'static str,
    unit: &'static str,
    done: u32,
    credited: u32,
    disk_bytes: u64,
) -> About {
    let counted = ["a message", "messages"];
    let about = about(name, summary, &[Tag::SystemCalls], counted, 1.0, unit);
    let row = match about.row {
        Some(row) => Row { credit: credited as f64 / done as f64, ..row },
        None => unreachable!(),
    };
    About { row: Some(row), disk_bytes, tallies: &[Tally { counted: "bytes" }], ..about }
}

/// Makes a channel; the name is for one that needs a name in the folder.
type Open = fn(Option<&Scratch>, &str) -> Result<Channel, Errno>;

fn prepare(
    about: &'static About,
    open: Open,
    messages: u64,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    let scratch = match about.disk_bytes {
        0 => None,
        _ => Some(Arc::new(Scratch::new(about, workers)?)),
    };
    Job::of_each((0..workers.get()).map(|worker| {
        let mut kernel = Messages {
            open,
            each: messages,
            scratch: scratch.clone(),
            name: worker.to_string(),
            channel: None,
            left: 0,
            traffic: Traffic::new(),
        };
        // Kept, so that all workers together have what they need.
        kernel.message().map_err(|error| refused(about.name, scratch.as_deref(), error))?;
        Ok(kernel)
    }))
}

fn refused(workload: &'static str, scratch: Option<&Scratch>, source: io::Error) -> WorkloadError {
    match (Errno::from_io_error(&source), scratch) {
        (Some(Errno::MFILE | Errno::NFILE), _) => WorkloadError::NoDescriptors { workload, source },
        (_, Some(scratch)) => scratch.refused(source),
        (
            Some(Errno::ADDRNOTAVAIL | Errno::NETUNREACH | Errno::NETDOWN | Errno::AFNOSUPPORT),
            _,
        ) => WorkloadError::NoLoopback { workload, source },
        _ => WorkloadError::CallRefused { workload, call: "socket", source },
    }
}

/// The messages of one worker.
struct Messages {
    open: Open,
    /// Messages that a channel is made for.
    each: u64,
    scratch: Option<Arc<Scratch>>,
    name: String,
    channel: Option<Channel>,
    /// Messages until the channel is closed.
    left: u64,
    traffic: Traffic,
}

impl Messages {
    #[inline(always)]
    fn message(&mut self) -> io::Result<()> {
        if self.left == 0 {
            self.channel = Some((self.open)(self.scratch.as_deref(), &self.name)?);
            self.left = self.each;
        }
        let channel = self.channel.as_ref().expect("it was made with the first message");
        self.traffic.message(|out, into| {
            write_all(&channel.writer, out)?;
            read_all(&channel.reader, into)
        })?;
        self.left -= 1;
        if self.left == 0 {
            self.channel = None;
        }
        Ok(())
    }
}

impl Kernel for Messages {
    fn reset(&mut self) {
        (self.channel, self.left) = (None, 0);
        self.traffic = Traffic::new();
    }

    /// # Panics
    /// If the system refuses what it did before.
    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.message().unwrap_or_else(|error| panic!("a message is lost: {error}"));
        }
    }

    fn tallies(&self) -> Vec<u64> {
        vec![self.traffic.bytes]
    }

    fn check(&self) -> u64 {
        self.traffic.received
    }
}

/// What is sent and received: the lengths in turn, and messages that differ.
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
    fn message<E>(
        &mut self,
        moved: impl FnOnce(&[u8], &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let size = SIZES[(self.messages % SIZES.len() as u64) as usize];
        self.out[0] = self.messages as u8;
        moved(&self.out[..size], &mut self.into[..size])?;
        self.messages += 1;
        self.bytes += size as u64;
        self.received += u64::from(self.into[0]) + u64::from(self.into[size - 1]);
        Ok(())
    }
}

/// Through the C library, as the original's; its share in the time is not small.
#[inline(always)]
fn write_all(to: impl AsFd, mut bytes: &[u8]) -> nix::Result<()> {
    while !bytes.is_empty() {
        let written = nix::unistd::write(&to, bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}

#[inline(always)]
fn read_all(from: impl AsFd, mut bytes: &mut [u8]) -> nix::Result<()> {
    while !bytes.is_empty() {
        match nix::unistd::read(&from, &mut *bytes)? {
            0 => return Err(nix::errno::Errno::EPIPE),
            read => bytes = &mut bytes[read..],
        }
    }
    Ok(())
}
