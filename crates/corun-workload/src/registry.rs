//! The list of all workloads. A new one is a file below `registry/`, its `mod` line and its line in
//! [`all`]; everything else about it is said in its own file.

mod alias;
mod alloc;
mod branchy;
mod btree;
mod chase;
mod compress;
mod ctxswitch;
mod fairness;
mod fib;
mod gups;
mod hash;
mod icache;
mod json;
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
mod tlb;

use crate::error::nearest_first;
use crate::{Workload, WorkloadError};

/// Every built-in workload, by name.
pub fn all() -> impl ExactSizeIterator<Item = &'static dyn Workload> {
    #[rustfmt::skip]
    const ALL: &[&dyn Workload] = &[
        &alias::Alias,
        &alloc::Alloc,
        &branchy::Branchy,
        &btree::Btree,
        &chase::Chase,
        &compress::Compress,
        &ctxswitch::CtxSwitch,
        &fairness::Fairness,
        &fib::Fib,
        &gups::Gups,
        &hash::Hash,
        &icache::Icache,
        &json::Json,
        &lockline::LockLine,
        &matmul::Matmul,
        &ram::Ram,
        &regex::SearchLog,
        &regn::Regn,
        &sieve::Sieve,
        &sort::Sort,
        &spin::Spin,
        &stream::Stream,
        &syscall_mix::SyscallMix,
        &tlb::Tlb,
    ];
    ALL.iter().copied()
}

/// The workload called `name`.
///
/// # Errors
/// [`WorkloadError::UnknownWorkload`], with the nearest names first.
pub fn find(name: &str) -> Result<&'static dyn Workload, WorkloadError> {
    all().find(|workload| workload.about().name == name).ok_or_else(|| {
        WorkloadError::UnknownWorkload {
            found: name.to_owned(),
            known: nearest_first(name, all().map(|workload| workload.about().name)),
        }
    })
}
