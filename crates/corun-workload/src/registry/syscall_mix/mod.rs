//! System calls one after the other: what entering the kernel costs, alone and beside a sibling
//! that does the same. Calls are made by instructions of this program, not through libc.

mod calls;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;

use self::calls::{Call, Calls, FILE_BYTES};
use crate::ended::end;
use crate::scratch::Scratch;
use crate::{
    Choice, Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "syscall-mix",
    summary: "system calls: the cheapest there is, those of files, or a mix of many",
    tags: &[Tag::SystemCalls],
    parameters: &[MIX],
    operation: "a system call",
    counted: "calls",
    // A file and the block that a file system may need for its folder.
    disk_bytes: 2 * FILE_BYTES as u64,
    ..Descriptor::PLAIN
};

const MIX: Parameter = Parameter {
    name: "mix",
    summary: "which calls are made, in turn",
    default: "mixed",
    domain: Domain::Choice(&[
        Choice { value: "null", summary: "getppid, which does next to nothing in the kernel" },
        Choice { value: "vdso", summary: "clock_gettime, answered without entering the kernel" },
        Choice { value: "file", summary: "open, read, write, fstat and close of a file of 4 KiB" },
        Choice { value: "mixed", summary: "thirteen calls: process, devices, file, pipe, memory" },
    ]),
};

const FILE: [Call; 5] = [Call::Open, Call::Read, Call::Write, Call::Stat, Call::Close];

const MIXED: [Call; 13] = [
    Call::GetParent,
    Call::ReadZero,
    Call::Open,
    Call::Stat,
    Call::WritePipe,
    Call::Poll,
    Call::ReadPipe,
    Call::Read,
    Call::Map,
    Call::WriteNull,
    Call::Write,
    Call::Unmap,
    Call::Close,
];

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    match parameters.choice(&MIX)? {
        "null" => kernels([Call::GetParent], workers),
        "vdso" => kernels([Call::Clock], workers),
        "file" => kernels(FILE, workers),
        _ => kernels(MIXED, workers),
    }
}

fn kernels<const N: usize>(mix: [Call; N], workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let opens_file = mix.iter().any(|call| matches!(call, Call::Open));
    let scratch = opens_file.then(|| Scratch::new(&ABOUT, workers).map(Arc::new)).transpose()?;
    Job::of_each((0..workers.get()).map(|worker| {
        let path = match &scratch {
            Some(scratch) => scratch.write(&worker.to_string(), &[0; FILE_BYTES])?,
            None => PathBuf::new(),
        };
        let mut calls = Calls::new(path).map_err(|error| refused("open", error))?;
        for call in mix {
            calls.make(call).map_err(|error| refused(call.name(), error))?;
        }
        Ok(SyscallKernel { mix, calls, answers: 0, _scratch: scratch.clone() })
    }))
}

fn refused(call: &'static str, error: Errno) -> WorkloadError {
    let (workload, source) = (ABOUT.name, error.into());
    match error {
        Errno::MFILE | Errno::NFILE => WorkloadError::NoDescriptors { workload, source },
        _ => WorkloadError::CallRefused { workload, call, source },
    }
}

struct SyscallKernel<const N: usize> {
    mix: [Call; N],
    calls: Calls,
    answers: u64,
    _scratch: Option<Arc<Scratch>>,
}

impl<const N: usize> Kernel for SyscallKernel<N> {
    fn reset(&mut self) {
        self.calls.tidy();
        self.answers = 0;
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations / N as u64 {
            for call in self.mix {
                self.answers += answer(&mut self.calls, call);
            }
        }
        for &call in &self.mix[..(operations % N as u64) as usize] {
            self.answers += answer(&mut self.calls, call);
        }
    }

    /// The sum of the kernel's answers.
    fn check(&self) -> u64 {
        self.answers
    }
}

#[inline(always)]
fn answer(calls: &mut Calls, call: Call) -> u64 {
    calls.make(call).unwrap_or_else(|error| lost(call, error))
}

#[cold]
#[inline(never)]
fn lost(call: Call, error: Errno) -> ! {
    end(format!("the system does not answer {} any more", call.name()), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unless_ended;

    #[test]
    fn a_call_that_is_refused_ends_the_run_with_an_error() {
        let calls = Calls::new(PathBuf::new()).unwrap();
        // No file is open.
        let mut kernel = SyscallKernel { mix: [Call::Stat], calls, answers: 0, _scratch: None };
        let error = unless_ended(ABOUT.name, &mut kernel, |kernel| kernel.run(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "workload `syscall-mix` cannot go on, because the system does not answer fstat any more: \
             Bad file descriptor (os error 9)"
        );
    }
}
