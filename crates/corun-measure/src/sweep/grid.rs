//! Every number of workers in every placement: what a sweep chooses its candidates from.
//!
//! Pure: cores come in, arms go out. Cores may differ in type and in their number of usable siblings.

use std::collections::BTreeSet;

use corun_record::{Arm, Placement};

use crate::cores::Core;

/// Placement family of a candidate's workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Pinned, one on each core first, then on siblings.
    Dealt,
    /// Pinned to all logical CPUs of as few cores as hold them.
    Packed,
    /// Placed by the kernel.
    Free,
}

/// A number of workers and how they are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Their placement family.
    pub family: Family,
    /// The workers, one at least.
    pub workers: u32,
}

/// The points that the cores have room for.
#[derive(Debug, Clone)]
pub struct Grid {
    cores: Vec<Core>,
    /// The logical CPUs in the order in which workers are dealt: one of each core, then siblings.
    dealt: Vec<u32>,
    /// The logical CPUs core by core.
    packed: Vec<u32>,
}

impl Grid {
    /// The grid of these cores, which are filled in this order.
    pub fn new(cores: Vec<Core>) -> Self {
        let width = cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0);
        let level = |sibling: usize| cores.iter().filter_map(move |core| core.cpus.get(sibling));
        let dealt = (0..width).flat_map(level).copied().collect();
        let packed = cores.iter().flat_map(|core| &core.cpus).copied().collect();
        Self { cores, dealt, packed }
    }

    /// The cores.
    pub fn cores(&self) -> u32 {
        self.cores.len() as u32
    }

    /// The logical CPUs.
    pub fn cpus(&self) -> u32 {
        self.dealt.len() as u32
    }

    /// The most usable siblings of a core.
    pub fn smt_width(&self) -> u32 {
        self.cores.iter().map(|core| core.cpus.len() as u32).max().unwrap_or(0)
    }

    /// Every point, up to a worker on each logical CPU.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let of = |family| (1..=self.cpus()).map(move |workers| Point { family, workers });
        [Family::Dealt, Family::Packed, Family::Free]
            .into_iter()
            .flat_map(of)
            .filter(|&point| self.has(point))
    }

    /// True if the point is an arm of its own: pinned workers need a logical CPU each, and packed ones
    /// must not lie where dealt ones do. The kernel places any number.
    pub fn has(&self, point: Point) -> bool {
        match point.family {
            Family::Free => point.workers > 0,
            Family::Dealt => (1..=self.cpus()).contains(&point.workers),
            Family::Packed => {
                let dealt = Point { family: Family::Dealt, ..point };
                self.has(dealt) && self.cpus_of(point) != self.cpus_of(dealt)
            }
        }
    }

    /// The point's arm.
    pub fn arm(&self, point: Point) -> Arm {
        let cpus = self.pinned(point);
        let used = self.cores.iter().filter(|core| core.cpus.iter().any(|it| cpus.contains(it)));
        let used: Vec<&Core> = used.collect();
        let siblings = used.iter().flat_map(|core| &core.online_siblings);
        let idle_siblings = siblings.filter(|cpu| !cpus.contains(cpu)).copied().collect();
        let placement = self.placement(point);
        Arm {
            idle_siblings,
            ..Arm::new(placement, point.workers, used.len() as u32, cpus.to_vec())
        }
    }

    fn pinned(&self, point: Point) -> &[u32] {
        match point.family {
            Family::Dealt => &self.dealt[..point.workers as usize],
            Family::Packed => &self.packed[..point.workers as usize],
            Family::Free => &[],
        }
    }

    fn cpus_of(&self, point: Point) -> BTreeSet<u32> {
        self.pinned(point).iter().copied().collect()
    }

    fn placement(&self, Point { family, workers }: Point) -> Placement {
        match family {
            Family::Dealt if workers <= self.cores() => Placement::Spread(Some(workers)),
            Family::Dealt if workers == self.cpus() => Placement::Full(None),
            Family::Dealt => Placement::Scatter(workers),
            Family::Packed => Placement::Packed(Some(workers)),
            Family::Free => Placement::Free(Some(workers)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores with so many usable siblings each, as the kernel often numbers them.
    pub(crate) fn cores(widths: &[usize]) -> Vec<Core> {
        let count = widths.len() as u32;
        let cpus = |core: u32, width| (0..width as u32).map(|it| core + it * count).collect();
        let core = |(core, &width): (usize, &usize)| {
            let cpus: Vec<u32> = cpus(core as u32, width);
            Core { online_siblings: cpus.clone(), cpus, core_type: None, numa_node: None }
        };
        widths.iter().enumerate().map(core).collect()
    }

    fn ids(grid: &Grid) -> Vec<String> {
        grid.points()
            .map(|point| {
                let arm = grid.arm(point);
                format!("{}:{:?}", arm.id, arm.cpus)
            })
            .collect()
    }

    #[test]
    fn two_cores_with_siblings_have_eight_points() {
        insta::assert_snapshot!(ids(&Grid::new(cores(&[2, 2]))).join("\n"), @r"
        spread@1:[0]
        spread@2:[0, 1]
        scatter@3:[0, 1, 2]
        full:[0, 1, 2, 3]
        packed@2:[0, 2]
        free@1:[]
        free@2:[]
        free@3:[]
        free@4:[]
        ");
    }

    #[test]
    fn without_siblings_nothing_is_packed() {
        let grid = Grid::new(cores(&[1, 1, 1]));
        assert_eq!(grid.points().count(), 6);
        assert_eq!((grid.cores(), grid.cpus(), grid.smt_width()), (3, 3, 1));
        let all = grid.arm(Point { family: Family::Dealt, workers: 3 });
        assert_eq!(all.id, "spread@3");
    }

    #[test]
    fn cores_with_and_without_siblings_are_dealt_one_each_first() {
        let grid = Grid::new(cores(&[2, 1, 2]));
        let arm = |family, workers| grid.arm(Point { family, workers }).cpus;
        assert_eq!(arm(Family::Dealt, 4), [0, 1, 2, 3]);
        assert_eq!(arm(Family::Packed, 3), [0, 3, 1]);
        assert!(!grid.has(Point { family: Family::Packed, workers: 5 }));
        assert!(!grid.has(Point { family: Family::Dealt, workers: 6 }));
        assert!(grid.has(Point { family: Family::Free, workers: 6 }));
    }

    #[test]
    fn what_should_idle_are_the_siblings_of_used_cores() {
        let grid = Grid::new(cores(&[2, 2]));
        let idle = |family, workers| grid.arm(Point { family, workers }).idle_siblings;
        assert_eq!(idle(Family::Dealt, 2), [2, 3]);
        assert_eq!(idle(Family::Dealt, 3), [3]);
        assert!(idle(Family::Packed, 2).is_empty());
    }
}
