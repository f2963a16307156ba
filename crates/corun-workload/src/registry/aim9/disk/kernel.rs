//! A worker's file, or two, and the five ways to go through them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::unistd::Whence;

use super::super::random::Random;
use super::BLOCK;
use crate::Kernel;
use crate::checksum::checksum;
use crate::ended::end;
use crate::scratch::Scratch;

/// Kind of operation on a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Seek to a block by a random number, read it.
    RandomRead,
    /// Seek to a block by a random number, write it.
    RandomWrite,
    /// Read the next block; after the last, seek to the first.
    Read,
    /// Write a block at the end; when the file is complete, empty it and begin again. (The original
    /// removes it and makes another.)
    Write,
    /// Read the next block of one file, write it at the end of the other.
    Copy,
}

impl Way {
    /// True if the file that is worked on begins with all of its blocks.
    fn begins_full(self) -> bool {
        matches!(self, Self::RandomRead | Self::RandomWrite | Self::Read)
    }
}

/// When a write is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// When the kernel has it.
    Buffered,
    /// When the disk has it (`O_SYNC`).
    Synchronous,
}

impl Writes {
    fn flags(self) -> OFlag {
        match self {
            Self::Buffered => OFlag::empty(),
            Self::Synchronous => OFlag::O_SYNC,
        }
    }
}

/// Each block begins with a stamp: its own number where the reset has written it, one more than the
/// operation's where an operation has.
pub(super) struct Disk {
    way: Way,
    blocks: u64,
    /// File that is worked on; where it is written, by this descriptor.
    file: OwnedFd,
    /// Source of copies.
    source: Option<OwnedFd>,
    /// The block whose turn it is, where blocks alternate.
    next: u64,
    random: Random,
    block: [u8; BLOCK as usize],
    /// The sum of the stamps that were read.
    read: u64,
    _scratch: Arc<Scratch>,
}

impl Disk {
    /// # Errors
    /// If the system does not open the files.
    pub(super) fn new(
        scratch: Arc<Scratch>,
        worker: usize,
        way: Way,
        writes: Writes,
        blocks: u64,
    ) -> Result<Self, Errno> {
        let open = |name: &str| {
            let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_CLOEXEC | writes.flags();
            nix::fcntl::openat(&*scratch, format!("{name}-{worker}").as_str(), flags, Mode::S_IRWXU)
        };
        Ok(Self {
            way,
            blocks,
            file: open("file")?,
            source: (way == Way::Copy).then(|| open("source")).transpose()?,
            next: 0,
            random: Random::new(),
            block: [0; BLOCK as usize],
            read: 0,
            _scratch: scratch,
        })
    }

    #[inline(always)]
    fn operate(&mut self, operation: u64) -> Result<(), Errno> {
        match self.way {
            Way::RandomRead => {
                seek(&self.file, self.random.next() % self.blocks)?;
                self.read += read(&self.file, &mut self.block)?;
            }
            Way::RandomWrite => {
                seek(&self.file, self.random.next() % self.blocks)?;
                write(&self.file, &mut self.block, operation + 1)?;
            }
            Way::Read => {
                if self.turn() == 0 {
                    seek(&self.file, 0)?;
                }
                self.read += read(&self.file, &mut self.block)?;
            }
            Way::Write => {
                if self.turn() == 0 {
                    empty(&self.file)?;
                }
                write(&self.file, &mut self.block, operation + 1)?;
            }
            Way::Copy => {
                let source = self.source.as_ref().ok_or(Errno::EBADF)?;
                if self.next == 0 {
                    seek(source, 0)?;
                    empty(&self.file)?;
                }
                let stamp = read(source, &mut self.block)?;
                self.read += stamp;
                write(&self.file, &mut self.block, stamp)?;
                self.turn();
            }
        }
        Ok(())
    }

    /// The block whose turn it is; then it is the next one's.
    #[inline(always)]
    fn turn(&mut self) -> u64 {
        let turn = self.next;
        self.next = if turn + 1 == self.blocks { 0 } else { turn + 1 };
        turn
    }

    fn prepare(&mut self) -> Result<(), Errno> {
        empty(&self.file)?;
        let full = if self.way.begins_full() { Some(&self.file) } else { self.source.as_ref() };
        if let Some(file) = full {
            fill(file, self.blocks)?;
        }
        (self.next, self.random, self.read) = (0, Random::new(), 0);
        Ok(())
    }

    /// The stamps of the file as it is.
    fn stamps(&self) -> io::Result<Vec<u64>> {
        let blocks = nix::sys::stat::fstat(&self.file)?.st_size as u64 / BLOCK;
        let stamp = |block| {
            let mut stamp = [0; 8];
            rustix::io::pread(&self.file, &mut stamp, block * BLOCK)?;
            Ok(u64::from_le_bytes(stamp))
        };
        (0..blocks).map(stamp).collect()
    }
}

impl Kernel for Disk {
    /// # Panics
    /// If the file system does not take the file.
    fn reset(&mut self) {
        self.prepare().unwrap_or_else(|error| end("its file cannot be prepared", error));
    }

    /// # Panics
    /// If the file system refuses what it did before.
    fn run(&mut self, operations: u64) {
        for operation in 0..operations {
            self.operate(operation)
                .unwrap_or_else(|error| end("its file cannot be worked on any more", error));
        }
    }

    /// A checksum of what was read and of what the file then holds.
    fn check(&self) -> u64 {
        let stamps = self.stamps().unwrap_or_default();
        checksum([self.read].into_iter().chain(stamps))
    }
}

#[inline(always)]
fn seek(file: impl AsFd, block: u64) -> Result<(), Errno> {
    nix::unistd::lseek(file, (block * BLOCK) as libc::off_t, Whence::SeekSet).map(drop)
}

/// Reads a block and returns its stamp.
#[inline(always)]
fn read(file: impl AsFd, block: &mut [u8; BLOCK as usize]) -> Result<u64, Errno> {
    match nix::unistd::read(file, &mut block[..])? {
        bytes if bytes == block.len() => Ok(u64::from_le_bytes(*stamp_of(block))),
        _ => Err(Errno::EIO),
    }
}

/// Writes a block with this stamp.
#[inline(always)]
fn write(file: impl AsFd, block: &mut [u8; BLOCK as usize], stamp: u64) -> Result<(), Errno> {
    *stamp_of(block) = stamp.to_le_bytes();
    match nix::unistd::write(file, &block[..])? {
        bytes if bytes == block.len() => Ok(()),
        // What a full file system does with a block that fits only in part.
        _ => Err(Errno::ENOSPC),
    }
}

#[inline(always)]
fn stamp_of(block: &mut [u8; BLOCK as usize]) -> &mut [u8; 8] {
    block.first_chunk_mut().expect("a block is longer than a stamp")
}

fn empty(file: impl AsFd) -> Result<(), Errno> {
    nix::unistd::ftruncate(&file, 0)?;
    seek(file, 0)
}

/// Writes all blocks and waits until the disk has them, so that no later write waits for these.
fn fill(file: impl AsFd, blocks: u64) -> Result<(), Errno> {
    let contents: Vec<u8> = (0..blocks)
        .flat_map(|number| {
            let mut block = [0; BLOCK as usize];
            *stamp_of(&mut block) = number.to_le_bytes();
            block
        })
        .collect();
    let mut rest = &contents[..];
    seek(&file, 0)?;
    while !rest.is_empty() {
        let written = nix::unistd::write(&file, rest)?;
        rest = &rest[written..];
    }
    nix::unistd::fsync(file)
}
