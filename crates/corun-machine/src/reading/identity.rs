//! The names of the CPU model and of the hypervisor.
//!
//! Below a root only files count, so a hypervisor is known by the traces that it leaves in them:
//! the CPU flag, the firmware's tables, the clock it offers.

use super::arm_parts::part_name;
use super::source::Source;
use crate::{FileTrouble, SystemFiles};

/// The names.
pub(super) struct Identity {
    pub(super) cpu_model: Option<String>,
    pub(super) hypervisor: Option<String>,
}

/// Reads the names.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>) -> Identity {
    // The first CPU is enough, and asking for all of them wakes all of them.
    let cpuinfo = match source.files.read_start("proc/cpuinfo") {
        Ok(text) => text.to_owned(),
        Err(FileTrouble::Missing | FileTrouble::Unreadable(_)) => String::new(),
    };
    Identity { cpu_model: cpu_model(&cpuinfo), hypervisor: hypervisor(source, &cpuinfo) }
}

/// The first value that names a model: x86 and others call it `model name`, powerpc `cpu`, Itanium
/// `family`, old Arm kernels `Processor`; newer ones give numbers only.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let keys = ["model name", "cpu model", "Processor", "cpu", "family"];
    let named = keys.iter().find_map(|key| value(cpuinfo, key)).map(str::to_owned);
    named.or_else(|| {
        let number = |key| u64::from_str_radix(value(cpuinfo, key)?.strip_prefix("0x")?, 16).ok();
        Some(part_name(number("CPU implementer")?, number("CPU part")?))
    })
}

fn value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
    values.find(|value| !value.is_empty())
}

fn hypervisor<F: SystemFiles>(source: &mut Source<'_, F>, cpuinfo: &str) -> Option<String> {
    let flags = value(cpuinfo, "flags");
    let flagged = flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    if let Some(kind) = source.text("sys/hypervisor/type") {
        // A Xen host's own control domain has this folder too, and runs under Xen as well.
        return Some(if kind == "xen" { "Xen".to_owned() } else { kind.to_owned() });
    }
    // An x86 processor would show the flag.
    if flags.is_some() && !flagged {
        return None;
    }
    for file in ["sys_vendor", "product_name", "bios_vendor"] {
        let text = source.text(&format!("sys/class/dmi/id/{file}"));
        if let Some(name) = text.and_then(by_firmware) {
            return Some(name.to_owned());
        }
    }
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    if let Some(name) = source.text(clocks).and_then(by_clock) {
        return Some(name.to_owned());
    }
    if let Some(kind) =
        source.text("proc/device-tree/hypervisor/compatible").and_then(by_device_tree)
    {
        return Some(kind.to_owned());
    }
    flagged.then(|| "unknown".to_owned())
}

/// What virtual firmware calls itself. Cloud vendors put their names into real machines too.
fn by_firmware(text: &str) -> Option<&'static str> {
    let names = [
        ("KVM", "KVM"),
        ("QEMU", "QEMU"),
        ("Bochs", "QEMU"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("innotek", "VirtualBox"),
        ("Virtual Machine", "Hyper-V"),
        ("Xen", "Xen"),
        ("Parallels", "Parallels"),
        ("BHYVE", "bhyve"),
    ];
    names.iter().find(|(trace, _)| text.contains(trace)).map(|(_, name)| *name)
}

/// The clock that a hypervisor offers its guests.
fn by_clock(clocks: &str) -> Option<&'static str> {
    clocks.split_whitespace().find_map(|clock| match clock {
        "kvm-clock" => Some("KVM"),
        "xen" => Some("Xen"),
        clock if clock.starts_with("hyperv") => Some("Hyper-V"),
        _ => None,
    })
}

fn by_device_tree(compatible: &str) -> Option<&'static str> {
    [("kvm", "KVM"), ("xen", "Xen")]
        .iter()
        .find(|(trace, _)| compatible.contains(trace))
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_on_each_architecture() {
        for (cpuinfo, name) in [
            ("processor\t: 0\nmodel name\t: Some CPU @ 2GHz\n", Some("Some CPU @ 2GHz")),
            (
                "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n",
                Some("POWER9, altivec supported"),
            ),
            ("processor  : 0\narch : IA-64\nfamily     : Itanium 2\n", Some("Itanium 2")),
            ("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n", Some("Neoverse-N1")),
            ("processor : 0\nCPU implementer : 0x41\n", None),
            ("", None),
        ] {
            assert_eq!(cpu_model(cpuinfo).as_deref(), name);
        }
    }
}
