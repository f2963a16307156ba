//! Machine as sysfs describes it, made by hand.

use crate::{AllowedBy, Cache, CacheType, Core, CpuSet, LogicalCpu, Machine, Smt};

/// A machine of these cores and L3 caches; all CPUs may be used. A package is an L3 cache.
pub(super) fn machine(cores: &[&[u32]], caches: &[&[u32]]) -> Machine {
    let set = |cpus: &[u32]| cpus.iter().copied().collect::<CpuSet>();
    let package =
        |cpu: u32| caches.iter().position(|cache| cache.contains(&cpu)).unwrap_or(0) as u32;
    let logical_cpu = |core: usize, id: u32| LogicalCpu {
        id,
        present: true,
        online: true,
        allowed: true,
        core: Some(core as u32),
        siblings: set(cores[core]),
        package: Some(package(id)),
        numa_node: None,
        core_type: None,
    };
    let mut logical_cpus: Vec<LogicalCpu> = (0..cores.len())
        .flat_map(|core| cores[core].iter().map(move |&cpu| (core, cpu)))
        .map(|(core, cpu)| logical_cpu(core, cpu))
        .collect();
    logical_cpus.sort_by_key(|cpu| cpu.id);
    let core = |(id, cpus): (usize, &&[u32])| Core {
        id: id as u32,
        core_id: None,
        cpus: set(cpus),
        smt_width: cpus.len() as u32,
        package: Some(package(cpus[0])),
        die: None,
        cluster: None,
        numa_node: None,
        core_type: None,
    };
    let cache = |cpus: &&[u32]| Cache {
        level: 3,
        cache_type: CacheType::Unified,
        size_bytes: None,
        line_bytes: None,
        ways: None,
        cpus: set(cpus),
    };
    Machine {
        cpu_model: None,
        hypervisor: None,
        smt: Smt { control: None, active: None, width: 2 },
        logical_cpus,
        cores: cores.iter().enumerate().map(core).collect(),
        core_types: Vec::new(),
        packages: Vec::new(),
        dies: Vec::new(),
        clusters: Vec::new(),
        numa_nodes: Vec::new(),
        caches: caches.iter().map(cache).collect(),
        clocks: Vec::new(),
        allowed_by: AllowedBy::default(),
        findings: Vec::new(),
    }
}

/// Two cores of two siblings under one L3 cache.
pub(super) fn two_by_two() -> Machine {
    machine(&[&[0, 1], &[2, 3]], &[&[0, 1, 2, 3]])
}
