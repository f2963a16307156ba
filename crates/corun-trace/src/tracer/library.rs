//! Files that a tracer needs, unpacked from this binary into memory.
//!
//! The traced process executes and loads them, with the user's rights, perhaps root's. So they have no place in
//! the file system where any user could put others: they are sealed files in memory (memfd_create(2)), which
//! others reach through `/proc/PID/fd` of this process.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::io::Errno;

use crate::Unavailable;

/// A file that this binary holds.
pub(super) struct Packed {
    pub(super) name: &'static str,
    /// Compressed with zstd.
    pub(super) content: &'static [u8],
    /// Unpacked, from its first use to the end of this process.
    unpacked: Mutex<Option<File>>,
}

/// Nothing can be changed any more, not even what may be.
const SEALS: SealFlags =
    SealFlags::WRITE.union(SealFlags::GROW).union(SealFlags::SHRINK).union(SealFlags::SEAL);

impl Packed {
    pub(super) const fn new(name: &'static str, content: &'static [u8]) -> Self {
        Self { name, content, unpacked: Mutex::new(None) }
    }

    /// A path by which this process's children can execute or load it, as long as this process runs.
    ///
    /// # Errors
    /// If the system gives no memory that can be executed.
    pub(super) fn path(&self) -> Result<PathBuf, Unavailable> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *unpacked {
            Some(file) => file,
            none => none.insert(unpack(self.name, self.content).map_err(refused)?),
        };
        Ok(own_folder()?.join("fd").join(file.as_raw_fd().to_string()))
    }
}

/// This process's folder in `/proc`, by a number that is right for its children, too.
///
/// # Errors
/// If there is no `/proc`, or it is that of other processes.
pub(super) fn own_folder() -> Result<PathBuf, Unavailable> {
    folder_in(Path::new("/proc"))
}

fn folder_in(proc: &Path) -> Result<PathBuf, Unavailable> {
    let missing = |found: String| Unavailable {
        found: format!(
            "expected the files of this process in {}, found {found}",
            corun_record::shown(proc)
        ),
        next_step:
            "Mount it (mount -t proc proc /proc), or take --tracer ptrace, which does without."
                .to_owned(),
    };
    // Its number may be another one than getpid(2) says: that of the namespace in which it was mounted.
    let number = fs::read_link(proc.join("self")).map_err(|error| missing(error.to_string()))?;
    let folder = proc.join(number);
    let probe = tempfile_in_memory().map_err(refused)?;
    let same = |path: &Path| -> io::Result<bool> {
        let (one, other) = (fs::metadata(path)?, probe.metadata()?);
        Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
    };
    match same(&folder.join("fd").join(probe.as_raw_fd().to_string())) {
        Ok(true) => Ok(folder),
        Ok(false) => Err(missing("those of another".to_owned())),
        Err(error) => Err(missing(error.to_string())),
    }
}

fn tempfile_in_memory() -> io::Result<File> {
    Ok(memfd_create("probe", MemfdFlags::CLOEXEC)?.into())
}

fn refused(error: io::Error) -> Unavailable {
    Unavailable {
        found: format!("expected a file in memory that can be executed (memfd_create), found: {error}"),
        next_step: "Allow it: /proc/sys/vm/memfd_noexec must be 0 or 1, and the container's seccomp profile \
                    must let memfd_create through. Or take another tracer with --tracer."
            .to_owned(),
    }
}

fn unpack(name: &str, content: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know that a file is to be executed: there, each can be.
    let created = match memfd_create(name, flags | MemfdFlags::EXEC) {
        Err(Errno::INVAL) => memfd_create(name, flags),
        other => other,
    };
    let mut file = File::from(created?);
    zstd::stream::copy_decode(content, &mut file)?;
    file.flush()?;
    fcntl_add_seals(&file, SEALS)?;
    match fcntl_get_seals(&file)? {
        seals if seals.contains(SEALS) => Ok(file),
        seals => Err(io::Error::other(format!("expected the seals {SEALS:?}, found {seals:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const CONTENT: &[u8] = b"content";

    fn packed(content: &[u8]) -> Packed {
        let packed = zstd::stream::encode_all(content, 1).unwrap();
        Packed::new("library.so", packed.leak())
    }

    #[test]
    fn files_of_another_process_are_not_taken_for_its_own() {
        let proc = tempfile::TempDir::new().unwrap();
        let found = |proc: &Path| folder_in(proc).unwrap_err().found;
        assert!(found(proc.path()).contains("No such file"), "nothing is mounted");
        let folder = proc.path().join("7/fd");
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("7", proc.path().join("self")).unwrap();
        assert!(found(proc.path()).contains("No such file"));
        for number in 0..1024 {
            fs::write(folder.join(number.to_string()), "").unwrap();
        }
        assert!(found(proc.path()).ends_with("found those of another"), "{}", found(proc.path()));
        assert_eq!(own_folder().unwrap().parent(), Some(Path::new("/proc")));
    }

    #[test]
    fn what_is_unpacked_is_executable_and_the_same_each_time() {
        let packed = packed(CONTENT);
        let path = packed.path().unwrap();
        assert_eq!(path, packed.path().unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0o111);
    }

    /// Not even by root, and not by who has the file already.
    #[test]
    fn no_other_user_can_change_what_is_unpacked() {
        let path = packed(CONTENT);
        let path = path.path().unwrap();
        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let denied = file.write(b"other").unwrap_err();
        assert_eq!(denied.raw_os_error(), Some(libc::EPERM));
        assert_eq!(file.set_len(0).unwrap_err().raw_os_error(), Some(libc::EPERM));
        // SAFETY: the map is never read.
        assert!(unsafe { memmap2::MmapMut::map_mut(&file) }.is_err());
        assert!(fcntl_add_seals(&file, SealFlags::FUTURE_WRITE).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
    }
}
