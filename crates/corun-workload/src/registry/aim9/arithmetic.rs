//! Additions, multiplications and divisions of every type, each waiting for the one before.

use std::hint::black_box;
use std::num::NonZeroUsize;

use super::about;
use crate::row::{RowWorkload, anywhere};
use crate::{Job, Kernel, Parameters, Tag, WorkloadError};

pub(super) static ADD_DOUBLE: RowWorkload = RowWorkload {
    about: &about(
        "aim9/add_double",
        "dependent additions of double-precision numbers",
        &[Tag::IntegerLatency],
        ["an addition", "additions"],
        1000.0,
        "1000 additions/s",
    ),
    unavailable: anywhere,
    prepare,
};

fn prepare(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    Ok(Job::of((0..workers.get()).map(|_| AddDouble { sum: 0.0 })))
}

struct AddDouble {
    sum: f64,
}

impl Kernel for AddDouble {
    fn reset(&mut self) {
        self.sum = 0.0;
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.sum = black_box(self.sum + 1.0);
        }
    }

    fn check(&self) -> u64 {
        self.sum.to_bits()
    }
}
