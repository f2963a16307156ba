//! System calls that do little: entering the kernel and leaving it again.

use std::num::NonZeroUsize;

use rustix::process::Pid;

use super::about;
use crate::in_memory::opaque;
use crate::row::{RowWorkload, anywhere};
use crate::{Job, Kernel, Parameters, Tag, WorkloadError};

pub(super) static NULL: RowWorkload = RowWorkload {
    about: &about(
        ["lmbench/simple-syscall", "Simple syscall"],
        "getppid, which does next to nothing in the kernel",
        &[Tag::SystemCalls],
        ["a system call", "calls"],
        Some("an empty loop"),
    ),
    unavailable: anywhere,
    prepare,
};

fn prepare(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let parent = rustix::process::getppid();
    Ok(Job::of((0..workers.get()).map(|_| GetParent { parent, answers: 0 })))
}

struct GetParent {
    parent: Option<Pid>,
    answers: u64,
}

impl Kernel for GetParent {
    fn reset(&mut self) {
        self.answers = 0;
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.answers += u64::from(rustix::process::getppid() == self.parent);
        }
    }

    fn overhead(&mut self, operations: u64) {
        let mut answers = 0;
        for _ in 0..operations {
            answers = opaque(answers + 1);
        }
    }

    /// The answers that were right.
    fn check(&self) -> u64 {
        self.answers
    }
}
