//! The list of all workloads. A new one is a file below `registry/`, its `mod` line and its line in
//! [`all`]; everything else about it is said in its own file.

mod aim9;
mod alias;
mod alloc;
mod branchy;
mod btree;
mod chase;
mod chat;
mod compress;
mod ctxswitch;
mod dbench;
mod fairness;
mod fib;
mod gups;
mod hash;
mod icache;
mod json;
mod lmbench;
mod lockline;
mod matmul;
mod ram;
mod regex;
mod regn;
mod sieve;
mod sort;
mod spin;
mod stream;
mod syscall_mix;
mod tbench;
mod tlb;

use corun_record::{nearest_first, nearest_first_by};

use crate::descriptor::within_suite;
use crate::{Suite, Tag, Workload, WorkloadError};

/// Every built-in workload: corun's own by name, then the rows of each suite in its own order.
pub fn all() -> impl Iterator<Item = &'static Workload> {
    own().chain(Suite::ALL.into_iter().flat_map(of_suite))
}

/// The rows of a suite, in the order of its table.
pub fn of_suite(suite: Suite) -> impl ExactSizeIterator<Item = &'static Workload> {
    let rows: &[&Workload] = match suite {
        Suite::Lmbench => lmbench::ROWS,
        Suite::Aim9 => aim9::ROWS,
    };
    rows.iter().copied()
}

/// The workloads of no suite, by name.
fn own() -> impl ExactSizeIterator<Item = &'static Workload> {
    #[rustfmt::skip]
    const ALL: &[&Workload] = &[
        &alias::WORKLOAD,
        &alloc::WORKLOAD,
        &branchy::WORKLOAD,
        &btree::WORKLOAD,
        &chase::WORKLOAD,
        &chat::WORKLOAD,
        &compress::WORKLOAD,
        &ctxswitch::WORKLOAD,
        &dbench::WORKLOAD,
        &fairness::WORKLOAD,
        &fib::WORKLOAD,
        &gups::WORKLOAD,
        &hash::WORKLOAD,
        &icache::WORKLOAD,
        &json::WORKLOAD,
        &lockline::WORKLOAD,
        &matmul::WORKLOAD,
        &ram::WORKLOAD,
        &regex::WORKLOAD,
        &regn::WORKLOAD,
        &sieve::WORKLOAD,
        &sort::WORKLOAD,
        &spin::WORKLOAD,
        &stream::WORKLOAD,
        &syscall_mix::WORKLOAD,
        &tbench::WORKLOAD,
        &tlb::WORKLOAD,
    ];
    ALL.iter().copied()
}

/// The workload called `name`; a row of a suite is also known without the suite's name, and by what
/// the suite's table calls it.
///
/// # Errors
/// [`WorkloadError::UnknownWorkload`], with the nearest names, the nearest first.
pub fn find(name: &str) -> Result<&'static Workload, WorkloadError> {
    let is_called = |workload: &&Workload| workload.descriptor().name == name;
    let is_row = |workload: &&Workload| {
        let descriptor = workload.descriptor();
        descriptor.row.is_some_and(|row| row.name == name) || within_suite(descriptor.name) == name
    };
    all().find(is_called).or_else(|| all().find(is_row)).ok_or_else(|| {
        let names = all().map(|workload| workload.descriptor().name);
        let mut known = nearest_first_by(name, names, |known| within_suite(known));
        known.truncate(NAMES_TOLD);
        WorkloadError::UnknownWorkload { found: name.to_owned(), known }
    })
}

impl Tag {
    /// The tag of this name.
    ///
    /// # Errors
    /// [`WorkloadError::UnknownTag`], with the nearest names first.
    pub fn find(name: &str) -> Result<Self, WorkloadError> {
        Self::ALL.into_iter().find(|tag| tag.name() == name).ok_or_else(|| {
            WorkloadError::UnknownTag {
                found: name.to_owned(),
                known: nearest_first(name, Self::ALL.into_iter().map(Self::name)),
            }
        })
    }
}

/// Names in the answer to a wrong one.
const NAMES_TOLD: usize = 12;
