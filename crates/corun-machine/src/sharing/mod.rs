//! Whose CPUs are these: what a set of CPUs shares with the rest of the machine, and who may run there.
//!
//! A mask looks the same whether its CPUs are whole cores or half of each. The set may be given, or be that of a
//! process or of a control group; for a virtual machine the question is asked of each core that its guest sees.

mod analysis;
mod answer;
mod guest;
mod look;
mod show;
mod subject;

use corun_record::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doctor::Pause;
use crate::{CacheType, CpuSet, Machine, SystemFiles};

pub use show::describe;
pub use subject::{SharingError, SharingQuery};

/// Sharing of a set of CPUs: resources, and with whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSharing {
    /// The answer in a sentence or two.
    pub answer: String,
    /// Whose CPUs were asked for.
    pub subject: Subject,
    /// The CPUs, those that are online.
    pub cpus: CpuSet,
    /// CPUs that were named and are offline.
    pub offline: CpuSet,
    /// Use of cores by the set.
    pub core_use: CoreUse,
    /// The cores that it touches.
    pub cores: Vec<CoreShare>,
    /// CPUs of the set of which the core is not known.
    pub core_unknown: CpuSet,
    /// Unified caches of level 2 and above that it touches.
    pub caches: Vec<CacheShare>,
    /// The NUMA nodes that it touches.
    pub numa_nodes: Vec<NodeShare>,
    /// Who else is busy there; `null` in a captured tree, which cannot be watched.
    pub others: Option<Others>,
    /// View of its guest, if the process is a virtual machine.
    pub guest: Option<Guest>,
}

/// Whose CPUs they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// A set that was given.
    Cpus,
    /// A process: all CPUs that any of its threads may use.
    Process {
        /// Number of the process.
        id: u32,
        /// Name of the process.
        name: String,
        /// The masks of its threads, the most common first.
        masks: Vec<ThreadMasks>,
    },
    /// A control group: the CPUs of its cpuset.
    ControlGroup {
        /// Folder, below the root.
        folder: String,
        /// The file that lists the CPUs, below the root; `null` where no cpuset limits it.
        cpuset: Option<String>,
    },
}

/// A mask that threads of a process have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadMasks {
    /// The online CPUs of the mask.
    pub cpus: CpuSet,
    /// Number of threads.
    pub threads: usize,
}

/// Use of the cores that a set of CPUs touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoreUse {
    /// No core that it touches has two CPUs online.
    NoSiblings,
    /// All online siblings of every core are in it.
    WholeCores,
    /// One CPU of each core is in it, and other siblings are not.
    OneACore,
    /// Neither: some cores are in it whole, or in part with several siblings.
    Mixed,
    /// No core is known.
    Unknown,
}

/// A core that the set touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreShare {
    /// The core's number in `corun topo`.
    pub core: u32,
    /// CPUs in the set.
    pub inside: CpuSet,
    /// Other online CPUs.
    pub outside: CpuSet,
}

/// A cache that the set touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheShare {
    /// The level.
    pub level: u32,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// CPUs in the set.
    pub inside: CpuSet,
    /// The other online CPUs that it serves.
    pub outside: CpuSet,
}

/// A NUMA node that the set touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeShare {
    /// The kernel's number.
    pub node: u32,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// CPUs in the set.
    pub inside: CpuSet,
    /// Other online CPUs.
    pub outside: CpuSet,
}

/// Who else used CPU time in a short look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// Duration of the look, in seconds.
    pub seconds: f64,
    /// Busy share of each sibling outside of the set; none where the kernel does not report it.
    pub siblings_busy: Vec<BusyCpu>,
    /// Busy tasks that may run on CPUs of the set or on siblings of them, the busiest first. Tasks outside of this
    /// container are not among them.
    pub tasks: Vec<BusyTask>,
}

/// Busy share of a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyCpu {
    /// The CPU.
    pub cpu: u32,
    /// The share of the time.
    pub share: f64,
}

/// A process that used CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyTask {
    /// Number of the task.
    pub id: u32,
    /// Name of the task.
    pub name: String,
    /// The CPU time that it used, as a share of one CPU.
    pub share: f64,
    /// The online CPUs that its threads may use.
    pub cpus: CpuSet,
    /// Those of them that are in the set.
    pub inside: CpuSet,
    /// Those of them that are siblings outside of the set.
    pub siblings: CpuSet,
}

/// Cores as a virtual machine's guest sees them, and where the host runs them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guest {
    /// The SMT width of the guest (`-smp threads=`).
    pub threads_a_core: u32,
    /// Pinning of its vCPUs to siblings of the host.
    pub pinning: Pinning,
    /// The cores that the guest sees.
    pub cores: Vec<GuestCore>,
    /// The CPUs that the hypervisor's other threads may use.
    pub other_threads: CpuSet,
}

/// A core that a guest sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuestCore {
    /// VCPUs of the guest core.
    pub vcpus: Vec<VirtualCpu>,
    /// The host's cores that these may run on, by their numbers in `corun topo`.
    pub host_cores: CpuSet,
}

/// A vCPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualCpu {
    /// The guest's number.
    pub number: u32,
    /// The thread that runs it.
    pub thread: u32,
    /// The online CPUs that this thread may use.
    pub cpus: CpuSet,
}

/// Pinning of a guest's cores to the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pinning {
    /// Each guest core has a host core of its own.
    Matches,
    /// Guest siblings run on different host cores.
    Split,
    /// vCPUs that the guest takes for different cores share a host core.
    Crowded,
    /// vCPUs of one guest core have fewer CPUs than they are, and take turns.
    Stacked,
    /// vCPUs may run on several cores.
    NotPinned,
    /// The vCPU threads cannot be distinguished from other threads, or no core is known.
    Unknown,
}

impl Body for CpuSharing {
    const FORMAT: &str = "corun-cpu-sharing";
}

impl CpuSharing {
    /// Sharing of the CPUs that `query` names on `machine`; `files` are those that the machine was read
    /// from. The machine is watched for one `pause`, unless it is a captured one.
    ///
    /// # Errors
    /// If there is no such CPU, process or control group.
    pub fn read(
        files: &mut impl SystemFiles,
        machine: &Machine,
        query: &SharingQuery,
        pause: Option<&mut dyn Pause>,
    ) -> Result<Self, SharingError> {
        let found = subject::find(files, machine, query)?;
        let others = pause.map(|pause| look::take(files, machine, &found, pause));
        let mut sharing = analysis::analyse(machine, found);
        sharing.others = others;
        sharing.answer = answer::sentences(machine, &sharing);
        Ok(sharing)
    }

    /// The online siblings of its CPUs that are outside of the set.
    pub fn outside(&self) -> CpuSet {
        self.cores.iter().flat_map(|core| core.outside.as_slice().to_vec()).collect()
    }
}

/// Unified caches from the second level on: the ones that cores may share.
fn is_shared_level(level: u32, kind: CacheType) -> bool {
    level >= 2 && kind == CacheType::Unified
}
