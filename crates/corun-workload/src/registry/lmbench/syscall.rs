//! System calls that do little: entering the kernel and leaving it again, with a look at a device or
//! a file in between.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::repeated::repeated;
use super::{about, amount, answered, open, refused};
use crate::row::{RowWorkload, anywhere};
use crate::scratch::Scratch;
use crate::{About, Job, Tag, WorkloadError};

const CALLS: [&str; 2] = ["a system call", "calls"];

pub(super) static NULL: RowWorkload = RowWorkload {
    about: &about(
        ["lmbench/simple-syscall", "Simple syscall"],
        "getppid, which does next to nothing in the kernel",
        &[Tag::SystemCalls],
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let parent = rustix::process::getppid();
        repeated(NULL.about.name, "getppid", workers, |_| {
            Ok(move || Ok((rustix::process::getppid() == parent).into()))
        })
    },
};

pub(super) static READ: RowWorkload = RowWorkload {
    about: &about(
        ["lmbench/simple-read", "Simple read"],
        "read of a byte from /dev/zero",
        &[Tag::SystemCalls],
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let workload = READ.about.name;
        repeated(workload, "read", workers, |_| {
            let zero = open(c"/dev/zero", OFlags::RDONLY)
                .map_err(|error| refused(workload, "open of /dev/zero", error))?;
            let mut byte = [0];
            Ok(move || amount(rustix::io::read(&zero, &mut byte)))
        })
    },
};

pub(super) static WRITE: RowWorkload = RowWorkload {
    about: &about(
        ["lmbench/simple-write", "Simple write"],
        "write of a byte to /dev/null",
        &[Tag::SystemCalls],
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let workload = WRITE.about.name;
        repeated(workload, "write", workers, |_| {
            let null = open(c"/dev/null", OFlags::WRONLY)
                .map_err(|error| refused(workload, "open of /dev/null", error))?;
            Ok(move || amount(rustix::io::write(&null, &[0])))
        })
    },
};

/// What the file of the following rows holds, and so what its length is asked to be.
const CONTENTS: &[u8] = b"corun";

pub(super) static STAT: RowWorkload = RowWorkload {
    about: &of_file(["lmbench/simple-stat", "Simple stat"], "stat of a file, by its path", CALLS),
    unavailable: anywhere,
    prepare: |_, workers| {
        on_file(STAT.about, "stat", workers, |path| {
            Ok(move || Ok(rustix::fs::stat(path.as_c_str())?.st_size as u64))
        })
    },
};

/// Through libc, since a program gets what its libc makes of it: glibc from 2.33 to 2.38 calls
/// `newfstatat` with an empty path, which takes longer than `fstat`.
pub(super) static FSTAT: RowWorkload = RowWorkload {
    about: &of_file(
        ["lmbench/simple-fstat", "Simple fstat"],
        "fstat of an open file, as the C library does it",
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        on_file(FSTAT.about, "fstat", workers, |path| {
            let file = open(path.as_c_str(), OFlags::RDONLY)?;
            let mut found = MaybeUninit::<libc::stat>::zeroed();
            Ok(move || {
                // SAFETY: the descriptor is open, and there is room for the answer.
                answered(unsafe { libc::fstat(file.as_raw_fd(), found.as_mut_ptr()) })?;
                // SAFETY: it was written, and zeros are a value of it anyway.
                Ok(unsafe { found.assume_init_ref() }.st_size as u64)
            })
        })
    },
};

pub(super) static OPEN: RowWorkload = RowWorkload {
    about: &of_file(
        ["lmbench/simple-open-close", "Simple open/close"],
        "open of a file by its path, and close",
        ["an open and a close", "pairs"],
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        on_file(OPEN.about, "open", workers, |path| {
            Ok(move || open(path.as_c_str(), OFlags::RDONLY).map(|_closed| 1))
        })
    },
};

const fn of_file(
    names: [&'static str; 2],
    summary: &'static str,
    operation: [&'static str; 2],
) -> About {
    // The file, and the block that a file system may need for its folder.
    About { disk_bytes: 2 * 4096, ..about(names, summary, &[Tag::SystemCalls], operation) }
}

/// Calls that work on a file of each worker's own, several folders down as in the original.
fn on_file<C: super::repeated::Call + 'static>(
    about: &'static About,
    call: &'static str,
    workers: NonZeroUsize,
    start: impl Fn(CString) -> Result<C, Errno>,
) -> Result<Job, WorkloadError> {
    let scratch = Arc::new(Scratch::new(about, workers)?);
    repeated(about.name, call, workers, |worker| {
        let path = scratch.write(&worker.to_string(), CONTENTS)?.into_os_string().into_vec();
        let started = CString::new(path).map_err(|_| Errno::INVAL).and_then(&start);
        let mut call = started.map_err(|error| refused(about.name, "open", error))?;
        let scratch = scratch.clone();
        Ok(move || {
            let _kept = &scratch;
            call()
        })
    })
}
