//! Claims of sysfs about two logical CPUs, as far as it says anything.

use super::record::Relation;
use crate::Machine;

/// Claim of sysfs about a pair; `None` where it does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SysfsClaim {
    /// True if they are siblings.
    pub(super) siblings: Option<bool>,
    /// True if one L3 cache serves both.
    pub(super) l3: Option<bool>,
}

impl SysfsClaim {
    pub(super) fn of(machine: &Machine, cpus: [u32; 2]) -> Self {
        let cores = cpus.map(|cpu| machine.cpu(cpu).and_then(|cpu| cpu.core));
        let siblings = match cores {
            [Some(one), Some(other)] => Some(one == other),
            _ => None,
        };
        let caches = cpus.map(|cpu| l3(machine, cpu));
        let l3 = match caches {
            [Some(one), Some(other)] => Some(one == other),
            _ => None,
        };
        Self { siblings, l3 }
    }

    pub(super) fn relation(self) -> Option<Relation> {
        match (self.siblings?, self.l3) {
            (true, _) => Some(Relation::SharesACore),
            (false, Some(true)) => Some(Relation::SharesAnL3),
            (false, _) => Some(Relation::Farther),
        }
    }
}

/// The place of the L3 cache of `cpu` among the machine's caches.
pub(super) fn l3(machine: &Machine, cpu: u32) -> Option<usize> {
    machine.caches.iter().position(|cache| cache.level == 3 && cache.cpus.contains(cpu))
}
