//! JSON: what services read and write all day.
//!
//! The crate `serde_json` parses each record to a tree of values, which takes a branch for almost
//! every byte and an allocation for almost every value, and writes the tree as text again.

use std::num::NonZeroUsize;

use serde_json::Value;

use crate::checksum::checksum;
use crate::generated::records;
use crate::{Descriptor, Job, Kernel, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "json",
    summary: "parses JSON records to trees of values and writes them as text again",
    tags: &[Tag::BranchPrediction, Tag::Allocation, Tag::IntegerThroughput],
    operation: "a byte parsed",
    counted: "bytes",
    ..Descriptor::PLAIN
};

/// Fits most second-level caches, and is long enough to teach a branch predictor nothing.
const DOCUMENT_BYTES: usize = 512 << 10;

fn prepare(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    Ok(Job::of((0..workers.get()).map(|_| JsonKernel::default())))
}

#[derive(Default)]
struct JsonKernel {
    document: Vec<u8>,
    written: Vec<u8>,
    parsed: u64,
}

impl Kernel for JsonKernel {
    fn reset(&mut self) {
        if self.document.is_empty() {
            self.document = records(DOCUMENT_BYTES);
        }
        self.written.clear();
        self.written.resize(self.document.len(), 0);
        self.parsed = 0;
    }

    /// The last record may be cut short; the parser finds that out at its end, and nothing is
    /// written for it.
    fn run(&mut self, operations: u64) {
        let mut left = operations;
        while left > 0 {
            let length = left.min(self.document.len() as u64);
            self.written.clear();
            for record in self.document[..length as usize].split_inclusive(|&byte| byte == b'\n') {
                if let Ok(value) = serde_json::from_slice::<Value>(record) {
                    serde_json::to_writer(&mut self.written, &value)
                        .expect("a vector takes any text");
                }
            }
            left -= length;
        }
        self.parsed = operations;
    }

    /// Checksum of what the last pass has written, and of the amount that has been parsed.
    fn check(&self) -> u64 {
        checksum(self.written.iter().copied().map(u64::from)).wrapping_add(self.parsed)
    }
}
