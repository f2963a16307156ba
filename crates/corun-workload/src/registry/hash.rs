//! SHA-256: what servers do for every connection and every stored block.
//!
//! A chain of rounds, each waiting for the one before, mostly in one functional unit. The crate
//! `ring` has OpenSSL's assembly for the SHA extensions, AVX, SSSE3 and ARM's, and finds at run time
//! what there is; where there is no SHA extension, that is well ahead of compiled code.

use std::num::NonZeroUsize;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

use crate::generated::Random;
use crate::memory::{Memory, Pages, map_each};
use crate::{Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "hash",
    summary: "SHA-256 of one message after the other, each holding the digest before",
    tags: &[Tag::IntegerLatency],
    parameters: &[MESSAGE],
    operation: "a byte hashed",
    counted: "bytes",
    ..Descriptor::PLAIN
};

/// The default fits the first-level cache, and is long enough to make little of what a message
/// costs beside its bytes: a last block of padding.
const MESSAGE: Parameter = Parameter {
    name: "message",
    summary: "how long each message is",
    default: "16KiB",
    domain: Domain::Size { least: SHA256_OUTPUT_LEN as u64, most: 64 << 20, multiple_of: 1 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let length = parameters.number(&MESSAGE)?;
    let messages = map_each(ABOUT.name, workers, length, Pages::Huge)?;
    Ok(Job::of(messages.into_iter().map(|message| HashKernel { message })))
}

struct HashKernel {
    message: Memory,
}

impl Kernel for HashKernel {
    fn reset(&mut self) {
        let mut random = Random::new(5);
        self.message.fill_with(|| random.any() as u8);
    }

    /// The last message is as short as it takes. Each digest becomes the start of the next message.
    fn run(&mut self, operations: u64) {
        let mut left = operations;
        while left > 0 {
            let length = left.min(self.message.len() as u64);
            let digest = digest(&SHA256, &self.message[..length as usize]);
            self.message[..SHA256_OUTPUT_LEN].copy_from_slice(digest.as_ref());
            left -= length;
        }
    }

    /// The first eight bytes of the last digest.
    fn check(&self) -> u64 {
        self.message.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}
