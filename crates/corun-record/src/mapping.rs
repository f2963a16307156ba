//! Which worker runs on which sibling of which core: what each pinned placement means.
//!
//! Measuring turns the slots into logical CPUs of this machine, simulating into hardware threads of the
//! model. Both use this mapping, so that `packed` is the same arrangement of workers on either side.

use crate::placement::Placement;

/// A hardware thread of one of the cores that workers are placed on, both counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// The core.
    pub core: usize,
    /// The hardware thread of that core.
    pub sibling: usize,
}

/// Why a placement does not fit some cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// More workers on a core than it has siblings.
    #[error("expected at most {smt_width} workers a core, the SMT width, found {found}")]
    TooNarrow {
        /// The SMT width.
        smt_width: usize,
        /// Number asked for.
        found: usize,
    },
    /// Fewer cores than `spread@N` has workers.
    #[error("expected at least {expected} cores, one a worker, found {found}")]
    TooFewToSpread {
        /// The workers.
        expected: usize,
        /// The cores.
        found: usize,
    },
    /// Fewer logical CPUs than workers that need one each.
    #[error("expected at least {expected} logical CPUs, one a worker, found {found}")]
    TooFewSiblings {
        /// The workers.
        expected: usize,
        /// The logical CPUs.
        found: usize,
    },
    /// Fewer cores than one of them has siblings.
    #[error(
        "expected at least {smt_width} cores, since packed puts the workers of {smt_width} cores on one, found {found}"
    )]
    TooFewToPack {
        /// The SMT width.
        smt_width: usize,
        /// The cores.
        found: usize,
    },
}

impl Placement {
    /// The slot of each worker, in worker order, on `cores` cores of this SMT width. A slot that several
    /// workers share occurs once for each. Empty for `free`, where the kernel places the workers, and for `cpus`, whose
    /// logical CPUs are no slots.
    ///
    /// # Errors
    /// If the placement does not fit the cores.
    pub fn slots(self, cores: usize, smt_width: usize) -> Result<Vec<Slot>, MappingError> {
        let on_each = |cores: usize, siblings: usize| {
            let of_core = move |core| (0..siblings).map(move |sibling| Slot { core, sibling });
            (0..cores).flat_map(of_core).collect()
        };
        match self {
            Self::Single => Ok(on_each(cores.min(1), 1)),
            Self::Spread(None) => Ok(on_each(cores, 1)),
            Self::Spread(Some(workers)) => match workers as usize {
                expected if expected > cores => {
                    Err(MappingError::TooFewToSpread { expected, found: cores })
                }
                workers => Ok(on_each(workers, 1)),
            },
            Self::Full(None) => Ok(on_each(cores, smt_width)),
            Self::Full(Some(siblings)) => match siblings as usize {
                found if found > smt_width => Err(MappingError::TooNarrow { smt_width, found }),
                siblings => Ok(on_each(cores, siblings)),
            },
            Self::Packed(None) if cores < smt_width => {
                Err(MappingError::TooFewToPack { smt_width, found: cores })
            }
            Self::Packed(None) => Ok(on_each(cores / smt_width, smt_width)),
            Self::Packed(Some(workers)) | Self::Scatter(workers)
                if workers as usize > cores * smt_width =>
            {
                let (expected, found) = (workers as usize, cores * smt_width);
                Err(MappingError::TooFewSiblings { expected, found })
            }
            Self::Packed(Some(workers)) => {
                Ok(on_each(cores, smt_width).into_iter().take(workers as usize).collect())
            }
            Self::Scatter(workers) => {
                let dealt = |worker| Slot { core: worker % cores, sibling: worker / cores };
                let mut slots: Vec<Slot> = (0..workers as usize).map(dealt).collect();
                slots.sort_unstable();
                Ok(slots)
            }
            Self::Stacked => {
                let queue = |core| vec![Slot { core, sibling: 0 }; stacked_workers(smt_width)];
                Ok((0..cores).flat_map(queue).collect())
            }
            Self::Free(_) | Self::Cpus => Ok(Vec::new()),
        }
    }

    /// The fewest cores of this SMT width with a slot for each of so many workers, where the placement has
    /// no number of workers of its own; for `free` and `cpus`, those with a hardware thread for each.
    pub fn cores_for(self, workers: usize, smt_width: usize) -> usize {
        let workers = workers.max(1);
        match self {
            Self::Single => 1,
            Self::Spread(None) => workers,
            Self::Spread(Some(workers)) => workers as usize,
            Self::Full(None) | Self::Free(_) | Self::Cpus => workers.div_ceil(smt_width),
            Self::Full(Some(siblings)) => workers.div_ceil(siblings as usize),
            Self::Packed(None) => workers.next_multiple_of(smt_width),
            Self::Packed(Some(workers)) | Self::Scatter(workers) => {
                (workers as usize).div_ceil(smt_width)
            }
            Self::Stacked => workers.div_ceil(stacked_workers(smt_width)),
        }
    }
}

/// Workers that `stacked` time-slices on a core: as many as it has siblings, and at least two.
fn stacked_workers(smt_width: usize) -> usize {
    smt_width.max(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn slots(placement: &str, cores: usize, smt_width: usize) -> Vec<(usize, usize)> {
        let placement: Placement = placement.parse().unwrap();
        let slots = placement.slots(cores, smt_width).unwrap();
        slots.into_iter().map(|slot| (slot.core, slot.sibling)).collect()
    }

    #[test]
    fn each_placement_uses_the_siblings_that_its_name_says() {
        assert_eq!(slots("single", 3, 2), [(0, 0)]);
        assert_eq!(slots("spread", 3, 2), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(slots("spread@2", 3, 2), [(0, 0), (1, 0)]);
        assert_eq!(slots("full", 2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(slots("full@3", 1, 4), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!(slots("packed", 5, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(slots("packed@3", 3, 2), [(0, 0), (0, 1), (1, 0)]);
        assert_eq!(slots("scatter@2", 3, 2), [(0, 0), (1, 0)]);
        assert_eq!(slots("scatter@4", 3, 2), [(0, 0), (0, 1), (1, 0), (2, 0)]);
        assert_eq!(slots("stacked", 2, 2), [(0, 0), (0, 0), (1, 0), (1, 0)]);
        assert_eq!(slots("stacked", 1, 1), [(0, 0), (0, 0)]);
        assert_eq!(slots("free@3", 2, 2), []);
    }

    fn pinned() -> impl Strategy<Value = Placement> {
        prop_oneof![
            Just(Placement::Single),
            proptest::option::of(1..9_u32).prop_map(Placement::Spread),
            proptest::option::of(1..9_u32).prop_map(Placement::Full),
            proptest::option::of(1..9_u32).prop_map(Placement::Packed),
            (1..17_u32).prop_map(Placement::Scatter),
            Just(Placement::Stacked),
        ]
    }

    proptest! {
        #[test]
        fn workers_are_on_siblings_that_there_are_and_only_stacked_shares_them(
            placement in pinned(), cores in 1..9_usize, smt_width in 1..9_usize,
        ) {
            let Ok(slots) = placement.slots(cores, smt_width) else { return Ok(()) };
            prop_assert!(!slots.is_empty());
            prop_assert!(slots.is_sorted());
            let mut workers: BTreeMap<Slot, usize> = BTreeMap::new();
            for slot in slots {
                prop_assert!(slot.core < cores && slot.sibling < smt_width);
                *workers.entry(slot).or_default() += 1;
            }
            let on_each = if placement == Placement::Stacked { smt_width.max(2) } else { 1 };
            prop_assert!(workers.values().all(|&count| count == on_each));
        }

        #[test]
        fn packed_has_the_workers_of_a_spread_on_all_siblings_of_fewer_cores(
            cores in 1..33_usize, smt_width in 1..9_usize,
        ) {
            match Placement::Packed(None).slots(cores, smt_width) {
                Ok(packed) => {
                    let spread = Placement::Spread(Some(packed.len() as u32));
                    prop_assert_eq!(spread.slots(cores, smt_width).unwrap().len(), packed.len());
                    let full = Placement::Full(None).slots(cores / smt_width, smt_width).unwrap();
                    prop_assert_eq!(packed, full);
                }
                Err(_) => prop_assert!(cores < smt_width),
            }
        }

        #[test]
        fn full_with_the_smt_width_is_full(cores in 1..9_usize, smt_width in 1..9_usize) {
            let all = Placement::Full(Some(smt_width as u32));
            prop_assert_eq!(
                all.slots(cores, smt_width).unwrap(),
                Placement::Full(None).slots(cores, smt_width).unwrap()
            );
        }

        #[test]
        fn the_fewest_cores_have_a_slot_for_each_worker_and_one_core_less_has_not(
            placement in prop_oneof![
                Just(Placement::Spread(None)),
                proptest::option::of(1..4_u32).prop_map(Placement::Full),
                Just(Placement::Packed(None)),
                Just(Placement::Stacked),
            ],
            workers in 1..40_usize, smt_width in 4..9_usize,
        ) {
            let cores = placement.cores_for(workers, smt_width);
            prop_assert!(placement.slots(cores, smt_width).unwrap().len() >= workers);
            let fewer = placement.slots(cores - 1, smt_width);
            prop_assert!(fewer.map_or(0, |slots| slots.len()) < workers);
        }
    }
}
