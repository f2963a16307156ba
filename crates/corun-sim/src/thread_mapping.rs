//! Which workers run where: a placement on so many cores of a width.

use corun_record::Placement;

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
    /// Whether a worker may be placed again, as a copy; if not, logical CPUs stay idle.
    pub repeats: bool,
}

/// Why workers cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// More workers on a core than it has logical CPUs.
    #[error("expected at most {width} workers a core, the SMT width of the model, found {found}")]
    TooNarrow {
        /// The SMT width.
        width: usize,
        /// What was asked for.
        found: u32,
    },
    /// Fewer cores than workers for one of them.
    #[error(
        "expected at least {width} cores for packed, the SMT width of the model, found {found}"
    )]
    TooFew {
        /// The SMT width.
        width: usize,
        /// What was asked for.
        found: usize,
    },
}

/// Places workers; the same one may be named several times, for a copy each.
///
/// # Errors
/// If the placement is impossible there.
pub fn map_threads(
    placement: Placement,
    wanted: MappingRequest,
) -> Result<ThreadMapping, MappingError> {
    let MappingRequest { cores, smt_width: width, workers, .. } = wanted;
    let mut next = 0;
    let mut worker = || {
        let one = next % workers.max(1);
        next += 1;
        one
    };
    let mut full = |cores: usize, on_each: usize| -> Vec<CoreMapping> {
        let core = |_| CoreMapping { cpus: (0..on_each).map(|_| vec![worker()]).collect() };
        (0..cores).map(core).collect()
    };
    let mut cores = match placement {
        Placement::Single => full(1, 1),
        Placement::Spread(number) => {
            full(number.map_or(cores.unwrap_or(workers).max(1), |it| it as usize), 1)
        }
        Placement::Full(number) => {
            let on_each = number.map_or(width, |it| it as usize);
            if on_each > width {
                return Err(MappingError::TooNarrow { width, found: on_each as u32 });
            }
            full(cores.unwrap_or(workers.div_ceil(on_each)).max(1), on_each)
        }
        Placement::Packed => {
            let cores = cores.unwrap_or(workers.max(1).next_multiple_of(width));
            if cores < width {
                return Err(MappingError::TooFew { width, found: cores });
            }
            full(cores / width, width)
        }
        Placement::Stacked => {
            let on_each = width.max(2);
            let cores = cores.unwrap_or(workers.div_ceil(on_each)).max(1);
            let core = |_| CoreMapping { cpus: vec![(0..on_each).map(|_| worker()).collect()] };
            (0..cores).map(core).collect()
        }
        Placement::Free(number) => {
            // Whole idle cores first, then idle siblings, then the CPU with the shortest queue: what an
            // idle-core-preferring kernel arrives at.
            let cores = cores.unwrap_or(workers.div_ceil(width)).max(1);
            let count = number.map_or(workers, |it| it as usize).max(1);
            let mut mapping = vec![CoreMapping::default(); cores];
            for place in 0..count {
                let (core, turn) = (place % cores, place / cores);
                let cpus = &mut mapping[core].cpus;
                match cpus.get_mut(turn % width) {
                    Some(queue) => queue.push(worker()),
                    None => cpus.push(vec![worker()]),
                }
            }
            mapping
        }
    };
    if !wanted.repeats {
        let mut seen = vec![false; workers];
        let queues = cores.iter_mut().flat_map(|core| &mut core.cpus);
        queues
            .for_each(|queue| queue.retain(|&worker| !std::mem::replace(&mut seen[worker], true)));
    }
    for core in &mut cores {
        core.cpus.retain(|queue| !queue.is_empty());
    }
    cores.retain(|core| !core.cpus.is_empty());
    Ok(ThreadMapping { cores })
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
        assert!(matches!(map_threads(Placement::Packed, wanted), Err(MappingError::TooFew { .. })));
    }
}
