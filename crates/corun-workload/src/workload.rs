//! Interface of a workload to its caller: something that prepares a job for a number of workers.
//!
//! A workload never times its run. The caller starts, pins, synchronises and times the workers and
//! decides how many operations they do, as in lmbench (McVoy and Staelin 1996). Only the latencies of
//! single requests are a workload's own: nobody else sees where a request of a replayed load ends.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use crate::{Descriptor, Latencies, Parameters, WorkloadError};

/// The most operations a [`Kernel`] does in one run.
pub const MAX_OPERATIONS: u64 = 1 << 60;

/// A built-in workload: its description beside the function that prepares its work.
pub struct Workload {
    pub(crate) descriptor: &'static Descriptor,
    pub(crate) unavailable: fn() -> Option<String>,
    pub(crate) prepare: Prepare,
}

/// Prepares the work of so many workers that belong to one process.
type Prepare = fn(&Parameters, NonZeroUsize) -> Result<Job, WorkloadError>;

impl Workload {
    pub(crate) const fn anywhere(descriptor: &'static Descriptor, prepare: Prepare) -> Self {
        Self { descriptor, unavailable: anywhere, prepare }
    }

    /// Descriptor: what it exercises and what can be set.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    /// Why it cannot run on this machine, as one sentence; `None` where it can.
    pub fn unavailable(&self) -> Option<String> {
        (self.unavailable)()
    }

    /// Prepares the work of `workers` workers that belong to one process.
    ///
    /// A process copy is a process with one worker, so [`Mode::Copies`](crate::Mode) asks for 1.
    ///
    /// # Errors
    /// [`WorkloadError::Unavailable`] if it cannot run here; [`WorkloadError::NoMemory`],
    /// [`WorkloadError::NoRoom`], [`WorkloadError::NoDescriptors`] and others if the system does not
    /// give what it needs; [`WorkloadError::NotDeclared`] if `parameters` were parsed for another
    /// workload.
    pub fn prepare(
        &self,
        parameters: &Parameters,
        workers: NonZeroUsize,
    ) -> Result<Job, WorkloadError> {
        (self.prepare)(parameters, workers)
    }
}

/// Runs everywhere.
pub(crate) fn anywhere() -> Option<String> {
    None
}

/// A kernel for each worker, all alike and without parameters.
pub(crate) fn default_kernels<K: Kernel + Default + 'static>(
    _: &Parameters,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    Ok(Job::of((0..workers.get()).map(|_| K::default())))
}

/// Work that is ready to be started.
pub enum Job {
    /// Code of this process: one kernel for each worker, in worker order, each to be moved to a
    /// thread of its own.
    Kernels(Vec<Box<dyn Kernel>>),
    /// Another program, to be started once for each worker.
    Program(Program),
}

impl Job {
    /// A job of these kernels, in worker order.
    pub(crate) fn of<K: Kernel + 'static>(kernels: impl IntoIterator<Item = K>) -> Self {
        Self::Kernels(kernels.into_iter().map(boxed).collect())
    }

    /// As [`of`](Self::of), or the error of the first kernel that could not be made.
    pub(crate) fn of_each<K: Kernel + 'static>(
        kernels: impl IntoIterator<Item = Result<K, WorkloadError>>,
    ) -> Result<Self, WorkloadError> {
        let kernels = kernels.into_iter().map(|kernel| kernel.map(boxed));
        kernels.collect::<Result<_, _>>().map(Self::Kernels)
    }
}

fn boxed<K: Kernel + 'static>(kernel: K) -> Box<dyn Kernel> {
    Box::new(kernel)
}

/// The part of a kernel workload that one worker does.
///
/// On the worker's own thread, pinned already, call [`reset`](Kernel::reset), then
/// [`run`](Kernel::run) with the clock around it, then [`failure`](Kernel::failure) and
/// [`check`](Kernel::check); and again from `reset` for the next run.
pub trait Kernel: Send {
    /// Puts the worker's memory into its starting state; its pages are first touched here, hence
    /// placed on the worker's NUMA node and not faulted in while the clock runs.
    fn reset(&mut self);

    /// Does `operations` operations, at most [`MAX_OPERATIONS`].
    fn run(&mut self, operations: u64);

    /// Does what [`run`](Kernel::run) does around so many operations, without the operations
    /// themselves. A caller times it right after the run and subtracts it, where
    /// [`Descriptor::subtracts`](crate::Descriptor) says what it is.
    fn overhead(&mut self, _operations: u64) {}

    /// Why the last reset or run ended before its time; what the run counted is then worth nothing.
    /// Set once.
    fn failure(&mut self) -> Option<WorkloadError> {
        None
    }

    /// Tallies of the last run, for each of [`Descriptor::tallies`](crate::Descriptor).
    fn tallies(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Latencies of the parts of the last run, by kind; empty where that is not of interest.
    fn latencies(&self) -> Latencies {
        Latencies::new()
    }

    /// A value that depends on the work of the last run, which a test can compute in another way.
    fn check(&self) -> u64;

    /// The memory that it alone works on, so that a test can inspect it and a benchmark can run other
    /// code on the very same pages; empty where there is none to show.
    fn memory(&mut self) -> &mut [u8] {
        &mut []
    }
}

/// A program to start, without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program's path and its arguments.
    pub argv: Vec<OsString>,
    /// The operations that one run of the program does.
    pub operations: u64,
    /// Option that sets the number of operations, where it can be.
    pub size: Option<ProgramSize>,
}

/// Source of a program's number of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramSize {
    /// The workload's parameter that is this number.
    pub parameter: &'static str,
    /// The argument that is this number, as an index into [`Program::argv`].
    pub argument: usize,
}
