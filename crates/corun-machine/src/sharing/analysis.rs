//! Resources that the CPUs of a set share: cores, caches and NUMA nodes, by the description of the machine alone.

use super::guest;
use super::subject::ResolvedSubject;
use super::{CacheShare, CoreShare, CoreUse, CpuSharing, NodeShare, is_shared_level};
use crate::{CpuSet, Machine};

/// Everything but who else is busy and the answer.
pub(super) fn analyse(machine: &Machine, found: ResolvedSubject) -> CpuSharing {
    let ResolvedSubject { subject, cpus: named, hypervisor, .. } = found;
    let online = machine.online();
    let cpus = named.intersection(&online);
    let split = |all: &CpuSet| {
        let all = all.intersection(&online);
        (all.intersection(&cpus), all.difference(&cpus))
    };
    let cores: Vec<CoreShare> = machine
        .cores
        .iter()
        .map(|core| (core.id, split(&core.cpus)))
        .filter(|(_, (inside, _))| !inside.is_empty())
        .map(|(core, (inside, outside))| CoreShare { core, inside, outside })
        .collect();
    let caches = machine
        .caches
        .iter()
        .filter(|cache| is_shared_level(cache.level, cache.cache_type))
        .map(|cache| (cache, split(&cache.cpus)))
        .filter(|(_, (inside, _))| !inside.is_empty())
        .map(|(cache, (inside, outside))| CacheShare {
            level: cache.level,
            size_bytes: cache.size_bytes,
            inside,
            outside,
        });
    let nodes = machine
        .numa_nodes
        .iter()
        .map(|node| (node, split(&node.cpus)))
        .filter(|(_, (inside, _))| !inside.is_empty())
        .map(|(node, (inside, outside))| NodeShare {
            node: node.id,
            memory_bytes: node.memory_bytes,
            inside,
            outside,
        });
    let with_core: CpuSet = cores.iter().flat_map(|core| core.inside.iter()).collect();
    CpuSharing {
        answer: String::new(),
        subject,
        offline: named.difference(&online),
        core_use: core_use(&cores),
        core_unknown: cpus.difference(&with_core),
        caches: caches.collect(),
        numa_nodes: nodes.collect(),
        others: None,
        guest: hypervisor.map(|hypervisor| guest::analyse(machine, &hypervisor)),
        cores,
        cpus,
    }
}

/// The online siblings of `cpus` that are not among them.
pub(super) fn siblings_outside(machine: &Machine, cpus: &CpuSet) -> CpuSet {
    let of_core = |cpu| machine.cpu(cpu).map(|cpu| cpu.siblings.clone()).unwrap_or_default();
    let siblings: CpuSet = cpus.iter().flat_map(|cpu| of_core(cpu).as_slice().to_vec()).collect();
    siblings.intersection(&machine.online()).difference(cpus)
}

fn core_use(cores: &[CoreShare]) -> CoreUse {
    let width = |core: &CoreShare| core.inside.len() + core.outside.len();
    if cores.is_empty() {
        CoreUse::Unknown
    } else if cores.iter().all(|core| width(core) == 1) {
        CoreUse::NoSiblings
    } else if cores.iter().all(|core| core.outside.is_empty()) {
        CoreUse::WholeCores
    } else if cores.iter().all(|core| core.inside.len() == 1) {
        CoreUse::OneACore
    } else {
        CoreUse::Mixed
    }
}
