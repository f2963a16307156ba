//! Which cores are drawn together, and under which titles.

use std::collections::BTreeMap;

use crate::{Cache, Core, CpuSet, Machine};

use super::grid::Mark;
use super::summary::size;

/// A package and its groups of cores.
pub(super) struct PackageGroups<'a> {
    pub(super) title: String,
    pub(super) groups: Vec<Group<'a>>,
}

/// Cores that share all that divides a package on this machine.
pub(super) struct Group<'a> {
    /// Title: what they share, empty if nothing divides the package.
    pub(super) title: String,
    pub(super) cores: Vec<&'a Core>,
}

impl Group<'_> {
    /// The marks of its CPUs.
    pub(super) fn marks(&self, machine: &Machine) -> Vec<Mark> {
        self.cpus().iter().filter_map(|cpu| machine.cpu(cpu).and_then(Mark::of)).collect()
    }

    /// True if its grid has the same columns and rows as that of `other`.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        let widths =
            |group: &Self| -> Vec<u32> { group.cores.iter().map(|core| core.smt_width).collect() };
        widths(self) == widths(other)
    }

    /// The group without its grid.
    pub(super) fn in_one_line(&self) -> String {
        let separator = if self.title.is_empty() { "" } else { ": " };
        let (cores, cpus) = (self.cores.len(), self.cpus());
        format!("{}{separator}{cores} cores like those above, CPUs {cpus}", self.title)
    }

    fn cpus(&self) -> CpuSet {
        self.cores.iter().flat_map(|core| core.cpus.iter()).collect()
    }
}

/// Properties that the cores of a group have in common, in the order of drawing.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    die: Option<u32>,
    numa_node: Option<u32>,
    /// The place of the L3 cache among the machine's caches.
    last_cache: Option<usize>,
    /// The place of the core type among the machine's.
    core_type: Option<usize>,
}

impl Key {
    fn parts(&self) -> [Option<usize>; 4] {
        let number = |number: Option<u32>| number.map(|number| number as usize);
        [number(self.die), number(self.numa_node), self.last_cache, self.core_type]
    }
}

/// The packages in ascending order, cores without a known package last.
pub(super) fn packages(machine: &Machine) -> Vec<PackageGroups<'_>> {
    let mut packages: BTreeMap<(bool, Option<u32>), Vec<&Core>> = BTreeMap::new();
    for core in &machine.cores {
        packages.entry((core.package.is_none(), core.package)).or_default().push(core);
    }
    packages.into_iter().map(|((_, id), cores)| package(machine, id, cores)).collect()
}

/// A package; what all its groups have in common is said in its own title.
fn package<'a>(machine: &'a Machine, id: Option<u32>, cores: Vec<&'a Core>) -> PackageGroups<'a> {
    let mut groups: BTreeMap<Key, Vec<&Core>> = BTreeMap::new();
    for core in cores {
        groups.entry(key(machine, core)).or_default().push(core);
    }
    let names: Vec<[Option<String>; 4]> = groups.keys().map(|key| names(machine, key)).collect();
    let keys: Vec<[Option<usize>; 4]> = groups.keys().map(Key::parts).collect();
    let common = |part: usize| keys.iter().all(|key| key[part] == keys[0][part]);
    let title = |group: &[Option<String>; 4], of_package: bool| {
        let parts = (0..4).filter(|&part| common(part) == of_package);
        parts.filter_map(|part| group[part].clone()).collect::<Vec<_>>()
    };
    let id = id.map_or_else(|| "not known".to_owned(), |id| id.to_string());
    let shared = names.first().map(|first| title(first, true)).unwrap_or_default();
    PackageGroups {
        title: std::iter::once(format!("Package {id}"))
            .chain(shared)
            .collect::<Vec<_>>()
            .join(" · "),
        groups: names
            .iter()
            .zip(groups.into_values())
            .map(|(names, cores)| Group { title: title(names, false).join(" · "), cores })
            .collect(),
    }
}

fn key(machine: &Machine, core: &Core) -> Key {
    let several_dies =
        |package| machine.dies.iter().filter(|die| die.package == package).count() > 1;
    let serves = |cache: &Cache| cache.level == 3 && !cache.cpus.is_disjoint(&core.cpus);
    let is_type = |name: &String| machine.core_types.iter().position(|one| one.name == *name);
    Key {
        die: core.die.filter(|_| several_dies(core.package)),
        numa_node: core.numa_node.filter(|_| machine.numa_nodes.len() > 1),
        last_cache: machine.caches.iter().position(serves),
        core_type: core.core_type.as_ref().and_then(is_type),
    }
}

/// Name of each part of a key.
fn names(machine: &Machine, key: &Key) -> [Option<String>; 4] {
    let cache = key.last_cache.and_then(|place| machine.caches.get(place));
    let core_type = key.core_type.and_then(|place| machine.core_types.get(place));
    [
        key.die.map(|die| format!("die {die}")),
        key.numa_node.map(|node| format!("NUMA node {node}")),
        cache.map(|cache| format!("L3 {}", size(cache.size_bytes))),
        core_type.map(|one| one.name.clone()),
    ]
}
