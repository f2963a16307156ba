//! The files of tasks below `/proc`.
//!
//! There may be tens of thousands, and each is read again and again: a file of the live system is kept open where
//! there is room, since reading it again costs half of opening, reading and closing it.

use std::fmt::Write as _;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use corun_files::decimal;
use rustix::fs::{CWD, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, openat, openat2, seek};
use rustix::io::Errno;

/// Names of a directory that are read with one system call.
const NAMES: usize = 64 << 10;
/// The longest file of a task that is read; `sched` has some 2 kB.
const LONGEST: usize = 16 << 10;

/// A task of which a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// A process.
    Process(u32),
    /// A thread of a process.
    Thread(u32, u32),
}

/// Source of the files of tasks. A test puts others in their place.
pub(crate) trait TaskFiles {
    /// Appends the numbers of all processes.
    fn processes(&mut self, into: &mut Vec<u32>) -> io::Result<()>;

    /// Appends the numbers of the threads of a process.
    fn threads(&mut self, process: u32, into: &mut Vec<u32>) -> io::Result<()>;

    /// The text of a task's file. `kept` is that file if it was kept open, and may become it.
    fn read(&mut self, task: Task, file: &str, kept: &mut Option<OwnedFd>) -> io::Result<&[u8]>;
}

/// The files below a root.
#[derive(Debug)]
pub(crate) struct ProcFiles {
    proc: OwnedFd,
    is_live: bool,
    path: String,
    buffer: Vec<u8>,
    names: Vec<MaybeUninit<u8>>,
}

impl ProcFiles {
    /// Opens `/proc` below a root.
    pub(crate) fn open(root: &Path, is_live: bool) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = openat(CWD, root.join("proc"), flags, Mode::empty())?;
        Ok(Self {
            proc,
            is_live,
            path: String::new(),
            buffer: vec![0; LONGEST],
            names: vec![MaybeUninit::uninit(); NAMES],
        })
    }

    /// True if these are the files of the system that corun runs on.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Reads a whole file of `/proc` into `into`. `kept` is that file if it was kept open, and may become it.
    pub(crate) fn whole(
        &mut self,
        file: &str,
        kept: &mut Option<OwnedFd>,
        into: &mut Vec<u8>,
    ) -> io::Result<()> {
        if kept.is_none() {
            *kept = Some(self.opened(file, OFlags::empty())?);
        }
        let Some(opened) = kept.as_ref() else { return Ok(()) };
        into.resize(into.capacity().max(4096), 0);
        let mut length = 0;
        loop {
            let got = rustix::io::pread(opened, &mut into[length..], length as u64)?;
            length += got;
            if length < into.len() {
                break;
            }
            into.resize(2 * into.len(), 0);
        }
        into.truncate(length);
        if !self.is_live {
            *kept = None;
        }
        Ok(())
    }

    fn opened(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if self.is_live {
            return openat(&self.proc, path, flags, Mode::empty());
        }
        // A captured tree stays closed: nothing in it leads elsewhere.
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&self.proc, path, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => {
                openat(&self.proc, path, flags | OFlags::NOFOLLOW, Mode::empty())
            }
            opened => opened,
        }
    }
}

impl TaskFiles for ProcFiles {
    fn processes(&mut self, into: &mut Vec<u32>) -> io::Result<()> {
        seek(&self.proc, SeekFrom::Start(0))?;
        Ok(numbers(&self.proc, &mut self.names, into)?)
    }

    fn threads(&mut self, process: u32, into: &mut Vec<u32>) -> io::Result<()> {
        self.path.clear();
        let _ = write!(self.path, "{process}/task");
        let directory = self.opened(&self.path, OFlags::DIRECTORY)?;
        Ok(numbers(&directory, &mut self.names, into)?)
    }

    fn read(&mut self, task: Task, file: &str, kept: &mut Option<OwnedFd>) -> io::Result<&[u8]> {
        if let Some(file) = kept {
            let got = rustix::io::pread(file, &mut self.buffer[..], 0)?;
            return Ok(&self.buffer[..got]);
        }
        self.path.clear();
        let _ = match task {
            Task::Process(process) => write!(self.path, "{process}/{file}"),
            Task::Thread(process, thread) => write!(self.path, "{process}/task/{thread}/{file}"),
        };
        let file = self.opened(&self.path, OFlags::empty())?;
        let got = rustix::io::read(&file, &mut self.buffer[..])?;
        if self.is_live {
            *kept = Some(file);
        }
        Ok(&self.buffer[..got])
    }
}

/// Appends the names in a directory that are numbers.
fn numbers(
    directory: &OwnedFd,
    names: &mut [MaybeUninit<u8>],
    into: &mut Vec<u32>,
) -> Result<(), Errno> {
    let mut entries = RawDir::new(directory, names);
    while let Some(entry) = entries.next() {
        let name = decimal(entry?.file_name().to_bytes());
        into.extend(name.and_then(|number| u32::try_from(number).ok()));
    }
    Ok(())
}
