//! A short message to another process and back: over pipes, a UNIX socket, TCP and UDP. One operation
//! is the whole round trip, with the two switches between the processes.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::{calls, descriptor, empty_loop, refused_by};
use crate::available::ensure_processes;
use crate::ended::end;
use crate::loopback::Loopback;
use crate::peer::Peer;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Job, Kernel, Tag, WorkloadError};

pub(super) static PIPE: Workload = Workload {
    descriptor: &of(
        ["lmbench/pipe-latency", "Pipe latency"],
        "a byte through a pipe, and back through another",
    ),
    unavailable: anywhere,
    prepare: |_, workers| prepare::<Pipes>(PIPE.descriptor.name, workers),
};

pub(super) static UNIX: Workload = Workload {
    descriptor: &of(
        ["lmbench/unix-latency", "lat_unix"],
        "a byte over a UNIX stream socket, and back",
    ),
    unavailable: anywhere,
    prepare: |_, workers| prepare::<Unix>(UNIX.descriptor.name, workers),
};

pub(super) static TCP: Workload = Workload {
    descriptor: &of(
        ["lmbench/tcp-latency", "lat_tcp"],
        "a byte over a loopback TCP connection, and back",
    ),
    unavailable: anywhere,
    prepare: |_, workers| prepare::<Tcp>(TCP.descriptor.name, workers),
};

pub(super) static UDP: Workload = Workload {
    descriptor: &of(["lmbench/udp-latency", "lat_udp"], "four bytes by loopback UDP, and back"),
    unavailable: anywhere,
    prepare: |_, workers| prepare::<Udp>(UDP.descriptor.name, workers),
};

const fn of(names: [&'static str; 2], summary: &'static str) -> Descriptor {
    let tags = &[Tag::ContextSwitch, Tag::SystemCalls, Tag::Waiting];
    descriptor(names, summary, tags, ["a round trip", "round trips"])
}

fn prepare<T: Transport>(
    workload: &'static str,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    let opened: io::Result<Vec<_>> = (0..workers.get()).map(|_| T::open()).collect();
    opened.map_err(|error| refused_by(workload, "socket", error))?;
    ensure_processes(workload, 1, workers)?;
    Ok(Job::of((0..workers.get()).map(|_| RoundTrip::<T> {
        near: None,
        peer: None,
        last: 0,
        sum: 0,
    })))
}

/// Transport of the messages.
trait Transport: Send + Sized + 'static {
    /// The length of a message, at most that of [`Message`].
    const BYTES: usize = 1;

    /// Both ends: the worker's and its peer's.
    fn open() -> io::Result<(Self, Self)>;

    fn send(&self, message: &[u8]) -> Result<usize, Errno>;

    fn receive(&self, message: &mut [u8]) -> Result<usize, Errno>;

    /// Answers every message with its successor, until the other end is gone.
    fn answer(&self) {
        let mut message = Message::default();
        while self.receive(&mut message[..Self::BYTES]) == Ok(Self::BYTES) {
            message = successor(message);
            if self.send(&message[..Self::BYTES]) != Ok(Self::BYTES) {
                break;
            }
        }
    }
}

/// A little-endian number, of which as many bytes travel as a message has.
type Message = [u8; 4];

fn successor(message: Message) -> Message {
    u32::from_le_bytes(message).wrapping_add(1).to_le_bytes()
}

struct RoundTrip<T> {
    near: Option<T>,
    // Dropped after its end of the line, which it may be waiting for.
    peer: Option<Peer>,
    /// The last answer.
    last: u32,
    /// All answers of the run.
    sum: u64,
}

impl<T: Transport> RoundTrip<T> {
    fn exchange(&mut self, operations: u64) -> Result<(), Errno> {
        let line = self.near.as_ref().ok_or(Errno::BADF)?;
        let mut message = self.last.to_le_bytes();
        for _ in 0..operations {
            let sent = line.send(&message[..T::BYTES])?;
            message = Message::default();
            let received = line.receive(&mut message[..T::BYTES])?;
            if [sent, received] != [T::BYTES; 2] {
                return Err(Errno::PIPE);
            }
            self.sum += u64::from(u32::from_le_bytes(message));
        }
        self.last = u32::from_le_bytes(message);
        Ok(())
    }
}

impl<T: Transport> Kernel for RoundTrip<T> {
    /// The first message goes round here, so that both processes have been running.
    ///
    /// # Panics
    /// If the system gives no line or no process.
    fn reset(&mut self) {
        (self.near, self.peer) = (None, None);
        let opened = T::open().and_then(|(near, far)| {
            let peer = Peer::fork(|| far.answer())?;
            Ok((near, peer))
        });
        let (near, peer) = opened.unwrap_or_else(|error| end("a peer is refused", error));
        (self.near, self.peer) = (Some(near), Some(peer));
        self.run(1);
        (self.last, self.sum) = (0, 0);
    }

    /// # Panics
    /// If the other process is gone.
    fn run(&mut self, operations: u64) {
        if let Err(error) = self.exchange(operations) {
            end("the other process does not answer", error);
        }
    }

    fn overhead(&mut self, operations: u64) {
        empty_loop(operations);
    }

    /// The sum of the answers, each the successor of the one before.
    fn check(&self) -> u64 {
        self.sum
    }
}

/// A pipe each way.
struct Pipes {
    from: OwnedFd,
    to: OwnedFd,
}

impl Transport for Pipes {
    fn open() -> io::Result<(Self, Self)> {
        let (there_out, there_in) = io::pipe()?;
        let (back_out, back_in) = io::pipe()?;
        let near = Self { from: back_out.into(), to: there_in.into() };
        Ok((near, Self { from: there_out.into(), to: back_in.into() }))
    }

    fn send(&self, message: &[u8]) -> Result<usize, Errno> {
        calls::write(&self.to, message)
    }

    fn receive(&self, message: &mut [u8]) -> Result<usize, Errno> {
        calls::read(&self.from, message)
    }
}

/// A pair of UNIX stream sockets.
struct Unix(UnixStream);

impl Transport for Unix {
    fn open() -> io::Result<(Self, Self)> {
        let (near, far) = UnixStream::pair()?;
        Ok((Self(near), Self(far)))
    }

    fn send(&self, message: &[u8]) -> Result<usize, Errno> {
        calls::write(&self.0, message)
    }

    fn receive(&self, message: &mut [u8]) -> Result<usize, Errno> {
        calls::read(&self.0, message)
    }
}

/// A TCP connection, as the system makes it.
struct Tcp(OwnedFd);

impl Transport for Tcp {
    fn open() -> io::Result<(Self, Self)> {
        let [near, far] = Loopback::listen()?.connect()?.map(OwnedFd::from);
        Ok((Self(near), Self(far)))
    }

    fn send(&self, message: &[u8]) -> Result<usize, Errno> {
        calls::write(&self.0, message)
    }

    fn receive(&self, message: &mut [u8]) -> Result<usize, Errno> {
        calls::read(&self.0, message)
    }
}

/// A connected UDP socket at the worker's end; at the peer's, one that answers every request.
struct Udp(UdpSocket);

impl Transport for Udp {
    const BYTES: usize = 4;

    fn open() -> io::Result<(Self, Self)> {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
        let (near, far) = (near?, far?);
        near.connect(far.local_addr()?)?;
        Ok((Self(near), Self(far)))
    }

    fn send(&self, message: &[u8]) -> Result<usize, Errno> {
        calls::send(&self.0, message)
    }

    fn receive(&self, message: &mut [u8]) -> Result<usize, Errno> {
        calls::receive(&self.0, message)
    }

    fn answer(&self) {
        let mut message = Message::default();
        while let Ok((_, 4, Some(asker))) =
            rustix::net::recvfrom(&self.0, &mut message, RecvFlags::empty())
        {
            message = successor(message);
            if rustix::net::sendto(&self.0, &message, SendFlags::empty(), &asker) != Ok(4) {
                break;
            }
        }
    }
}
