//! Channel from a client inside a traced program: shared buffers and pipes.
//!
//! The layout is that of `clients/channel.h`. The files have no names: the client opens them again
//! through this process's `/proc` folder, so nothing is left behind however either of them ends.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use memmap2::{MmapMut, MmapOptions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::pipe::PipeFlags;

use super::library::own_folder;
use crate::Unavailable;

const BUFFER: usize = 1 << 20;
const GUARD: usize = 4096;
const MESSAGE: usize = 16;
/// Of each thread, and as many more: one is being filled while others are read.
const BUFFERS_PER_THREAD: u32 = 2;

/// The descriptions of blocks, from the place up to which this end has read.
pub(crate) type Code = BufReader<File>;

/// The end of a channel that reads.
#[derive(Debug)]
pub(crate) struct Channel {
    buffers: File,
    code: BufReader<File>,
    full: Pipe,
    free: Pipe,
    mapped: Vec<MmapMut>,
    threads: u32,
}

#[derive(Debug)]
struct Pipe {
    reader: File,
    writer: File,
}

/// Message of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// A thread begins, by its number in the kernel.
    Thread(u32),
    /// A thread has filled a buffer up to so many bytes.
    Full { thread: u32, buffer: u32, bytes: u32 },
    /// A program begins, in the process of this number: its blocks are counted from 1.
    Image(u32),
    /// A thread is about to make its process another program, if the kernel lets it.
    Replaced(u32),
    /// A thread begins to fill a buffer.
    Taken { thread: u32, buffer: u32 },
}

impl Channel {
    /// A channel with no buffers yet.
    ///
    /// # Errors
    /// If the system refuses memory or descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        let memory = |name: &str| rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC);
        Ok(Self {
            buffers: memory("corun-buffers")?.into(),
            code: BufReader::new(memory("corun-code")?.into()),
            full: Pipe::new()?,
            free: Pipe::new()?,
            mapped: Vec::new(),
            threads: 0,
        })
    }

    /// Name that a client needs to open it.
    ///
    /// # Errors
    /// If there is no `/proc` through which it can.
    pub(crate) fn name(&self) -> Result<String, Unavailable> {
        let folder = own_folder()?;
        let number = folder.file_name().unwrap_or_default().display();
        let (buffers, code) = (self.buffers.as_raw_fd(), self.code.get_ref().as_raw_fd());
        let (full, free) = (self.full.writer.as_raw_fd(), self.free.reader.as_raw_fd());
        Ok(format!("{number},{buffers},{code},{full},{free}"))
    }

    /// Leaves words for the client, before those of blocks.
    ///
    /// # Errors
    /// If the system refuses memory.
    pub(crate) fn leave(&mut self, words: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.code.get_mut().write_all(&bytes)
    }

    /// Adds buffers for a thread that begins.
    ///
    /// # Errors
    /// If the system refuses memory.
    pub(crate) fn add_thread(&mut self) -> io::Result<()> {
        self.threads += 1;
        let wanted = (BUFFERS_PER_THREAD * (self.threads + 1)) as usize;
        while self.mapped.len() < wanted {
            let number = self.mapped.len();
            let offset = (number * (BUFFER + GUARD)) as u64;
            self.buffers.set_len(offset + (BUFFER + GUARD) as u64)?;
            let mut options = MmapOptions::new();
            // SAFETY: the file stays as long as it is; a client does not write to a buffer that it
            // gave away until it gets it back.
            let map = unsafe { options.offset(offset).len(BUFFER).map_mut(&self.buffers) }?;
            self.mapped.push(map);
            self.give(number as u32)?;
        }
        Ok(())
    }

    /// Waits until there is a message or `other` is readable, at most so long.
    ///
    /// # Errors
    /// If the system refuses to wait.
    pub(crate) fn wait(&self, other: &OwnedFd, at_most: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
        let mut polled = [
            PollFd::new(&self.full.reader, PollFlags::IN),
            PollFd::from_borrowed_fd(other.as_fd(), PollFlags::IN),
        ];
        match poll(&mut polled, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            other => Ok(other.map(|_| polled[0].revents().contains(PollFlags::IN))?),
        }
    }

    /// The messages that are there; call it when [`Self::wait`] says so.
    ///
    /// # Errors
    /// If the pipe cannot be read, or holds something else.
    pub(crate) fn receive(&mut self) -> io::Result<Vec<Message>> {
        let mut bytes = [0; 64 * MESSAGE];
        let count = self.full.reader.read(&mut bytes)?;
        bytes[..count].chunks_exact(MESSAGE).map(message).collect()
    }

    /// The words of a full buffer, and the descriptions of blocks that were not read yet; nothing if
    /// there is no such buffer or it cannot hold so many bytes.
    pub(crate) fn open(&mut self, buffer: u32, bytes: u32) -> Option<(&[u64], &mut Code)> {
        let content = self.mapped.get(buffer as usize)?.get(..bytes as usize)?;
        // SAFETY: any bits are numbers.
        let (_, words, _) = unsafe { content.align_to::<u64>() };
        Some((words, &mut self.code))
    }

    /// As [`Self::open`], of a buffer that a client which has ended did not hand over: up to the last
    /// word that is not 0.
    pub(crate) fn open_unfinished(&mut self, buffer: u32) -> Option<(&[u64], &mut Code)> {
        let (words, code) = self.open(buffer, BUFFER as u32)?;
        let last = words.iter().rposition(|&word| word != 0)?;
        Some((&words[..=last], code))
    }

    /// Gives a buffer back to the client, cleared.
    ///
    /// # Errors
    /// If the pipe cannot be written.
    pub(crate) fn release(&mut self, buffer: u32) -> io::Result<()> {
        if let Some(content) = self.mapped.get_mut(buffer as usize) {
            content.fill(0);
        }
        self.give(buffer)
    }

    fn give(&mut self, buffer: u32) -> io::Result<()> {
        self.free.writer.write_all(&buffer.to_ne_bytes())
    }
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { reader: reader.into(), writer: writer.into() })
    }
}

fn message(bytes: &[u8]) -> io::Result<Message> {
    let mut fields = bytes
        .chunks_exact(4)
        .map(|field| u32::from_ne_bytes([field[0], field[1], field[2], field[3]]));
    let mut next = || fields.next().unwrap_or_default();
    let (kind, thread, buffer, bytes) = (next(), next(), next(), next());
    match kind {
        1 => Ok(Message::Thread(thread)),
        2 => Ok(Message::Full { thread, buffer, bytes }),
        3 => Ok(Message::Image(thread)),
        4 => Ok(Message::Taken { thread, buffer }),
        5 => Ok(Message::Replaced(thread)),
        _ => Err(io::Error::other(format!("expected a message of a client, found kind {kind}"))),
    }
}
