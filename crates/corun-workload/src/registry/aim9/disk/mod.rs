//! Reading, writing and copying a file, one KiB an operation.
//!
//! The original writes the file and has the whole system synchronised within each call, and credits
//! itself with neither; here the reset writes the file and synchronises it alone, and an operation is
//! what is credited. Its file is in `$TMPDIR`: on a tmpfs this measures the kernel, not a disk.

mod kernel;

use std::num::NonZeroUsize;
use std::sync::Arc;

use kernel::{Disk, Way, Writes};

use super::descriptor;
use crate::scratch::Scratch;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Domain, Job, Parameter, Parameters, Tag, WorkloadError};

/// Bytes of an operation.
const BLOCK: u64 = 1024;

/// The largest file: as many blocks as there are random numbers.
const MAX_FILE_BYTES: u64 = (1 << 15) * BLOCK;

const FILE_SIZE: Parameter = Parameter {
    name: "file_size",
    summary: "the file; the tests that write synchronously use half of it",
    default: "5MiB",
    domain: Domain::Size { least: 2 * BLOCK, most: MAX_FILE_BYTES, multiple_of: 2 * BLOCK },
};

/// The tests: what an operation does, whether its writes wait for the disk, summary.
macro_rules! rows {
    ($($row:ident: $name:literal, $way:ident, $writes:ident, $summary:literal;)*) => {
        $(pub(super) static $row: Workload = Workload {
            descriptor: &disk($name, $summary, Way::$way, Writes::$writes),
            unavailable: anywhere,
            prepare: |parameters, workers| {
                prepare($row.descriptor, Way::$way, Writes::$writes, parameters, workers)
            },
        };)*
    };
}

rows! {
    RANDOM_READ: "aim9/disk_rr", RandomRead, Buffered,
        "reads at random places of a file";
    RANDOM_WRITE: "aim9/disk_rw", RandomWrite, Buffered,
        "writes at random places of a file";
    READ: "aim9/disk_rd", Read, Buffered,
        "reads of a file from its beginning to its end";
    WRITE: "aim9/disk_wrt", Write, Buffered,
        "writes that make a file longer";
    COPY: "aim9/disk_cp", Copy, Buffered,
        "reads of a file, written to the end of another";
    SYNC_RANDOM_WRITE: "aim9/sync_disk_rw", RandomWrite, Synchronous,
        "writes at random places of a file, each waiting for the disk";
    SYNC_WRITE: "aim9/sync_disk_wrt", Write, Synchronous,
        "writes that make a file longer, each waiting for the disk";
    SYNC_COPY: "aim9/sync_disk_cp", Copy, Synchronous,
        "reads of a file, written to another, each waiting for the disk";
}

const fn disk(name: &'static str, summary: &'static str, way: Way, writes: Writes) -> Descriptor {
    Descriptor {
        parameters: &[FILE_SIZE],
        disk_bytes: written(MAX_FILE_BYTES, way, writes),
        ..descriptor(
            name,
            summary,
            &[Tag::SystemCalls, Tag::CacheCapacity],
            ["a block of 1 KiB", "blocks"],
            1.0,
            "KB/s",
        )
    }
}

/// Bytes of the file, or of both files, and the block that a file system may need for their folder.
const fn written(file_size: u64, way: Way, writes: Writes) -> u64 {
    let files = if matches!(way, Way::Copy) { 2 } else { 1 };
    files * used(file_size, writes) + 4096
}

/// Bytes of the file that is worked on.
const fn used(file_size: u64, writes: Writes) -> u64 {
    match writes {
        Writes::Buffered => file_size,
        Writes::Synchronous => file_size / 2,
    }
}

fn prepare(
    descriptor: &'static Descriptor,
    way: Way,
    writes: Writes,
    parameters: &Parameters,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    let file_size = parameters.number(&FILE_SIZE)?;
    let (room, longest) = (written(file_size, way, writes), used(file_size, writes));
    let scratch = Arc::new(Scratch::with_room(descriptor, workers, room, longest)?);
    let blocks = longest / BLOCK;
    Job::of_each((0..workers.get()).map(|worker| {
        let disk = Disk::new(Arc::clone(&scratch), worker, way, writes, blocks);
        disk.map_err(|error| scratch.refused(error))
    }))
}
