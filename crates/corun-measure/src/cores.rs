//! The cores of a machine as an experiment sees them: the logical CPUs that it may use.

use corun_machine::{Machine, SmtControl};

/// A core with at least one usable logical CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core {
    /// Online logical CPUs that this process may use, ascending.
    pub cpus: Vec<u32>,
    /// All online siblings, those this process may not use included.
    pub online_siblings: Vec<u32>,
    /// The core type, on a machine that has several.
    pub core_type: Option<String>,
    /// The NUMA node, if it has memory that this process may use.
    pub numa_node: Option<u32>,
}

/// The cores with usable logical CPUs, in the machine's order.
///
/// A logical CPU whose core is unknown counts as a core of its own.
pub fn usable_cores(machine: &Machine) -> Vec<Core> {
    let alone = machine.logical_cpus.iter().filter(|cpu| cpu.core.is_none()).map(|cpu| Core {
        cpus: if cpu.online && cpu.allowed { vec![cpu.id] } else { Vec::new() },
        online_siblings: vec![cpu.id],
        core_type: cpu.core_type.clone(),
        numa_node: node_with_memory(machine, cpu.numa_node),
    });
    let known = machine.cores.iter().map(|core| {
        let online: Vec<_> =
            core.cpus.iter().filter_map(|id| machine.cpu(id)).filter(|cpu| cpu.online).collect();
        let cpus: Vec<u32> = online.iter().filter(|cpu| cpu.allowed).map(|cpu| cpu.id).collect();
        Core {
            cpus,
            online_siblings: online.iter().map(|cpu| cpu.id).collect(),
            core_type: core.core_type.clone(),
            numa_node: node_with_memory(machine, core.numa_node),
        }
    });
    known.chain(alone).filter(|core| !core.cpus.is_empty()).collect()
}

/// The node, if it has memory that this process may use.
fn node_with_memory(machine: &Machine, node: Option<u32>) -> Option<u32> {
    let usable = |node: &&corun_machine::NumaNode| node.allowed && node.memory_bytes != Some(0);
    machine.numa_nodes.iter().filter(usable).map(|node| node.id).find(|id| Some(*id) == node)
}

/// The distinct core types, in order of first appearance; `[None]` where there is one type only.
pub fn core_types(cores: &[Core]) -> Vec<Option<String>> {
    let mut types: Vec<Option<String>> = Vec::new();
    for core in cores {
        if !types.contains(&core.core_type) {
            types.push(core.core_type.clone());
        }
    }
    types
}

/// Why no core has two usable logical CPUs, as the end of a sentence.
pub fn why_no_siblings(machine: &Machine, cores: &[Core]) -> String {
    if cores.iter().any(|core| core.online_siblings.len() > core.cpus.len()) {
        return "it needs two logical CPUs of a core, and this process may use only one of each"
            .to_owned();
    }
    let state = match &machine.smt.control {
        Some(SmtControl::Off) => "SMT is switched off (smt/control: off)",
        Some(SmtControl::ForceOff) => {
            "SMT is switched off until the next boot (smt/control: forceoff)"
        }
        Some(SmtControl::NotSupported) => "the kernel sees no siblings (smt/control: notsupported)",
        _ => "no core here has two logical CPUs online",
    };
    format!("it needs two logical CPUs of a core, and {state}")
}
