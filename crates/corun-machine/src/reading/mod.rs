//! From the files of a system to a [`Machine`], one aspect a file of this folder.
//!
//! Each aspect reads its files once and reports what is odd; this module brings them together.

mod allowed;
mod arm_parts;
mod caches;
mod clocks;
mod core_types;
mod cores;
mod cpus;
mod identity;
mod nodes;
mod places;
mod smt_state;
mod source;

use std::collections::HashMap;

use crate::hypervisor::{self, Hypervisor};
use crate::{CpuSet, LogicalCpu, Machine, SystemFiles};
use source::Source;

/// Reads everything; `None` if there is no CPU.
pub(crate) fn machine(files: &mut impl SystemFiles) -> Option<Machine> {
    let mut source = Source::new(files);
    let allowed_by = allowed::read(&mut source);
    let known = cpus::read(&mut source, allowed_by.affinity.as_ref())?;
    allowed::report_contradiction(&mut source, &allowed_by, &known.online);
    let cpu_model = identity::cpu_model(&mut source);
    let hypervisor = match hypervisor::find(source.files) {
        Hypervisor::Found { name, .. } => Some(name),
        Hypervisor::Absent { .. } | Hypervisor::Unknown => None,
    };
    let memory_nodes = allowed_by.cpuset.as_ref().and_then(|set| set.memory_nodes.as_ref());
    let numa_nodes = nodes::read(&mut source, &known.all, memory_nodes);
    let mut core_types = core_types::read(&mut source, &known.online);
    let places = places::read(&mut source, &known.online);
    let siblings = cores::read(&mut source, &known, &places);
    let cores = cores::describe(siblings, &places, &numa_nodes, &core_types, &mut source.findings);
    let smt = smt_state::read(&mut source, &cores, &known.online);
    core_types::add_widths(&mut core_types, &cores);

    let core_of: HashMap<u32, &crate::Core> =
        cores.iter().flat_map(|core| core.cpus.iter().map(move |cpu| (cpu, core))).collect();
    let siblings_of =
        |id| core_of.get(&id).map_or_else(|| CpuSet::from([id]), |core| core.cpus.clone());
    let caches = caches::read(&mut source, &known.online, siblings_of);
    let clocks = clocks::read(&mut source, &known.online);
    let describe = |id| {
        let core = core_of.get(&id);
        let online = known.online.contains(id);
        LogicalCpu {
            id,
            present: known.present.contains(id),
            online,
            allowed: online && allowed::allows(&allowed_by, id),
            core: core.map(|core| core.id),
            siblings: siblings_of(id),
            package: core.map_or_else(|| places.known(id)?.package, |core| core.package),
            numa_node: nodes::node_of(&numa_nodes, id),
            core_type: core.map_or_else(
                || core_types::type_of(&core_types, id),
                |core| core.core_type.clone(),
            ),
        }
    };
    let logical_cpus: Vec<LogicalCpu> = known.all.iter().map(describe).collect();
    cores::report_unknown(&logical_cpus, &mut source.findings);

    Some(Machine {
        cpu_model,
        hypervisor,
        smt,
        packages: places::packages(&logical_cpus),
        dies: places.dies(),
        clusters: places.clusters(),
        logical_cpus,
        cores,
        core_types,
        numa_nodes,
        caches,
        clocks,
        allowed_by,
        findings: source.findings.into_vec(),
    })
}
