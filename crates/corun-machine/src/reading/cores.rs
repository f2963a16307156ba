//! Which CPUs are siblings, and the cores that follow.
//!
//! Siblings are what the kernel lists, not what numbers suggest: `core_id` has gaps and repeats.
//! Two online CPUs are taken for siblings only if each lists the other.

use std::collections::HashMap;

use super::core_types::type_of;
use super::cpus::KnownCpus;
use super::nodes::node_of;
use super::places::{Place, Places};
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
    agree(&known.online, &listed, &mut source.findings)
}

/// Without a list, CPUs with the same number of core in the same place are siblings; without that
/// number too, a CPU counts as a core of its own.
fn infer(
    unlisted: &CpuSet,
    places: &Places,
    listed: &mut HashMap<u32, CpuSet>,
    findings: &mut Findings,
) {
    let mut same_place: HashMap<Place, CpuSet> = HashMap::new();
    for cpu in unlisted.iter() {
        if let Some(place) = places.known(cpu).filter(|place| place.core_id.is_some()) {
            same_place.entry(place).or_default().insert(cpu);
        }
    }
    for cpu in unlisted.iter() {
        let (siblings, taken) = match places.known(cpu).and_then(|place| same_place.get(&place)) {
            Some(siblings) => {
                (siblings.clone(), "CPUs with the same core_id are taken for siblings")
            }
            None => (CpuSet::from([cpu]), "each CPU is taken for a core of its own"),
        };
        listed.insert(cpu, siblings);
        findings.add(
            FindingKind::UnknownSiblings,
            of_each("topology/core_cpus_list"),
            format!("the kernel lists no siblings here; {taken}"),
            &CpuSet::from([cpu]),
        );
    }
}

/// Makes disjoint sets of the lists. Each CPU comes with those that it lists and that list it, and
/// with offline ones, which list nobody.
fn agree(online: &CpuSet, listed: &HashMap<u32, CpuSet>, findings: &mut Findings) -> Vec<CpuSet> {
    let mut placed = std::collections::HashSet::new();
    let mut cores = Vec::new();
    for cpu in online.iter() {
        let Some(list) = listed.get(&cpu) else { continue };
        for other in list.iter().filter(|&other| other != cpu) {
            if listed.get(&other).is_some_and(|back| !back.contains(cpu)) {
                contradiction(findings, cpu, other);
            }
        }
        if !list.contains(cpu) {
            contradiction(findings, cpu, cpu);
        }
        if placed.contains(&cpu) {
            continue;
        }
        let agreed = |other: &u32| {
            !placed.contains(other) && listed.get(other).is_none_or(|back| back.contains(cpu))
        };
        let core: CpuSet = std::iter::once(cpu).chain(list.iter().filter(agreed)).collect();
        placed.extend(core.iter());
        cores.push(core);
    }
    cores
}

fn contradiction(findings: &mut Findings, cpu: u32, other: u32) {
    let what = if cpu == other {
        format!("CPU {cpu} is missing in its own list of siblings")
    } else {
        format!(
            "CPU {cpu} lists CPU {other} as a sibling, CPU {other} does not list CPU {cpu}; they \
             are taken for different cores"
        )
    };
    let cpus = CpuSet::from([cpu, other]);
    let file = of_each("topology/core_cpus_list");
    findings.add(FindingKind::ContradictorySiblings, file, what, &cpus);
}

/// The cores with all that is known of them; a core is where its lowest online CPU is.
pub(super) fn describe(
    siblings: Vec<CpuSet>,
    places: &Places,
    nodes: &[NumaNode],
    core_types: &[CoreType],
    findings: &mut Findings,
) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::with_capacity(siblings.len());
    for cpus in siblings {
        let known: Vec<Place> = cpus.iter().filter_map(|cpu| places.known(cpu)).collect();
        let place = known.first().copied().unwrap_or_default();
        if known.iter().any(|other| *other != place) {
            findings.add(
                FindingKind::ContradictoryPlace,
                of_each("topology"),
                "siblings of one core are said to be in different packages, dies, clusters or \
                 cores; the place of the lowest is taken",
                &cpus,
            );
        }
        let lowest = cpus.iter().find(|&cpu| places.known(cpu).is_some());
        cores.push(Core {
            id: 0,
            core_id: place.core_id,
            smt_width: cpus.len() as u32,
            package: place.package,
            die: place.die,
            cluster: place.cluster,
            numa_node: lowest.and_then(|cpu| node_of(nodes, cpu)),
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

/// Reports the CPUs of which the core is not known.
pub(super) fn report_unknown(cpus: &[LogicalCpu], findings: &mut Findings) {
    let unknown: CpuSet = cpus.iter().filter(|cpu| cpu.core.is_none()).map(|cpu| cpu.id).collect();
    if !unknown.is_empty() {
        findings.add(
            FindingKind::UnknownCore,
            of_each("topology"),
            "offline, so that the kernel does not tell the core; their siblings are not known",
            &unknown,
        );
    }
}
