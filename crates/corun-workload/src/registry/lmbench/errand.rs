//! Work that a child of the worker does in its stead, run by run: a process with one thread and
//! little memory, as the original's are. Signals then reach the thread that sends them, and a fork
//! copies what a small program has, however many workers one process holds.

use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;

use rustix::io::Errno;

use super::{empty_loop, refused, refused_by};
use crate::available::{ensure_processes, no_processes};
use crate::ended::end;
use crate::peer::Peer;
use crate::{Job, Kernel, WorkloadError};

/// Work of the child; it makes system calls, but allocates nothing and takes no locks.
pub(super) trait Errand: Send {
    /// The system call that it is about.
    const CALL: &'static str;

    /// Before the first run.
    fn begin(&mut self) {}

    /// Does so many operations and returns what they add up to.
    fn run(&mut self, operations: u64) -> Result<u64, Errno>;

    /// As [`Kernel::overhead`].
    fn overhead(&mut self, operations: u64) {
        empty_loop(operations);
    }
}

/// A kernel for each worker, of what `start` makes, which is tried once.
///
/// # Errors
/// [`WorkloadError::NoProcesses`], [`WorkloadError::NoDescriptors`] or
/// [`WorkloadError::CallRefused`].
pub(super) fn errands<E: Errand + 'static>(
    workload: &'static str,
    workers: NonZeroUsize,
    start: impl Fn() -> E,
) -> Result<Job, WorkloadError> {
    ensure_processes(workload, 1, workers)?;
    Job::of_each((0..workers.get()).map(|_| {
        let mut errand = start();
        let tried = Child::fork(&mut errand);
        let tried = tried.map_err(|error| refused_by(workload, "socketpair", error))?;
        tried.ask(Order::Run, 1).map_err(|error| match error {
            // The child's own child.
            Errno::AGAIN => no_processes(workload, 2)(error.into()),
            _ => refused(workload, E::CALL, error),
        })?;
        Ok(ByChild { errand, child: None, answer: 0 })
    }))
}

struct ByChild<E> {
    errand: E,
    child: Option<Child>,
    answer: u64,
}

impl<E: Errand> ByChild<E> {
    fn ask(&self, order: Order, operations: u64) -> u64 {
        let child = self.child.as_ref().expect("a reset starts the child");
        match child.ask(order, operations) {
            Ok(answer) => answer,
            Err(error) => end("its child is refused a call", error),
        }
    }
}

impl<E: Errand> Kernel for ByChild<E> {
    /// # Panics
    /// If the system starts no process.
    fn reset(&mut self) {
        self.child = None;
        self.answer = 0;
        let child = Child::fork(&mut self.errand);
        self.child = Some(child.unwrap_or_else(|error| end("a child is refused", error)));
        // The pages that the child must copy are copied, and the program that it starts is in memory.
        self.ask(Order::Run, 1);
    }

    /// # Panics
    /// If the system refuses a call that it answered before, or the child was ended.
    fn run(&mut self, operations: u64) {
        self.answer = self.answer.wrapping_add(self.ask(Order::Run, operations));
    }

    /// The way to the child and back is part of it, so that it is subtracted too.
    fn overhead(&mut self, operations: u64) {
        self.ask(Order::Overhead, operations);
    }

    fn check(&self) -> u64 {
        self.answer
    }
}

/// Order to the child, with a number of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Run,
    Overhead,
}

struct Child {
    orders: UnixStream,
    _peer: Peer,
}

impl Child {
    fn fork(errand: &mut impl Errand) -> io::Result<Self> {
        let (orders, mut taken) = UnixStream::pair()?;
        let peer = Peer::fork(|| {
            errand.begin();
            // An error is the end of the worker, and so of its child.
            let _ = serve(errand, &mut taken);
        })?;
        Ok(Self { orders, _peer: peer })
    }

    fn ask(&self, order: Order, operations: u64) -> Result<u64, Errno> {
        let mut orders = &self.orders;
        let mut answer = [[0; 8]; 2];
        let asked = orders
            .write_all([order as u64, operations].map(u64::to_ne_bytes).as_flattened())
            .and_then(|()| orders.read_exact(answer.as_flattened_mut()));
        // The child is gone.
        asked.map_err(|_| Errno::CHILD)?;
        match answer.map(u64::from_ne_bytes) {
            [0, sum] => Ok(sum),
            [error, _] => Err(Errno::from_raw_os_error(error as i32)),
        }
    }
}

fn serve(errand: &mut impl Errand, orders: &mut UnixStream) -> io::Result<()> {
    loop {
        let mut order = [[0; 8]; 2];
        orders.read_exact(order.as_flattened_mut())?;
        let [kind, operations] = order.map(u64::from_ne_bytes);
        let answer = if kind == Order::Run as u64 {
            errand.run(operations)
        } else {
            errand.overhead(operations);
            Ok(0)
        };
        let answer = match answer {
            Ok(sum) => [0, sum],
            Err(error) => [error.raw_os_error() as u64, 0],
        };
        orders.write_all(answer.map(u64::to_ne_bytes).as_flattened())?;
    }
}
