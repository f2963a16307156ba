//! The hypervisor below the kernel, by what the system's files say of it.
//!
//! No file names every hypervisor, so each architecture's own account is asked first, then firmware,
//! devices and clocks. Where no file of this machine could name one, the answer is that it is not known.

use crate::{FileError, SystemFiles};

/// Hypervisor by the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hypervisor {
    /// There is one.
    Found {
        /// Name, `unknown` where only its presence shows.
        name: String,
        /// Traces that were read.
        traces: Vec<Trace>,
    },
    /// A file that would show a hypervisor shows none.
    Absent {
        /// Why that is known: a sentence.
        sentence: &'static str,
        /// Trace that was read.
        trace: Option<Trace>,
    },
    /// No file that was read could show one.
    Unknown,
}

/// Trace of a hypervisor in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The file, below the root.
    pub(crate) file: String,
    /// A line of it, or the whole text of a short file.
    pub(crate) text: String,
}

/// Asks the files.
pub(crate) fn find<F: SystemFiles + ?Sized>(files: &mut F) -> Hypervisor {
    let cpuinfo = cpuinfo(files);
    let flagged = flagged(&cpuinfo);
    let accounts: [fn(&mut F, &str) -> NamedTrace; 9] = [
        by_control_program,
        by_kernel_type,
        by_device_tree,
        by_platform,
        by_partition,
        by_model,
        by_firmware,
        by_devices,
        by_clock,
    ];
    let mut named: NamedTrace = None;
    for by in accounts {
        // A later account may have the name where an earlier one shows a presence alone.
        let found = by(files, &cpuinfo);
        let is_better = found.as_ref().is_some_and(|(name, _)| named.is_none() || name != UNKNOWN);
        if is_better {
            named = found;
        }
        if named.as_ref().is_some_and(|(name, _)| name != UNKNOWN) {
            break;
        }
    }
    let flag = (flagged == Some(true)).then(|| trace(CPUINFO, "flags: ... hypervisor ..."));
    let name = named.as_ref().map_or(UNKNOWN, |(name, _)| name).to_owned();
    let traces: Vec<Trace> = flag.into_iter().chain(named.map(|(_, trace)| trace)).collect();
    if !traces.is_empty() {
        return Hypervisor::Found { name, traces };
    }
    absent(files, &cpuinfo)
}

/// The name where only the presence of a hypervisor shows.
const UNKNOWN: &str = "unknown";

const CPUINFO: &str = "proc/cpuinfo";
const SYSINFO: &str = "proc/sysinfo";
const DMI: &str = "sys/class/dmi/id";
/// The kernel shows the device tree in the first; captured trees may keep the second alone.
const DEVICE_TREES: [&str; 2] = ["proc/device-tree", "sys/firmware/devicetree/base"];
const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";

type NamedTrace = Option<(String, Trace)>;

fn trace(file: impl Into<String>, text: impl Into<String>) -> Trace {
    Trace { file: file.into(), text: text.into() }
}

fn text(files: &mut (impl SystemFiles + ?Sized), file: &str) -> Option<String> {
    files.read(file).ok().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The line of a file that has this key before its first colon, and the value after it.
fn line<'a>(text: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    let split = |line: &'a str| line.split_once(':').map(|(name, value)| (line, name, value));
    let mut lines = text.lines().filter_map(split);
    let (line, _, value) = lines.find(|(_, name, _)| name.trim() == key)?;
    Some((line.trim(), value.trim()))
}

/// Beginning of `/proc/cpuinfo`, which has all of it on x86, where asking for all of it wakes all
/// CPUs; on POWER the lines that count stand at its end.
fn cpuinfo(files: &mut (impl SystemFiles + ?Sized)) -> String {
    let start = match files.read_start(CPUINFO) {
        Ok(text) => text.to_owned(),
        Err(FileError::Missing | FileError::Unreadable(_)) => return String::new(),
    };
    let is_x86 = line(&start, "flags").is_some();
    if is_x86 { start } else { text(files, CPUINFO).unwrap_or(start) }
}

/// True if an x86 processor shows the flag that hypervisors set (CPUID leaf 1, ECX bit 31); `None`
/// on others. Old ones, such as VirtualBox before version 5, did not set it.
fn flagged(cpuinfo: &str) -> Option<bool> {
    let (_, flags) = line(cpuinfo, "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The IBM Z account of the levels below (STSI in the z/Architecture Principles of Operation): `VM00`
/// is the nearest hypervisor; without it an LPAR runs under PR/SM itself.
fn by_control_program<F: SystemFiles + ?Sized>(files: &mut F, _: &str) -> NamedTrace {
    let text = text(files, SYSINFO)?;
    if let Some((line, program)) = line(&text, "VM00 Control Program") {
        let program = program.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = if program.starts_with("KVM") { "KVM".to_owned() } else { program };
        return Some((name, trace(SYSINFO, line)));
    }
    let (line, _) = line(&text, "LPAR Number")?;
    Some(("PR/SM".to_owned(), trace(SYSINFO, line)))
}

/// Name by a kernel that knows its hypervisor; a Xen host's own control domain says it too, and runs under Xen as well.
fn by_kernel_type<F: SystemFiles + ?Sized>(files: &mut F, _: &str) -> NamedTrace {
    let file = "sys/hypervisor/type";
    let kind = text(files, file)?;
    let name = if kind == "xen" { "Xen".to_owned() } else { kind.clone() };
    Some((name, trace(file, kind)))
}

/// The node that a hypervisor adds to the device tree of its guests, and the name that the boards
/// which QEMU makes up have there.
fn by_device_tree<F: SystemFiles + ?Sized>(files: &mut F, _: &str) -> NamedTrace {
    let nodes = ["hypervisor/compatible", "compatible"];
    let known = [
        [("kvm", "KVM"), ("xen", "Xen"), ("vmware", "VMware"), ("gunyah", "Gunyah")].as_slice(),
        [("qemu", "QEMU"), ("dummy-virt", UNKNOWN), ("xen", "Xen")].as_slice(),
    ];
    for (node, known) in nodes.into_iter().zip(known) {
        for tree in DEVICE_TREES {
            let file = format!("{tree}/{node}");
            // A list of texts that end in a zero each.
            let Some(text) = text(files, &file).map(|text| text.replace('\0', " ")) else {
                continue;
            };
            if let Some((_, name)) = known.iter().find(|(word, _)| text.contains(word)) {
                return Some(((*name).to_owned(), trace(file, text)));
            }
        }
    }
    // The device through which QEMU hands files to its guests.
    DEVICE_TREES.into_iter().find_map(|tree| {
        let node = files.list(tree).into_iter().filter(|node| node.contains("fw-cfg")).min()?;
        Some(("QEMU".to_owned(), trace(tree, node)))
    })
}

/// POWER: `pSeries` is the platform of a partition, below which is pHyp (PowerVM) where the firmware
/// names no other; the PlayStation 3 lets other systems run on its hypervisor alone. Processors of
/// SPARC's `sun4v` have a mode above the kernel's, in which a hypervisor always runs.
fn by_platform<F: SystemFiles + ?Sized>(_: &mut F, cpuinfo: &str) -> NamedTrace {
    let emulated = ["machine", "platform"].into_iter().filter_map(|key| line(cpuinfo, key));
    let known = [
        ("platform", "pSeries", "pHyp"),
        ("platform", "PS3", "PS3 hypervisor"),
        ("type", "sun4v", "sun4v hypervisor"),
    ];
    let by_name = known.iter().filter_map(|(key, word, name)| {
        let (line, value) = line(cpuinfo, key)?;
        (value == *word).then_some((line, *name))
    });
    emulated
        .filter(|(_, value)| value.to_ascii_lowercase().contains("qemu"))
        .map(|(line, _)| (line, "QEMU"))
        .chain(by_name)
        .map(|(line, name)| (name.to_owned(), trace(CPUINFO, line)))
        .next()
}

/// The name that a partition of POWER has in its firmware, which a hypervisor gave it: pHyp (PowerVM) where
/// the firmware also says whether a management console (HMC) looks after it, as systemd-detect-virt and
/// lscpu take it. QEMU names its guests, too.
fn by_partition<F: SystemFiles + ?Sized>(files: &mut F, _: &str) -> NamedTrace {
    DEVICE_TREES.into_iter().find_map(|tree| {
        let file = format!("{tree}/ibm,partition-name");
        let partition = text(files, &file)?;
        let is_managed = files.list(tree).iter().any(|name| name == "hmc-managed?");
        let chosen = files.list(&format!("{tree}/chosen"));
        let is_emulated = chosen.iter().any(|name| name.starts_with("qemu,graphic-"));
        let name = match (is_managed, is_emulated) {
            (_, true) => "QEMU",
            (true, false) => "pHyp",
            (false, false) => UNKNOWN,
        };
        Some((name.to_owned(), trace(file, partition)))
    })
}

/// Processors that exist in software alone.
fn by_model<F: SystemFiles + ?Sized>(_: &mut F, cpuinfo: &str) -> NamedTrace {
    let known = [
        ("model name", "QEMU Virtual CPU", "QEMU"),
        ("model name", "Common KVM processor", "KVM"),
        ("model name", "Common 32-bit KVM processor", "KVM"),
        ("vendor_id", "User Mode Linux", "User Mode Linux"),
    ];
    known.iter().find_map(|(key, start, name)| {
        let (line, value) = line(cpuinfo, key)?;
        value.starts_with(start).then(|| ((*name).to_owned(), trace(CPUINFO, line)))
    })
}

/// Name by virtual firmware. Cloud vendors put their names into real machines too; an x86 processor
/// without the flag of hypervisors then has none.
fn by_firmware<F: SystemFiles + ?Sized>(files: &mut F, cpuinfo: &str) -> NamedTrace {
    let software = [
        ("QEMU", "QEMU"),
        ("Bochs", "QEMU"),
        ("VMware", "VMware"),
        ("VMW", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("innotek", "VirtualBox"),
        ("Virtual Machine", "Hyper-V"),
        ("Xen", "Xen"),
        ("HVM domU", "Xen"),
        ("Parallels", "Parallels"),
        ("BHYVE", "bhyve"),
    ];
    let clouds = [
        ("KubeVirt", "KVM"),
        ("OpenStack", "KVM"),
        ("Google Compute Engine", "KVM"),
        ("Alibaba Cloud ECS", "KVM"),
        ("Apple Virtualization", "Apple Virtualization"),
        ("Firecracker", "Firecracker"),
    ];
    let may_be_virtual = flagged(cpuinfo) != Some(false);
    for name in ["sys_vendor", "product_name", "board_vendor", "board_name", "bios_vendor"] {
        let file = format!("{DMI}/{name}");
        let Some(found) = text(files, &file) else { continue };
        let clouds = clouds.iter().filter(|_| may_be_virtual);
        let known = software.iter().chain(clouds).find(|(part, _)| found.contains(part));
        // `KVM` stands for other things, too, where it is a part of a name.
        let exact = (found == "KVM").then_some("KVM");
        if let Some(name) = known.map(|(_, name)| *name).or(exact) {
            return Some((name.to_owned(), trace(file, found)));
        }
        if may_be_virtual && found == "Amazon EC2" {
            // Its real machines are called so too, and end in `.metal`.
            let file = format!("{DMI}/product_name");
            let Some(product) = text(files, &file) else { continue };
            if !product.contains(".metal") {
                return Some(("Amazon EC2 (Nitro)".to_owned(), trace(file, product)));
            }
        }
    }
    None
}

/// Devices that exist in software alone, by the numbers in the kernel's list (vendor and device in
/// the second column), and the buses of virtual devices. Real machines may have virtio devices, too,
/// which a network card shows.
fn by_devices<F: SystemFiles + ?Sized>(files: &mut F, cpuinfo: &str) -> NamedTrace {
    let counts = |name: &str| name != UNKNOWN || flagged(cpuinfo) != Some(false);
    let file = "proc/bus/pci/devices";
    let known = [
        ("80ee", "VirtualBox"),
        ("15ad", "VMware"),
        ("5853", "Xen"),
        ("1ab8", "Parallels"),
        ("14145353", "Hyper-V"),
        ("12341111", "QEMU"),
        ("1b36", "QEMU"),
        ("1af4", UNKNOWN),
        ("fb5d", "bhyve"),
    ];
    for line in text(files, file).unwrap_or_default().lines() {
        let Some(numbers) = line.split_whitespace().nth(1) else { continue };
        let device = known.iter().find(|(start, _)| numbers.starts_with(start));
        if let Some((_, name)) = device.filter(|(_, name)| counts(name)) {
            let text = line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            return Some(((*name).to_owned(), trace(file, text)));
        }
    }
    let buses = [("vmbus", "Hyper-V"), ("xen", "Xen"), ("virtio", UNKNOWN)];
    buses.iter().filter(|(_, name)| counts(name)).find_map(|(bus, name)| {
        let folder = format!("sys/bus/{bus}/devices");
        let first = files.list(&folder).into_iter().min()?;
        Some(((*name).to_owned(), trace(folder, first)))
    })
}

/// The clock that a hypervisor offers its guests.
fn by_clock<F: SystemFiles + ?Sized>(files: &mut F, _: &str) -> NamedTrace {
    let clocks = text(files, CLOCKS)?;
    let name = clocks.split_whitespace().find_map(|clock| match clock {
        "kvm-clock" => Some("KVM"),
        "xen" => Some("Xen"),
        clock if clock.starts_with("hyperv") => Some("Hyper-V"),
        _ => None,
    })?;
    Some((name.to_owned(), trace(CLOCKS, clocks)))
}

/// Evidence that there is none: an x86 processor without the flag, IBM Z's account without a level
/// below, POWER's platform of bare machines, or firmware that names real hardware.
fn absent<F: SystemFiles + ?Sized>(files: &mut F, cpuinfo: &str) -> Hypervisor {
    let absent = |sentence, trace| Hypervisor::Absent { sentence, trace };
    if flagged(cpuinfo).is_some() {
        let sentence = "The processor lacks the flag that hypervisors set, and neither firmware nor \
                        devices name one.";
        return absent(sentence, None);
    }
    let account = text(files, SYSINFO).unwrap_or_default();
    if let Some((line, _)) = line(&account, "Manufacturer") {
        return absent("The machine's account names no level below.", Some(trace(SYSINFO, line)));
    }
    if let Some((line, "PowerNV")) = line(cpuinfo, "platform") {
        return absent("The platform is that of a bare machine.", Some(trace(CPUINFO, line)));
    }
    let vendor = format!("{DMI}/sys_vendor");
    let models = DEVICE_TREES.map(|tree| format!("{tree}/model"));
    let named = [vendor].into_iter().chain(models).find_map(|file| {
        let text = text(files, &file)?;
        Some(trace(file, text))
    });
    if named.is_some() {
        return absent("The firmware describes the machine and names no hypervisor.", named);
    }
    Hypervisor::Unknown
}
