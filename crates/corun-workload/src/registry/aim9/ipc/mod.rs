//! Messages to itself: one process writes a message and reads it back, through whatever the system has
//! for two processes to talk.
//!
//! As in the original, the way that messages take is made and closed again and again while the clock
//! runs: once every 99 messages (TCP 89, shared memory 100). The original counts one message too many
//! each time, except with shared memory; [`Row::credit`](crate::Row) has that.

mod channel;
mod shared_memory;
mod traffic;

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use rustix::io::Errno;

use self::channel::Channel;
use self::traffic::messages;
use super::descriptor;
use crate::scratch::Scratch;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Job, Row, Tag, Tally, WorkloadError};

pub(super) use shared_memory::SHARED_MEMORY;

/// The tests: for how many messages a channel is made, what makes it, bytes of disk, summary.
macro_rules! rows {
    ($($row:ident: $name:literal, $unit:literal, $each:literal, $open:expr, $disk:literal, $summary:literal;)*) => {
        $(pub(super) static $row: Workload = Workload {
            descriptor: &ipc($name, $summary, $unit, $each, $each + 1, $disk),
            unavailable: anywhere,
            prepare: |_, workers| prepare($row.descriptor, $open, $each, workers),
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
) -> Descriptor {
    let counted = ["a message", "messages"];
    let descriptor = descriptor(name, summary, &[Tag::SystemCalls], counted, 1.0, unit);
    let row = match descriptor.row {
        Some(row) => Row { credit: credited as f64 / done as f64, ..row },
        None => unreachable!(),
    };
    Descriptor { row: Some(row), disk_bytes, tallies: &[Tally { counted: "bytes" }], ..descriptor }
}

/// Makes a channel; the name is for one that needs a name in the folder.
type Open = fn(Option<&Scratch>, &str) -> Result<Channel, Errno>;

fn prepare(
    descriptor: &'static Descriptor,
    open: Open,
    each: u64,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    let scratch = match descriptor.disk_bytes {
        0 => None,
        _ => Some(Arc::new(Scratch::new(descriptor, workers)?)),
    };
    let lines = (0..workers.get()).map(|worker| {
        let (scratch, name) = (scratch.clone(), worker.to_string());
        move || Ok(open(scratch.as_deref(), &name)?)
    });
    messages(lines, each, |error| refused(descriptor.name, scratch.as_deref(), error))
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
