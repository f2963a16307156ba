//! Which CPUs serve each interrupt; the kernel moves those whose CPUs all go offline, for good.
//!
//! `Documentation/core-api/irq/irq-affinity.rst`.

use std::collections::BTreeMap;

use super::system::{numbers, text};
use crate::SystemFiles;

/// The file of an interrupt's CPUs.
pub(super) fn file(irq: u32) -> String {
    format!("proc/irq/{irq}/smp_affinity_list")
}

/// The CPUs of every interrupt, as the kernel writes the list.
pub(super) fn affinities(files: &mut impl SystemFiles) -> BTreeMap<u32, String> {
    let irqs = numbers(files, "proc/irq");
    irqs.into_iter().filter_map(|irq| Some((irq, text(files, &file(irq))?))).collect()
}

/// Who asked for an interrupt: the kernel keeps a folder for each.
pub(super) fn users(files: &mut impl SystemFiles, irq: u32) -> Vec<String> {
    /// Files that every interrupt has.
    const FILES: [&str; 7] = [
        "smp_affinity",
        "smp_affinity_list",
        "affinity_hint",
        "node",
        "spurious",
        "effective_affinity",
        "effective_affinity_list",
    ];
    let mut names = files.list(&format!("proc/irq/{irq}"));
    names.retain(|name| !FILES.contains(&name.as_str()));
    names.sort_unstable();
    names
}
