//! Settings of the kernel and of services.

use corun_machine::doctor::Severity;

use crate::doctor::healthy::{CPUS, one, only, tree};
use crate::trees::builder::Tree;

#[test]
fn pages_are_balanced_only_between_nodes() {
    let balancing = "proc/sys/kernel/numa_balancing";
    let nodes = |mode: u32| {
        tree()
            .file("sys/devices/system/node/node0/cpulist", "0,2")
            .file("sys/devices/system/node/node1/cpulist", "1,3")
            .file(balancing, mode)
    };
    let moving = only(&nodes(1), "numa-balancing", Severity::Disturbs);
    assert_eq!(moving.advice.unwrap().commands, ["sudo sysctl kernel.numa_balancing=0"]);
    only(&nodes(2), "numa-balancing", Severity::Disturbs);
    assert_eq!(one(&nodes(0), "numa-balancing").severity, Severity::Fine);
    only(&nodes(0).without(balancing), "numa-balancing", Severity::Unknown);
    only(&nodes(0).file(balancing, "zebra"), "numa-balancing", Severity::Unknown);
    assert_eq!(one(&tree().file(balancing, 1), "numa-balancing").severity, Severity::Fine);
}

#[test]
fn irqbalance_is_found_by_its_name() {
    let running = tree().file("proc/777/comm", "irqbalance");
    let running = only(&running, "irqbalance", Severity::Disturbs);
    assert_eq!(running.evidence[0].file, "proc/777/comm");
    assert_eq!(one(&Tree::of_cores(&[&[0]]), "irqbalance").severity, Severity::Unknown);
}

#[test]
fn mitigations_are_a_condition_and_the_boot_line_decides() {
    let mds = format!("{CPUS}/vulnerabilities/mds");
    let mitigated = || tree().file(&mds, "Mitigation: Clear CPU buffers; SMT vulnerable");
    let active = only(&mitigated(), "mitigations", Severity::Note);
    insta::assert_snapshot!(active.sentence, @"1 mitigation is active.");
    assert_eq!(active.evidence[0].file, mds);
    let off =
        tree().file("proc/cmdline", "mitigations=off").file(&mds, "Vulnerable; SMT vulnerable");
    let off = only(&off, "mitigations", Severity::Note);
    assert_eq!(off.evidence[0].text, "mitigations=off");
    let nosmt = only(
        &mitigated().file("proc/cmdline", "mitigations=auto,nosmt"),
        "mitigations",
        Severity::Note,
    );
    assert!(nosmt.advice.unwrap().sentence.contains("mitigations=auto"));
    only(&mitigated().unreadable(&mds), "mitigations", Severity::Unknown);
    assert_eq!(one(&Tree::of_cores(&[&[0]]), "mitigations").severity, Severity::Unknown);
}

#[test]
fn counters_may_be_missing_or_forbidden() {
    let device = "sys/bus/event_source/devices";
    let none =
        tree().without(&format!("{device}/cpu/type")).file(&format!("{device}/software/type"), 1);
    std::fs::remove_dir(none.root().join(device).join("cpu")).unwrap();
    let none = only(&none, "counters", Severity::Note);
    assert_eq!(none.evidence[0].text, "software");

    let paranoid = |capabilities: &str| {
        tree()
            .file("proc/sys/kernel/perf_event_paranoid", 3)
            .file("proc/self/status", format!("Cpus_allowed_list:\t0-3\nCapEff:\t{capabilities}"))
    };
    let forbidden = only(&paranoid("0000000000000000"), "counters", Severity::Note);
    assert_eq!(forbidden.advice.unwrap().commands, ["sudo sysctl kernel.perf_event_paranoid=2"]);
    let with_perfmon = one(&paranoid("0000004000000000"), "counters");
    assert_eq!(with_perfmon.severity, Severity::Fine);
    only(&paranoid("zebra"), "counters", Severity::Unknown);
    let hybrid = tree().file(&format!("{device}/cpu_atom/type"), 10);
    let arm = tree().file(&format!("{device}/armv8_pmuv3_0/type"), 10);
    let arm = arm.file(&format!("{device}/arm_cspmu_0/type"), 11);
    assert_eq!(one(&arm, "counters").evidence[0].text, "armv8_pmuv3_0 cpu");
    assert_eq!(one(&hybrid, "counters").evidence[0].text, "cpu cpu_atom");
    assert_eq!(one(&Tree::of_cores(&[&[0]]), "counters").severity, Severity::Unknown);
}

#[test]
fn the_watchdog_huge_pages_and_a_fixed_layout_are_conditions() {
    only(&tree().file("proc/sys/kernel/nmi_watchdog", 1), "watchdog", Severity::Note);
    assert_eq!(one(&Tree::of_cores(&[&[0]]), "watchdog").severity, Severity::Unknown);
    let pages = "sys/kernel/mm/transparent_hugepage/enabled";
    only(&tree().file(pages, "[always] madvise never"), "huge-pages", Severity::Note);
    assert_eq!(
        one(&tree().file(pages, "always [madvise] never"), "huge-pages").severity,
        Severity::Fine
    );
    only(&tree().file("proc/sys/kernel/randomize_va_space", 0), "address-layout", Severity::Note);
}

#[test]
fn a_hypervisor_is_reported_with_its_traces() {
    let guest = tree()
        .file("proc/cpuinfo", "model name : x\nflags : fpu hypervisor tsc")
        .file("sys/class/dmi/id/sys_vendor", "QEMU");
    let guest = only(&guest, "virtual-machine", Severity::Disturbs);
    insta::assert_snapshot!(guest.sentence, @"This is a virtual machine (hypervisor: QEMU).");
    assert_eq!(
        one(&tree().file("proc/cpuinfo", "flags : hypervisor"), "virtual-machine").severity,
        Severity::Disturbs
    );
    let texts: Vec<&str> = guest.evidence.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["flags: ... hypervisor ...", "QEMU"]);
}

#[test]
fn where_no_file_can_show_a_hypervisor_nobody_knows() {
    let check = |cpuinfo: &str| one(&tree().file("proc/cpuinfo", cpuinfo), "virtual-machine");
    let arm = "processor : 0\nFeatures : fp\nCPU implementer : 0x41\nCPU part : 0xd0c";
    assert_eq!(check(arm).severity, Severity::Unknown);
    let real = tree().file("proc/cpuinfo", arm).file("sys/class/dmi/id/sys_vendor", "HPE");
    assert_eq!(one(&real, "virtual-machine").severity, Severity::Fine);
    assert_eq!(check("model name : x\nflags : fpu tsc").severity, Severity::Fine);
    assert_eq!(check("cpu : POWER9\nplatform : PowerNV").severity, Severity::Fine);
    assert_eq!(check("cpu : 740/750\nplatform : PowerMac").severity, Severity::Unknown);
}
