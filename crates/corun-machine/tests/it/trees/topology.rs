//! Shapes of machines, and CPUs that are offline.

use corun_machine::{CpuSet, FindingKind, Machine, SmtControl};

use crate::trees::builder::Tree;

fn siblings(machine: &Machine, cpu: u32) -> Vec<u32> {
    machine.cpu(cpu).unwrap().siblings.as_slice().to_vec()
}

fn kinds(machine: &Machine) -> Vec<FindingKind> {
    machine.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn two_cores_of_two_siblings() {
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]]).smt("on", "1").machine();
    assert_eq!(siblings(&machine, 2), [0, 2]);
    assert_eq!(machine.smt.width, 2);
    assert_eq!(machine.smt.control, Some(SmtControl::On));
    assert_eq!(machine.smt.active, Some(true));
    assert_eq!(machine.cores.len(), 2);
    assert_eq!(machine.core_of(3).map(|core| core.id), Some(1));
    assert_eq!(machine.findings, []);
    assert_eq!(machine.caches.len(), 3);
}

#[test]
fn four_and_eight_siblings_a_core() {
    let four = Tree::empty()
        .package(0, &[&[0, 1, 2, 3], &[4, 5, 6, 7]])
        .package(8, &[&[8, 9, 10, 11], &[12, 13, 14, 15]])
        .all_present()
        .all_online()
        .machine();
    assert_eq!(four.smt.width, 4);
    assert_eq!(siblings(&four, 14), [12, 13, 14, 15]);
    assert_eq!(four.packages.iter().map(|package| package.id).collect::<Vec<_>>(), [0, 8]);
    // The kernel renumbers cores in each package; ours do not repeat.
    assert_eq!(
        four.cores.iter().map(|core| core.core_id).collect::<Vec<_>>(),
        [0, 1, 0, 1].map(Some)
    );
    assert_eq!(four.cores.iter().map(|core| core.id).collect::<Vec<_>>(), [0, 1, 2, 3]);

    let eight = Tree::of_cores(&[&[0, 1, 2, 3, 4, 5, 6, 7]]).machine();
    assert_eq!(eight.smt.width, 8);
    assert_eq!(siblings(&eight, 0), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn sparse_numbers_are_kept() {
    let machine = Tree::of_cores(&[&[3, 700], &[12]]).machine();
    let ids: Vec<u32> = machine.logical_cpus.iter().map(|cpu| cpu.id).collect();
    assert_eq!(ids, [3, 12, 700]);
    assert_eq!(siblings(&machine, 700), [3, 700]);
    assert!(machine.cpu(4).is_none());
    assert!(machine.core_of(4).is_none());
}

#[test]
fn offline_siblings_have_no_core_that_is_known() {
    let tree = Tree::of_cores(&[&[0, 2], &[1, 3]]).offline(2).offline(3).smt("off", "0");
    let machine = tree.machine();
    let offline = machine.cpu(2).unwrap();
    assert!(!offline.online && !offline.allowed && offline.present);
    assert_eq!(offline.core, None);
    assert_eq!(offline.package, None);
    assert_eq!(siblings(&machine, 2), [2]);
    assert_eq!(siblings(&machine, 0), [0]);
    assert_eq!(machine.smt.width, 1);
    assert_eq!(kinds(&machine), [FindingKind::UnknownCore]);
    assert_eq!(machine.findings[0].cpus, CpuSet::from([2, 3]));
    assert!(machine.findings[0].sentence.contains("(CPUs 2-3)"));
}

#[test]
fn an_offline_sibling_that_is_still_listed_is_known() {
    let tree = Tree::of_cores(&[&[0, 2], &[1, 3]]).offline(2);
    let machine = tree.file("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,2").machine();
    assert_eq!(siblings(&machine, 2), [0, 2]);
    assert_eq!(machine.cpu(2).unwrap().core, Some(0));
    assert_eq!(machine.cpu(2).unwrap().package, Some(0));
    assert_eq!(machine.smt.width, 2);
}

#[test]
fn the_first_cpu_may_be_offline() {
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]]).offline(0).machine();
    assert_eq!(machine.online(), CpuSet::from([1, 2, 3]));
    assert_eq!(siblings(&machine, 2), [2]);
    assert_eq!(siblings(&machine, 1), [1, 3]);
    // Cores are numbered by their lowest known CPU.
    assert_eq!(machine.cpu(1).unwrap().core, Some(0));
}

#[test]
fn without_the_summaries_the_folders_are_read() {
    let cpus = "sys/devices/system/cpu";
    let tree = Tree::of_cores(&[&[0, 2], &[1, 3]])
        .offline(3)
        .without(&format!("{cpus}/present"))
        .without(&format!("{cpus}/online"));
    assert_eq!(tree.machine().online(), CpuSet::from([0, 1, 2]));
    let by_switch = tree.file(&format!("{cpus}/cpu2/online"), 0).machine();
    assert_eq!(by_switch.online(), CpuSet::from([0, 1]));
    assert!(by_switch.logical_cpus.iter().all(|cpu| cpu.present));
}

#[test]
fn a_cpu_that_is_possible_but_not_plugged_in_is_not_present() {
    let tree = Tree::of_cores(&[&[0], &[1]]);
    let machine = tree.file("sys/devices/system/cpu/present", "0").machine();
    assert!(machine.cpu(0).unwrap().present);
    assert!(!machine.cpu(1).unwrap().present);
}

#[test]
fn hybrid_machines_name_their_core_types() {
    let tree = Tree::of_cores(&[&[0, 1], &[2, 3], &[4], &[5]])
        .file("sys/devices/cpu_core/cpus", "0-3")
        .file("sys/devices/cpu_atom/cpus", "4-5");
    let machine = tree.machine();
    let types: Vec<(&str, &CpuSet, u32)> = machine
        .core_types
        .iter()
        .map(|one| (one.name.as_str(), &one.cpus, one.smt_width))
        .collect();
    let (performance, efficiency) = (CpuSet::from([0, 1, 2, 3]), CpuSet::from([4, 5]));
    assert_eq!(types, [("performance", &performance, 2), ("efficiency", &efficiency, 1)]);
    assert_eq!(machine.cpu(3).unwrap().core_type.as_deref(), Some("performance"));
    assert_eq!(machine.core_of(5).unwrap().core_type.as_deref(), Some("efficiency"));
}

#[test]
fn arm_parts_give_core_types_and_so_do_different_capacities_alone() {
    let cpu = |cpu: u32, name: &str| format!("sys/devices/system/cpu/cpu{cpu}/{name}");
    let with_capacity = Tree::of_cores(&[&[0], &[1], &[2]])
        .file(&cpu(0, "cpu_capacity"), 446)
        .file(&cpu(1, "cpu_capacity"), 1024)
        .file(&cpu(2, "cpu_capacity"), 1024);
    let names = |machine: &Machine| {
        machine.core_types.iter().map(|one| one.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&with_capacity.machine()), ["efficiency", "performance"]);
    let midr = "regs/identification/midr_el1";
    let with_parts = with_capacity
        .file(&cpu(0, midr), "0x00000000410fd034")
        .file(&cpu(1, midr), "0x00000000410fd092")
        .file(&cpu(2, midr), "0x00000000411fd090");
    assert_eq!(names(&with_parts.machine()), ["Cortex-A53", "Cortex-A73"]);
}

/// Four cores whose highest clocks differ a little, so that their capacities do.
fn binned() -> Tree {
    let capacities = [1002, 1010, 1024, 1024].into_iter().enumerate();
    capacities.fold(Tree::of_cores(&[&[0], &[1], &[2], &[3]]), |tree, (cpu, capacity)| {
        tree.file(&format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), capacity)
    })
}

#[test]
fn cores_of_one_part_are_of_one_type_whatever_their_capacities() {
    assert_eq!(binned().machine().core_types.len(), 3, "what the capacities alone say");
    let by_register = (0..4).fold(binned(), |tree, cpu| {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
        tree.file(&file, "0x00000000410fd4f0")
    });
    assert_eq!(by_register.machine().core_types, []);
    let listed = |text: &str| {
        let of_each = (0..4).map(|cpu| format!("processor : {cpu}\n{text}\n\n"));
        binned().file("proc/cpuinfo", of_each.collect::<String>())
    };
    let arm = listed("CPU implementer : 0x41\nCPU part : 0xd4f").machine();
    assert_eq!((arm.core_types, arm.cpu_model.as_deref()), (Vec::new(), Some("Neoverse-V2")));
    assert_eq!(listed("uarch : thead,c910").machine().core_types, []);
    let x86 = binned().file("sys/bus/event_source/devices/cpu/type", 4);
    assert_eq!(x86.machine().core_types, []);
    let alone = binned().file("sys/devices/cpu_core/cpus", "0-3");
    assert_eq!(alone.machine().core_types, []);
}

#[test]
fn parts_that_the_kernel_lists_give_core_types_and_the_name_of_the_machine() {
    let part = |cpu: u32, part: &str| {
        format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n\n")
    };
    let cpuinfo = part(0, "0xd05") + &part(1, "0xd05") + &part(2, "0xd0b");
    let machine = Tree::of_cores(&[&[0], &[1], &[2]]).file("proc/cpuinfo", cpuinfo).machine();
    let names: Vec<&str> = machine.core_types.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["Cortex-A55", "Cortex-A76"]);
    assert_eq!(machine.cpu_model.as_deref(), Some("Cortex-A55 and Cortex-A76"));
}

#[test]
fn a_core_whose_siblings_are_in_two_numa_nodes_is_in_none() {
    let machine = Tree::of_cores(&[&[0, 1], &[2, 3]])
        .file("sys/devices/system/node/node0/cpulist", "0,2-3")
        .file("sys/devices/system/node/node1/cpulist", "1")
        .machine();
    let nodes: Vec<Option<u32>> = machine.cores.iter().map(|core| core.numa_node).collect();
    assert_eq!(nodes, [None, Some(0)]);
    assert_eq!(machine.cpu(1).unwrap().numa_node, Some(1));
    let [finding] = &machine.findings[..] else { panic!("{:?}", machine.findings) };
    assert_eq!(finding.kind, FindingKind::ContradictoryNumaNodes);
}

#[test]
fn different_frequencies_do_not_make_core_types() {
    let frequency = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq");
    let tree =
        Tree::of_cores(&[&[0], &[1]]).file(&frequency(0), 5_000_000).file(&frequency(1), 5_200_000);
    assert_eq!(tree.machine().core_types, []);
    assert_eq!(tree.machine().cpu(0).unwrap().core_type, None);
}

#[test]
fn every_word_of_the_switch_is_understood_or_kept() {
    for (word, control) in [
        ("off", SmtControl::Off),
        ("forceoff", SmtControl::ForceOff),
        ("notsupported", SmtControl::NotSupported),
        ("notimplemented", SmtControl::NotImplemented),
        ("2", SmtControl::Threads(2)),
        ("someday", SmtControl::Other("someday".to_owned())),
    ] {
        let machine = Tree::of_cores(&[&[0], &[1]]).smt(word, "0").machine();
        assert_eq!(machine.smt.control, Some(control));
        assert_eq!(machine.findings, [], "{word}");
        let json = serde_json::to_value(&machine).unwrap();
        assert_eq!(json["smt"]["control"], word);
    }
}

#[test]
fn numa_nodes_without_cpus_are_listed() {
    let tree = Tree::of_cores(&[&[0], &[1]])
        .file("sys/devices/system/node/node0/cpulist", "0-1")
        .file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       2048 kB")
        .file("sys/devices/system/node/node7/cpulist", "");
    let machine = tree.machine();
    assert_eq!(machine.numa_nodes.len(), 2);
    assert_eq!(machine.numa_nodes[0].memory_bytes, Some(2 << 20));
    assert_eq!(machine.numa_nodes[1].cpus, CpuSet::new());
    assert_eq!(machine.cpu(1).unwrap().numa_node, Some(0));
}

#[test]
fn the_json_is_read_back_and_numbers_are_as_the_kernels() {
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]]).offline(3).smt("4", "1").machine();
    let json = corun_record::json_text(&machine);
    assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    let cpu = &serde_json::from_str::<serde_json::Value>(&json).unwrap()["logical_cpus"][0];
    assert_eq!(cpu["siblings"], serde_json::json!([0, 2]));
    assert_eq!(cpu["core"], 0);
}
