//! Which pairs are probed, in which order.
//!
//! All, while they are few. On larger machines those that can contradict sysfs best: all siblings,
//! one pair for each distance between cores, then random ones while time lasts.

use std::collections::{BTreeMap, BTreeSet};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sysfs::l3;
use crate::Machine;

/// Up to this number all pairs are probed: those of 16 CPUs.
const ALL: u64 = 120;
/// No more random pairs than this are drawn; no budget lasts longer.
const MAX_RANDOM: usize = 2000;

/// The pairs to probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProbePlan {
    /// To be probed however long it takes.
    pub(super) required: Vec<[u32; 2]>,
    /// To be probed while time lasts, in this order.
    pub(super) random: Vec<[u32; 2]>,
    /// Number of pairs.
    pub(super) possible: u64,
}

/// All that sysfs says about where a CPU is, above its core.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SysfsLocation {
    package: Option<u32>,
    die: Option<u32>,
    cluster: Option<u32>,
    numa_node: Option<u32>,
    l3: Option<usize>,
    core_type: Option<String>,
}

/// Resources that two places share, and their core types.
type Distance = ([bool; 5], Option<String>, Option<String>);

impl ProbePlan {
    pub(super) fn of(machine: &Machine, seed: u64) -> Self {
        let allowed = machine.allowed();
        let cpus = allowed.as_slice();
        let number = cpus.len() as u64;
        let possible = number * number.saturating_sub(1) / 2;
        if possible <= ALL {
            let rest = |(index, &one): (usize, &u32)| {
                cpus[index + 1..].iter().map(move |&other| [one, other]).collect::<Vec<_>>()
            };
            let required = cpus.iter().enumerate().flat_map(rest).collect();
            return Self { required, random: Vec::new(), possible };
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut required = siblings(machine, cpus);
        required.extend(one_of_each_distance(machine, cpus, &mut random));
        let mut known: BTreeSet<[u32; 2]> = required.iter().copied().collect();
        let mut drawn = Vec::new();
        for _ in 0..MAX_RANDOM {
            let [one, other] = [0, 1].map(|_| cpus[random.random_range(0..cpus.len())]);
            let pair = [one.min(other), one.max(other)];
            if one != other && known.insert(pair) {
                drawn.push(pair);
            }
        }
        Self { required, random: drawn, possible }
    }
}

/// Every pair of siblings.
fn siblings(machine: &Machine, cpus: &[u32]) -> Vec<[u32; 2]> {
    let higher = |&one: &u32| {
        let others = machine.cpu(one).map(|cpu| cpu.siblings.clone()).unwrap_or_default();
        let others =
            others.iter().filter(|other| *other > one && cpus.binary_search(other).is_ok());
        others.map(|other| [one, other]).collect::<Vec<_>>()
    };
    cpus.iter().flat_map(higher).collect()
}

/// A random pair of CPUs on different cores for each distance between places.
fn one_of_each_distance(machine: &Machine, cpus: &[u32], random: &mut ChaCha8Rng) -> Vec<[u32; 2]> {
    let mut places: BTreeMap<SysfsLocation, Vec<u32>> = BTreeMap::new();
    for &cpu in cpus {
        places.entry(SysfsLocation::of(machine, cpu)).or_default().push(cpu);
    }
    let mut distances: BTreeMap<Distance, Vec<[&Vec<u32>; 2]>> = BTreeMap::new();
    for (index, (one, ones)) in places.iter().enumerate() {
        for (other, others) in places.iter().skip(index) {
            distances.entry(one.distance_to(other)).or_default().push([ones, others]);
        }
    }
    let draw = |candidates: Vec<[&Vec<u32>; 2]>| {
        let [ones, others] = candidates.choose(random)?;
        let one = *ones.choose(random)?;
        let core = machine.cpu(one).and_then(|cpu| cpu.core);
        let is_elsewhere = |other: &u32| {
            *other != one && (core.is_none() || machine.cpu(*other).and_then(|it| it.core) != core)
        };
        let others: Vec<u32> = others.iter().copied().filter(is_elsewhere).collect();
        let other = *others.choose(random)?;
        Some([one.min(other), one.max(other)])
    };
    distances.into_values().filter_map(draw).collect()
}

impl SysfsLocation {
    fn of(machine: &Machine, cpu: u32) -> Self {
        let core = machine.core_of(cpu);
        let logical = machine.cpu(cpu);
        Self {
            package: logical.and_then(|cpu| cpu.package),
            die: core.and_then(|core| core.die),
            cluster: core.and_then(|core| core.cluster),
            numa_node: logical.and_then(|cpu| cpu.numa_node),
            l3: l3(machine, cpu),
            core_type: logical.and_then(|cpu| cpu.core_type.clone()),
        }
    }

    fn distance_to(&self, other: &Self) -> Distance {
        let package = self.package == other.package;
        let shared = [
            package,
            package && self.die == other.die,
            package && self.cluster == other.cluster,
            self.numa_node == other.numa_node,
            self.l3 == other.l3,
        ];
        let (one, other) = (self.core_type.clone(), other.core_type.clone());
        if one <= other { (shared, one, other) } else { (shared, other, one) }
    }
}
