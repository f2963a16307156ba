//! What is compared: sets of lines, so that a difference shows as the lines that differ.

use std::collections::BTreeSet;

use corun_machine::{CacheType, CpuSet, Machine};

/// A part of a machine that is compared by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Aspect {
    Cpus,
    Cores,
    Siblings,
    Packages,
    NumaNodes,
    Caches,
}

impl Aspect {
    pub(crate) const ALL: [Self; 6] =
        [Self::Cpus, Self::Cores, Self::Siblings, Self::Packages, Self::NumaNodes, Self::Caches];
}

/// A machine as far as it is compared.
#[derive(Default)]
pub(crate) struct Facts {
    pub cpus: CpuSet,
    pub cores: Vec<CpuSet>,
    /// Each CPU with its siblings, itself included.
    pub siblings: Vec<(u32, CpuSet)>,
    pub packages: Vec<CpuSet>,
    pub numa_nodes: Vec<(u32, CpuSet)>,
    /// Data and unified caches.
    pub caches: Vec<CacheFacts>,
}

/// A cache as far as it is compared; 0 is unknown.
pub(crate) struct CacheFacts {
    pub level: u32,
    pub cache_type: CacheType,
    pub size_bytes: u64,
    pub line_bytes: u32,
    pub ways: u32,
    pub cpus: CpuSet,
}

impl Facts {
    /// Facts of `machine` in the view of a process: without offline CPUs, and without what the
    /// cpuset forbids unless asked for.
    pub(crate) fn of(machine: &Machine, with_disallowed: bool) -> Self {
        let view = if with_disallowed { machine.online() } else { machine.allowed() };
        let seen = |cpus: &CpuSet| Some(cpus.intersection(&view)).filter(|cpus| !cpus.is_empty());
        let nodes = machine.numa_nodes.iter().filter(|node| node.allowed || with_disallowed);
        let mut numa_nodes: Vec<(u32, CpuSet)> =
            nodes.map(|node| (node.id, node.cpus.intersection(&view))).collect();
        if machine.numa_nodes.is_empty() {
            // hwloc gives every machine a node.
            numa_nodes.push((0, view.clone()));
        }
        let caches = machine.caches.iter().filter(|one| one.cache_type != CacheType::Instruction);
        let caches = caches.filter_map(|cache| {
            Some(CacheFacts {
                level: cache.level,
                cache_type: cache.cache_type,
                size_bytes: cache.size_bytes.unwrap_or(0),
                line_bytes: cache.line_bytes.unwrap_or(0),
                ways: cache.ways.unwrap_or(0),
                cpus: seen(&cache.cpus)?,
            })
        });
        // hwloc shows no core where the kernel reports neither siblings nor numbers of cores.
        let in_cores =
            view.iter().filter_map(|id| machine.cpu(id).filter(|cpu| cpu.core.is_some()));
        Self {
            cores: machine.cores.iter().filter_map(|core| seen(&core.cpus)).collect(),
            siblings: in_cores.map(|cpu| (cpu.id, cpu.siblings.intersection(&view))).collect(),
            packages: machine.packages.iter().filter_map(|package| seen(&package.cpus)).collect(),
            numa_nodes,
            caches: caches.collect(),
            cpus: view,
        }
    }

    /// One aspect, a line an object.
    pub(crate) fn lines(&self, aspect: Aspect) -> BTreeSet<String> {
        match aspect {
            Aspect::Cpus => BTreeSet::from([self.cpus.to_string()]),
            Aspect::Cores => self.cores.iter().map(CpuSet::to_string).collect(),
            Aspect::Siblings => {
                self.siblings.iter().map(|(cpu, siblings)| format!("{cpu}: {siblings}")).collect()
            }
            Aspect::Packages => self.packages.iter().map(CpuSet::to_string).collect(),
            Aspect::NumaNodes => {
                self.numa_nodes.iter().map(|(id, cpus)| format!("{id}: {cpus}")).collect()
            }
            Aspect::Caches => self.caches.iter().map(CacheFacts::line).collect(),
        }
    }
}

impl CacheFacts {
    fn line(&self) -> String {
        let Self { level, cache_type, size_bytes, line_bytes, ways, cpus } = self;
        format!("L{level} {cache_type:?} {size_bytes} B, line {line_bytes} B, {ways} ways: {cpus}")
    }
}
