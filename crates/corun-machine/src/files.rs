//! Small files of the system, read below a root.
//!
//! A machine of 1,024 CPUs has some 20,000 of them, so a read costs three system calls and no
//! allocation. A captured tree stays closed: its symbolic links cannot lead out of the root.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::{Affinity, CpuSet};

/// Source of the text for the readers of this crate; paths are relative to the root.
pub trait SystemFiles {
    /// The whole text of a file.
    ///
    /// # Errors
    /// If the file is missing, or cannot be read as text.
    fn read(&mut self, path: &str) -> Result<&str, FileError>;

    /// The beginning of a file, about 4 KiB, for files that repeat themselves for each CPU.
    ///
    /// # Errors
    /// As for [`Self::read`].
    fn read_start(&mut self, path: &str) -> Result<&str, FileError> {
        self.read(path)
    }

    /// The names in a directory, in no order; none if it cannot be listed.
    fn list(&mut self, directory: &str) -> Vec<String>;

    /// The CPUs that the calling process may use; `None` if this is not the system it runs on.
    fn affinity(&mut self) -> Option<CpuSet> {
        None
    }
}

/// Files that number CPUs and that LXCFS (and what works like it) shows in its own numbering: a
/// container of CPU 24 alone reads there of CPU 0.
const RENUMBERED: [&str; 2] = ["proc/stat", "sys/devices/system/cpu/online"];

/// Why a file gave no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is no such file: often simply not this kind of machine.
    #[error("missing")]
    Missing,
    /// It is there and cannot be read.
    #[error("unreadable: {0}")]
    Unreadable(String),
}

/// The files below a directory, `/` for the live system.
#[derive(Debug)]
pub struct RootFiles {
    root: OwnedFd,
    live: bool,
    buffer: Vec<u8>,
    /// Files of [`RENUMBERED`] that a file system in user space shows, with the name of that system.
    replaced: Vec<(&'static str, String)>,
}

/// The most of a file that is read: /proc/interrupts of the largest machines has a few MiB. A captured tree
/// may hold anything.
const MAX_BYTES: usize = 64 << 20;

/// sysfs hands out a page at a time, so that a shorter answer is the end of the file.
const PAGE: usize = 4096;

impl RootFiles {
    /// Opens the root.
    ///
    /// # Errors
    /// If it is no directory that can be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        let live = root.canonicalize()? == Path::new("/");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root, flags, Mode::empty())?;
        let mut files = Self { root, live, buffer: vec![0; PAGE + 1], replaced: Vec::new() };
        for table in ["proc/self/mounts", "proc/mounts"] {
            if let Ok(mounts) = files.text(table, usize::MAX) {
                files.replaced = replaced(mounts);
                break;
            }
        }
        Ok(files)
    }

    /// True if this is the system that corun runs on.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) fn open_below(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if self.live {
            return openat(&self.root, path, flags, Mode::empty());
        }
        match openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            // Kernels before 5.6, and sandboxes that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => openat(&self.root, path, flags, Mode::empty()),
            opened => opened,
        }
    }

    /// In a captured tree, a device or a pipe stands for no file of the system.
    fn check(&self, file: &OwnedFd) -> Result<(), FileError> {
        let found = rustix::fs::fstat(file)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile if found.st_size <= MAX_BYTES as i64 => Ok(()),
            FileType::RegularFile => {
                Err(FileError::Unreadable("it is longer than 64 MiB".to_owned()))
            }
            _ => Err(FileError::Unreadable("it is no file".to_owned())),
        }
    }

    fn text(&mut self, path: &str, limit: usize) -> Result<&str, FileError> {
        if let Some((_, by)) = self.replaced.iter().find(|(replaced, _)| *replaced == path) {
            return Err(FileError::Unreadable(format!(
                "{by} is mounted over the kernel's file and numbers CPUs in its own way"
            )));
        }
        let file = self.open_below(path, OFlags::empty())?;
        if !self.live {
            self.check(&file)?;
        }
        // Sequence files of /proc end a read at a record, long before the end of the file.
        let in_pages = !path.starts_with("proc");
        let mut length = 0;
        loop {
            if self.buffer.len() - length < PAGE + 1 {
                self.buffer.resize(self.buffer.len() * 2 + PAGE, 0);
            }
            let got = rustix::io::read(&file, &mut self.buffer[length..])?;
            length += got;
            if got == 0 || length >= limit.min(MAX_BYTES) || (in_pages && got < PAGE) {
                break;
            }
        }
        text_of(&self.buffer[..length])
    }
}

impl SystemFiles for RootFiles {
    fn read(&mut self, path: &str) -> Result<&str, FileError> {
        self.text(path, usize::MAX)
    }

    fn read_start(&mut self, path: &str) -> Result<&str, FileError> {
        self.text(path, 1)
    }

    fn list(&mut self, directory: &str) -> Vec<String> {
        let Ok(handle) = self.open_below(directory, OFlags::DIRECTORY) else { return Vec::new() };
        let Ok(entries) = Dir::new(handle) else { return Vec::new() };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        names.filter(|name| name != "." && name != "..").collect()
    }

    fn affinity(&mut self) -> Option<CpuSet> {
        self.live.then(|| Affinity::of(0).ok()).flatten().map(|mask| mask.cpus())
    }
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR => Self::Missing,
            other => Self::Unreadable(io::Error::from(other).to_string()),
        }
    }
}

/// Which of [`RENUMBERED`] a file system in user space shows, by the kernel's table of mounts.
fn replaced(mounts: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let (Some(_), Some(point), Some(kind)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let Some(kind) = kind.strip_prefix("fuse").map(|kind| kind.trim_start_matches('.')) else {
            continue;
        };
        let Some(point) = point.strip_prefix('/').filter(|point| !point.is_empty()) else {
            continue;
        };
        let covered = |path: &&&str| {
            path.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let name = if kind.is_empty() { "a file system in user space" } else { kind };
        found.extend(RENUMBERED.iter().filter(covered).map(|path| (*path, name.to_owned())));
    }
    found
}

/// The text without the NUL bytes and white space that some kernels and capturing tools leave.
fn text_of(bytes: &[u8]) -> Result<&str, FileError> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The beginning of a long file may end inside a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(FileError::Unreadable("it is no text".to_owned())),
    };
    Ok(text.trim_matches(|character: char| character == '\0' || character.is_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renumbered_files_are_known_by_their_mounts() {
        let found = |mounts: &str| {
            replaced(mounts)
                .into_iter()
                .map(|(path, by)| format!("{path} {by}"))
                .collect::<Vec<_>>()
        };
        let both = ["proc/stat lxcfs", "sys/devices/system/cpu/online lxcfs"];
        for point in ["", "/online"] {
            let cpus = format!("lxcfs /sys/devices/system/cpu{point} fuse.lxcfs rw 0 0");
            let stat = "lxcfs /proc/stat fuse.lxcfs rw,nosuid 0 0";
            assert_eq!(found(&format!("proc /proc proc rw 0 0\n{stat}\n{cpus}")), both);
        }
        assert_eq!(found("x /proc/stat fuse rw 0 0"), ["proc/stat a file system in user space"]);
        for other in [
            "lxcfs /proc/uptime fuse.lxcfs rw 0 0",
            "lxcfs /var/lib/lxcfs fuse.lxcfs rw 0 0",
            "fuse / fuse.overlay rw 0 0",
            "sysfs /sys sysfs rw 0 0",
            "x /sys/devices/system/cp fuse rw",
            "",
            "fuse",
        ] {
            assert!(found(other).is_empty(), "{other}");
        }
    }
}
