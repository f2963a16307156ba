//! The list of all workloads. A new one is a file below `registry/`, its `mod` line and its line in
//! [`all`]; everything else about it is said in its own file.

mod alias;
mod chase;
mod ctxswitch;
mod fairness;
mod fib;
mod gups;
mod lockline;
mod alloc;
mod btree;
mod chase;
mod compress;
mod fib;
mod gups;
mod hash;
mod json;
mod matmul;
mod ram;
mod regex;
mod regn;
mod spin;
mod sort;
mod stream;
mod tlb;

use crate::error::nearest_first;
use crate::{Workload, WorkloadError};

/// Every built-in workload, by name.
pub fn all() -> impl ExactSizeIterator<Item = &'static dyn Workload> {
    #[rustfmt::skip]
    const ALL: &[&dyn Workload] = &[
        &alias::Alias,
        &chase::Chase,
        &ctxswitch::CtxSwitch,
        &fairness::Fairness,
        &fib::Fib,
        &gups::Gups,
        &lockline::LockLine,
        &alloc::Alloc,
        &btree::Btree,
        &chase::Chase,
        &compress::Compress,
        &fib::Fib,
        &gups::Gups,
        &hash::Hash,
        &json::Json,
        &matmul::Matmul,
        &ram::Ram,
        &regex::SearchLog,
        &regn::Regn,
        &spin::Spin,
        &sort::Sort,
        &stream::Stream,
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
