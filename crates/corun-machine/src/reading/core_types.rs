//! The core types of a hybrid machine.
//!
//! A core type follows from the part: the folders of Intel's performance counters, Arm's part number (MIDR_EL1), the
//! designs in `/proc/cpuinfo`. Only where none of them says it, the capacities that the scheduler works with count.
//! These, and the highest frequency, differ between equal cores that were binned differently.

use std::collections::BTreeMap;

use super::arm_parts::part_name;
use super::identity;
use super::source::Source;
use crate::{Core, CoreType, CpuSet, SystemFiles};

/// Intel's counter folders and the usual words for their cores.
const COUNTER_FOLDERS: [(&str, &str); 3] = [
    ("sys/devices/cpu_core/cpus", "performance"),
    ("sys/devices/cpu_atom/cpus", "efficiency"),
    ("sys/devices/cpu_lowpower/cpus", "low-power"),
];

/// Counters of all CPUs of x86 where they are of one part.
const COUNTERS_OF_ALL: &str = "sys/bus/event_source/devices/cpu/type";

/// Reads the types, the one with the lowest CPU first; none if all CPUs are of one type.
///
/// The SMT widths are 0 until the cores are known.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Vec<CoreType> {
    let mut types = by_counters(source, online);
    if types.is_empty() {
        types = by_part(source, online);
    }
    if types.is_empty() {
        types = by_design(source, online);
    }
    if types.is_empty() && source.text(COUNTERS_OF_ALL).is_none() {
        types = by_capacity(source, online);
    }
    if types.len() < 2 {
        types.clear();
    }
    types.sort_by(|one, other| one.cpus.cmp(&other.cpus));
    types
}

/// The name of the type of a CPU.
pub(super) fn type_of(types: &[CoreType], cpu: u32) -> Option<String> {
    types.iter().find(|one| one.cpus.contains(cpu)).map(|one| one.name.clone())
}

/// Adds the SMT widths, once the cores are known.
pub(super) fn add_widths(types: &mut [CoreType], cores: &[Core]) {
    for one in types {
        let of_type = cores.iter().filter(|core| core.core_type.as_ref() == Some(&one.name));
        one.smt_width = of_type.map(|core| core.smt_width).max().unwrap_or(1);
    }
}

/// None where there are no such folders; one if all are of that type.
fn by_counters<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Vec<CoreType> {
    let mut types = Vec::new();
    for (file, name) in COUNTER_FOLDERS {
        let cpus = source.list(file).unwrap_or_default().intersection(online);
        if !cpus.is_empty() {
            types.push(CoreType { name: name.to_owned(), cpus, smt_width: 0 });
        }
    }
    types
}

fn by_part<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Vec<CoreType> {
    let mut parts: BTreeMap<(u64, u64), Vec<u32>> = BTreeMap::new();
    for cpu in online.iter() {
        let Some(text) = source.cpu_text(cpu, "regs/identification/midr_el1") else {
            // All CPUs of an Arm kernel have this file, those of others have not.
            return Vec::new();
        };
        if let Some(part) = implementer_and_part(text) {
            parts.entry(part).or_default().push(cpu);
        }
    }
    let named = |((implementer, part), cpus): (_, Vec<u32>)| CoreType {
        name: part_name(implementer, part),
        cpus: cpus.into_iter().collect(),
        smt_width: 0,
    };
    parts.into_iter().map(named).collect()
}

fn by_design<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Vec<CoreType> {
    let designs = identity::designs(source);
    if !online.iter().all(|cpu| designs.contains_key(&cpu)) {
        return Vec::new();
    }
    let mut types: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (cpu, design) in designs.into_iter().filter(|(cpu, _)| online.contains(*cpu)) {
        types.entry(design).or_default().push(cpu);
    }
    let named = |(name, cpus): (_, Vec<u32>)| CoreType {
        name,
        cpus: cpus.into_iter().collect(),
        smt_width: 0,
    };
    types.into_iter().map(named).collect()
}

fn by_capacity<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Vec<CoreType> {
    let mut capacities: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in online.iter() {
        let Some(capacity) = source.cpu_number(cpu, "cpu_capacity") else { return Vec::new() };
        capacities.entry(capacity).or_default().push(cpu);
    }
    let two = capacities.len() == 2;
    let mut types = Vec::new();
    for (place, (capacity, cpus)) in capacities.into_iter().enumerate() {
        let name = match (two, place) {
            (true, 0) => "efficiency".to_owned(),
            (true, _) => "performance".to_owned(),
            (false, _) => format!("capacity {capacity}"),
        };
        types.push(CoreType { name, cpus: cpus.into_iter().collect(), smt_width: 0 });
    }
    types
}

/// The fields Implementer (bits 31 to 24) and PartNum (15 to 4) of MIDR_EL1, as in the Arm
/// Architecture Reference Manual; variant and revision do not make another type of core.
fn implementer_and_part(text: &str) -> Option<(u64, u64)> {
    let register = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    Some(((register >> 24) & 0xff, (register >> 4) & 0xfff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_distinguished_from_its_revision() {
        assert_eq!(implementer_and_part("0x00000000410fd871"), Some((0x41, 0xd87)));
        assert_eq!(implementer_and_part("0x410fd870"), Some((0x41, 0xd87)));
        assert_eq!(implementer_and_part("410fd870"), None);
    }
}
