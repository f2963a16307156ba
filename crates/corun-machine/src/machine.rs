//! The description of a machine, as `corun topo --json` writes it.
//!
//! Everything is named by the numbers the kernel uses, so that an answer can be checked against
//! `/sys`; only cores are renumbered, because the kernel's `core_id` repeats in every package.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuSet, Finding, MachineError, RootFiles, Smt, SystemFiles, reading};

/// A machine: its CPUs, how they hang together, and what is odd about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The CPU model's name.
    pub cpu_model: Option<String>,
    /// The hypervisor's name, `unknown` where only its presence shows; `null` where none shows (the
    /// doctor's check `virtual-machine` says whether one could show).
    pub hypervisor: Option<String>,
    /// The state of SMT.
    pub smt: Smt,
    /// Every logical CPU the kernel knows, ascending by number.
    pub logical_cpus: Vec<LogicalCpu>,
    /// Cores of which siblings are known, by their lowest CPU.
    pub cores: Vec<Core>,
    /// The core types of a hybrid machine, the one with the lowest CPU first; none on others.
    pub core_types: Vec<CoreType>,
    /// Packages (sockets).
    pub packages: Vec<Package>,
    /// Dies, where the kernel numbers them.
    pub dies: Vec<Die>,
    /// Clusters of cores inside a die, where the kernel numbers them.
    pub clusters: Vec<Cluster>,
    /// NUMA nodes, those without CPUs included.
    pub numa_nodes: Vec<NumaNode>,
    /// L1 to L4 caches, by level, type and lowest CPU.
    pub caches: Vec<Cache>,
    /// The clocks of the online CPUs, those that are alike together; none where the kernel does not report them.
    #[serde(default)]
    pub clocks: Vec<Clock>,
    /// Restrictions of this process.
    pub allowed_by: AllowedBy,
    /// Findings: what is odd or contradictory.
    pub findings: Vec<Finding>,
}

/// A logical CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogicalCpu {
    /// The kernel's number.
    pub id: u32,
    /// True if it is plugged in; a kernel may know empty slots.
    pub present: bool,
    /// True if the kernel uses it.
    pub online: bool,
    /// True if this process may run on it now: online, in the affinity mask and in the cpuset.
    pub allowed: bool,
    /// The `id` of its core; `null` where the kernel does not report it, as for most offline CPUs.
    pub core: Option<u32>,
    /// All known CPUs of its core, online or not, itself included.
    pub siblings: CpuSet,
    /// Package of the logical CPU.
    pub package: Option<u32>,
    /// NUMA node; the lowest where the kernel names several.
    pub numa_node: Option<u32>,
    /// The name of its core type; `null` where all cores are of one type.
    pub core_type: Option<String>,
}

/// A core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Core {
    /// A number of its own on this machine, from 0 in the order of the lowest CPU.
    pub id: u32,
    /// The kernel's `core_id`, which repeats in other packages.
    pub core_id: Option<u32>,
    /// All known siblings, online or not.
    pub cpus: CpuSet,
    /// The SMT width of this core: the number of known siblings.
    pub smt_width: u32,
    /// Package of the core.
    pub package: Option<u32>,
    /// Die, unique within the package.
    pub die: Option<u32>,
    /// Cluster, unique within the package.
    pub cluster: Option<u32>,
    /// NUMA node of the core.
    pub numa_node: Option<u32>,
    /// The name of its core type; `null` where all cores are of one type.
    pub core_type: Option<String>,
}

/// A type of core on a hybrid machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreType {
    /// `performance`, `efficiency`, or the name of the design.
    pub name: String,
    /// The CPUs of this type.
    pub cpus: CpuSet,
    /// The largest SMT width among its cores.
    pub smt_width: u32,
}

/// A package (socket).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Package {
    /// The kernel's `physical_package_id`; a number of our own where it gives none, or the same to
    /// several packages.
    pub id: u32,
    /// CPUs, as far as known.
    pub cpus: CpuSet,
}

/// A die.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Die {
    /// The package it is in.
    pub package: Option<u32>,
    /// The kernel's `die_id`, unique within the package.
    pub id: u32,
    /// Online CPUs of the package.
    pub cpus: CpuSet,
}

/// A cluster: cores that share resources below the die, often an L2 cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// The package it is in.
    pub package: Option<u32>,
    /// The kernel's `cluster_id`, unique within the package.
    pub id: u32,
    /// Online CPUs.
    pub cpus: CpuSet,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// The kernel's number.
    pub id: u32,
    /// Online CPUs; none for a node that is memory only.
    pub cpus: CpuSet,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// True if the cpuset lets this process use its memory.
    pub allowed: bool,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// The level: 1 is nearest to the core.
    pub level: u32,
    /// Type of the cache.
    #[serde(rename = "type")]
    pub cache_type: CacheType,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Length of a line in bytes.
    pub line_bytes: Option<u32>,
    /// Ways of associativity.
    pub ways: Option<u32>,
    /// The online CPUs it serves.
    pub cpus: CpuSet,
}

/// Type of a cache: what it holds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CacheType {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// The clock of CPUs that have the same limits and the same governor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The lowest clock that the hardware has, in kHz.
    pub min_khz: Option<u32>,
    /// The nominal clock, without turbo, in kHz.
    pub base_khz: Option<u32>,
    /// The highest clock that the hardware has, turbo included, in kHz.
    pub max_khz: Option<u32>,
    /// Who chooses the clock now.
    pub governor: Option<String>,
    /// The kernel's driver that sets it.
    pub driver: Option<String>,
}

/// Restrictions of this process to some CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedBy {
    /// The affinity mask of this process; in a captured tree that of the process which captured it,
    /// or `null` where the tree does not have it.
    pub affinity: Option<CpuSet>,
    /// The cpuset of its control group; `null` where there is none.
    pub cpuset: Option<Cpuset>,
}

/// A cpuset of a control group, version 1 or 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpuset {
    /// The file that lists the CPUs, below the root.
    pub file: String,
    /// The CPUs it allows, offline ones perhaps included.
    pub cpus: CpuSet,
    /// The NUMA nodes whose memory it allows; `null` where it does not say.
    pub memory_nodes: Option<CpuSet>,
}

impl Machine {
    /// Reads the machine below `root`: `/` is this one, any other a captured tree, in which the
    /// mask of the process that captured it counts.
    ///
    /// # Errors
    /// If the root cannot be opened, or no CPU is found below it. All else is a finding.
    pub fn read(root: &Path) -> Result<Self, MachineError> {
        let mut files = RootFiles::open(root)
            .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
        Self::from_files(&mut files).ok_or_else(|| MachineError::none_below(root))
    }

    /// Reads the machine that `files` describe; `None` if they describe no CPU.
    pub fn from_files(files: &mut impl SystemFiles) -> Option<Self> {
        reading::machine(files)
    }

    /// The logical CPU with this number.
    pub fn cpu(&self, id: u32) -> Option<&LogicalCpu> {
        let place = self.logical_cpus.binary_search_by_key(&id, |cpu| cpu.id).ok()?;
        self.logical_cpus.get(place)
    }

    /// The core that the logical CPU with this number belongs to.
    pub fn core_of(&self, cpu: u32) -> Option<&Core> {
        self.cores.get(self.cpu(cpu)?.core? as usize)
    }

    /// The sizes of the caches of each level, in bytes and ascending, by `L1d`, `L1i`, `L2`, ...
    pub fn cache_sizes(&self) -> BTreeMap<String, Vec<u64>> {
        let mut sizes: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for cache in &self.caches {
            let Some(bytes) = cache.size_bytes else { continue };
            let kind = match cache.cache_type {
                CacheType::Data => "d",
                CacheType::Instruction => "i",
                CacheType::Unified => "",
            };
            let known = sizes.entry(format!("L{}{kind}", cache.level)).or_default();
            if let Err(place) = known.binary_search(&bytes) {
                known.insert(place, bytes);
            }
        }
        sizes
    }

    /// The CPUs of each last-level cache; none where all that is known is of the first level.
    pub fn last_level_caches(&self) -> impl Iterator<Item = &CpuSet> {
        let last_level = self.caches.iter().map(|cache| cache.level).max();
        let is_last = move |cache: &&Cache| cache.level > 1 && Some(cache.level) == last_level;
        self.caches.iter().filter(is_last).map(|cache| &cache.cpus)
    }

    /// The online CPUs.
    pub fn online(&self) -> CpuSet {
        self.logical_cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
    }

    /// The CPUs that this process may run on now.
    pub fn allowed(&self) -> CpuSet {
        self.logical_cpus.iter().filter(|cpu| cpu.allowed).map(|cpu| cpu.id).collect()
    }
}
