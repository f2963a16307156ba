//! Output of a program, so that two runs can be compared: its length and a checksum.
//!
//! The traced program's output goes where the user wants it. A pipe is read here and passed on; of a file, what the
//! run has added is read afterwards. A terminal is left alone: programs check for one and then write otherwise.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const CHUNK: usize = 1 << 16;
/// Interval at which corun checks whether the program has ended, while it writes nothing.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Output that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    checksum: u32,
}

impl Written {
    fn add(&mut self, bytes: &[u8]) {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.checksum);
        hasher.update(bytes);
        *self = Self { bytes: self.bytes + bytes.len() as u64, checksum: hasher.finalize() };
    }
}

/// Watches this process's standard output while a program writes to it.
#[derive(Debug)]
pub(crate) enum Watch {
    File { from: u64 },
    Pipe { real: OwnedFd, reading: Reading },
}

/// A thread that reads a pipe up to its end, or until the program has ended and nothing is left in it.
#[derive(Debug)]
pub(crate) struct Reading {
    over: Arc<AtomicBool>,
    thread: JoinHandle<(Written, Option<File>)>,
}

impl Watch {
    /// Nothing where the output cannot be watched unnoticed.
    #[expect(
        clippy::disallowed_methods,
        reason = "its descriptor is asked for, nothing is written"
    )]
    pub(crate) fn begin() -> Option<Self> {
        let real = io::stdout().as_fd().try_clone_to_owned().ok()?;
        let file = File::from(real.try_clone().ok()?);
        let kind = file.metadata().ok()?.file_type();
        if kind.is_file() {
            return Some(Self::File { from: position(&file).ok()? });
        }
        if !kind.is_fifo() && !kind.is_socket() {
            return None;
        }
        let (reader, writer) = io::pipe().ok()?;
        let reading = Reading::begin(OwnedFd::from(reader).into(), Some(file)).ok()?;
        become_standard_output(&writer).ok()?;
        Some(Self::Pipe { real, reading })
    }

    /// Output that the program has written, if that is known; standard output is as it was.
    pub(crate) fn end(self) -> Option<Written> {
        match self {
            Self::File { from } => added(from).ok(),
            Self::Pipe { real, reading } => {
                let is_restored = become_standard_output(&real);
                let (written, open) = reading.end()?;
                if let Some(open) = open {
                    pass_on_forever(&open, &real);
                }
                is_restored.ok().map(|()| written)
            }
        }
    }
}

impl Reading {
    /// Reads in a thread of its own. What is read is written to another file, if there is one.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub(crate) fn begin(reader: File, to: Option<File>) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = thread::Builder::new().spawn(move || read(reader, to, &is_over))?;
        Ok(Self { over, thread })
    }

    /// The program has ended. Where its children may still write, the pipe is given back.
    pub(crate) fn end(self) -> Option<(Written, Option<File>)> {
        self.over.store(true, Ordering::Release);
        self.thread.join().ok()
    }
}

fn read(mut reader: File, mut to: Option<File>, is_over: &AtomicBool) -> (Written, Option<File>) {
    let mut written = Written::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        // Before what is there is read: what the program wrote last must not be missed.
        let was_over = is_over.load(Ordering::Acquire);
        let mut polled = [PollFd::new(&reader, PollFlags::IN)];
        match poll(&mut polled, Some(&PATIENCE)) {
            Ok(0) if was_over => return (written, Some(reader)),
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return (written, None),
        }
        match reader.read(&mut chunk) {
            Ok(0) => return (written, None),
            Ok(count) => {
                written.add(&chunk[..count]);
                // Who is no longer listened to is to notice it: the reader is closed.
                if to.as_mut().is_some_and(|to| to.write_all(&chunk[..count]).is_err()) {
                    return (written, None);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return (written, None),
        }
    }
}

/// Children that outlive the program may write long after this process has ended, as they could alone.
fn pass_on_forever(from: &File, to: &OwnedFd) {
    let mut chunk = [0_u8; 4096];
    // SAFETY: the child makes system calls only, with descriptors and memory that it has.
    unsafe {
        if libc::fork() != 0 {
            return;
        }
        loop {
            let count = libc::read(from.as_raw_fd(), chunk.as_mut_ptr().cast(), chunk.len());
            let Ok(count @ 1..) = usize::try_from(count) else { libc::_exit(0) };
            let mut at = 0;
            while at < count {
                let rest = &chunk[at..count];
                let moved = libc::write(to.as_raw_fd(), rest.as_ptr().cast(), rest.len());
                let Ok(moved @ 1..) = usize::try_from(moved) else { libc::_exit(0) };
                at += moved;
            }
        }
    }
}

fn become_standard_output(file: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: standard output is replaced by an open file at once.
    let result = unsafe { libc::dup2(file.as_raw_fd(), libc::STDOUT_FILENO) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Position of the next byte.
fn position(file: &File) -> io::Result<u64> {
    let appends = rustix::fs::fcntl_getfl(file)?.contains(rustix::fs::OFlags::APPEND);
    if appends { Ok(file.metadata()?.len()) } else { Ok(rustix::fs::tell(file)?) }
}

/// Output added to the file that standard output is.
#[expect(clippy::disallowed_methods, reason = "standard output itself is read, which is a file")]
fn added(from: u64) -> io::Result<Written> {
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let end = position(&output)?;
    let file = File::open("/proc/self/fd/1")?;
    let (mut at, mut written, mut chunk) = (from, Written::default(), vec![0; CHUNK]);
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        match file.read_at(&mut chunk[..most], at)? {
            0 => break,
            count => written.add(&chunk[..count]),
        }
        at = from + written.bytes;
    }
    Ok(written)
}
