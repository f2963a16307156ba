//! NUMA nodes, those without CPUs included.

use super::source::Source;
use crate::finding::Findings;
use crate::{CpuSet, FindingKind, HIGHEST_CPU, NumaNode, SystemFiles};

const NODE_FOLDER: &str = "sys/devices/system/node";

/// Reads the nodes, ascending. `memory_nodes` are those that the cpuset allows, if it says.
pub(super) fn read<F: SystemFiles>(
    source: &mut Source<'_, F>,
    known: &CpuSet,
    memory_nodes: Option<&CpuSet>,
) -> Vec<NumaNode> {
    let ids: CpuSet =
        source.files.list(NODE_FOLDER).iter().filter_map(|name| node_number(name)).collect();
    let mut nodes = Vec::with_capacity(ids.len());
    for id in ids.iter() {
        let folder = format!("{NODE_FOLDER}/node{id}");
        let cpus = source
            .list(&format!("{folder}/cpulist"))
            .or_else(|| source.mask(&format!("{folder}/cpumap")))
            .unwrap_or_default();
        let memory_bytes = source.text(&format!("{folder}/meminfo")).and_then(memory_bytes);
        let allowed = memory_nodes.is_none_or(|nodes| nodes.contains(id));
        nodes.push(NumaNode { id, cpus: cpus.intersection(known), memory_bytes, allowed });
    }
    report_contradictions(&nodes, &mut source.findings);
    nodes
}

/// The node that a CPU is in, the lowest if there are several.
pub(super) fn node_of(nodes: &[NumaNode], cpu: u32) -> Option<u32> {
    nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.id)
}

fn report_contradictions(nodes: &[NumaNode], findings: &mut Findings) {
    let mut before = CpuSet::new();
    let mut repeated = CpuSet::new();
    for node in nodes {
        repeated = repeated.union(&before.intersection(&node.cpus));
        before = before.union(&node.cpus);
    }
    if !repeated.is_empty() {
        findings.add(
            FindingKind::ContradictoryNumaNodes,
            format!("{NODE_FOLDER}/node*/cpulist"),
            "said to be in several NUMA nodes; the lowest is taken",
            &repeated,
        );
    }
}

fn node_number(folder: &str) -> Option<u32> {
    let digits = folder.strip_prefix("node")?;
    let number = digits.parse().ok().filter(|&number| number <= HIGHEST_CPU)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

/// `Node 0 MemTotal:  16318016 kB`, where kB means KiB.
fn memory_bytes(meminfo: &str) -> Option<u64> {
    let mut words = meminfo.lines().find(|line| line.contains("MemTotal:"))?.split_whitespace();
    words.find(|word| *word == "MemTotal:")?;
    let kibibytes: u64 = words.next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(memory_bytes("Node 1 MemTotal:       8 kB\nNode 1 MemFree: 4 kB"), Some(8192));
        assert_eq!(memory_bytes("Node 1 MemTotal: many kB"), None);
        assert_eq!(memory_bytes("Node 1 MemTotal: 18446744073709551615 kB"), None);
        assert_eq!(memory_bytes(""), None);
    }
}
