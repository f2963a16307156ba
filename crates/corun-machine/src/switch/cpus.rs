//! Which logical CPUs are online, and which of them are siblings that SMT off takes away.

use std::collections::BTreeMap;

use super::system::text;
use crate::{CpuSet, Machine, SmtControl, SystemFiles};

const FOLDER: &str = "sys/devices/system/cpu";
/// The kernel's switch, below the root.
pub(super) const CONTROL: &str = "sys/devices/system/cpu/smt/control";

/// The file that brings a CPU up and down.
pub(super) fn online_file(cpu: u32) -> String {
    format!("{FOLDER}/cpu{cpu}/online")
}

/// Whether each CPU is online; CPUs that cannot be taken offline (often cpu0) have no such file and
/// are left out, and so are empty slots.
pub(super) fn online(files: &mut impl SystemFiles) -> BTreeMap<u32, bool> {
    let names = files.list(FOLDER);
    let cpus = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
    let states = cpus.filter_map(|cpu| match text(files, &online_file(cpu))?.as_str() {
        "1" => Some((cpu, true)),
        "0" => Some((cpu, false)),
        _ => None,
    });
    states.collect()
}

/// What the switch says; `None` where the kernel has none.
pub(super) fn control(files: &mut impl SystemFiles) -> Option<SmtControl> {
    let Ok(control) = text(files, CONTROL)?.parse();
    Some(control)
}

/// The siblings that SMT off takes away: of each core all online CPUs but the first.
pub(super) fn extra_siblings(machine: &Machine) -> CpuSet {
    let online = machine.online();
    let extra = |core: &crate::Core| -> Vec<u32> {
        core.cpus.intersection(&online).iter().skip(1).collect()
    };
    machine.cores.iter().flat_map(extra).collect()
}
