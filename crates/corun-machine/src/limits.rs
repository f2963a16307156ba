//! Limits of the CPUs that this process may use: its affinity mask, the cpuset and the quota of its control group.
//!
//! Who says how many workers to start has to say, too, which of these is why there are not more. A quota takes no CPU
//! away: it stops the whole group once its CPU time of a period is used up.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doctor::{self, CpuQuota};
use crate::{CpuSet, Machine, SystemFiles};

/// The CPUs that this process may use, and why there are not more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuLimits {
    /// The CPUs it may run on now: online, in its affinity mask and in its cpuset.
    pub allowed: CpuSet,
    /// Limits that keep it from CPUs that are online; none where nothing does.
    pub limits: Vec<CpuLimit>,
    /// Files that could not be read, a sentence each.
    pub unknown: Vec<String>,
}

/// A limit. Its `Display` is one plain sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CpuLimit {
    /// An affinity mask that is narrower than the cpuset: of `taskset`, `numactl`, a batch system or the parent process.
    Affinity {
        /// The online CPUs of the mask.
        cpus: CpuSet,
        /// Number of CPUs that are online.
        online: usize,
    },
    /// The cpuset of a control group.
    Cpuset {
        /// The online CPUs of the cpuset.
        cpus: CpuSet,
        /// Number of CPUs that are online.
        online: usize,
        /// The file that lists them, below the root.
        file: String,
    },
    /// A quota of CPU time below the number of CPUs that are allowed.
    Quota {
        /// The CPU time a period, as a number of CPUs.
        cpus: f64,
        /// Number of CPUs that are allowed.
        allowed: usize,
        /// The folder of the control group that sets it, below the root: the process's own group or one above it.
        group: String,
    },
}

impl CpuLimits {
    /// Reads what limits this process on `machine`; `files` are those that the machine was read from.
    pub fn read(files: &mut impl SystemFiles, machine: &Machine) -> Self {
        let (online, allowed) = (machine.online(), machine.allowed());
        let mut limits = Vec::new();
        let mut unknown = Vec::new();
        let cpuset = machine.allowed_by.cpuset.as_ref().map(|cpuset| {
            let cpus = cpuset.cpus.intersection(&online);
            (cpus, cpuset.file.clone())
        });
        // The kernel cuts each mask down to the cpuset: only what is narrower still is the mask's own doing.
        let before_mask = cpuset.as_ref().map_or(&online, |(cpus, _)| cpus).clone();
        if let Some((cpus, file)) = cpuset.filter(|(cpus, _)| cpus.len() < online.len()) {
            limits.push(CpuLimit::Cpuset { cpus, online: online.len(), file });
        }
        if let Some(mask) = &machine.allowed_by.affinity {
            let cpus = mask.intersection(&online);
            if !before_mask.is_subset(&cpus) {
                limits.push(CpuLimit::Affinity { cpus, online: online.len() });
            }
        }
        match doctor::cpu_quota(files, machine) {
            Ok(Some(CpuQuota { cpus, folder })) => {
                limits.push(CpuLimit::Quota { cpus, allowed: allowed.len(), group: folder });
            }
            Ok(None) => {}
            Err(sentence) => {
                unknown.push(format!("A quota of CPU time would not be seen: {sentence}"));
            }
        }
        Self { allowed, limits, unknown }
    }

    /// The quota, as a number of CPUs, where it is what limits most.
    pub fn quota(&self) -> Option<f64> {
        self.limits.iter().find_map(|limit| match limit {
            CpuLimit::Quota { cpus, .. } => Some(*cpus),
            CpuLimit::Affinity { .. } | CpuLimit::Cpuset { .. } => None,
        })
    }

    /// CPUs that this process can use at once: the allowed ones, or less under a quota.
    pub fn usable(&self) -> f64 {
        let allowed = self.allowed.len() as f64;
        self.quota().map_or(allowed, |quota| quota.min(allowed))
    }
}

impl fmt::Display for CpuLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Affinity { cpus, online } => write!(
                out,
                "The affinity mask of this process allows {} of {online} CPUs: {cpus}.",
                cpus.len()
            ),
            Self::Cpuset { cpus, online, file } => write!(
                out,
                "The cpuset of the control group allows {} of {online} CPUs: {cpus} (/{file}).",
                cpus.len()
            ),
            Self::Quota { cpus, allowed, group } => write!(
                out,
                "The control group /{group} may use the CPU time of {cpus:.2} CPUs, of {allowed} that are allowed."
            ),
        }
    }
}
