//! Asking ten descriptors at once whether they can be written to.
//!
//! The original passes the number 10 where select wants the highest descriptor and one more, so that
//! the kernel polls descriptors below 10 alone: of the ten, two. corun has it poll all ten;
//! `examined=2` does what the original does.
//!
//! The original's file has a name in the current directory; corun's is in memory and has none
//! (memfd_create(2)). The kernel asks neither file system: it takes files for ready at any time.

use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use super::calls::answered;
use super::repeated::repeated;
use super::{descriptor, refused, refused_by};
use crate::loopback::Loopback;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Domain, Job, Parameter, Parameters, Tag, WorkloadError};

/// Descriptors of the set.
const DESCRIPTORS: usize = 10;

const EXAMINED: Parameter = Parameter {
    name: "examined",
    summary: "the first so many of the ten are below the first argument of select",
    default: "10",
    domain: Domain::Count { unit: "descriptors", least: 1, most: DESCRIPTORS as u64 },
};

pub(super) static FILE: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[EXAMINED],
        ..descriptor(
            ["lmbench/select-10-fds", "Select on 10 fd's"],
            "select on ten descriptors of a file, without waiting",
            &[Tag::SystemCalls],
            ["a select", "calls"],
        )
    },
    unavailable: anywhere,
    prepare: |parameters, workers| {
        select(FILE.descriptor.name, parameters, workers, || {
            Ok((rustix::fs::memfd_create(c"corun", MemfdFlags::CLOEXEC)?, None))
        })
    },
};

pub(super) static TCP: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[EXAMINED],
        ..descriptor(
            ["lmbench/select-10-tcp-fds", "Select on 10 tcp fd's"],
            "select on ten descriptors of a TCP connection, without waiting",
            &[Tag::SystemCalls],
            ["a select", "calls"],
        )
    },
    unavailable: anywhere,
    prepare: |parameters, workers| {
        select(TCP.descriptor.name, parameters, workers, || {
            let [near, far] = Loopback::listen()?.connect()?.map(OwnedFd::from);
            Ok((near, Some(far)))
        })
    },
};

/// Selects on duplicates of the descriptor that `open` gives; it may give a second one to keep open.
fn select(
    workload: &'static str,
    parameters: &Parameters,
    workers: NonZeroUsize,
    open: impl Fn() -> std::io::Result<(OwnedFd, Option<OwnedFd>)>,
) -> Result<Job, WorkloadError> {
    let examined = parameters.number(&EXAMINED)? as usize;
    repeated(workload, "select", workers, |_| {
        let opened = open().and_then(|(first, kept)| {
            let others = (1..DESCRIPTORS).map(|_| first.try_clone()).collect::<Result<Vec<_>, _>>();
            Ok((first, others?, kept))
        });
        let (first, mut descriptors, kept) =
            opened.map_err(|error| refused_by(workload, "open", error))?;
        descriptors.push(first);
        let set = Set::of(&descriptors, examined)
            .ok_or_else(|| refused(workload, "select", Errno::MFILE))?;
        Ok(move || {
            let _open = (&descriptors, &kept);
            set.writable()
        })
    })
}

/// A set of descriptors, and the first argument of select that goes with it.
struct Set {
    descriptors: libc::fd_set,
    beyond: libc::c_int,
}

impl Set {
    /// `None` if a descriptor is beyond those that select takes.
    fn of(descriptors: &[OwnedFd], examined: usize) -> Option<Self> {
        let mut numbers: Vec<_> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        numbers.sort_unstable();
        numbers.last().filter(|&&last| (last as usize) < libc::FD_SETSIZE)?;
        // SAFETY: a set of zeros is the empty one.
        let mut set: libc::fd_set = unsafe { std::mem::zeroed() };
        for &number in &numbers {
            // SAFETY: below `FD_SETSIZE`, see above.
            unsafe { libc::FD_SET(number, &raw mut set) };
        }
        Some(Self { descriptors: set, beyond: numbers[examined - 1] + 1 })
    }

    /// Number that can be written to now.
    fn writable(&self) -> Result<u64, Errno> {
        let mut set = self.descriptors;
        let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: `set` and `now` live until the call returns; it takes the other sets as absent.
        answered(unsafe {
            libc::select(self.beyond, null_mut(), &raw mut set, null_mut(), &raw mut now)
        })
    }
}
