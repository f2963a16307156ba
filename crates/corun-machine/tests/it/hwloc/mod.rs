//! Captured machines of many kinds, compared with what hwloc makes of them.
//!
//! hwloc's own test corpus holds twenty years of odd machines. What hwloc leaves out by policy, and
//! the kernel says, is in `exceptions.txt` with the reason; an exception that is no longer needed
//! fails this test.

pub(crate) mod captured;
mod corpus;
mod expected;
mod facts;

use std::collections::BTreeSet;

use corpus::Case;
use corun_machine::CpuSet;
use facts::{Aspect, Facts};

#[test]
fn every_captured_machine_is_read_as_hwloc_reads_it() {
    let Some(folder) = corun_testing::reference("topologies/hwloc") else {
        corun_testing::skip("hwloc_corpus", "the captured machines are not beside the repository");
        return;
    };
    let exceptions = corpus::exceptions(include_str!("exceptions.txt"));
    assert!(exceptions.len() <= 6, "at most 6 exceptions, found {}", exceptions.len());

    let mut differing = BTreeSet::new();
    let mut report = String::new();
    let cases = corpus::cases(&folder);
    assert!(!cases.is_empty(), "{} holds no .test file", folder.display());
    for case in &cases {
        for (aspect, difference) in differences(case) {
            differing.insert((case.name.clone(), aspect));
            if !exceptions.contains(&(case.name.clone(), aspect)) {
                report += &format!("{} {aspect:?}:\n{difference}\n", case.name);
            }
        }
    }
    for (name, aspect) in exceptions.difference(&differing) {
        report += &format!("{name} {aspect:?}: the exception is no longer needed\n");
    }
    assert!(report.is_empty(), "{report}");
}

/// Differences between corun and hwloc in one captured machine.
fn differences(case: &Case) -> Vec<(Aspect, String)> {
    let mut ours = Facts::of(&case.machine, case.with_disallowed);
    let mut theirs = expected::facts(&case.expected, &case.name);
    if !expected::is_xml(&case.expected) {
        ours.caches.iter_mut().for_each(|cache| cache.size_bytes = rounded(cache.size_bytes));
    }
    // hwloc lends a node without CPUs those that are near to it.
    for (node, cpus) in &mut theirs.numa_nodes {
        if case.memory_only.contains(node) {
            *cpus = CpuSet::new();
        }
    }
    Aspect::ALL
        .into_iter()
        .filter(|aspect| !(case.without_caches && *aspect == Aspect::Caches))
        .filter_map(|aspect| {
            let ours = ours.lines(aspect);
            let theirs = theirs.lines(aspect);
            let missing: Vec<_> = theirs.difference(&ours).collect();
            let surplus: Vec<_> = ours.difference(&theirs).collect();
            // Options such as --merge leave out what has the same CPUs as something else.
            let may_leave_out = case.leaves_out && aspect != Aspect::Cpus;
            let equal = missing.is_empty() && (surplus.is_empty() || may_leave_out);
            (!equal).then(|| {
                (aspect, format!("  only hwloc: {missing:#?}\n  only corun: {surplus:#?}"))
            })
        })
        .collect()
}

/// A size as hwloc's text shows it: whole MiB from 10 MiB on.
fn rounded(bytes: u64) -> u64 {
    const MIB: u64 = 1 << 20;
    if bytes < 10 * MIB { bytes } else { (bytes + MIB / 2) / MIB * MIB }
}
