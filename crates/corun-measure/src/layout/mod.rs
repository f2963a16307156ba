//! From cores and a request to arms: which logical CPU each worker of each placement gets.
//!
//! Pure: the machine comes in as a list of cores, the answer is a list of arms and of the
//! placements that are not possible, each with its reason.

mod chosen_cores;
mod error;
mod listed;

use std::collections::BTreeMap;

use corun_machine::CpuSet;
use corun_record::{Arm, Placement, PlacementNotPossible, SmtState, Variant};

use chosen_cores::ChosenCores;
pub use error::LayoutError;
pub use listed::{ListedArm, ListedArmError};

use crate::cores::{Core, core_types};

/// Request of the user for the layout; without placements and listed arms, every possible placement.
#[derive(Debug, Clone, Default)]
pub struct LayoutRequest {
    /// The placements wanted; one that is not possible is then an error.
    pub placements: Vec<Placement>,
    /// Arms whose logical CPUs are listed, before all others.
    pub listed: Vec<ListedArm>,
    /// Leave out a named placement that is not possible, as long as another one is.
    pub skip_impossible: bool,
    /// C, the number of cores to use of each core type; by default all, made a multiple of S.
    pub cores: Option<u32>,
    /// Use cores of this type only.
    pub core_type: Option<String>,
    /// An extra variant of every arm with several workers, for instance data sharing a line.
    pub variant: Option<Variant>,
    /// Logical CPUs, where SMT is switched, that SMT off takes away. Arms then say in which state
    /// they run, and those that leave siblings alone also run with SMT off.
    pub taken_by_smt_off: Option<CpuSet>,
    /// Why cores have a single usable logical CPU, where they do.
    pub no_siblings: String,
}

impl LayoutRequest {
    /// True unless all arms are listed.
    fn has_placements(&self) -> bool {
        self.listed.is_empty() || !self.placements.is_empty()
    }
}

/// The arms of an experiment, each followed by its A/A twin, and what could not be laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Arms and twins, in table order.
    pub arms: Vec<Arm>,
    /// Placements that are not possible here.
    pub not_possible: Vec<PlacementNotPossible>,
    /// The chosen cores of each core type, named by their first usable logical CPU.
    pub cores: BTreeMap<String, Vec<u32>>,
}

impl Layout {
    /// Lays the request out on `cores`.
    ///
    /// # Errors
    /// If there is nothing to run on, or a placement named in the request is not possible.
    pub fn new(cores: &[Core], request: &LayoutRequest) -> Result<Self, LayoutError> {
        if request.cores == Some(0) {
            return Err(LayoutError::NoWorker);
        }
        let types = core_types(cores);
        let mut chosen_types = types.clone();
        if let Some(wanted) = &request.core_type {
            chosen_types.retain(|core_type| core_type.as_ref() == Some(wanted));
            if chosen_types.is_empty() {
                return Err(LayoutError::unknown_core_type(wanted, &types));
            }
        }
        let mut layout =
            Self { arms: Vec::new(), not_possible: Vec::new(), cores: BTreeMap::new() };
        for listed in &request.listed {
            layout.push_with_twin(listed.arm(cores)?);
        }
        let mut free_workers = 0;
        for core_type in &chosen_types {
            let name = core_type.clone().unwrap_or_else(|| "all".to_owned());
            let first = |core: &Core| core.cpus[0];
            if !request.has_placements() {
                let of_type = cores.iter().filter(|core| core.core_type == *core_type);
                let used = of_type.filter(|core| layout.uses(core));
                let used = used.map(first).collect();
                layout.cores.insert(name, used);
                continue;
            }
            let chosen = ChosenCores::new(cores, core_type.as_deref(), request.cores)?;
            free_workers += chosen.width * chosen.count();
            layout.add_pinned(&chosen, request);
            layout.cores.insert(name, chosen.cores.iter().map(first).collect());
        }
        if layout.cores.is_empty() {
            return Err(LayoutError::NoCpu);
        }
        if request.has_placements() {
            layout.add_free(free_workers, request);
        }
        if let Some(taken) = &request.taken_by_smt_off {
            layout.add_switched(cores, taken)?;
        }
        layout.refuse_what_was_named(request)?;
        Ok(layout)
    }

    /// True if an arm has workers on the core.
    fn uses(&self, core: &Core) -> bool {
        self.arms.iter().flat_map(|arm| &arm.cpus).any(|cpu| core.cpus.contains(cpu))
    }

    fn add_pinned(&mut self, chosen: &ChosenCores, request: &LayoutRequest) {
        if request.placements.is_empty() && chosen.count() == 1 {
            self.not_possible.push(PlacementNotPossible {
                placement: Placement::Single,
                core_type: chosen.core_type.clone(),
                reason: "one core is used, so it is the same arm as spread".to_owned(),
            });
        }
        for placement in chosen.placements(&request.placements) {
            match chosen.place(placement, &request.no_siblings) {
                Ok(cpus) => {
                    let arm = chosen.arm(placement, cpus);
                    let shares = matches!(placement, Placement::Spread(None) | Placement::Full(_));
                    let variant = request.variant.clone().filter(|_| shares && arm.workers > 1);
                    self.push_with_twin(arm.clone());
                    if let Some(variant) = variant {
                        let id = format!("{}/{}", arm.id, variant.name);
                        self.push_with_twin(Arm { id, variant: Some(variant), ..arm });
                    }
                }
                Err(reason) => self.not_possible.push(PlacementNotPossible {
                    placement,
                    core_type: chosen.core_type.clone(),
                    reason,
                }),
            }
        }
    }

    fn add_free(&mut self, default_workers: u32, request: &LayoutRequest) {
        let wanted: Vec<Placement> = if request.placements.is_empty() {
            vec![Placement::Free(None)]
        } else {
            request.placements.clone()
        };
        for placement in wanted {
            if let Placement::Free(workers) = placement {
                self.push_with_twin(Arm::new(
                    placement,
                    workers.unwrap_or(default_workers),
                    0,
                    Vec::new(),
                ));
            }
        }
    }

    /// Has every arm run with SMT on, and those that need no siblings with SMT off too.
    fn add_switched(&mut self, cores: &[Core], taken: &CpuSet) -> Result<(), LayoutError> {
        self.arms.iter_mut().for_each(|arm| arm.smt = Some(SmtState::On));
        let stays = |cpu: &u32| !taken.contains(*cpu);
        let any_stays = cores.iter().flat_map(|core| &core.cpus).any(stays);
        let needs_no_siblings = |arm: &&Arm| {
            let placements = [Placement::Spread(None), Placement::Stacked];
            let is_free = matches!(arm.placement, Placement::Free(_));
            (is_free || placements.contains(&arm.placement))
                && arm.twin_of.is_none()
                && arm.variant.is_none()
        };
        for arm in self.arms.iter().filter(needs_no_siblings).cloned().collect::<Vec<_>>() {
            if any_stays && arm.cpus.iter().all(stays) {
                self.push_with_twin(Arm {
                    id: format!("{}/smt-off", arm.id),
                    idle_siblings: Vec::new(),
                    smt: Some(SmtState::Off),
                    ..arm
                });
            } else {
                self.not_possible.push(PlacementNotPossible {
                    placement: arm.placement,
                    core_type: arm.core_type,
                    reason: "SMT off takes away the logical CPUs that it would use".into(),
                });
            }
        }
        match self.arms.iter().any(|arm| arm.smt == Some(SmtState::Off)) {
            true => Ok(()),
            false => Err(LayoutError::NothingWithSmtOff),
        }
    }

    fn push_with_twin(&mut self, arm: Arm) {
        if self.arms.iter().any(|known| known.id == arm.id) {
            return;
        }
        let twin =
            Arm { id: format!("{}.aa", arm.id), twin_of: Some(arm.id.clone()), ..arm.clone() };
        self.arms.push(arm);
        self.arms.push(twin);
    }

    /// On a hybrid machine a named placement must be possible on one core type at least.
    fn refuse_what_was_named(&self, request: &LayoutRequest) -> Result<(), LayoutError> {
        if request.skip_impossible && !self.arms.is_empty() {
            return Ok(());
        }
        for &placement in &request.placements {
            let possible = self.arms.iter().any(|arm| arm.placement == placement);
            let refused = self.not_possible.iter().find(|refused| refused.placement == placement);
            if let (false, Some(refused)) = (possible, refused) {
                return Err(LayoutError::Impossible { placement, reason: refused.reason.clone() });
            }
        }
        Ok(())
    }
}
