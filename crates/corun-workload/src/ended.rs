//! The early end of a kernel's reset or run, by what the system no longer gives: processes, space on a
//! disk, descriptors. A kernel returns nothing from its hot loop, so the end unwinds to the caller,
//! and is reported as an error that a user can act on.

use std::any::Any;
use std::borrow::Cow;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::{Kernel, WorkloadError};

/// The refusal, and the system's reason.
struct Ended {
    what: Cow<'static, str>,
    source: io::Error,
}

/// Ends this reset or run with the message "cannot go on, because" followed by `what`.
#[cold]
#[inline(never)]
pub(crate) fn end(what: impl Into<Cow<'static, str>>, source: impl Into<io::Error>) -> ! {
    // Without the words that a panic prints.
    resume_unwind(Box::new(Ended { what: what.into(), source: source.into() }))
}

/// Lets a kernel do something that may end early.
///
/// # Errors
/// [`WorkloadError::Ended`], or what [`Kernel::failure`] reports.
///
/// # Panics
/// If the kernel does.
pub fn unless_ended(
    workload: &'static str,
    kernel: &mut dyn Kernel,
    work: impl FnOnce(&mut dyn Kernel),
) -> Result<(), WorkloadError> {
    let ended = |payload: Box<dyn Any + Send>| match payload.downcast::<Ended>() {
        Ok(ended) => WorkloadError::Ended { workload, what: ended.what, source: ended.source },
        Err(panic) => resume_unwind(panic),
    };
    catch_unwind(AssertUnwindSafe(|| work(kernel))).map_err(ended)?;
    kernel.failure().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    /// Ends at its third operation.
    struct Short(u64);

    impl Kernel for Short {
        fn reset(&mut self) {
            self.0 = 0;
        }

        fn run(&mut self, operations: u64) {
            for _ in 0..operations {
                self.0 += 1;
                if self.0 == 3 {
                    end("the third is refused", Errno::AGAIN);
                }
            }
        }

        fn check(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn an_early_end_is_an_error_and_no_panic() {
        let mut kernel = Short(0);
        assert!(unless_ended("short", &mut kernel, |kernel| kernel.run(2)).is_ok());
        let error = unless_ended("short", &mut kernel, |kernel| kernel.run(2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "workload `short` cannot go on, because the third is refused: Resource temporarily \
             unavailable (os error 11)"
        );
        let panics = catch_unwind(AssertUnwindSafe(|| {
            let _ = unless_ended("short", &mut kernel, |_| panic!("a mistake"));
        }));
        assert!(panics.is_err());
    }
}
