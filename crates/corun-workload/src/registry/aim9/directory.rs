//! Reading a directory, entry by entry, through the C library, whose `readdir` asks the kernel for
//! many entries at once: most of the time the library is measured, not the kernel.

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::{ffi::CStr, io};

use super::descriptor;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Job, Kernel, Parameters, Tag, Tally, WorkloadError};

/// `readdir` of `/bin`, where it is there, with `rewinddir` at its end; the call that finds the end
/// counts too, as in the original.
pub(super) static READ: Workload = Workload {
    descriptor: &Descriptor {
        tallies: &[Tally { counted: "entries" }],
        ..descriptor(
            "aim9/dir_rtns_1",
            "readdir of /bin, again and again",
            &[Tag::SystemCalls],
            ["a readdir", "calls"],
            1.0,
            "readdir/s",
        )
    },
    unavailable: anywhere,
    prepare,
};

fn prepare(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    Job::of_each((0..workers.get()).map(|_| {
        let directory = Directory::open(c"/bin").or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Directory::open(c"/"),
            _ => Err(error),
        });
        let directory = directory.map_err(refused)?;
        Ok(Read { directory, entries: 0, ends: 0 })
    }))
}

fn refused(source: io::Error) -> WorkloadError {
    let workload = READ.descriptor.name;
    match source.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => WorkloadError::NoDescriptors { workload, source },
        _ => WorkloadError::CallRefused { workload, call: "open", source },
    }
}

/// An open directory.
struct Directory(NonNull<libc::DIR>);

// SAFETY: it belongs to its owner, and has no ties to a thread.
unsafe impl Send for Directory {}

impl Directory {
    fn open(path: &CStr) -> io::Result<Self> {
        // SAFETY: takes a string.
        let opened = unsafe { libc::opendir(path.as_ptr()) };
        NonNull::new(opened).map(Self).ok_or_else(io::Error::last_os_error)
    }

    /// Reads an entry; false at the end.
    #[inline(always)]
    fn read(&mut self) -> bool {
        // SAFETY: an open directory; the entry is not read.
        !unsafe { libc::readdir(self.0.as_ptr()) }.is_null()
    }

    fn rewind(&mut self) {
        // SAFETY: an open directory.
        unsafe { libc::rewinddir(self.0.as_ptr()) };
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // SAFETY: an open directory, used no more.
        unsafe { libc::closedir(self.0.as_ptr()) };
    }
}

struct Read {
    directory: Directory,
    entries: u64,
    ends: u64,
}

impl Kernel for Read {
    fn reset(&mut self) {
        self.directory.rewind();
        (self.entries, self.ends) = (0, 0);
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            if self.directory.read() {
                self.entries += 1;
            } else {
                self.ends += 1;
                self.directory.rewind();
            }
        }
    }

    fn tallies(&self) -> Vec<u64> {
        vec![self.entries]
    }

    /// The entries and ends found.
    fn check(&self) -> u64 {
        self.entries + self.ends
    }
}
