//! The name of the CPU model.
//!
//! `/proc/cpuinfo` has a form for each architecture; where it holds numbers only, the name is looked
//! up by them.

use std::collections::BTreeMap;

use super::arm_parts::part_name;
use super::source::Source;
use crate::SystemFiles;

const CPUINFO: &str = "proc/cpuinfo";

/// Reads the names of the CPUs' models, joined where there are several.
pub(super) fn cpu_model<F: SystemFiles>(source: &mut Source<'_, F>) -> Option<String> {
    let start = source.files.read_start(CPUINFO).ok()?;
    // x86 asks each CPU for its clock, which wakes it: there the first CPUs are enough.
    if value(start, "cpu MHz").is_some() {
        return model(start);
    }
    model(source.files.read(CPUINFO).ok()?)
}

/// The name of each CPU's design, of those CPUs of which `/proc/cpuinfo` has the numbers or the name of a design:
/// on Arm and RISC-V.
pub(super) fn designs<F: SystemFiles>(source: &mut Source<'_, F>) -> BTreeMap<u32, String> {
    let Ok(start) = source.files.read_start(CPUINFO) else { return BTreeMap::new() };
    if arm(start).is_none() && risc_v(start).is_none() {
        return BTreeMap::new();
    }
    source.files.read(CPUINFO).map(designs_of).unwrap_or_default()
}

fn designs_of(cpuinfo: &str) -> BTreeMap<u32, String> {
    let mut designs = BTreeMap::new();
    let mut rest = cpuinfo;
    while let Some((cpu, after)) = next_cpu(rest) {
        let end = next_cpu(after).map_or(after.len(), |(_, next)| after.len() - next.len());
        if let Some(design) = arm(&after[..end]).or_else(|| risc_v(&after[..end])) {
            designs.insert(cpu, design);
        }
        rest = after;
    }
    designs
}

/// The number of the next `processor` line, and what follows that line.
fn next_cpu(text: &str) -> Option<(u32, &str)> {
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let cpu = line.split_once(':').filter(|(key, _)| key.trim() == "processor");
        if let Some(cpu) = cpu.and_then(|(_, cpu)| cpu.trim().parse().ok()) {
            return Some((cpu, after));
        }
        rest = after;
    }
    None
}

/// The keys that name a model, the surest first, in any mixture of capitals: x86 and others say
/// `model name`, MIPS and Alpha `cpu model`, RISC-V `uarch`, POWER and SPARC `cpu`, Itanium `family`.
const KEYS: [&str; 6] = ["model name", "cpu model", "uarch", "cpu", "Processor", "family"];

fn model(cpuinfo: &str) -> Option<String> {
    // On Arm a name, where there is one, is that of the architecture ("ARMv7 Processor rev 4").
    arm(cpuinfo)
        .or_else(|| z(cpuinfo))
        .or_else(|| KEYS.iter().find_map(|key| joined(values(cpuinfo, key).map(str::to_owned))))
        .or_else(|| risc_v(cpuinfo))
}

/// The different names, in their order.
fn joined(names: impl Iterator<Item = String>) -> Option<String> {
    let mut different: Vec<String> = Vec::new();
    for name in names {
        if !different.contains(&name) {
            different.push(name);
        }
    }
    let last = different.pop()?;
    Some(if different.is_empty() { last } else { format!("{} and {last}", different.join(", ")) })
}

fn arm(cpuinfo: &str) -> Option<String> {
    let [implementers, parts] = ["CPU implementer", "CPU part"].map(|key| numbers(cpuinfo, key));
    joined(implementers.zip(parts).map(|(implementer, part)| part_name(implementer, part)))
}

/// RISC-V's name of the design; else its numbers, those of JEDEC for the vendor, the vendor's own for the design.
fn risc_v(cpuinfo: &str) -> Option<String> {
    let numbered =
        |(vendor, design)| format!("RISC-V, vendor {vendor:#x}, architecture {design:#x}");
    let [vendors, designs] = ["mvendorid", "marchid"].map(|key| numbers(cpuinfo, key));
    joined(values(cpuinfo, "uarch").map(str::to_owned))
        .or_else(|| joined(vendors.zip(designs).map(numbered)))
}

/// IBM Z gives the number of the machine type, as in `processor 0: version = FF, identification =
/// 29AA14, machine = 2817`.
fn z(cpuinfo: &str) -> Option<String> {
    value(cpuinfo, "vendor_id").filter(|vendor| *vendor == "IBM/S390")?;
    let (_, after) = cpuinfo.split_once("machine = ")?;
    let digits = after.split(|character: char| !character.is_ascii_alphanumeric()).next()?;
    let name = match digits {
        "2064" => "z900",
        "2066" => "z800",
        "2084" => "z990",
        "2086" => "z890",
        "2094" => "z9 EC",
        "2096" => "z9 BC",
        "2097" => "z10 EC",
        "2098" => "z10 BC",
        "2817" => "z196",
        "2818" => "z114",
        "2827" => "zEC12",
        "2828" => "zBC12",
        "2964" => "z13",
        "2965" => "z13s",
        "3906" => "z14",
        "3907" => "z14 ZR1",
        "8561" => "z15",
        "8562" => "z15 T02",
        "3931" => "z16",
        "3932" => "z16 A02",
        "9175" => "z17",
        _ => return Some(format!("IBM Z, machine type {digits}")),
    };
    Some(format!("IBM {name} (machine type {digits})"))
}

fn numbers<'a>(cpuinfo: &'a str, key: &'a str) -> impl Iterator<Item = u64> + 'a {
    let number = |value: &str| u64::from_str_radix(value.strip_prefix("0x")?, 16).ok();
    values(cpuinfo, key).filter_map(number)
}

/// The first value of a key that says something.
fn value<'a>(cpuinfo: &'a str, key: &'a str) -> Option<&'a str> {
    values(cpuinfo, key).next()
}

/// The values of a key that say something.
fn values<'a>(cpuinfo: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.filter(move |(name, _)| name.trim().eq_ignore_ascii_case(key)).filter_map(|(_, value)| {
        let value = value.trim();
        let says = !value.is_empty() && !value.eq_ignore_ascii_case("unknown");
        (says && !is_number(value)).then_some(value)
    })
}

/// Old Arm kernels and others number CPUs under the key that elsewhere names them.
fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_on_each_architecture() {
        for (cpuinfo, name) in [
            ("processor\t: 0\nmodel name\t: Some CPU @ 2GHz\n", Some("Some CPU @ 2GHz")),
            ("processor\t: 0\nvendor_id : x\nmodel name\t: unknown\n", None),
            (
                "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n",
                Some("POWER9, altivec supported"),
            ),
            ("processor  : 0\narch : IA-64\nfamily     : Itanium 2\n", Some("Itanium 2")),
            (
                "system type\t: generic\n\nprocessor\t: 0\nCPU Family\t: Loongson-64bit\n\
                 Model Name\t: Loongson-3A5000-HV\n",
                Some("Loongson-3A5000-HV"),
            ),
            ("processor\t: 0\nhart\t: 0\nuarch\t: sifive,u74-mc\n", Some("sifive,u74-mc")),
            (
                "processor\t: 0\nhart\t: 1\nmvendorid\t: 0x5b7\nmarchid\t: 0x0\n",
                Some("RISC-V, vendor 0x5b7, architecture 0x0"),
            ),
            ("cpu\t\t: TI UltraSparc II  (BlackBird)\n", Some("TI UltraSparc II  (BlackBird)")),
            (
                "vendor_id       : IBM/S390\n# processors    : 3\n\
                 processor 0: version = FF,  identification = 29AA14,  machine = 2817\n",
                Some("IBM z196 (machine type 2817)"),
            ),
            (
                "vendor_id : IBM/S390\nprocessor 0: version = FF, machine = 9999\n",
                Some("IBM Z, machine type 9999"),
            ),
            ("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n", Some("Neoverse-N1")),
            (
                "Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\nBogoMIPS : 1\n\
                 CPU implementer\t: 0x41\nCPU part\t: 0xc0f\n",
                Some("Cortex-A15"),
            ),
            (
                "processor : 0\nmodel name : ARMv8 Processor rev 1 (v8l)\n\
                 CPU implementer : 0x61\nCPU part : 0x022\n",
                Some("Icestorm-M1"),
            ),
            (
                "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd05\n\nprocessor : 1\n\
                 CPU implementer : 0x41\nCPU part : 0xd05\n\nprocessor : 2\n\
                 CPU implementer : 0x41\nCPU part : 0xd0b\n\nprocessor : 3\n\
                 CPU implementer : 0x41\nCPU part : 0xd44\n",
                Some("Cortex-A55, Cortex-A76 and Cortex-X1"),
            ),
            (
                "processor : 0\nuarch : sifive,e51\n\nprocessor : 1\nuarch : sifive,u54\n",
                Some("sifive,e51 and sifive,u54"),
            ),
            ("processor : 0\nCPU implementer : 0x41\n", None),
            ("", None),
        ] {
            assert_eq!(model(cpuinfo).as_deref(), name, "{cpuinfo}");
        }
    }

    #[test]
    fn each_cpu_has_its_design_where_the_kernel_numbers_it() {
        let arm = "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd05\n\n\
                   processor : 5\nCPU implementer : 0x41\nCPU part : 0xd0b\n";
        let designs = designs_of(arm);
        assert_eq!(designs[&0], "Cortex-A55");
        assert_eq!(designs[&5], "Cortex-A76");
        // Kernels before 3.8 have one part for all.
        let old = "Processor : ARMv7 Processor rev 4 (v7l)\nprocessor : 0\nBogoMIPS : 1\n\n\
                   processor : 1\nBogoMIPS : 1\n\nCPU implementer : 0x41\nCPU part : 0xc0f\n";
        assert!(!designs_of(old).contains_key(&0));
        assert_eq!(designs_of("processor : 0\nmodel name : Some CPU\n"), BTreeMap::new());
    }
}
