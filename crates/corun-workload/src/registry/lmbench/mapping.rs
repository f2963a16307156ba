//! A file's pages in a process's address space: mapping and unmapping them, and the first touch of
//! each.
#![expect(clippy::disallowed_methods, reason = "the file is the workload's own")]

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut, MmapOptions};
use nix::sys::resource::{UsageWho, getrusage};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rustix::io::Errno;

use super::calls::answered;
use super::repeated::repeated;
use super::{descriptor, refused_by};
use crate::ended::end;
use crate::in_memory::opaque;
use crate::scratch::Scratch;
use crate::workload::{Workload, anywhere};
use crate::{
    Choice, Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Tally, WorkloadError,
};

const MAX_BYTES: u64 = 64 << 20;

const SIZE: Parameter = Parameter {
    name: "size",
    summary: "the length of the file",
    default: "4MiB",
    domain: Domain::Size { least: 1 << 20, most: MAX_BYTES, multiple_of: 1 << 20 },
};

const TOUCHED: Parameter = Parameter {
    name: "touched",
    summary: "the bytes that are written between mapping and unmapping",
    default: "dense",
    domain: Domain::Choice(&[
        Choice { value: "dense", summary: "one each 16 KiB of the first tenth of the file" },
        Choice { value: "sparse", summary: "one each 160 KiB of the whole file" },
    ]),
};

pub(super) static MAP: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[SIZE, TOUCHED],
        disk_bytes: MAX_BYTES + 4096,
        ..descriptor(
            ["lmbench/mmap", "lat_mmap"],
            "mapping a file, writing a few of its bytes, and unmapping it",
            &[Tag::SystemCalls, Tag::Tlb],
            ["a mapping, from its making to its end", "mappings"],
        )
    },
    unavailable: anywhere,
    prepare: prepare_map,
};

pub(super) static FAULT: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[SIZE],
        disk_bytes: MAX_BYTES + 4096,
        subtracts: Some("mapping the file and counting faults as often, without touching it"),
        tallies: &[Tally { counted: "faults" }],
        ..descriptor(
            ["lmbench/page-fault", "lat_pagefault"],
            "the first touch of each page of a mapped file, in random order",
            &[Tag::SystemCalls, Tag::Tlb],
            ["the first touch of a page", "pages"],
        )
    },
    unavailable: anywhere,
    prepare: prepare_fault,
};

/// A file of `size` bytes for each worker.
fn files(
    descriptor: &'static Descriptor,
    size: u64,
    workers: NonZeroUsize,
) -> Result<Vec<(File, Arc<Scratch>)>, WorkloadError> {
    let scratch = Arc::new(Scratch::with_room(descriptor, workers, size + 4096, size)?);
    let page = page_size();
    let files = (0..workers.get()).map(|worker| {
        let pages = (0..size as usize / page).map(|number| vec![byte_of_page(number); page]);
        let path = scratch.write_blocks(&worker.to_string(), pages)?;
        let file = File::options().read(true).write(true).open(path);
        Ok((file.map_err(|error| refused_by(descriptor.name, "open", error))?, scratch.clone()))
    });
    files.collect()
}

/// The bytes of this page of the file.
fn byte_of_page(page: usize) -> u8 {
    (page % 251) as u8
}

fn page_size() -> usize {
    rustix::param::page_size()
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn prepare_map(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let size = parameters.number(&SIZE)? as usize;
    let (range, stride) = match parameters.choice(&TOUCHED)? {
        "sparse" => (size, 160 << 10),
        _ => (size / 10, 16 << 10),
    };
    let mut files = files(MAP.descriptor, size as u64, workers)?.into_iter();
    repeated(MAP.descriptor.name, "mmap", workers, |_| {
        let (file, scratch) = files.next().expect("a file for each worker");
        Ok(move || {
            let _kept = &scratch;
            // SAFETY: the file is the worker's own, and nothing makes it shorter.
            let mut map: MmapMut =
                unsafe { MmapOptions::new().len(size).map_mut(&file) }.map_err(errno)?;
            let mut written = 0;
            for byte in map[..range].iter_mut().step_by(stride) {
                *byte = 1;
                written += 1;
            }
            Ok(written)
        })
    })
}

fn prepare_fault(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let size = parameters.number(&SIZE)?;
    let mut order: Vec<u32> = (0..(size / page_size() as u64) as u32).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
    let order: Arc<[u32]> = order.into();
    let kernels = files(FAULT.descriptor, size, workers)?.into_iter().map(|(file, scratch)| {
        let map = Mapped::new(&file, size as usize)
            .map_err(|error| refused_by(FAULT.descriptor.name, "mmap", error.into()))?;
        Ok(Fault {
            file,
            map: Some(map),
            size,
            order: order.clone(),
            next: 0,
            sum: 0,
            faults: 0,
            _scratch: scratch,
        })
    });
    Job::of_each(kernels)
}

struct Fault {
    file: File,
    map: Option<Mapped>,
    size: u64,
    /// The order in which pages are touched.
    order: Arc<[u32]>,
    /// Pages that are touched already.
    next: usize,
    sum: u64,
    /// The faults of the last run.
    faults: u64,
    _scratch: Arc<Scratch>,
}

impl Fault {
    /// Maps the file anew, with no page of it in the page table.
    fn map_again(&mut self) {
        self.map = None;
        let map = Mapped::new(&self.file, self.size as usize);
        self.map = Some(map.unwrap_or_else(|error| end("the system now refuses mmap", error)));
    }
}

impl Kernel for Fault {
    fn reset(&mut self) {
        self.map_again();
        (self.next, self.sum) = (0, 0);
    }

    /// After the last page the file is unmapped and mapped again.
    fn run(&mut self, operations: u64) {
        self.faults = 0;
        let mut left = operations;
        while left > 0 {
            let touched = left.min((self.order.len() - self.next) as u64) as usize;
            if let Some(map) = &self.map {
                let before = faults();
                let pages = &self.order[self.next..][..touched];
                let bytes = pages.iter().map(|&page| u64::from(map.touch(page as usize)));
                self.sum += bytes.sum::<u64>();
                // Those of the touches alone: a mapping may bring pages along.
                self.faults += faults() - before;
            }
            self.next += touched;
            left -= touched as u64;
            if self.next == self.order.len() {
                self.map_again();
                self.next = 0;
            }
        }
    }

    fn overhead(&mut self, operations: u64) {
        for _ in 0..operations / self.order.len() as u64 {
            let before = faults();
            self.map_again();
            opaque(faults() - before);
        }
    }

    /// The page faults: a kernel may map several pages at one.
    fn tallies(&self) -> Vec<u64> {
        vec![self.faults]
    }

    /// The sum of the bytes that were touched.
    fn check(&self) -> u64 {
        self.sum
    }
}

/// Page faults of this thread so far that needed no disk.
fn faults() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)
        .unwrap_or_else(|error| end("the system refuses getrusage", error));
    usage.minor_page_faults().cast_unsigned()
}

/// The file in memory, with no page of it in the page table.
struct Mapped {
    map: Mmap,
    page: usize,
}

impl Mapped {
    fn new(file: &File, size: usize) -> Result<Self, Errno> {
        // SAFETY: the file is the worker's own, and nothing makes it shorter.
        let map = unsafe { MmapOptions::new().len(size).map(file) }.map_err(errno)?;
        let start = map.as_ptr().cast_mut().cast();
        // SAFETY: the pages are mapped, and the call changes nothing in them.
        answered(unsafe { libc::msync(start, size, libc::MS_INVALIDATE) })?;
        Ok(Self { map, page: page_size() })
    }

    #[inline(always)]
    fn touch(&self, page: usize) -> u8 {
        self.map[page * self.page]
    }
}
