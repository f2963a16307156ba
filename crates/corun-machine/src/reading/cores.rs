//! Which CPUs are siblings, and the cores that follow.
//!
//! Siblings are what the kernel lists, not what numbers suggest: `core_id` has gaps and repeats.
//! Two online CPUs are taken for siblings only if each lists the other, and the numbers that the
//! kernel gives their cores do not differ: AMD's cores of 2011 to 2016 listed two as siblings that
//! have all but the front end and the floating-point unit to themselves.

use std::collections::{HashMap, HashSet};

use super::core_types::type_of;
use super::cpus::KnownCpus;
use super::nodes::node_of;
use super::places::{CpuLocation, Places};
use super::source::{CpuSets, Form, Source, of_each};
use crate::finding::Findings;
use crate::{Core, CoreType, CpuSet, FindingKind, LogicalCpu, NumaNode, SystemFiles};

/// Reads the sets of siblings, by their lowest CPU; offline CPUs only where an online one lists
/// them.
pub(super) fn read<F: SystemFiles>(
    source: &mut Source<'_, F>,
    known: &KnownCpus,
    places: &Places,
) -> Vec<CpuSet> {
    let mut lists = CpuSets::new(&[
        ("core_cpus_list", Form::List),
        ("thread_siblings_list", Form::List),
        ("core_cpus", Form::Mask),
        ("thread_siblings", Form::Mask),
    ]);
    let mut listed: HashMap<u32, CpuSet> = HashMap::new();
    let mut unlisted = CpuSet::new();
    for cpu in known.online.iter() {
        match lists.read(source, cpu, "topology") {
            Some(list) => {
                listed.insert(cpu, lists.get(list).intersection(&known.all));
            }
            None => unlisted.insert(cpu),
        }
    }
    infer(&unlisted, places, &mut listed, &mut source.findings);
    agree(&known.online, &listed, places, &mut source.findings)
}

/// Without lists, CPUs with the same number of core in the same place are siblings.
fn infer(
    unlisted: &CpuSet,
    places: &Places,
    listed: &mut HashMap<u32, CpuSet>,
    findings: &mut Findings,
) {
    let mut same_place: HashMap<CpuLocation, CpuSet> = HashMap::new();
    for cpu in unlisted.iter() {
        let (kind, what) = match places.known(cpu).filter(|place| place.core_id.is_some()) {
            Some(place) => {
                same_place.entry(place).or_default().insert(cpu);
                let what = "no siblings are listed; CPUs with the same core_id are taken for them";
                (FindingKind::UnknownSiblings, what)
            }
            None => (FindingKind::UnknownCore, "no siblings are listed, and no core_id is given"),
        };
        findings.add(kind, of_each("topology/core_cpus_list"), what, &CpuSet::from([cpu]));
    }
    for siblings in same_place.into_values() {
        listed.extend(siblings.iter().map(|cpu| (cpu, siblings.clone())));
    }
}

/// Makes disjoint sets of the lists. Each CPU comes with those that it lists, that list it and have
/// no other number of core, and with offline ones, which list no siblings.
fn agree(
    online: &CpuSet,
    listed: &HashMap<u32, CpuSet>,
    places: &Places,
    findings: &mut Findings,
) -> Vec<CpuSet> {
    let core_id = |cpu| places.known(cpu).and_then(|place| place.core_id);
    let mut placed = HashSet::new();
    let mut cores = Vec::new();
    for cpu in online.iter() {
        let Some(list) = listed.get(&cpu) else { continue };
        let mut core = CpuSet::from([cpu]);
        for other in list.iter().filter(|&other| other != cpu) {
            let mutual = listed.get(&other).is_none_or(|back| back.contains(cpu));
            let same_id = core_id(cpu).zip(core_id(other)).is_none_or(|(one, two)| one == two);
            if !mutual {
                contradiction(
                    findings,
                    "sibling lists name CPUs that do not name them",
                    cpu,
                    other,
                );
            } else if !same_id {
                contradiction(findings, "listed as siblings, with different core_id", cpu, other);
            } else if !placed.contains(&other) {
                core.insert(other);
            } else if !placed.contains(&cpu) {
                contradiction(findings, "sibling lists overlap without being equal", cpu, other);
            }
        }
        if !list.contains(cpu) {
            contradiction(findings, "missing in their own lists of siblings", cpu, cpu);
        }
        if !placed.contains(&cpu) {
            placed.extend(core.iter());
            cores.push(core);
        }
    }
    cores
}

fn contradiction(findings: &mut Findings, what: &str, cpu: u32, other: u32) {
    let file = of_each("topology/core_cpus_list");
    let what = match cpu == other {
        true => what.to_owned(),
        false => format!("{what}; they are taken for different cores"),
    };
    findings.add(FindingKind::ContradictorySiblings, file, what, &CpuSet::from([cpu, other]));
}

/// The cores with all that is known of them; a core is where its lowest online CPU is, and in the NUMA node of all.
pub(super) fn describe(
    siblings: Vec<CpuSet>,
    places: &Places,
    nodes: &[NumaNode],
    core_types: &[CoreType],
    findings: &mut Findings,
) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::with_capacity(siblings.len());
    for cpus in siblings {
        let known = || cpus.iter().filter_map(|cpu| places.known(cpu));
        let first = known().next().unwrap_or_default();
        let place = known().try_fold(first, CpuLocation::merged).unwrap_or_else(|| {
            findings.add(
                FindingKind::ContradictoryPlace,
                of_each("topology"),
                "siblings of one core are said to be in different packages, dies or clusters; the \
                 place of the lowest is taken",
                &cpus,
            );
            first
        });
        let lowest = cpus.iter().find(|&cpu| places.known(cpu).is_some());
        let its_nodes: Vec<u32> = cpus.iter().filter_map(|cpu| node_of(nodes, cpu)).collect();
        let is_of_one_node = its_nodes.windows(2).all(|pair| pair[0] == pair[1]);
        if !is_of_one_node {
            findings.add(
                FindingKind::ContradictoryNumaNodes,
                "sys/devices/system/node/node*/cpulist",
                "siblings of one core are said to be in different NUMA nodes; the node of the core is not known",
                &cpus,
            );
        }
        cores.push(Core {
            id: 0,
            core_id: place.core_id,
            smt_width: cpus.len() as u32,
            package: place.package,
            die: place.die,
            cluster: place.cluster,
            numa_node: its_nodes.first().copied().filter(|_| is_of_one_node),
            core_type: lowest.and_then(|cpu| type_of(core_types, cpu)),
            cpus,
        });
    }
    cores.sort_by_key(|core| core.cpus.first());
    for (id, core) in (0..).zip(&mut cores) {
        core.id = id;
    }
    cores
}

/// Reports the offline CPUs of which the core is not known.
pub(super) fn report_unknown(cpus: &[LogicalCpu], findings: &mut Findings) {
    let unknown: CpuSet =
        cpus.iter().filter(|cpu| !cpu.online && cpu.core.is_none()).map(|cpu| cpu.id).collect();
    if !unknown.is_empty() {
        findings.add(
            FindingKind::UnknownCore,
            of_each("topology"),
            "offline, so that the kernel does not report the core; their siblings are not known",
            &unknown,
        );
    }
}
