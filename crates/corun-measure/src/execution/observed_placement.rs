//! Observed placement of a pinned process: the affinity and the CPUs of its threads and
//! descendants, read back at every sample and once more when it has ended.
//!
//! A process that has ended keeps its affinity, its last CPU and its count of migrations until it is
//! collected, so that the last sample costs the run nothing and misses no change by its first thread.

use std::collections::BTreeSet;

use corun_machine::{Affinity, CpuSet};

use super::threads;

/// Observed placement of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedPlacement {
    place: CpuSet,
    /// Only what the process starts has the place: the process itself does not work.
    of_descendants: bool,
    /// CPUs outside the place that something of the process was allowed to use or seen on.
    outside: BTreeSet<u32>,
    /// True if an affinity was not the one that corun had set.
    is_changed: bool,
    /// True if it moved, which nothing pinned to one CPU does.
    has_moved: bool,
}

impl ObservedPlacement {
    pub(crate) fn new(place: CpuSet) -> Self {
        Self {
            place,
            of_descendants: false,
            outside: BTreeSet::new(),
            is_changed: false,
            has_moved: false,
        }
    }

    /// The placement of what a process starts, such as the ranks of `mpirun`, which itself looks at the topology from
    /// every CPU in turn.
    pub(crate) fn of_descendants(place: CpuSet) -> Self {
        Self { of_descendants: true, ..Self::new(place) }
    }

    /// Samples every thread of a running process and of its descendants.
    pub(crate) fn sample(&mut self, process: libc::pid_t) {
        let own = (!self.of_descendants).then_some(process);
        for process in threads::descendants_of(process).into_iter().chain(own) {
            for thread in threads::of_process(process) {
                self.sample_thread(process, thread);
            }
        }
    }

    /// Samples a process that has ended and is not yet collected, and at what it leaves running.
    pub(crate) fn sample_at_end(&mut self, process: libc::pid_t, migrations: Option<u64>) {
        if self.of_descendants {
            return;
        }
        self.sample_thread(process, process);
        if migrations.is_some_and(|moves| moves > 0) {
            self.note_moves();
        }
    }

    /// Takes in that it moved between CPUs, or something that it started; on one CPU nothing does.
    pub(crate) fn note_moves(&mut self) {
        self.has_moved |= self.place.len() == 1 && !self.of_descendants;
    }

    fn sample_thread(&mut self, process: libc::pid_t, thread: libc::pid_t) {
        let affinity = Affinity::of(thread).ok().map(|affinity| affinity.cpus());
        self.note(affinity.as_ref(), threads::cpu_of(process, thread));
    }

    /// Takes in what was read of one thread.
    fn note(&mut self, affinity: Option<&CpuSet>, cpu: Option<u32>) {
        let outside = |cpu: &u32| !self.place.contains(*cpu);
        let seen: Vec<u32> =
            affinity.iter().flat_map(|cpus| cpus.iter()).chain(cpu).filter(outside).collect();
        self.is_changed |= affinity.is_some_and(|cpus| *cpus != self.place);
        self.outside.extend(seen);
    }

    /// Displacement of a worker; `None` where it kept its place.
    pub(crate) fn displaced(&self, worker: usize) -> Option<corun_record::Displaced> {
        let is_displaced = self.is_changed || self.has_moved || !self.outside.is_empty();
        is_displaced.then(|| corun_record::Displaced {
            worker: worker as u32,
            outside: self.outside.iter().copied().collect(),
            moved: self.has_moved && self.outside.is_empty(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seen: &[(&[u32], u32)], migrations: Option<u64>) -> Option<(Vec<u32>, bool)> {
        let mut observed_placement = ObservedPlacement::new([2].into());
        for (affinity, cpu) in seen {
            observed_placement.note(Some(&affinity.iter().copied().collect()), Some(*cpu));
        }
        // A process of this number does not exist: only the migrations count.
        observed_placement.sample_at_end(-1, migrations);
        observed_placement.displaced(0).map(|it| (it.outside, it.moved))
    }

    #[test]
    fn a_process_in_its_place_is_not_displaced() {
        assert_eq!(after(&[], None), None);
        assert_eq!(after(&[(&[2], 2), (&[2], 2)], Some(0)), None);
    }

    #[test]
    fn every_way_out_shows() {
        assert_eq!(after(&[(&[3], 3)], None), Some((vec![3], false)));
        assert_eq!(after(&[(&[1, 2], 2)], None), Some((vec![1], false)));
        assert_eq!(after(&[(&[2], 5)], Some(1)), Some((vec![5], false)));
        assert_eq!(after(&[(&[2], 2)], Some(2)), Some((vec![], true)));
    }

    #[test]
    fn a_counted_move_displaces_what_is_held_on_one_cpu() {
        for (place, is_displaced) in [(vec![2], true), (vec![2, 3], false)] {
            let mut observed_placement = ObservedPlacement::new(place.into_iter().collect());
            observed_placement.note_moves();
            assert_eq!(observed_placement.displaced(0).is_some(), is_displaced);
        }
    }
}
