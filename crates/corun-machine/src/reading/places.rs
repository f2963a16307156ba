//! Where each online CPU sits: package, die, cluster, and the kernel's number of its core.

use std::collections::BTreeMap;

use super::source::{CpuSets, Form, Source};
use crate::{Cluster, Core, CpuSet, Die, Package, SystemFiles};

/// Where a CPU sits; `None` is what the kernel does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) package: Option<u32>,
    pub(super) die: Option<u32>,
    pub(super) cluster: Option<u32>,
    /// The number of the core, unique at best within the above.
    pub(super) core_id: Option<u32>,
}

/// The places of the online CPUs.
pub(super) struct Places {
    online: CpuSet,
    places: Vec<Place>,
}

/// x86 kernels give this for a cluster that they know nothing about.
const NO_CLUSTER: u32 = 0xffff;

/// Reads the places of all online CPUs.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Places {
    let mut places: Vec<Place> = online
        .iter()
        .map(|cpu| Place {
            package: source.cpu_number(cpu, "topology/physical_package_id"),
            die: source.cpu_number(cpu, "topology/die_id"),
            cluster: source
                .cpu_number(cpu, "topology/cluster_id")
                .filter(|&cluster| cluster != NO_CLUSTER),
            core_id: source.cpu_number(cpu, "topology/core_id"),
        })
        .collect();
    number_packages(source, online, &mut places);
    Places { online: online.clone(), places }
}

/// Some kernels (s390, old powerpc) list the CPUs of a package without numbering it.
fn number_packages<F: SystemFiles>(
    source: &mut Source<'_, F>,
    online: &CpuSet,
    places: &mut [Place],
) {
    let mut lists = CpuSets::new(&[
        ("package_cpus_list", Form::List),
        ("core_siblings_list", Form::List),
        ("package_cpus", Form::Mask),
        ("core_siblings", Form::Mask),
    ]);
    let mut numbers = BTreeMap::new();
    let first = places.iter().filter_map(|place| place.package).max().map_or(0, |last| last + 1);
    for (cpu, place) in online.iter().zip(places) {
        if place.package.is_none()
            && let Some(list) = lists.read(source, cpu, "topology")
        {
            let next = first + numbers.len() as u32;
            place.package = Some(*numbers.entry(list).or_insert(next));
        }
    }
}

impl Places {
    /// The place of a CPU; `None` of an offline one.
    pub(super) fn known(&self, cpu: u32) -> Option<Place> {
        let index = self.online.as_slice().binary_search(&cpu).ok()?;
        self.places.get(index).copied()
    }
}

/// The packages, ascending.
pub(super) fn packages(cores: &[Core]) -> Vec<Package> {
    let groups =
        grouped(cores.iter().flat_map(|core| core.cpus.iter().map(|cpu| (core.package, cpu))));
    groups.into_iter().map(|(id, cpus)| Package { id, cpus }).collect()
}

/// The dies, ascending within ascending packages.
pub(super) fn dies(cores: &[Core]) -> Vec<Die> {
    let groups = grouped(cores.iter().flat_map(|core| {
        core.cpus.iter().map(|cpu| (core.die.map(|die| (core.package, die)), cpu))
    }));
    groups.into_iter().map(|((package, id), cpus)| Die { package, id, cpus }).collect()
}

/// The clusters, ascending within ascending packages.
pub(super) fn clusters(cores: &[Core]) -> Vec<Cluster> {
    let groups = grouped(cores.iter().flat_map(|core| {
        core.cpus.iter().map(|cpu| (core.cluster.map(|cluster| (core.package, cluster)), cpu))
    }));
    groups.into_iter().map(|((package, id), cpus)| Cluster { package, id, cpus }).collect()
}

fn grouped<K: Ord>(members: impl Iterator<Item = (Option<K>, u32)>) -> BTreeMap<K, CpuSet> {
    let mut groups: BTreeMap<K, Vec<u32>> = BTreeMap::new();
    for (key, cpu) in members {
        if let Some(key) = key {
            groups.entry(key).or_default().push(cpu);
        }
    }
    groups.into_iter().map(|(key, cpus)| (key, cpus.into_iter().collect())).collect()
}
