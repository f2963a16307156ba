//! Bytes that come from the kernel, of a file that it has in memory or over a loopback TCP connection.
//! One operation is a byte.
#![expect(clippy::disallowed_methods, reason = "the file is the workload's own")]

use std::fs::File;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::{calls, descriptor, refused_by};
use crate::available::ensure_processes;
use crate::ended::end;
use crate::loopback::roomy_connection;
use crate::peer::Peer;
use crate::scratch::Scratch;
use crate::workload::{Workload, anywhere};
use crate::{
    Descriptor, Domain, Figure, Job, Kernel, Parameter, Parameters, Row, Suite, Tag, WorkloadError,
};

/// Bytes read at once, and sent at once.
const PIECE: usize = 64 << 10;

const SIZE: Parameter = Parameter {
    name: "size",
    summary: "the length of the file, which is read again and again",
    default: "8MiB",
    domain: Domain::Size { least: 512, most: 64 << 20, multiple_of: 1 },
};

pub(super) static FILE: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[SIZE],
        disk_bytes: (64 << 20) + 4096,
        ..of(
            ["lmbench/file-read", "bw_file_rd"],
            "reading a file that is in memory, and adding up what was read",
            &[Tag::MemoryBandwidth, Tag::SystemCalls],
        )
    },
    unavailable: anywhere,
    prepare: prepare_file,
};

pub(super) static TCP: Workload = Workload {
    descriptor: &of(
        ["lmbench/tcp-bandwidth", "bw_tcp"],
        "reading what another process sends over a loopback TCP connection",
        &[Tag::MemoryBandwidth, Tag::SystemCalls, Tag::ContextSwitch],
    ),
    unavailable: anywhere,
    prepare: prepare_tcp,
};

const fn of(names: [&'static str; 2], summary: &'static str, tags: &'static [Tag]) -> Descriptor {
    let figure = Figure::Rate { per: 1e6, unit: "MB/s" };
    let row = Row { suite: Suite::Lmbench, name: names[1], figure, credit: 1.0 };
    Descriptor {
        row: Some(row),
        subtracts: None,
        ..descriptor(names, summary, tags, ["a byte", "bytes"])
    }
}

/// A byte of the file, and of a message: what is at this place.
fn byte_at(place: usize) -> u8 {
    (place % 251) as u8
}

fn prepare_file(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let descriptor = FILE.descriptor;
    let size = parameters.number(&SIZE)?;
    let scratch = Arc::new(Scratch::with_room(descriptor, workers, size + 4096, size)?);
    let contents: Vec<u8> = (0..size as usize).map(byte_at).collect();
    Job::of_each((0..workers.get()).map(|worker| {
        let path = scratch.write(&worker.to_string(), &contents)?;
        let file = File::open(path).map_err(|error| refused_by(descriptor.name, "open", error))?;
        let buffer = vec![0; PIECE];
        Ok(FileRead { file, size, place: 0, buffer, sum: 0, _scratch: scratch.clone() })
    }))
}

struct FileRead {
    file: File,
    size: u64,
    place: u64,
    buffer: Vec<u8>,
    sum: u64,
    _scratch: Arc<Scratch>,
}

impl FileRead {
    fn read(&mut self, bytes: u64) -> Result<(), Errno> {
        let mut left = bytes;
        while left > 0 {
            if self.place == self.size {
                self.place = rustix::fs::seek(&self.file, SeekFrom::Start(0))?;
            }
            let wanted = left.min(self.size - self.place).min(PIECE as u64) as usize;
            let piece = calls::read(&self.file, &mut self.buffer[..wanted])?;
            if piece == 0 {
                return Err(Errno::NODATA);
            }
            self.sum = self.sum.wrapping_add(sum(&self.buffer[..piece]));
            self.place += piece as u64;
            left -= piece as u64;
        }
        Ok(())
    }
}

impl Kernel for FileRead {
    fn reset(&mut self) {
        // It is at its beginning if nothing else is known; the run reports a file that is not.
        self.place = self.size;
        self.buffer.fill(0);
        self.run(self.size);
        self.place = self.size;
        self.sum = 0;
    }

    /// # Panics
    /// If the file cannot be read any more.
    fn run(&mut self, operations: u64) {
        if let Err(error) = self.read(operations) {
            end("the file cannot be read any more", error);
        }
    }

    /// The sum of what was read, in little-endian words; the last word of a read may be short.
    fn check(&self) -> u64 {
        self.sum
    }
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().map(|&word| u64::from_le_bytes(word));
    words.fold(u64::from_le_bytes(last), u64::wrapping_add)
}

/// Room for what is on its way, in each socket.
const ROOM: usize = 1 << 20;

fn prepare_tcp(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let workload = TCP.descriptor.name;
    let opened: std::io::Result<Vec<_>> =
        (0..workers.get()).map(|_| roomy_connection(ROOM)).collect();
    opened.map_err(|error| refused_by(workload, "socket", error))?;
    ensure_processes(workload, 1, workers)?;
    Ok(Job::of((0..workers.get()).map(|_| Stream {
        near: None,
        peer: None,
        message: (0..PIECE).map(byte_at).collect(),
        buffer: vec![0; PIECE],
        received: 0,
        last: 0,
    })))
}

struct Stream {
    near: Option<OwnedFd>,
    // Dropped after its end of the connection, which it may be waiting for.
    peer: Option<Peer>,
    message: Vec<u8>,
    buffer: Vec<u8>,
    /// The bytes since the last reset.
    received: u64,
    /// The last byte.
    last: u8,
}

impl Stream {
    fn receive(&mut self, bytes: u64) -> Result<(), Errno> {
        let near = self.near.as_ref().ok_or(Errno::BADF)?;
        let mut left = bytes;
        while left > 0 {
            let wanted = left.min(PIECE as u64) as usize;
            let piece = calls::read(near, &mut self.buffer[..wanted])?;
            if piece == 0 {
                return Err(Errno::PIPE);
            }
            self.last = self.buffer[piece - 1];
            self.received += piece as u64;
            left -= piece as u64;
        }
        Ok(())
    }
}

impl Kernel for Stream {
    /// # Panics
    /// If the system gives no connection or no process.
    fn reset(&mut self) {
        (self.near, self.peer) = (None, None);
        let opened = roomy_connection(ROOM).and_then(|[near, far]| {
            let peer = Peer::fork(|| while calls::write(&far, &self.message) == Ok(PIECE) {})?;
            Ok((near, peer))
        });
        let (near, peer) = opened.unwrap_or_else(|error| end("a peer is refused", error));
        (self.near, self.peer) = (Some(near), Some(peer));
        (self.received, self.last) = (0, 0);
    }

    /// # Panics
    /// If the other process is gone.
    fn run(&mut self, operations: u64) {
        if let Err(error) = self.receive(operations) {
            end("the other process sends no more", error);
        }
    }

    /// The bytes so far, and the last of them.
    fn check(&self) -> u64 {
        self.received << 8 | u64::from(self.last)
    }
}
