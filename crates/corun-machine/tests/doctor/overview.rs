//! The machine in three lines.

use corun_machine::doctor::Report;
use corun_machine::{CpuLimits, Machine, RootFiles, overview};

use crate::builder::Tree;
use crate::healthy::{GROUP, tree};

fn lines(tree: &Tree) -> String {
    let mut files = RootFiles::open(tree.root()).unwrap();
    let machine = Machine::from_files(&mut files).unwrap();
    let report = Report::from_files(&mut files, None).unwrap();
    overview(&machine, &CpuLimits::read(&mut files, &machine), &report).join("\n")
}

#[test]
fn a_healthy_machine_has_nothing_to_complain_of() {
    insta::assert_snapshot!(lines(&tree()), @"");
}

#[test]
fn limits_and_the_worst_finding_are_named() {
    let tree = tree()
        .file(&format!("{GROUP}/cpu.max"), "150000 100000")
        .file("proc/cpuinfo", "model name : Some CPU\nflags : fpu hypervisor");
    insta::assert_snapshot!(lines(&tree), @"");
}

#[test]
fn the_state_of_smt_is_told_from_a_machine_without() {
    let off = tree().offline(2).offline(3).smt("off", "0");
    insta::assert_snapshot!(lines(&off).lines().next().unwrap(), @"");
    let none = Tree::of_cores(&[&[0], &[1]]).smt("notsupported", "0");
    insta::assert_snapshot!(lines(&none), @"");
    let hybrid = Tree::of_cores(&[&[0, 1], &[2]]);
    insta::assert_snapshot!(lines(&hybrid).lines().next().unwrap(), @"");
}
