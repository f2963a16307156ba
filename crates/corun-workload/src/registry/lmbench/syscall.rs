//! System calls that do little: entering the kernel and leaving it again, with a read of a device or
//! a file in between.
#![expect(clippy::disallowed_methods, reason = "the files are what is measured")]

use std::ffi::CString;
use std::fs::File;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use rustix::io::Errno;

use super::repeated::repeated;
use super::{amount, calls, descriptor, refused, refused_by};
use crate::scratch::Scratch;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Job, Tag, WorkloadError};

const CALLS: [&str; 2] = ["a system call", "calls"];

pub(super) static NULL: Workload = Workload {
    descriptor: &descriptor(
        ["lmbench/simple-syscall", "Simple syscall"],
        "getppid, which does next to nothing in the kernel",
        &[Tag::SystemCalls],
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let parent = rustix::process::Pid::as_raw(rustix::process::getppid());
        repeated(NULL.descriptor.name, "getppid", workers, |_| {
            // SAFETY: touches no memory.
            Ok(move || Ok((unsafe { libc::getppid() } == parent).into()))
        })
    },
};

pub(super) static READ: Workload = Workload {
    descriptor: &descriptor(
        ["lmbench/simple-read", "Simple read"],
        "read of a byte from /dev/zero",
        &[Tag::SystemCalls],
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let workload = READ.descriptor.name;
        repeated(workload, "read", workers, |_| {
            let zero = File::open("/dev/zero")
                .map_err(|error| refused_by(workload, "open of /dev/zero", error))?;
            let mut byte = [0];
            Ok(move || amount(calls::read(&zero, &mut byte)))
        })
    },
};

pub(super) static WRITE: Workload = Workload {
    descriptor: &descriptor(
        ["lmbench/simple-write", "Simple write"],
        "write of a byte to /dev/null",
        &[Tag::SystemCalls],
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let workload = WRITE.descriptor.name;
        repeated(workload, "write", workers, |_| {
            let null = File::options()
                .write(true)
                .open("/dev/null")
                .map_err(|error| refused_by(workload, "open of /dev/null", error))?;
            Ok(move || amount(calls::write(&null, &[0])))
        })
    },
};

/// Content of the file of the following rows, and so what its length is asked to be.
const CONTENTS: &[u8] = b"corun";

pub(super) static STAT: Workload = Workload {
    descriptor: &of_file(
        ["lmbench/simple-stat", "Simple stat"],
        "stat of a file, by its path",
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        on_file(STAT.descriptor, "stat", workers, |path| Ok(move || calls::length_at(&path)))
    },
};

/// glibc from 2.33 to 2.38 makes it a `newfstatat` with an empty path.
pub(super) static FSTAT: Workload = Workload {
    descriptor: &of_file(
        ["lmbench/simple-fstat", "Simple fstat"],
        "fstat of an open file, as the C library does it",
        CALLS,
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        on_file(FSTAT.descriptor, "fstat", workers, |path| {
            let file = calls::open(&path)?;
            Ok(move || calls::length_of(&file))
        })
    },
};

pub(super) static OPEN: Workload = Workload {
    descriptor: &of_file(
        ["lmbench/simple-open-close", "Simple open/close"],
        "open of a file by its path, and close",
        ["an open and a close", "pairs"],
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        on_file(OPEN.descriptor, "open", workers, |path| {
            Ok(move || calls::open(&path).map(|_closed| 1))
        })
    },
};

const fn of_file(
    names: [&'static str; 2],
    summary: &'static str,
    operation: [&'static str; 2],
) -> Descriptor {
    // The file, and the block that a file system may need for its folder.
    Descriptor {
        disk_bytes: 2 * 4096,
        ..descriptor(names, summary, &[Tag::SystemCalls], operation)
    }
}

/// Calls that work on a file of each worker's own, several folders down as in the original.
fn on_file<C: super::repeated::Call + 'static>(
    descriptor: &'static Descriptor,
    call: &'static str,
    workers: NonZeroUsize,
    start: impl Fn(CString) -> Result<C, Errno>,
) -> Result<Job, WorkloadError> {
    let scratch = Arc::new(Scratch::new(descriptor, workers)?);
    repeated(descriptor.name, call, workers, |worker| {
        let path = scratch.write(&worker.to_string(), CONTENTS)?.into_os_string().into_vec();
        let started = CString::new(path).map_err(|_| Errno::INVAL).and_then(&start);
        let mut call = started.map_err(|error| refused(descriptor.name, "open", error))?;
        let scratch = scratch.clone();
        Ok(move || {
            let _kept = &scratch;
            call()
        })
    })
}
