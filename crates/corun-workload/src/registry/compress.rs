//! Zstandard: what file systems, databases and networks compress with.
//!
//! It searches tables that fill the caches and takes branches that depend on the text. The C library
//! itself, linked in, so that rates are those of the programs that use it.

use std::num::NonZeroUsize;

use zstd::bulk::{Compressor, decompress};
use zstd::zstd_safe::compress_bound;

use crate::checksum::checksum;
use crate::generated::prose;
use crate::{Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "compress",
    summary: "Zstandard compression of text in blocks of 128 KiB",
    tags: &[Tag::CacheCapacity, Tag::BranchPrediction, Tag::IntegerThroughput],
    parameters: &[LEVEL],
    operation: "a byte compressed",
    counted: "bytes",
    ..Descriptor::PLAIN
};

const LEVEL: Parameter = Parameter {
    name: "level",
    summary: "how hard to try: higher levels are slower and compress better",
    default: "3",
    domain: Domain::Count { unit: "levels", least: 1, most: 22 },
};

/// A few blocks more than a second-level cache holds.
const TEXT_BYTES: usize = 4 << 20;

/// The largest block of the format, so a frame is one block.
const BLOCK_BYTES: usize = 128 << 10;

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let level = parameters.number(&LEVEL)? as i32;
    Job::of_each((0..workers.get()).map(|_| CompressKernel::new(level)))
}

struct CompressKernel {
    compressor: Compressor<'static>,
    text: Vec<u8>,
    frame: Vec<u8>,
    compressed: u64,
}

impl CompressKernel {
    fn new(level: i32) -> Result<Self, WorkloadError> {
        let frame_bytes = compress_bound(BLOCK_BYTES);
        let compressor = Compressor::new(level).map_err(|source| WorkloadError::NoMemory {
            workload: ABOUT.name,
            bytes: frame_bytes as u64,
            source,
        })?;
        let frame = Vec::with_capacity(frame_bytes);
        Ok(Self { compressor, text: Vec::new(), frame, compressed: 0 })
    }

    /// One frame from each block in turn, from the first one on; the last block is cut short.
    fn compress(&mut self, bytes: u64) {
        let mut blocks = self.text.chunks(BLOCK_BYTES).cycle();
        let mut left = bytes;
        while left > 0
            && let Some(block) = blocks.next()
        {
            let block = &block[..left.min(block.len() as u64) as usize];
            self.frame.clear();
            self.compressor
                .compress_to_buffer(block, &mut self.frame)
                .expect("a buffer as long as the library asks for takes any frame");
            left -= block.len() as u64;
        }
        self.compressed = bytes - left;
    }
}

impl Kernel for CompressKernel {
    /// Compresses a block, so that the library has all the memory that it works with.
    fn reset(&mut self) {
        if self.text.is_empty() {
            self.text = prose(TEXT_BYTES);
        }
        self.compress(BLOCK_BYTES as u64);
    }

    fn run(&mut self, operations: u64) {
        self.compress(operations);
    }

    /// Checksum of the last frame, decompressed, and of the amount that has been compressed.
    fn check(&self) -> u64 {
        let block = decompress(&self.frame, BLOCK_BYTES).unwrap_or_default();
        checksum(block.into_iter().map(u64::from)).wrapping_add(self.compressed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn another_decompressor_gives_the_text_back() {
        for level in [1, 3, 19] {
            let mut kernel = CompressKernel::new(level).unwrap();
            kernel.reset();
            for bytes in [1, 1000, BLOCK_BYTES, BLOCK_BYTES + 77] {
                kernel.run(bytes as u64);
                let mut text = Vec::new();
                ruzstd::decoding::StreamingDecoder::new(kernel.frame.as_slice())
                    .unwrap()
                    .read_to_end(&mut text)
                    .unwrap();
                let block = kernel.text[..bytes].chunks(BLOCK_BYTES).next_back().unwrap();
                assert!(text == block, "level {level}, {bytes} bytes");
            }
        }
    }

    #[test]
    fn the_text_shrinks_as_text_does() {
        let mut kernel = CompressKernel::new(3).unwrap();
        kernel.reset();
        for block in 1..=4 {
            kernel.run((block * BLOCK_BYTES) as u64);
            let ratio = BLOCK_BYTES as f64 / kernel.frame.len() as f64;
            assert!((2.5..3.5).contains(&ratio), "block {block}: {ratio:.2}");
        }
    }
}
