//! The name of the CPU model.
//!
//! `/proc/cpuinfo` has a form for each architecture; where it holds numbers only, the name is looked
//! up by them.

use super::arm_parts::part_name;
use super::source::Source;
use crate::SystemFiles;

/// Reads the name of the first CPU's model: it is enough, and asking for all of them wakes all of them.
pub(super) fn cpu_model<F: SystemFiles>(source: &mut Source<'_, F>) -> Option<String> {
    model(source.files.read_start("proc/cpuinfo").ok()?)
}

/// The keys that name a model, the surest first, in any mixture of capitals: x86 and others say
/// `model name`, MIPS and Alpha `cpu model`, RISC-V `uarch`, POWER and SPARC `cpu`, Itanium `family`.
const KEYS: [&str; 6] = ["model name", "cpu model", "uarch", "cpu", "Processor", "family"];

fn model(cpuinfo: &str) -> Option<String> {
    // On Arm a name, where there is one, is that of the architecture ("ARMv7 Processor rev 4").
    arm(cpuinfo)
        .or_else(|| z(cpuinfo))
        .or_else(|| KEYS.iter().find_map(|key| value(cpuinfo, key)).map(str::to_owned))
        .or_else(|| risc_v(cpuinfo))
}

fn arm(cpuinfo: &str) -> Option<String> {
    let [implementer, part] = ["CPU implementer", "CPU part"].map(|key| number(cpuinfo, key));
    Some(part_name(implementer?, part?))
}

/// RISC-V's numbers, where there is no name: those of JEDEC for the vendor, the vendor's own for the
/// design.
fn risc_v(cpuinfo: &str) -> Option<String> {
    let [vendor, design] = ["mvendorid", "marchid"].map(|key| number(cpuinfo, key));
    Some(format!("RISC-V, vendor {:#x}, architecture {:#x}", vendor?, design?))
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

fn number(cpuinfo: &str, key: &str) -> Option<u64> {
    u64::from_str_radix(value(cpuinfo, key)?.strip_prefix("0x")?, 16).ok()
}

/// The first value of a key that says something.
fn value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case(key))
        .map(|(_, value)| value.trim());
    values.find(|value| {
        !value.is_empty() && !value.eq_ignore_ascii_case("unknown") && !is_number(value)
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
            ("processor : 0\nCPU implementer : 0x41\n", None),
            ("", None),
        ] {
            assert_eq!(model(cpuinfo).as_deref(), name, "{cpuinfo}");
        }
    }
}
