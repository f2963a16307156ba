//! The requests as system calls on files, each as dbench's file backend makes it: a server of the SMB
//! protocol looks a name up without regard to capitals, which takes a whole directory if there is
//! no such name.
//!
//! What the original does not check is not checked here: the answers to locks, flushes, queries
//! and the making of directories.

use std::ffi::{CStr, CString};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Timespec, Timestamps};
use rustix::io::Errno;

use crate::load::{Action, Answer, Client, Disposition, Failure, Handle, Line, Load, PathId};
use crate::scratch::Scratch;
use crate::{LoadMismatch, WorkloadError};

/// Buffer in which the C library reads a directory.
const ENTRIES_BYTES: usize = 32 << 10;

/// A client and the files that it has open.
pub(super) struct FileClient {
    load: Arc<Load>,
    folder: PathBuf,
    folder_name: CString,
    names: Vec<Name>,
    open: Vec<Open>,
    zeros: Vec<u8>,
    block: Vec<u8>,
    entries: Box<[MaybeUninit<u8>]>,
    scratch: Arc<Scratch>,
}

/// A path, the directory it lies in and its last part.
struct Name {
    path: CString,
    directory: CString,
    last: Vec<u8>,
}

struct Open {
    handle: Handle,
    path: PathId,
    file: OwnedFd,
}

impl FileClient {
    /// A client whose files lie in a folder of its own.
    ///
    /// # Errors
    /// As [`Scratch::folder`].
    pub(super) fn new(
        load: &Arc<Load>,
        scratch: &Arc<Scratch>,
        worker: usize,
    ) -> Result<Self, WorkloadError> {
        let folder = scratch.folder(&worker.to_string())?;
        let longest_block = load.longest_block() as usize;
        Ok(Self {
            names: names(load, &folder, worker),
            folder_name: c_string(folder.as_os_str().as_bytes().to_vec()),
            folder,
            load: Arc::clone(load),
            open: Vec::new(),
            zeros: vec![0; longest_block],
            block: vec![0; longest_block],
            entries: Box::new_uninit_slice(ENTRIES_BYTES),
            scratch: Arc::clone(scratch),
        })
    }

    fn file(&self, handle: Handle) -> Result<&OwnedFd, Errno> {
        Ok(&opened(&self.open, handle)?.file)
    }

    /// Looks a name up: as it is written, else among all names of its directory without regard to
    /// capitals. Whatever it finds, the request goes on with the name as it is written. Returns
    /// whether there is something of exactly this name.
    fn resolve(&mut self, path: PathId) -> bool {
        let name = &self.names[path.index()];
        if rustix::fs::stat(&name.path).is_ok() {
            return true;
        }
        let is_same = |found: &[u8]| found.eq_ignore_ascii_case(&name.last);
        let _ = list(&name.directory, &mut self.entries, is_same);
        false
    }

    fn create(
        &mut self,
        path: PathId,
        directory: bool,
        disposition: Disposition,
        succeeds: bool,
    ) -> Result<OwnedFd, Errno> {
        let existed = self.resolve(path);
        let path = &self.names[path.index()].path;
        let as_directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = match disposition {
            _ if directory => as_directory,
            Disposition::Open => OFlags::RDWR | OFlags::CLOEXEC,
            Disposition::Create => OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC,
            Disposition::Overwrite => {
                OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC
            }
        };
        if directory {
            make_directory(path, Mode::RWXU)?;
        }
        let opened = match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::ISDIR) => rustix::fs::open(path, as_directory, Mode::empty()),
            opened => opened,
        }?;
        if disposition.collides(existed, succeeds) { Err(Errno::EXIST) } else { Ok(opened) }
    }

    fn carry_out(&mut self, action: Action, succeeds: bool) -> Result<Answer, Failure> {
        match action {
            Action::Create { path, directory, disposition, handle } => {
                let file = self.create(path, directory, disposition, succeeds)?;
                if succeeds {
                    rustix::fs::fstat(&file)?;
                    self.open.push(Open { handle, path, file });
                }
            }
            Action::Close { handle } => {
                let at = self.open.iter().position(|open| open.handle == handle);
                drop(self.open.remove(at.ok_or(Errno::BADF)?));
            }
            Action::Read { handle, offset, bytes, expected } => {
                let file = &opened(&self.open, handle)?.file;
                let read = rustix::io::pread(file, &mut self.block[..bytes as usize], offset)?;
                return Answer::moved(expected, read);
            }
            Action::Write { handle, offset, bytes } => {
                let block = &self.zeros[..bytes as usize];
                let written = rustix::io::pwrite(self.file(handle)?, block, offset)?;
                return Answer::moved(bytes, written);
            }
            Action::Flush { handle } => _ = rustix::fs::fsync(self.file(handle)?),
            Action::Unlink { path } => {
                self.resolve(path);
                rustix::fs::unlink(&self.names[path.index()].path)?;
            }
            Action::Rename { from, to } => {
                self.resolve(from);
                self.resolve(to);
                let [from, to] = [from, to].map(|path| &self.names[path.index()].path);
                rustix::fs::rename(from, to)?;
            }
            Action::MakeDirectory { path } => {
                self.resolve(path);
                let all_users = Mode::RWXU | Mode::RWXG | Mode::RWXO;
                make_directory(&self.names[path.index()].path, all_users)?;
            }
            Action::RemoveDirectory { path } => {
                self.resolve(path);
                rustix::fs::rmdir(&self.names[path.index()].path)?;
            }
            Action::RemoveTree { path } => {
                let path = self.names[path.index()].path.to_string_lossy().into_owned();
                let _ = remove_files(PathBuf::from(path));
            }
            Action::PathInformation { path } => _ = self.resolve(path),
            Action::FileInformation { handle } => {
                let found = rustix::fs::fstat(self.file(handle)?)?;
                let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
                let value = if is_file { found.st_size as u64 } else { 0 };
                return Ok(Answer { bytes: 0, value });
            }
            Action::FileSystemInformation => _ = rustix::fs::statvfs(&self.folder_name),
            Action::SetFileInformation { handle } => {
                let open = opened(&self.open, handle)?;
                let found = rustix::fs::fstat(&open.file)?;
                let at = |seconds| Timespec { tv_sec: seconds, tv_nsec: 0 };
                let times = Timestamps {
                    last_access: at(found.st_atime as i64 - 10),
                    last_modification: at(found.st_mtime as i64 - 12),
                };
                let path = &self.names[open.path.index()].path;
                let _ = rustix::fs::utimensat(CWD, path, &times, AtFlags::empty());
            }
            Action::Find { pattern, most, .. } => {
                self.resolve(pattern);
                let name = &self.names[pattern.index()];
                if name.path.as_bytes().iter().any(|byte| br#"<>*?""#.contains(byte)) && most > 0 {
                    let mut left = most;
                    let is_last = |_: &[u8]| {
                        left -= 1;
                        left == 0
                    };
                    let _ = list(&name.directory, &mut self.entries, is_last);
                }
            }
            Action::Lock { handle, offset, bytes } => {
                lock(self.file(handle)?, libc::F_WRLCK, offset, bytes);
            }
            Action::Unlock { handle, offset, bytes } => {
                lock(self.file(handle)?, libc::F_UNLCK, offset, bytes);
            }
            Action::Sleep { microseconds } => {
                std::thread::sleep(Duration::from_micros(microseconds.into()));
            }
        }
        Ok(Answer::DONE)
    }
}

impl Client for FileClient {
    /// Empties the client's folder.
    fn reset(&mut self) -> Result<(), WorkloadError> {
        self.open.clear();
        let emptied = fs::remove_dir_all(&self.folder).and_then(|()| fs::create_dir(&self.folder));
        emptied.map_err(|error| self.scratch.refused(error))
    }

    /// A load may leave files open at its end.
    fn begin_pass(&mut self) {
        self.open.clear();
    }

    fn request(&mut self, line: &Line) -> Result<Answer, LoadMismatch> {
        let ended = self.carry_out(line.action, line.succeeds);
        self.load.judge(line, ended)
    }
}

/// Makes a directory. Whether it could be made the original does not ask; a file system without room is
/// reported, since every later request would fail for want of the directory.
fn make_directory(path: &CStr, mode: Mode) -> Result<(), Errno> {
    match rustix::fs::mkdir(path, mode) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error),
        _ => Ok(()),
    }
}

fn opened(open: &[Open], handle: Handle) -> Result<&Open, Errno> {
    open.iter().find(|open| open.handle == handle).ok_or(Errno::BADF)
}

fn names(load: &Load, folder: &std::path::Path, worker: usize) -> Vec<Name> {
    let below = |path: &str| [folder.as_os_str().as_bytes(), path.as_bytes()].concat();
    let name = |path: &String| {
        let path_bytes = below(path);
        let slash = path.rfind('/').unwrap_or(0);
        Name {
            path: c_string(path_bytes),
            directory: c_string(below(&path[..slash])),
            last: path.as_bytes()[slash + 1..].to_vec(),
        }
    };
    load.paths_of(worker, "").iter().map(name).collect()
}

fn c_string(path: Vec<u8>) -> CString {
    CString::new(path).expect("neither folders nor the paths of a load hold a zero")
}

/// Reads the names in a directory until `is_last` says so, in the system calls of the C library.
fn list(
    directory: &CString,
    entries: &mut [MaybeUninit<u8>],
    mut is_last: impl FnMut(&[u8]) -> bool,
) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(directory, flags, Mode::empty())?;
    rustix::fs::fstat(&directory)?;
    let mut entries = RawDir::new(&directory, entries);
    while let Some(entry) = entries.next() {
        if is_last(entry?.file_name().to_bytes()) {
            break;
        }
    }
    Ok(())
}

/// Removes the files of a directory and of all below it, and leaves the directories, as the
/// original does.
fn remove_files(directory: PathBuf) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.metadata()?.is_dir() {
            remove_files(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Locks a part of a file, or unlocks it; waits for others who hold it.
fn lock(file: &OwnedFd, kind: libc::c_int, offset: u64, bytes: u32) {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut part: libc::flock = unsafe { std::mem::zeroed() };
    part.l_type = kind as libc::c_short;
    part.l_whence = libc::SEEK_SET as libc::c_short;
    part.l_start = offset as libc::off_t;
    part.l_len = bytes.into();
    // SAFETY: the descriptor is open and the structure lives during the call.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &raw const part) };
}
