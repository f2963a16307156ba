//! Which workers run on which hardware threads of the simulated cores.
//!
//! What a placement means is [`Placement::slots`], which measuring uses as well; here workers, and copies of
//! them, are put into the slots, and `free` gets those that a kernel would choose.

use corun_record::{MappingError, Placement, Slot};

/// Which workers run on which logical CPUs of which cores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadMapping {
    /// The cores that are used.
    pub cores: Vec<CoreMapping>,
}

/// Which workers run on one core.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreMapping {
    /// The logical CPUs that are used, each with its workers by number; several share it by time slices.
    pub cpus: Vec<Vec<usize>>,
}

impl ThreadMapping {
    /// The workers of each logical CPU, core by core.
    pub fn cpus(&self) -> impl Iterator<Item = &[usize]> {
        self.cores.iter().flat_map(|core| &core.cpus).map(Vec::as_slice)
    }

    /// The worker at each place: cores, their logical CPUs, the workers of each.
    pub fn workers(&self) -> impl Iterator<Item = usize> {
        self.cpus().flatten().copied()
    }
}

impl From<Vec<Vec<Vec<usize>>>> for ThreadMapping {
    fn from(cores: Vec<Vec<Vec<usize>>>) -> Self {
        Self { cores: cores.into_iter().map(|cpus| CoreMapping { cpus }).collect() }
    }
}

/// The number of cores, of a width S, and of workers that a placement is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappingRequest {
    /// Cores; none: as few as there are workers for.
    pub cores: Option<usize>,
    /// Hardware threads of a core.
    pub smt_width: usize,
    /// Workers that there are at least: each is placed once before any is placed again.
    pub workers: usize,
    /// True if a worker may be placed again, as a copy; if not, logical CPUs stay idle.
    pub repeats: bool,
}

/// Places workers; the same one may be named several times, for a copy each.
///
/// # Errors
/// If the placement is impossible there.
pub fn map_threads(
    placement: Placement,
    wanted: MappingRequest,
) -> Result<ThreadMapping, MappingError> {
    let MappingRequest { cores, smt_width, workers, repeats } = wanted;
    let cores = match placement {
        // The number is one of workers, and there is always a core more to simulate.
        Placement::Single | Placement::Spread(Some(_)) => placement.cores_for(workers, smt_width),
        _ => cores.unwrap_or_else(|| placement.cores_for(workers, smt_width)),
    };
    let mut slots = match placement {
        Placement::Free(number) => {
            let count = number.map_or(workers, |it| it as usize).max(1);
            idle_cores_first(count, cores.max(1), smt_width)
        }
        pinned => pinned.slots(cores, smt_width)?,
    };
    if !repeats {
        slots.truncate(workers);
    }
    let mut mapping = ThreadMapping::default();
    for (place, slot) in slots.into_iter().enumerate() {
        let cores = &mut mapping.cores;
        cores.resize_with(cores.len().max(slot.core + 1), CoreMapping::default);
        let cpus = &mut cores[slot.core].cpus;
        cpus.resize_with(cpus.len().max(slot.sibling + 1), Vec::new);
        cpus[slot.sibling].push(place % workers.max(1));
    }
    Ok(mapping)
}

/// Slots as a kernel gives them out that prefers idle cores: whole idle cores first, then idle siblings,
/// then those with the shortest queue.
fn idle_cores_first(workers: usize, cores: usize, smt_width: usize) -> Vec<Slot> {
    let slot = |place| Slot { core: place % cores, sibling: place / cores % smt_width };
    (0..workers).map(slot).collect()
}

#[cfg(test)]
mod tests {
    use crate::thread_mapping::*;

    fn mapped(
        placement: &str,
        cores: Option<usize>,
        width: usize,
        workers: usize,
    ) -> Vec<Vec<Vec<usize>>> {
        let wanted = MappingRequest { cores, smt_width: width, workers, repeats: true };
        nested(map_threads(placement.parse().unwrap(), wanted).unwrap())
    }

    fn nested(mapping: ThreadMapping) -> Vec<Vec<Vec<usize>>> {
        mapping.cores.into_iter().map(|core| core.cpus).collect()
    }

    #[test]
    fn each_placement_uses_the_logical_cpus_that_its_name_says() {
        assert_eq!(mapped("single", None, 2, 3), [[[0]]]);
        assert_eq!(mapped("spread", None, 2, 2), [[[0]], [[1]]]);
        assert_eq!(mapped("spread@3", None, 2, 2), [[[0]], [[1]], [[0]]]);
        assert_eq!(mapped("full", None, 2, 1), [[[0], [0]]]);
        assert_eq!(mapped("full", None, 2, 3), [[[0], [1]], [[2], [0]]]);
        assert_eq!(mapped("full@3", Some(1), 4, 2), [[[0], [1], [0]]]);
        assert_eq!(mapped("packed", Some(5), 2, 1), [[[0], [0]], [[0], [0]]]);
        assert_eq!(mapped("packed", None, 2, 3), [[[0], [1]], [[2], [0]]]);
        assert_eq!(mapped("stacked", None, 2, 2), [[[0, 1]]]);
        assert_eq!(mapped("free", None, 2, 3), [vec![[0], [2]], vec![[1]]]);
        assert_eq!(mapped("free@5", Some(2), 2, 5), [[vec![0, 4], vec![2]], [vec![1], vec![3]]]);
    }

    #[test]
    fn without_copies_logical_cpus_stay_idle() {
        let wanted = MappingRequest { cores: Some(3), smt_width: 2, workers: 3, repeats: false };
        assert_eq!(
            nested(map_threads(Placement::Full(None), wanted).unwrap()),
            [vec![[0], [1]], vec![[2]]]
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let wanted = MappingRequest { cores: Some(1), smt_width: 2, workers: 1, repeats: true };
        assert!(matches!(
            map_threads(Placement::Full(Some(3)), wanted),
            Err(MappingError::TooNarrow { .. })
        ));
        assert!(matches!(
            map_threads(Placement::Packed(None), wanted),
            Err(MappingError::TooFewToPack { .. })
        ));
    }
}
