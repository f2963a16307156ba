//! The ways that a message can take through the kernel, each made as the original makes it.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::pipe::PipeFlags;

use super::traffic::Carrier;
use crate::scratch::Scratch;

/// Two ends of one process's own; closed from the first field to the last.
pub(super) struct Channel {
    reader: OwnedFd,
    writer: OwnedFd,
    _listener: Option<OwnedFd>,
}

impl Channel {
    fn new((reader, writer): (OwnedFd, OwnedFd)) -> Self {
        Self { reader, writer, _listener: None }
    }
}

impl Carrier for Channel {
    #[inline(always)]
    fn carry(&self, out: &[u8], into: &mut [u8]) -> io::Result<()> {
        write_all(&self.writer, out)?;
        Ok(read_all(&self.reader, into)?)
    }
}

pub(super) fn pipe(_: Option<&Scratch>, _: &str) -> Result<Channel, Errno> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map(Channel::new)
}

/// The name is removed as soon as both ends are open, so that a killed process leaves none; the
/// original removes it at the end.
pub(super) fn fifo(scratch: Option<&Scratch>, name: &str) -> Result<Channel, Errno> {
    let scratch = scratch.ok_or(Errno::NOENT)?;
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mkfifoat(scratch, name, mode)?;
    let open = |flags| {
        let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(scratch, name, flags, Mode::empty())
    };
    let ends = open(OFlags::RDONLY).and_then(|reader| Ok((reader, open(OFlags::RDWR)?)));
    rustix::fs::unlinkat(scratch, name, AtFlags::empty())?;
    ends.map(Channel::new)
}

pub(super) fn stream_pair(_: Option<&Scratch>, _: &str) -> Result<Channel, Errno> {
    pair(SocketType::STREAM)
}

pub(super) fn datagram_pair(_: Option<&Scratch>, _: &str) -> Result<Channel, Errno> {
    pair(SocketType::DGRAM)
}

fn pair(kind: SocketType) -> Result<Channel, Errno> {
    rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).map(Channel::new)
}

/// The side that was accepted writes, and does not wait for more to send: it has that from the
/// listening socket. The other side is closed first and keeps the kernel busy with its port for a
/// minute (TIME_WAIT), as the original's does.
pub(super) fn tcp(_: Option<&Scratch>, _: &str) -> Result<Channel, Errno> {
    let listener = bound(SocketType::STREAM)?;
    sockopt::set_tcp_nodelay(&listener, true)?;
    rustix::net::listen(&listener, 5)?;
    let reader = socket(SocketType::STREAM)?;
    rustix::net::connect(&reader, &rustix::net::getsockname(&listener)?)?;
    let writer = rustix::net::acceptfrom_with(&listener, SocketFlags::CLOEXEC)?.0;
    Ok(Channel { reader, writer, _listener: Some(listener) })
}

pub(super) fn udp(_: Option<&Scratch>, _: &str) -> Result<Channel, Errno> {
    let writer = bound(SocketType::DGRAM)?;
    let reader = bound(SocketType::DGRAM)?;
    rustix::net::connect(&writer, &rustix::net::getsockname(&reader)?)?;
    Ok(Channel::new((reader, writer)))
}

fn socket(kind: SocketType) -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)
}

/// A socket with an address of this machine, whose port the kernel chooses.
fn bound(kind: SocketType) -> Result<OwnedFd, Errno> {
    let socket = socket(kind)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    Ok(socket)
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
