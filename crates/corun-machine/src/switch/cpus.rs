//! Which logical CPUs are online, and which of them are siblings that SMT off takes away.

use std::collections::BTreeMap;

use super::system::text;
use crate::{CpuSet, Machine, SmtControl, SystemFiles};

const FOLDER: &str = "sys/devices/system/cpu";
/// The kernel's switch, below the root.
pub(super) const CONTROL: &str = "sys/devices/system/cpu/smt/control";

/// The list of online CPUs, below the root.
pub(super) const ONLINE: &str = "sys/devices/system/cpu/online";

/// The file that brings a CPU up and down.
pub(super) fn online_file(cpu: u32) -> String {
    format!("{FOLDER}/cpu{cpu}/online")
}

/// For each CPU, true if it is online; CPUs that cannot be taken offline (often cpu0) have no such
/// file and are left out, and so are empty slots.
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

/// State of the switch; `None` where the kernel has none.
pub(super) fn control(files: &mut impl SystemFiles) -> Option<SmtControl> {
    let Ok(control) = text(files, CONTROL)?.parse();
    Some(control)
}

/// The online CPUs that SMT off takes away.
///
/// The kernel's switch keeps the first thread of each core and no other, even where the first is
/// offline; which that is shows in the number of the APIC, whose lowest bits count threads (x86).
/// corun's own way, CPU by CPU, keeps the first that is online.
pub(super) fn taken_by_off(files: &mut impl SystemFiles, machine: &Machine) -> CpuSet {
    let mut taken = extra_siblings(machine);
    let all_online = machine.logical_cpus.iter().all(|cpu| cpu.online || !cpu.present);
    if machine.smt.control.is_none() || all_online || taken.is_empty() {
        return taken;
    }
    let threads = machine.smt.width.next_power_of_two();
    let cpuinfo = text(files, "proc/cpuinfo").unwrap_or_default();
    for (cpu, apic) in apic_numbers(&cpuinfo) {
        if apic % threads != 0 && machine.cpu(cpu).is_some_and(|cpu| cpu.online) {
            taken.insert(cpu);
        }
    }
    taken
}

/// CPU and APIC numbers from the text of `/proc/cpuinfo`.
fn apic_numbers(cpuinfo: &str) -> Vec<(u32, u32)> {
    let mut cpu = None;
    let mut found = Vec::new();
    for (name, value) in cpuinfo.lines().filter_map(|line| line.split_once(':')) {
        match (name.trim(), value.trim().parse()) {
            ("processor", Ok(number)) => cpu = Some(number),
            ("apicid", Ok(apic)) => found.extend(cpu.map(|cpu| (cpu, apic))),
            _ => {}
        }
    }
    found
}

/// The second and further online siblings of each core.
pub(super) fn extra_siblings(machine: &Machine) -> CpuSet {
    let online = machine.online();
    let extra = |core: &crate::Core| -> Vec<u32> {
        core.cpus.intersection(&online).iter().skip(1).collect()
    };
    machine.cores.iter().flat_map(extra).collect()
}
