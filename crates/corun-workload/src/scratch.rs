//! Private folders for workloads that need a file with a name. Each is locked while its owner lives
//! and removed when it is dropped; what a killed owner left is removed before the next is made.
//!
//! A file that needs no name should have none (`O_TMPFILE`), since the kernel then cleans up.
#![expect(clippy::disallowed_methods, reason = "the files are corun's own, and private")]

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Resource;
use tempfile::TempDir;

use crate::child::{exit_status, fork_and_wait};
use crate::{Descriptor, WorkloadError, semaphore};

/// A folder below `$TMPDIR` that only this user may look into.
pub(crate) struct Scratch {
    workload: &'static str,
    // Dropped first, so that a process at its limit has a descriptor left to remove the folder with.
    lock: File,
    folder: TempDir,
}

impl Scratch {
    /// Makes a folder that has room for what `workers` workers write at most.
    ///
    /// # Errors
    /// [`WorkloadError::NoRoom`], [`WorkloadError::FileSizeLimit`],
    /// [`WorkloadError::NoDescriptors`] or [`WorkloadError::NoScratch`]; nothing is left behind.
    pub(crate) fn new(
        descriptor: &'static Descriptor,
        workers: NonZeroUsize,
    ) -> Result<Self, WorkloadError> {
        Self::with_room(descriptor, workers, descriptor.disk_bytes, descriptor.disk_bytes)
    }

    /// As [`new`](Self::new), where the parameters decide that a worker writes up to `bytes` bytes,
    /// no file longer than `longest` bytes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_room(
        descriptor: &'static Descriptor,
        workers: NonZeroUsize,
        bytes: u64,
        longest: u64,
    ) -> Result<Self, WorkloadError> {
        let bytes = bytes.saturating_mul(workers.get() as u64);
        Self::below(&std::env::temp_dir(), descriptor.name, bytes, longest)
    }

    fn below(
        parent: &Path,
        workload: &'static str,
        bytes: u64,
        longest: u64,
    ) -> Result<Self, WorkloadError> {
        let refused = |error| refused(workload, parent, error);
        // A folder that may not be listed may still be written to.
        let _ = remove_abandoned(parent);
        let free = free(parent).map_err(refused)?;
        if free < bytes {
            let folder = parent.to_owned();
            return Err(WorkloadError::NoRoom { workload, folder, bytes, free });
        }
        // Asked beforehand: a write beyond the limit ends the process by a signal.
        let limit = rustix::process::getrlimit(Resource::Fsize).current;
        if let Some(limit) = limit.filter(|&limit| limit < longest) {
            return Err(WorkloadError::FileSizeLimit { workload, bytes: longest, limit });
        }
        loop {
            if let Some((lock, folder)) = locked(parent).map_err(refused)? {
                return Ok(Self { workload, lock, folder });
            }
        }
    }

    /// Writes a new file into the folder and returns where it is.
    ///
    /// # Errors
    /// [`WorkloadError::NoDescriptors`] or [`WorkloadError::NoScratch`].
    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> Result<PathBuf, WorkloadError> {
        self.write_blocks(name, [contents])
    }

    /// Writes a new program into the folder and returns where it is.
    ///
    /// A child writes it: what other threads start meanwhile cannot have it open for writing, in which
    /// case the kernel would refuse to execute it (ETXTBSY).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(crate) fn write_program(
        &self,
        name: &str,
        contents: &[u8],
    ) -> Result<PathBuf, WorkloadError> {
        self.make(name, |path| {
            let write = || {
                let mut options = File::options();
                let file = options.write(true).create_new(true).mode(0o700).open(path);
                file.and_then(|mut file| file.write_all(contents))
            };
            let of = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
            match exit_status(fork_and_wait(|| write().map_or_else(of, |()| 0))?) {
                Some(0) => Ok(()),
                Some(errno) => Err(io::Error::from_raw_os_error(errno as i32)),
                None => Err(io::ErrorKind::Interrupted.into()),
            }
        })
    }

    /// As [`write`](Self::write), block by block, so that a long file needs no memory of its length.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(crate) fn write_blocks<B: AsRef<[u8]>>(
        &self,
        name: &str,
        blocks: impl IntoIterator<Item = B>,
    ) -> Result<PathBuf, WorkloadError> {
        self.make(name, |path| {
            let mut file = File::create_new(path)?;
            blocks.into_iter().try_for_each(|block| file.write_all(block.as_ref()))
        })
    }

    /// Makes a new folder in the folder and returns where it is.
    ///
    /// # Errors
    /// [`WorkloadError::NoDescriptors`] or [`WorkloadError::NoScratch`].
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, WorkloadError> {
        self.make(name, |path| fs::create_dir(path))
    }

    fn make(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, WorkloadError> {
        let path = self.folder.path().join(name);
        let parent = self.folder.path().parent().unwrap_or(&path);
        make(&path).map_err(|error| refused(self.workload, parent, error))?;
        Ok(path)
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The message for when the system refuses something else in the folder.
    pub(crate) fn refused(&self, error: impl Into<io::Error>) -> WorkloadError {
        let folder = self.folder.path();
        refused(self.workload, folder.parent().unwrap_or(folder), error.into())
    }
}

/// The folder itself, for calls that take a name in it.
impl AsFd for Scratch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

/// Removes what owners left that were killed before they could do so: folders below `$TMPDIR`, and
/// semaphores.
///
/// Every workload that makes such a thing does this first. A caller that kills its workers can do it
/// afterwards, to leave nothing behind. What is in use, or another user's, is left alone.
///
/// # Errors
/// If `$TMPDIR` cannot be read.
pub fn remove_abandoned_scratch() -> io::Result<()> {
    semaphore::remove_abandoned();
    remove_abandoned(&std::env::temp_dir())
}

/// A new folder with its lock, or `None` if another corun took it for an abandoned one before it was
/// locked.
fn locked(parent: &Path) -> io::Result<Option<(File, TempDir)>> {
    let folder = tempfile::Builder::new()
        .prefix(&prefix())
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)?;
    match lock(folder.path()) {
        Ok(Some(lock)) if folder.path().exists() => Ok(Some((lock, folder))),
        Ok(_) | Err(Errno::NOENT) => Ok(None),
        Err(error) => {
            // Needs no descriptor, unlike the folder's own drop.
            fs::remove_dir(folder.keep())?;
            Err(error.into())
        }
    }
}

fn remove_abandoned(parent: &Path) -> io::Result<()> {
    let prefix = prefix();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            // Somebody else's, or removed by another corun at the same time.
            let _ = remove_if_abandoned(&entry.path());
        }
    }
    Ok(())
}

fn remove_if_abandoned(folder: &Path) -> io::Result<()> {
    let Some(lock) = lock(folder)? else { return Ok(()) };
    let found = lock.metadata()?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if is_own && found.mode() & 0o777 == 0o700 {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// Opens and locks a folder; `None` if another process holds the lock. The system unlocks it when its owner
/// ends, in whatever way.
fn lock(folder: &Path) -> Result<Option<File>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::empty())?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file.into())),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Prefix of the folders of this node: nodes may share a `$TMPDIR`, but not the locks of folders. The
/// full stop ends the node's name, which another's may begin with.
fn prefix() -> String {
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("corun-scratch-{}.", node.replace(|c: char| !c.is_ascii_alphanumeric(), "-"))
}

/// Bytes that this user may still write to the file system of `folder`.
fn free(folder: &Path) -> io::Result<u64> {
    let system = rustix::fs::statvfs(folder)?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

fn refused(workload: &'static str, folder: &Path, error: io::Error) -> WorkloadError {
    let errno = Errno::from_io_error(&error);
    // Without the path that tempfile adds to it.
    let source = errno.map_or_else(|| error.kind().into(), io::Error::from);
    match errno {
        Some(Errno::MFILE | Errno::NFILE) => WorkloadError::NoDescriptors { workload, source },
        _ => WorkloadError::NoScratch { workload, folder: folder.to_owned(), source },
    }
}
