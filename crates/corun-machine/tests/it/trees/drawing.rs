//! Drawings as a person sees them.

use corun_machine::{CpuSet, Machine, draw};

use crate::trees::builder::Tree;

fn drawn(machine: &Machine) -> String {
    draw(machine, 80, false)
}

#[test]
fn one_cpu() {
    insta::assert_snapshot!(drawn(&Tree::of_cores(&[&[0]]).machine()), @r"
    CPU model not known
    1 logical CPU, 1 core, 1 package; SMT width 1

    Package 0 · L3 16 MiB
      ┌───┐
      │ 0 │
      └───┘

    Caches
      L1 data            1 × 32 KiB  8 ways, 64-byte lines
      L3                 1 × 16 MiB  16 ways, 64-byte lines
    ");
}

#[test]
fn two_cores_of_two_siblings() {
    let tree = Tree::of_cores(&[&[0, 2], &[1, 3]])
        .smt("on", "1")
        .file("proc/cpuinfo", "model name : Some CPU @ 2.00GHz\nflags : fpu hypervisor");
    insta::assert_snapshot!(drawn(&tree.machine()), @r"
    Some CPU @ 2.00GHz
    virtual machine, hypervisor: unknown
    4 logical CPUs, 2 cores, 1 package; SMT width 2 (control on, active)

    Package 0 · L3 16 MiB
      ┌───┬───┐
      │ 0 │ 1 │
      │ 2 │ 3 │
      └───┴───┘

    Caches
      L1 data            2 × 32 KiB  8 ways, 64-byte lines, shared by 2 CPUs
      L3                 1 × 16 MiB  16 ways, 64-byte lines, shared by 4 CPUs
    ");
}

#[test]
fn hybrid() {
    let tree = Tree::of_cores(&[&[0, 1], &[2, 3], &[4], &[5], &[6], &[7]])
        .smt("on", "1")
        .file("sys/devices/cpu_core/cpus", "0-3")
        .file("sys/devices/cpu_atom/cpus", "4-7");
    insta::assert_snapshot!(drawn(&tree.machine()), @r"
    CPU model not known
    8 logical CPUs, 6 cores, 1 package; SMT width 2 (control on, active)

    Package 0 · L3 16 MiB
      performance  efficiency
      ┌───┬───┐    ┌───┬───┬───┬───┐
      │ 0 │ 2 │    │ 4 │ 5 │ 6 │ 7 │
      │ 1 │ 3 │    └───┴───┴───┴───┘
      └───┴───┘

    Caches
      L1 data            4 × 32 KiB  8 ways, 64-byte lines
      L1 data            2 × 32 KiB  8 ways, 64-byte lines, shared by 2 CPUs
      L3                 1 × 16 MiB  16 ways, 64-byte lines, shared by 8 CPUs
    ");
}

#[test]
fn four_siblings_in_two_packages_with_memory_only_nodes() {
    let node = |node: u32, file: &str| format!("sys/devices/system/node/node{node}/{file}");
    let tree = Tree::empty()
        .package(0, &[&[0, 1, 2, 3], &[4, 5, 6, 7]])
        .package(8, &[&[88, 89, 90, 91], &[92, 93, 94, 95]])
        .all_present()
        .all_online()
        .file(&node(0, "cpulist"), "0-7")
        .file(&node(8, "cpulist"), "88-95")
        .file(&node(255, "cpulist"), "")
        .file(&node(255, "meminfo"), "Node 255 MemTotal: 1572864 kB");
    insta::assert_snapshot!(drawn(&tree.machine()), @r"
    CPU model not known
    16 logical CPUs, 4 cores, 2 packages; SMT width 4

    Package 0 · NUMA node 0 · L3 16 MiB
      ┌────┬────┐
      │  0 │  4 │
      │  1 │  5 │
      │  2 │  6 │
      │  3 │  7 │
      └────┴────┘

    Package 8 · NUMA node 8 · L3 16 MiB
      ┌────┬────┐
      │ 88 │ 92 │
      │ 89 │ 93 │
      │ 90 │ 94 │
      │ 91 │ 95 │
      └────┴────┘

    NUMA nodes
      0              of unknown size  CPUs 0-7
      8              of unknown size  CPUs 88-95
      255                   1.5 GiB  no CPUs

    Caches
      L1 data            4 × 32 KiB  8 ways, 64-byte lines, shared by 4 CPUs
      L3                 2 × 16 MiB  16 ways, 64-byte lines, shared by 8 CPUs
    ");
}

#[test]
fn offline_siblings_and_a_cpuset() {
    let tree = Tree::of_cores(&[&[0, 4], &[1, 5], &[2, 6], &[3, 7]])
        .offline(5)
        .offline(6)
        .smt("on", "1")
        .file("sys/devices/system/cpu/cpu1/topology/core_cpus_list", "1,5")
        .file("proc/mounts", "cgroup /cg cgroup rw,cpuset 0 0")
        .file("proc/self/cgroup", "5:cpuset:/")
        .file("cg/cpuset.cpus", "0-3");
    insta::assert_snapshot!(drawn(&tree.machine()), @r"
    CPU model not known
    8 logical CPUs (6 online, 4 allowed), 4 cores, 1 package; SMT width 2 (control on, active)

    Package 0 · L3 16 MiB
      ┌───┬───┬───┬───┐
      │ 0 │ 1 │ 2 │ 3 │
      │ 4!│ 5x│   │ 7!│
      └───┴───┴───┴───┘
        x offline    ! not allowed for this process

    Offline, core not known: CPU 6

    Caches
      L1 data            2 × 32 KiB  8 ways, 64-byte lines
      L1 data            2 × 32 KiB  8 ways, 64-byte lines, shared by 2 CPUs
      L3                 1 × 16 MiB  16 ways, 64-byte lines, shared by 6 CPUs
    ");
}

#[test]
fn what_is_odd_is_said_in_lines_that_fit() {
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]]).smt("off", "0").machine();
    let text = drawn(&machine);
    insta::assert_snapshot!(text.split_once("Odd:\n  ").unwrap().1, @r"
    - sys/devices/system/cpu/smt/active (CPUs 0-3): the kernel says that SMT is
        not active, yet online CPUs are listed as siblings; the lists are believed
    ");
}

#[test]
fn narrow_terminals_get_more_bands_and_very_narrow_ones_one_core_a_band() {
    let cores: Vec<Vec<u32>> = (0..7).map(|core| vec![core, core + 7]).collect();
    let cores: Vec<&[u32]> = cores.iter().map(Vec::as_slice).collect();
    let machine = Tree::of_cores(&cores).machine();
    let grid = |width| {
        let text = draw(&machine, width, false);
        text.lines().filter(|line| line.contains(['│', '─'])).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(grid(30), @r"
    ┌────┬────┬────┬────┬────┐
    │  0 │  1 │  2 │  3 │  4 │
    │  7 │  8 │  9 │ 10 │ 11 │
    ├────┼────┼────┴────┴────┘
    │  5 │  6 │
    │ 12 │ 13 │
    └────┴────┘
    ");
    assert_eq!(grid(0).lines().count(), 7 * 3 + 1);
}

#[test]
fn colour_changes_nothing_but_colour() {
    let machine = Tree::of_cores(&[&[0, 2], &[1, 3]]).offline(3).machine();
    let coloured = draw(&machine, 80, true);
    assert!(coloured.contains("\x1b[1mPackage 0"));
    let codes = ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[33m"];
    let plain = codes.iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(plain, drawn(&machine));
}

#[test]
fn large_machines_show_one_of_equal_groups_in_full() {
    let machine = large();
    let text = drawn(&machine);
    assert!(text.lines().count() < 50, "{}", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    let folded = text.lines().find(|line| line.contains("like those above"));
    insta::assert_snapshot!(folded.unwrap(), @"  L3 32 MiB: 8 cores like those above, CPUs 8-15,168-175");
}

/// 320 CPUs: two packages of ten L3 caches with eight cores of two siblings each.
fn large() -> Machine {
    let mut tree = Tree::empty();
    for package in 0..2 {
        let cores: Vec<Vec<u32>> =
            (0..80).map(|core| package * 80 + core).map(|cpu| vec![cpu, cpu + 160]).collect();
        let slices: Vec<&[u32]> = cores.iter().map(Vec::as_slice).collect();
        tree = tree.package(package, &slices);
        for group in cores.chunks(8) {
            let sharers: CpuSet = group.concat().into_iter().collect();
            for cpu in sharers.iter() {
                tree = tree.cache(cpu, 1, (3, "Unified", "32M", 16), &sharers);
            }
        }
    }
    tree.all_present().all_online().machine()
}
