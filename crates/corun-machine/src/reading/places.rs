//! Location of each online CPU: package, die, cluster, and the kernel's number of its core.

use std::collections::{BTreeMap, HashMap};

use super::source::{CpuSets, Form, SetId, Source, of_each};
use crate::{Cluster, CpuSet, Die, FindingKind, LogicalCpu, Package, SystemFiles};

/// Location of a CPU; `None` is unknown to the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct CpuLocation {
    pub(super) package: Option<u32>,
    pub(super) die: Option<u32>,
    pub(super) cluster: Option<u32>,
    /// The number of the core, unique at best within the above.
    pub(super) core_id: Option<u32>,
}

/// The places of the online CPUs.
pub(super) struct Places {
    online: CpuSet,
    places: Vec<CpuLocation>,
}

impl CpuLocation {
    /// Location known of either; `None` if they are different ones.
    pub(super) fn merged(self, other: Self) -> Option<Self> {
        let merge = |one: Option<u32>, two: Option<u32>| match (one, two) {
            (Some(one), Some(two)) if one != two => None,
            _ => Some(one.or(two)),
        };
        Some(Self {
            package: merge(self.package, other.package)?,
            die: merge(self.die, other.die)?,
            cluster: merge(self.cluster, other.cluster)?,
            core_id: merge(self.core_id, other.core_id)?,
        })
    }
}

/// x86 kernels give this for a cluster that they know nothing about.
const NO_CLUSTER: u32 = 0xffff;

/// Reads the places of all online CPUs.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Places {
    let mut places: Vec<CpuLocation> = online
        .iter()
        .map(|cpu| CpuLocation {
            package: source.cpu_number(cpu, "topology/physical_package_id"),
            die: source.cpu_number(cpu, "topology/die_id"),
            cluster: source
                .cpu_number(cpu, "topology/cluster_id")
                .filter(|&cluster| cluster != NO_CLUSTER),
            core_id: source.cpu_number(cpu, "topology/core_id"),
        })
        .collect();
    name_packages(source, online, &mut places);
    Places { online: online.clone(), places }
}

/// Packages are what the kernel lists. Its numbers only name them: some kernels give none (s390,
/// old powerpc), and some give one number to several packages (old Itanium).
fn name_packages<F: SystemFiles>(
    source: &mut Source<'_, F>,
    online: &CpuSet,
    places: &mut [CpuLocation],
) {
    let mut lists = CpuSets::new(&[
        ("package_cpus_list", Form::List),
        ("core_siblings_list", Form::List),
        ("package_cpus", Form::Mask),
        ("core_siblings", Form::Mask),
    ]);
    let listed: Vec<Option<SetId>> =
        online.iter().map(|cpu| lists.read(source, cpu, "topology")).collect();
    let names = names_of(&listed, places);
    for ((cpu, place), list) in online.iter().zip(places).zip(listed) {
        let Some(&name) = list.and_then(|list| names.get(&list)) else { continue };
        if place.package.is_some_and(|number| number != name) {
            source.findings.add(
                FindingKind::ContradictoryPlace,
                of_each("topology/physical_package_id"),
                "the number does not fit the list of the package's CPUs; the list is believed",
                &CpuSet::from([cpu]),
            );
        }
        place.package = Some(name);
    }
}

/// A number for each package that is listed: the first that the kernel gives any of its CPUs, if no
/// other package has it.
fn names_of(listed: &[Option<SetId>], places: &[CpuLocation]) -> HashMap<SetId, u32> {
    let mut names: HashMap<SetId, u32> = HashMap::new();
    for (list, place) in listed.iter().zip(places) {
        if let (Some(list), Some(number)) = (list, place.package)
            && !names.values().any(|name| *name == number)
        {
            names.entry(*list).or_insert(number);
        }
    }
    let highest = places.iter().filter_map(|place| place.package).max();
    let mut unused = highest.map_or(0, |highest| highest.saturating_add(1));
    for list in listed.iter().flatten() {
        names.entry(*list).or_insert_with(|| {
            unused += 1;
            unused - 1
        });
    }
    names
}

impl Places {
    /// The place of a CPU; `None` of an offline one.
    pub(super) fn known(&self, cpu: u32) -> Option<CpuLocation> {
        let index = self.online.as_slice().binary_search(&cpu).ok()?;
        self.places.get(index).copied()
    }
}

/// The packages, ascending.
pub(super) fn packages(cpus: &[LogicalCpu]) -> Vec<Package> {
    let groups = grouped(cpus.iter().map(|cpu| (cpu.package, cpu.id)));
    groups.into_iter().map(|(id, cpus)| Package { id, cpus }).collect()
}

impl Places {
    /// The dies, ascending within ascending packages.
    pub(super) fn dies(&self) -> Vec<Die> {
        let groups = self.grouped(|place| Some((place.package, place.die?)));
        groups.map(|((package, id), cpus)| Die { package, id, cpus }).collect()
    }

    /// The clusters, ascending within ascending packages.
    pub(super) fn clusters(&self) -> Vec<Cluster> {
        let groups = self.grouped(|place| Some((place.package, place.cluster?)));
        groups.map(|((package, id), cpus)| Cluster { package, id, cpus }).collect()
    }

    fn grouped<K: Ord>(
        &self,
        key: impl Fn(&CpuLocation) -> Option<K>,
    ) -> impl Iterator<Item = (K, CpuSet)> {
        let members = self.places.iter().zip(self.online.iter());
        grouped(members.map(|(place, cpu)| (key(place), cpu))).into_iter()
    }
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
