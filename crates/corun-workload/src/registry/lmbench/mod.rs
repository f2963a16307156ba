//! The tests of LMbench (McVoy and Staelin 1996), a file a family: what the system's basic operations
//! cost, in microseconds, without the loop around them.
//!
//! What each does follows version 3; where corun counts otherwise, the family's file says so.

mod bandwidth;
mod calls;
mod context_switch;
mod errand;
mod mapping;
mod process;
mod repeated;
mod round_trip;
mod select;
mod signal;
mod syscall;

use std::io;

use rustix::io::Errno;

use crate::in_memory::opaque;
use crate::{DefaultPlacement, Descriptor, Figure, Row, Suite, Tag, Workload, WorkloadError};

/// Every test: the rows of the published table in its order, then the others.
pub(super) static ROWS: &[&Workload] = &[
    &syscall::NULL,
    &syscall::READ,
    &syscall::WRITE,
    &syscall::STAT,
    &syscall::FSTAT,
    &syscall::OPEN,
    &select::FILE,
    &select::TCP,
    &signal::INSTALLATION,
    &signal::OVERHEAD,
    &round_trip::PIPE,
    &process::FORK,
    &process::EXECVE,
    &process::SHELL,
    &context_switch::RING,
    &bandwidth::FILE,
    &round_trip::UNIX,
    &round_trip::TCP,
    &round_trip::UDP,
    &bandwidth::TCP,
    &mapping::MAP,
    &mapping::FAULT,
];

/// Overhead that most tests subtract.
const EMPTY_LOOP: Option<&str> = Some("an empty loop");

/// Descriptor of the tests: a process a worker, no parameters, microseconds for an operation, less an empty loop.
const fn descriptor(
    [name, row]: [&'static str; 2],
    summary: &'static str,
    tags: &'static [Tag],
    [operation, counted]: [&'static str; 2],
) -> Descriptor {
    Descriptor {
        name,
        summary,
        tags,
        operation,
        counted,
        default_placement: DefaultPlacement::Alone,
        row: Some(Row {
            suite: Suite::Lmbench,
            name: row,
            figure: Figure::Microseconds,
            credit: 1.0,
        }),
        subtracts: EMPTY_LOOP,
        ..Descriptor::PLAIN
    }
}

/// The loop around so many operations.
fn empty_loop(operations: u64) {
    let mut passed = 0;
    for _ in 0..operations {
        passed = opaque(passed + 1);
    }
}

/// Amount that a call moved, counted or found, as a number to add up.
fn amount(answer: Result<usize, Errno>) -> Result<u64, Errno> {
    answer.map(|amount| amount as u64)
}

/// The message for when the system refuses `call` while `workload` is being prepared.
fn refused(workload: &'static str, call: &'static str, errno: Errno) -> WorkloadError {
    let source = errno.into();
    match errno {
        Errno::MFILE | Errno::NFILE => WorkloadError::NoDescriptors { workload, source },
        Errno::ADDRNOTAVAIL | Errno::NETUNREACH | Errno::NETDOWN | Errno::AFNOSUPPORT => {
            WorkloadError::NoLoopback { workload, source }
        }
        _ => WorkloadError::CallRefused { workload, call, source },
    }
}

/// As [`refused`], for what std calls.
fn refused_by(workload: &'static str, call: &'static str, error: io::Error) -> WorkloadError {
    refused(workload, call, Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
