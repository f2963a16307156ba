//! The cores that the arms of one core type run on, and which of their logical CPUs each placement
//! takes.

use corun_record::{Arm, Placement};

use super::LayoutError;
use crate::cores::Core;

/// The C cores of one core type that arms are laid out on.
pub(super) struct ChosenCores {
    pub core_type: Option<String>,
    /// Part of an arm's id on a hybrid machine.
    suffix: String,
    pub cores: Vec<Core>,
    /// S: usable logical CPUs on each chosen core.
    pub width: u32,
}

impl ChosenCores {
    /// Chooses among the cores of a type those with the most usable siblings, in topology order.
    pub(super) fn new(
        cores: &[Core],
        core_type: Option<&str>,
        wanted: Option<u32>,
    ) -> Result<Self, LayoutError> {
        let of_type = |core: &&Core| core.core_type.as_deref() == core_type;
        let width = cores.iter().filter(of_type).map(|core| core.cpus.len()).max().unwrap_or(0);
        let mut chosen: Vec<Core> =
            cores.iter().filter(of_type).filter(|core| core.cpus.len() == width).cloned().collect();
        let available = chosen.len();
        let count = match wanted {
            Some(wanted) if wanted as usize > available => {
                return Err(LayoutError::TooManyCores {
                    wanted,
                    available: available as u32,
                    width: width as u32,
                });
            }
            Some(wanted) => wanted as usize,
            None if available >= width => available - available % width,
            None => available,
        };
        chosen.truncate(count);
        Ok(Self {
            core_type: core_type.map(str::to_owned),
            suffix: core_type.map(|name| format!(":{name}")).unwrap_or_default(),
            cores: chosen,
            width: width as u32,
        })
    }

    pub(super) fn count(&self) -> u32 {
        self.cores.len() as u32
    }

    /// The pinned placements to try, in table order.
    pub(super) fn placements(&self, named: &[Placement]) -> Vec<Placement> {
        if !named.is_empty() {
            let pinned = |placement: &&Placement| !matches!(placement, Placement::Free(_));
            let mut wanted: Vec<_> = named.iter().filter(pinned).copied().collect();
            wanted.sort();
            wanted.dedup();
            return wanted;
        }
        let mut all = vec![];
        if self.count() > 1 {
            all.push(Placement::Single);
        }
        all.push(Placement::Spread(None));
        let packed = self.width * (self.count() / self.width);
        if self.width > 1 && packed > 0 && packed != self.count() {
            all.push(Placement::Spread(Some(packed)));
        }
        all.extend((2..self.width).map(|k| Placement::Full(Some(k))));
        all.extend([Placement::Full(None), Placement::Packed(None), Placement::Stacked]);
        all
    }

    /// The logical CPU of each worker, or why the placement is not possible.
    pub(super) fn place(
        &self,
        placement: Placement,
        no_siblings: &str,
    ) -> Result<Vec<u32>, String> {
        if self.width < 2 && matches!(placement, Placement::Full(_) | Placement::Packed(_)) {
            return Err(no_siblings.to_owned());
        }
        let slots = placement.slots(self.cores.len(), self.width as usize);
        let slots = slots.map_err(|error| error.to_string())?;
        Ok(slots.iter().map(|slot| self.cores[slot.core].cpus[slot.sibling]).collect())
    }

    pub(super) fn arm(&self, placement: Placement, cpus: Vec<u32>) -> Arm {
        let used: Vec<&Core> = self
            .cores
            .iter()
            .filter(|core| core.cpus.iter().any(|cpu| cpus.contains(cpu)))
            .collect();
        Arm {
            id: format!("{placement}{}", self.suffix),
            core_type: self.core_type.clone(),
            idle_siblings: used
                .iter()
                .flat_map(|core| core.online_siblings.iter().copied())
                .filter(|cpu| !cpus.contains(cpu))
                .collect(),
            ..Arm::new(placement, cpus.len() as u32, used.len() as u32, cpus)
        }
    }
}
