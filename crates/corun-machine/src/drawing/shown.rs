//! The machine as it may be shown: the texts in it are those of the system's files, and a captured tree may
//! hold anything.
//!
//! All of them are escaped before colours are added, so that a file cannot bring its own.

use corun_record::on_one_line;

use crate::smt::SmtControl;
use crate::{Finding, Machine};

/// The machine with control characters in its texts written as escapes.
pub(super) fn shown(machine: &Machine) -> Machine {
    let mut shown = machine.clone();
    // Each field by its name: what is added to a machine is handled here, too.
    let Machine {
        cpu_model,
        hypervisor,
        smt,
        logical_cpus,
        cores,
        core_types,
        packages: _,
        dies: _,
        clusters: _,
        numa_nodes: _,
        caches: _,
        clocks,
        allowed_by,
        findings,
    } = &mut shown;
    let control = match &mut smt.control {
        Some(SmtControl::Other(word)) => Some(word),
        _ => None,
    };
    let of_findings =
        findings.iter_mut().flat_map(|Finding { file, sentence, .. }| [file, sentence]);
    let texts = cpu_model
        .iter_mut()
        .chain(hypervisor)
        .chain(control)
        .chain(allowed_by.cpuset.as_mut().map(|cpuset| &mut cpuset.file))
        .chain(logical_cpus.iter_mut().filter_map(|cpu| cpu.core_type.as_mut()))
        .chain(cores.iter_mut().filter_map(|core| core.core_type.as_mut()))
        .chain(core_types.iter_mut().map(|one| &mut one.name))
        .chain(
            clocks.iter_mut().flat_map(|clock| clock.governor.iter_mut().chain(&mut clock.driver)),
        )
        .chain(of_findings);
    for text in texts {
        *text = on_one_line(text);
    }
    shown
}
