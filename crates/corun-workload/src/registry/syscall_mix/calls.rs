//! The single calls, and what they work on. Each returns a number that depends on the kernel's
//! answer and is the same every time, so that a sum of them proves that all were made.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use memmap2::MmapMut;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::pipe::PipeFlags;
use rustix::process::Pid;
use rustix::time::ClockId;

/// Length of the file, and of a read or write.
pub(super) const FILE_BYTES: usize = 4096;

/// A call and what it does here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// `getppid`.
    GetParent,
    /// `clock_gettime` through the vDSO.
    Clock,
    /// `read` of a byte from `/dev/zero`.
    ReadZero,
    /// `write` of a byte to `/dev/null`.
    WriteNull,
    /// `openat` of the file, by its name.
    Open,
    /// `fstat` of the open file.
    Stat,
    /// `pread64` of the whole open file.
    Read,
    /// `pwrite64` of the whole open file.
    Write,
    /// `close` of the open file.
    Close,
    /// `write` of a byte to a pipe.
    WritePipe,
    /// `poll` of the pipe, `/dev/zero` and `/dev/null`, without waiting.
    Poll,
    /// `read` of the byte in the pipe.
    ReadPipe,
    /// `mmap` of a page of memory, which is not touched.
    Map,
    /// `munmap` of this page.
    Unmap,
}

impl Call {
    /// Name in the kernel.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GetParent => "getppid",
            Self::Clock => "clock_gettime",
            Self::ReadZero | Self::ReadPipe => "read",
            Self::WriteNull | Self::WritePipe => "write",
            Self::Open => "openat",
            Self::Stat => "fstat",
            Self::Read => "pread64",
            Self::Write => "pwrite64",
            Self::Close => "close",
            Self::Poll => "poll",
            Self::Map => "mmap",
            Self::Unmap => "munmap",
        }
    }
}

/// State of the calls of one worker.
pub(super) struct Calls {
    parent: Option<Pid>,
    clock: Timespec,
    zero: OwnedFd,
    null: OwnedFd,
    pipe_out: OwnedFd,
    pipe_in: OwnedFd,
    path: CString,
    buffer: Box<[u8; FILE_BYTES]>,
    opened: Option<OwnedFd>,
    mapped: Option<MmapMut>,
}

impl Calls {
    /// `path` is a file of [`FILE_BYTES`] bytes, if there is a call to open it.
    ///
    /// # Errors
    /// If the system does not open what the calls work on.
    pub(super) fn new(path: PathBuf) -> Result<Self, Errno> {
        let (pipe_out, pipe_in) =
            rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self {
            parent: rustix::process::getppid(),
            clock: Timespec::default(),
            zero: open(c"/dev/zero", OFlags::RDONLY)?,
            null: open(c"/dev/null", OFlags::WRONLY)?,
            pipe_out,
            pipe_in,
            path: CString::new(path.into_os_string().into_vec()).map_err(|_| Errno::INVAL)?,
            buffer: Box::new([0; FILE_BYTES]),
            opened: None,
            mapped: None,
        })
    }

    /// Undoes what calls have begun whose counterparts were not made.
    pub(super) fn tidy(&mut self) {
        self.clock = Timespec::default();
        self.opened = None;
        self.mapped = None;
        // Nothing to read is what is wanted.
        let _ = rustix::io::read(&self.pipe_out, &mut self.buffer[..]);
    }

    /// Makes one call.
    ///
    /// # Errors
    /// The kernel's.
    #[inline(always)]
    pub(super) fn make(&mut self, call: Call) -> Result<u64, Errno> {
        let opened = self.opened.as_ref().ok_or(Errno::BADF);
        match call {
            Call::GetParent => Ok((rustix::process::getppid() == self.parent).into()),
            Call::Clock => {
                let now = rustix::time::clock_gettime(ClockId::Monotonic);
                let before = std::mem::replace(&mut self.clock, now);
                Ok((before <= now).into())
            }
            Call::ReadZero => amount(rustix::io::read(&self.zero, &mut self.buffer[..1])),
            Call::WriteNull => amount(rustix::io::write(&self.null, &self.buffer[..1])),
            Call::Open => {
                self.opened = Some(open(self.path.as_c_str(), OFlags::RDWR)?);
                Ok(1)
            }
            Call::Stat => Ok(rustix::fs::fstat(opened?)?.st_size as u64),
            Call::Read => amount(rustix::io::pread(opened?, &mut self.buffer[..], 0)),
            Call::Write => amount(rustix::io::pwrite(opened?, &self.buffer[..], 0)),
            Call::Close => Ok(self.opened.take().map_or(0, |_| 1)),
            Call::WritePipe => amount(rustix::io::write(&self.pipe_in, &self.buffer[..1])),
            Call::Poll => {
                let mut descriptors = [
                    PollFd::new(&self.pipe_out, PollFlags::IN),
                    PollFd::new(&self.zero, PollFlags::IN),
                    PollFd::new(&self.null, PollFlags::OUT),
                ];
                amount(rustix::event::poll(&mut descriptors, Some(&Timespec::default())))
            }
            Call::ReadPipe => amount(rustix::io::read(&self.pipe_out, &mut self.buffer[..1])),
            Call::Map => {
                self.mapped = MmapMut::map_anon(1).ok();
                self.mapped.as_ref().map(|_| 1).ok_or(Errno::NOMEM)
            }
            Call::Unmap => Ok(self.mapped.take().map_or(0, |_| 1)),
        }
    }
}

#[inline(always)]
fn amount(answer: Result<usize, Errno>) -> Result<u64, Errno> {
    answer.map(|amount| amount as u64)
}

fn open(path: impl Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
}
