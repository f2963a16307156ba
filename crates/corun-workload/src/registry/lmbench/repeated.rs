//! A call made again and again, which is what most of these tests are: the calls are a table of
//! closures, and this is the loop around them.

use std::num::NonZeroUsize;

use rustix::io::Errno;

use super::{empty_loop, refused};
use crate::ended::end;
use crate::{Job, Kernel, WorkloadError};

/// A kernel for each worker: what `start` prepares, given the worker's index, is called once for each
/// operation. It answers with a number that is the same every time.
///
/// It is called here once, so that a system that forbids `name` says so before anything is timed.
///
/// # Errors
/// Those of `start`, and [`refused`].
pub(super) fn repeated<C: Call + 'static>(
    workload: &'static str,
    name: &'static str,
    workers: NonZeroUsize,
    mut start: impl FnMut(usize) -> Result<C, WorkloadError>,
) -> Result<Job, WorkloadError> {
    Job::of_each((0..workers.get()).map(|worker| {
        let mut call = start(worker)?;
        call().map_err(|error| refused(workload, name, error))?;
        Ok(Repeated { call, name, answers: 0 })
    }))
}

/// A call that is repeated.
pub(super) trait Call: FnMut() -> Result<u64, Errno> + Send {}

impl<C: FnMut() -> Result<u64, Errno> + Send> Call for C {}

struct Repeated<C> {
    call: C,
    name: &'static str,
    answers: u64,
}

impl<C: Call> Kernel for Repeated<C> {
    fn reset(&mut self) {
        self.answers = 0;
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            match (self.call)() {
                Ok(answer) => self.answers += answer,
                Err(error) => end(format!("the system now refuses {}", self.name), error),
            }
        }
    }

    fn overhead(&mut self, operations: u64) {
        empty_loop(operations);
    }

    /// The sum of the answers.
    fn check(&self) -> u64 {
        self.answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unless_ended;

    #[test]
    fn a_call_that_is_refused_later_ends_the_run_with_an_error() {
        let mut left = 2;
        let call = move || {
            left -= 1;
            if left > 0 { Ok(1) } else { Err(Errno::PERM) }
        };
        let mut kernel = Repeated { call, name: "stat", answers: 0 };
        let error = unless_ended("lmbench/stat", &mut kernel, |kernel| kernel.run(2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "workload `lmbench/stat` cannot go on, because the system now refuses stat: Operation not \
             permitted (os error 1)"
        );
    }
}
