//! What the cpuset of the control group allows, in both versions, and what identifies a guest.

use corun_machine::{CpuSet, FindingKind, Machine};

use crate::trees::builder::Tree;

fn allowed(machine: &Machine) -> Vec<u32> {
    machine.allowed().as_slice().to_vec()
}

fn four_cpus() -> Tree {
    Tree::of_cores(&[&[0, 2], &[1, 3]])
        .file("sys/devices/system/node/node0/cpulist", "0-3")
        .file("sys/devices/system/node/node1/cpulist", "")
}

#[test]
fn the_mask_of_this_process_does_not_count_in_a_captured_tree() {
    let machine = four_cpus().machine();
    assert_eq!(allowed(&machine), [0, 1, 2, 3]);
    assert_eq!(machine.allowed_by.affinity, None);
    assert_eq!(machine.allowed_by.cpuset, None);
}

#[test]
fn version_one_counts_with_and_without_a_prefix() {
    let with_prefix = four_cpus()
        .file("proc/mounts", "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0")
        .file("proc/self/cgroup", "5:cpuset:/jobs/7\n0::/")
        .file("sys/fs/cgroup/cpuset/jobs/7/cpuset.cpus", "1-2")
        .file("sys/fs/cgroup/cpuset/jobs/7/cpuset.mems", "1");
    let machine = with_prefix.machine();
    assert_eq!(allowed(&machine), [1, 2]);
    assert!(!machine.numa_nodes[0].allowed && machine.numa_nodes[1].allowed);
    let cpuset = machine.allowed_by.cpuset.unwrap();
    assert_eq!(cpuset.file, "sys/fs/cgroup/cpuset/jobs/7/cpuset.cpus");

    let without_prefix = four_cpus()
        .file("proc/mounts", "none /dev/cpuset cgroup rw,cpuset,noprefix 0 0")
        .file("proc/self/cpuset", "/jobs")
        .file("dev/cpuset/jobs/cpus", "3");
    assert_eq!(allowed(&without_prefix.machine()), [3]);
}

#[test]
fn version_two_takes_the_nearest_group_that_has_the_controller() {
    let tree = four_cpus()
        .file("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        .file("proc/self/cgroup", "0::/user.slice/session.scope")
        .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io")
        .file("sys/fs/cgroup/cpuset.cpus.effective", "0-3")
        .file("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0,2");
    assert_eq!(allowed(&tree.machine()), [0, 2]);
    let without = tree.file("sys/fs/cgroup/cgroup.controllers", "cpu io");
    assert_eq!(allowed(&without.machine()), [0, 1, 2, 3]);
}

#[test]
fn offline_cpus_are_not_allowed_even_if_the_cpuset_lists_them() {
    let tree = four_cpus()
        .offline(3)
        .file("proc/mounts", "cgroup /cg cgroup rw,cpuset 0 0")
        .file("proc/self/cgroup", "5:cpuset:/")
        .file("cg/cpuset.cpus", "2-3");
    assert_eq!(allowed(&tree.machine()), [2]);
}

#[test]
fn the_live_system_is_this_one() {
    let machine = Machine::read(std::path::Path::new("/")).unwrap();
    let mask = corun_machine::Affinity::of(0).unwrap().cpus();
    assert_eq!(machine.allowed_by.affinity, Some(mask.clone()));
    assert!(machine.allowed().is_subset(&mask));
    assert!(!machine.allowed().is_empty());
    assert!(machine.allowed().is_subset(&machine.online()));
}

#[test]
fn a_thread_is_moved_and_the_move_is_verified() {
    let before = corun_machine::Affinity::of(0).unwrap();
    let one: CpuSet = before.cpus().iter().take(1).collect();
    let moved = corun_machine::Affinity::new(&one).apply_and_verify(0).unwrap();
    assert_eq!(moved, one);
    assert_eq!(before.apply_and_verify(0).unwrap(), before.cpus());
    let nowhere = corun_machine::Affinity::new(&CpuSet::from([corun_machine::HIGHEST_CPU]));
    assert!(nowhere.apply(0).is_err());
    assert_eq!(nowhere.cpus(), CpuSet::from([corun_machine::HIGHEST_CPU]));
}

#[test]
fn memory_is_bound_to_nodes_that_exist() {
    // A policy belongs to a thread, so that a new one keeps the others out of it.
    let bind = |nodes: CpuSet| {
        let apply = move || corun_machine::MemoryPolicy::bind(&nodes).apply_to_self();
        std::thread::spawn(apply).join().unwrap()
    };
    if let Err(error) = bind(CpuSet::from([0])) {
        corun_testing::skip("memory_policy", &format!("the kernel does not bind memory: {error}"));
        return;
    }
    assert!(bind(CpuSet::from([corun_machine::HIGHEST_CPU])).is_err());
    assert!(bind(CpuSet::new()).is_err());
}

#[test]
fn hypervisors_are_named_by_their_traces() {
    let tree = || Tree::of_cores(&[&[0]]);
    let guest = "model name : Some CPU\nflags : fpu hypervisor";
    let name = |tree: Tree| tree.machine().hypervisor;
    assert_eq!(name(tree().file("proc/cpuinfo", guest)).as_deref(), Some("unknown"));
    let kvm = tree()
        .file("proc/cpuinfo", guest)
        .file("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock");
    assert_eq!(name(kvm).as_deref(), Some("KVM"));
    let vendor = "sys/class/dmi/id/sys_vendor";
    // A bus of virtual devices has no name, the clock has one.
    let kvm = tree()
        .file("proc/cpuinfo", guest)
        .file("sys/bus/virtio/devices/virtio0", "")
        .file("sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock");
    assert_eq!(name(kvm).as_deref(), Some("KVM"));
    let vmware = tree().file("proc/cpuinfo", guest).file(vendor, "VMware, Inc.");
    assert_eq!(name(vmware).as_deref(), Some("VMware"));
    // Old hypervisors do not set the flag; cloud vendors put their names into real machines, too.
    let x86 = || tree().file("proc/cpuinfo", "model name : A\nflags : fpu");
    for (file, text, expected) in [
        (vendor, "innotek GmbH", Some("VirtualBox")),
        ("sys/class/dmi/id/product_name", "VirtualBox", Some("VirtualBox")),
        ("proc/bus/pci/devices", "0000\t80861237\t0\n0010\t80eebeef\t12", Some("VirtualBox")),
        (vendor, "QEMU", Some("QEMU")),
        ("sys/class/dmi/id/product_name", "Google Compute Engine", None),
        (vendor, "Amazon EC2", None),
        (vendor, "KVM Switches Ltd.", None),
        ("proc/bus/pci/devices", "0000\t1af41000\t0", None),
        ("proc/bus/pci/devices", "0000\t10025a10\t0", None),
    ] {
        assert_eq!(name(x86().file(file, text)).as_deref(), expected, "{text}");
    }
    let arm = tree().file("proc/cpuinfo", "processor : 0\nFeatures : fp").file(vendor, "QEMU");
    assert_eq!(name(arm).as_deref(), Some("QEMU"));
    assert_eq!(name(tree().file("sys/hypervisor/type", "xen")).as_deref(), Some("Xen"));
}

#[test]
fn each_architecture_has_its_own_account_of_a_hypervisor() {
    let s390 = "vendor_id : IBM/S390\nprocessor 0: version = FF, machine = 2817";
    let power = |lines: &str| format!("processor : 0\ncpu : POWER7\n\n{lines}");
    let arm = "processor : 0\nFeatures : fp";
    for (cpuinfo, file, text, expected) in [
        (
            s390,
            "proc/sysinfo",
            "Manufacturer: IBM\nVM00 Control Program: z/VM    6.1.0",
            "z/VM 6.1.0",
        ),
        (s390, "proc/sysinfo", "LPAR Number: 1\nVM00 Control Program: KVM/Linux", "KVM"),
        (s390, "proc/sysinfo", "Manufacturer: IBM\nLPAR Number:          12", "PR/SM"),
        (&power("platform : pSeries\nmachine : CHRP IBM,8233-E8B"), "x", "", "pHyp"),
        (
            &power("platform : pSeries\nmachine : CHRP IBM pSeries (emulated by qemu)"),
            "x",
            "",
            "QEMU",
        ),
        (
            &power("platform : pSeries"),
            "proc/device-tree/hypervisor/compatible",
            "linux,kvm",
            "KVM",
        ),
        (&power("platform : PS3"), "x", "", "PS3 hypervisor"),
        (&power("machine : CHRP IBM pSeries (emulated by qemu)"), "x", "", "QEMU"),
        (&power("platform : QEMU ppce500"), "x", "", "QEMU"),
        (&power(""), "proc/device-tree/ibm,partition-name", "lpar1\0", "unknown"),
        (arm, "sys/firmware/devicetree/base/fw-cfg@9020000/compatible", "x", "QEMU"),
        ("cpu : UltraSparc T2 (Niagara2)\ntype : sun4v", "x", "", "sun4v hypervisor"),
        (arm, "sys/firmware/devicetree/base/hypervisor/compatible", "xen,xen-4.11\0xen,xen", "Xen"),
        (arm, "proc/device-tree/compatible", "linux,dummy-virt", "unknown"),
        (arm, "sys/class/dmi/id/sys_vendor", "Google Compute Engine", "KVM"),
        (arm, "sys/bus/virtio/devices/virtio0", "", "unknown"),
        ("vendor_id : User Mode Linux", "x", "", "User Mode Linux"),
        ("model name : QEMU Virtual CPU version 2.5+\nflags : fpu", "x", "", "QEMU"),
    ] {
        let tree = Tree::of_cores(&[&[0]]).file("proc/cpuinfo", cpuinfo).file(file, text);
        assert_eq!(tree.machine().hypervisor.as_deref(), Some(expected), "{cpuinfo} {text}");
    }
    for folder in ["proc/device-tree", "sys/firmware/devicetree/base"] {
        let partition = |marks: &[&str]| {
            let tree = Tree::of_cores(&[&[0]])
                .file("proc/cpuinfo", power(""))
                .file(&format!("{folder}/model"), "IBM,9009-22A\0")
                .file(&format!("{folder}/ibm,partition-name"), "lpar1\0");
            let marked =
                |tree: Tree, mark: &&str| tree.file(&format!("{folder}/{mark}"), "\0\0\0\u{1}");
            marks.iter().fold(tree, marked).machine().hypervisor
        };
        assert_eq!(partition(&[]).as_deref(), Some("unknown"));
        assert_eq!(partition(&["hmc-managed?"]).as_deref(), Some("pHyp"));
        let emulated = ["hmc-managed?", "chosen/qemu,graphic-width"];
        assert_eq!(partition(&emulated).as_deref(), Some("QEMU"));
    }
    let bare = Tree::of_cores(&[&[0]]).file("proc/cpuinfo", power("platform : PowerNV"));
    assert_eq!(bare.file("proc/device-tree/model", "IBM,9006-22P").machine().hypervisor, None);
    let sun4u = Tree::of_cores(&[&[0]]).file("proc/cpuinfo", "cpu : x\ntype : sun4u");
    assert_eq!(sun4u.machine().hypervisor, None);
    let metal = |product: &str| {
        let tree = Tree::of_cores(&[&[0]]).file("proc/cpuinfo", arm);
        let tree = tree.file("sys/class/dmi/id/sys_vendor", "Amazon EC2");
        tree.file("sys/class/dmi/id/product_name", product).machine().hypervisor
    };
    assert_eq!(metal("m6g.large").as_deref(), Some("Amazon EC2 (Nitro)"));
    assert_eq!(metal("m6g.metal"), None);
}

#[test]
fn the_mask_of_the_process_that_captured_a_tree_counts() {
    let tree = || Tree::of_cores(&[&[0, 2], &[1, 3]]);
    let status = "proc/self/status";
    let masked = tree().file(status, "Name:\tx\nCpus_allowed_list:\t1,3").machine();
    assert_eq!(masked.allowed(), CpuSet::from([1, 3]));
    assert_eq!(masked.findings, []);
    // Offline CPUs stay in that list.
    let wide = tree().offline(3).file(status, "Cpus_allowed_list:\t0-127").machine();
    assert_eq!(wide.allowed(), CpuSet::from([0, 1, 2]));
    let odd = tree().file(status, "Cpus_allowed_list:\tzebra").machine();
    assert_eq!(odd.findings[0].kind, FindingKind::MalformedFile);
}
