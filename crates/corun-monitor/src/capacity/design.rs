//! The arms of a curve: numbers of busy logical CPUs in two orders of filling, with a worker on each.
//!
//! A machine of a few CPUs has every number; a large one has tenths, and the numbers at which a level of siblings is full.

use std::collections::BTreeSet;

use corun_measure::cores::Core;
use corun_measure::sweep::{Family, Grid, Point};
use corun_record::{Arm, Filling};

/// Machines with no more logical CPUs have a point for each number.
const ALL_UP_TO: u32 = 10;
/// Steps of the curve of larger ones.
const STEPS: u32 = 10;
/// Points of a step that lie this close to one that is needed, as a part of all CPUs, are left out.
const CLOSE: f64 = 0.04;

/// Design of a curve.
#[derive(Debug, Clone)]
pub struct CurveDesign {
    cores: Vec<Core>,
    /// Cores with the most siblings, which come first.
    wide: u32,
    cpus: u32,
    smt_width: u32,
    /// Busy logical CPUs with their arm's id, by order of filling.
    cores_first: Vec<(u32, String)>,
    siblings_first: Vec<(u32, String)>,
    /// Every arm once, and the twin of the one with all CPUs busy.
    arms: Vec<Arm>,
}

impl CurveDesign {
    /// The curve of these cores, those with the most siblings filled first.
    pub fn new(mut cores: Vec<Core>) -> Self {
        cores.sort_by_key(|core| std::cmp::Reverse(core.cpus.len()));
        let grid = Grid::new(cores.clone());
        let (cpus, smt_width) = (grid.cpus(), grid.smt_width());
        let wide = cores.iter().filter(|core| core.cpus.len() as u32 == smt_width).count() as u32;
        let has_sibling = |sibling: u32| {
            cores.iter().filter(move |core| core.cpus.len() as u32 > sibling).count() as u32
        };
        let levels = (0..smt_width).scan(0, |busy, sibling| {
            *busy += has_sibling(sibling);
            Some(*busy)
        });
        let mut design = Self {
            cores_first: Vec::new(),
            siblings_first: Vec::new(),
            arms: Vec::new(),
            wide,
            cpus,
            smt_width,
            cores: Vec::new(),
        };
        for busy in counts(cpus, levels.chain([1, wide])) {
            let id = design.add(grid.arm(Point { family: Family::Dealt, workers: busy }));
            design.cores_first.push((busy, id));
        }
        for busy in counts(cpus, [1, wide * smt_width]) {
            let packed = Point { family: Family::Packed, workers: busy };
            let dealt = Point { family: Family::Dealt, workers: busy };
            let id = design.add(grid.arm(if grid.has(packed) { packed } else { dealt }));
            design.siblings_first.push((busy, id));
        }
        let full = design.arms.iter().find(|arm| arm.workers == cpus).cloned();
        design.arms.extend(full.map(|arm| Arm {
            id: format!("{}.aa", arm.id),
            twin_of: Some(arm.id.clone()),
            ..arm
        }));
        Self { cores, ..design }
    }

    fn add(&mut self, arm: Arm) -> String {
        let id = arm.id.clone();
        if !self.arms.iter().any(|known| known.id == id) {
            self.arms.push(arm);
        }
        id
    }

    /// Every arm once, and the twin of the one with all CPUs busy.
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// The cores, in the order in which they are filled.
    pub(super) fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The logical CPUs.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// The logical CPUs of the widest core.
    pub fn smt_width(&self) -> u32 {
        self.smt_width
    }

    /// True if all cores have as many logical CPUs.
    pub(super) fn is_even(&self) -> bool {
        self.wide as usize == self.cores.len()
    }

    /// True if all cores are of one type.
    pub(super) fn has_one_type(&self) -> bool {
        self.cores.iter().all(|core| core.core_type == self.cores[0].core_type)
    }

    /// The points of an order: busy logical CPUs, ascending, each with its arm's id.
    pub fn points(&self, filling: Filling) -> &[(u32, String)] {
        match filling {
            Filling::CoresFirst => &self.cores_first,
            Filling::SiblingsFirst => &self.siblings_first,
        }
    }

    /// The arm of a point.
    pub(super) fn arm_of(&self, filling: Filling, busy: u32) -> Option<&str> {
        let of_busy = self.points(filling).iter().find(|point| point.0 == busy);
        of_busy.map(|(_, id)| id.as_str())
    }

    /// The arm with all logical CPUs busy.
    pub fn full(&self) -> Option<&str> {
        self.arm_of(Filling::CoresFirst, self.cpus)
    }

    /// The arms whose work compared is the yield: all and one of the siblings busy, on the cores with the most of them.
    pub(super) fn yield_arms(&self) -> Option<[&str; 2]> {
        let all = self.arm_of(Filling::SiblingsFirst, self.wide * self.smt_width)?;
        let one = self.arm_of(Filling::CoresFirst, self.wide)?;
        (self.smt_width > 1).then_some([all, one])
    }
}

/// The numbers of busy CPUs that are run, ascending: those that are needed, and steps between them.
fn counts(cpus: u32, needed: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    let needed: BTreeSet<u32> = needed.into_iter().chain([cpus]).collect();
    if cpus <= ALL_UP_TO {
        return (1..=cpus).collect();
    }
    let close = f64::from(cpus) * CLOSE;
    let is_close = |step: u32| needed.iter().any(|it| f64::from(it.abs_diff(step)) < close);
    let step = |tenth: u32| (f64::from(cpus * tenth) / f64::from(STEPS)).round() as u32;
    let steps = (1..STEPS).map(step).filter(|&it| !is_close(it));
    steps.chain(needed.iter().copied()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Cores with so many usable siblings each, as the kernel often numbers them.
    pub(crate) fn cores(widths: &[usize]) -> Vec<Core> {
        let count = widths.len() as u32;
        let core = |(core, &width): (usize, &usize)| {
            let cpus: Vec<u32> = (0..width as u32).map(|it| core as u32 + it * count).collect();
            Core { online_siblings: cpus.clone(), cpus, core_type: None, numa_node: None }
        };
        widths.iter().enumerate().map(core).collect()
    }

    fn points(design: &CurveDesign, filling: Filling) -> String {
        let points = design.points(filling).iter();
        points.map(|(busy, id)| format!("{busy}:{id}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_few_cpus_have_every_number_and_one_twin() {
        let design = CurveDesign::new(cores(&[2, 2]));
        assert_eq!(
            points(&design, Filling::CoresFirst),
            "1:spread@1 2:spread@2 3:scatter@3 4:full"
        );
        assert_eq!(
            points(&design, Filling::SiblingsFirst),
            "1:spread@1 2:packed@2 3:scatter@3 4:full"
        );
        let twins: Vec<&str> = design
            .arms()
            .iter()
            .filter(|it| it.twin_of.is_some())
            .map(|it| it.id.as_str())
            .collect();
        assert_eq!(twins, ["full.aa"]);
        assert_eq!(design.yield_arms(), Some(["full", "spread@2"]));
    }

    #[test]
    fn many_cpus_have_a_dozen_points_an_order() {
        for widths in [vec![2; 64], vec![8; 12], vec![4; 32], [vec![2; 8], vec![1; 16]].concat()] {
            let design = CurveDesign::new(cores(&widths));
            for filling in [Filling::CoresFirst, Filling::SiblingsFirst] {
                let count = design.points(filling).len();
                assert!((8..=17).contains(&count), "{count}: {}", points(&design, filling));
            }
            assert!(design.yield_arms().is_some(), "{widths:?}");
        }
        let design = CurveDesign::new(cores(&[2; 64]));
        assert_eq!(
            points(&design, Filling::SiblingsFirst),
            "1:spread@1 13:packed@13 26:packed@26 38:packed@38 51:packed@51 64:packed@64 77:packed@77 \
             90:packed@90 102:packed@102 115:packed@115 128:full"
        );
    }

    #[test]
    fn without_siblings_both_orders_are_the_same_arms() {
        let design = CurveDesign::new(cores(&[1, 1]));
        assert_eq!(design.points(Filling::CoresFirst), design.points(Filling::SiblingsFirst));
        assert_eq!((design.arms().len(), design.yield_arms()), (3, None));
        assert_eq!(design.full(), Some("spread@2"));
    }

    #[test]
    fn a_single_cpu_has_one_point() {
        let design = CurveDesign::new(cores(&[1]));
        assert_eq!((design.arms().len(), design.full()), (2, Some("spread@1")));
    }

    #[test]
    fn the_yield_of_a_hybrid_machine_is_that_of_its_wide_cores() {
        let design = CurveDesign::new(cores(&[1, 2, 2, 1]));
        assert_eq!(design.yield_arms(), Some(["packed@4", "spread@2"]));
        let arm = |id: &str| design.arms().iter().find(|it| it.id == id).unwrap().cpus.clone();
        assert_eq!(arm("packed@4"), [1, 5, 2, 6]);
        assert_eq!(arm("spread@2"), [1, 2]);
        assert!(!design.is_even());
    }
}
