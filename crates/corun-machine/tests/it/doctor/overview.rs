//! The machine in three lines.

use corun_machine::doctor::Report;
use corun_machine::{CpuLimits, Machine, RootFiles, overview};

use crate::doctor::healthy::{GROUP, tree};
use crate::trees::builder::Tree;

fn lines(tree: &Tree) -> String {
    let mut files = RootFiles::open(tree.root()).unwrap();
    let machine = Machine::from_files(&mut files).unwrap();
    let report = Report::from_files(&mut files, None).unwrap();
    overview(&machine, &CpuLimits::read(&mut files, &machine), &report).join("\n")
}

#[test]
fn a_healthy_machine_has_nothing_to_complain_of() {
    insta::assert_snapshot!(lines(&tree()), @r"
    Some CPU: 2 cores, 4 logical CPUs online; SMT is on, 2 siblings a core.
    This process may use all 4 CPUs.
    Nothing was found that would spoil a measurement.
    ");
}

#[test]
fn limits_and_the_worst_finding_are_named() {
    let tree = tree()
        .file(&format!("{GROUP}/cpu.max"), "150000 100000")
        .file("proc/cpuinfo", "model name : Some CPU\nflags : fpu hypervisor");
    insta::assert_snapshot!(lines(&tree), @r"
    Some CPU (virtual machine): 2 cores, 4 logical CPUs online; SMT is on, 2 siblings a core.
    The control group /sys/fs/cgroup/user.slice may use the CPU time of 1.50 CPUs, of 4 that are allowed.
    Would spoil a measurement: quota: A control group may use the time of 1.50 CPUs; 4 are allowed.
    ");
}

#[test]
fn the_state_of_smt_is_distinguished_from_a_machine_without() {
    let off = tree().offline(2).offline(3).smt("off", "0");
    insta::assert_snapshot!(lines(&off).lines().next().unwrap(), @"Some CPU: 2 cores, 2 logical CPUs online; SMT is switched off.");
    let none = Tree::of_cores(&[&[0], &[1]]).smt("notsupported", "0");
    insta::assert_snapshot!(lines(&none), @r"
    CPU of unknown model: 2 cores, 2 logical CPUs online; no SMT.
    This process may run on 2 CPUs; whether a control group limits its CPU time is not known.
    Would spoil a measurement: smt: The kernel knows no core with two siblings, so there is nothing to compare.
    ");
    let hybrid = Tree::of_cores(&[&[0, 1], &[2]]);
    insta::assert_snapshot!(lines(&hybrid).lines().next().unwrap(), @"CPU of unknown model: 2 cores, 3 logical CPUs online; SMT is on, 2 siblings on 1 of 2 cores.");
}
