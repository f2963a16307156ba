//! Files that are missing, unreadable or full of something else.

use corun_machine::{CpuSet, FindingKind, Machine, MachineError};
use corun_record::{Actionable, Exit};

use crate::trees::builder::Tree;

const CPUS: &str = "sys/devices/system/cpu";

#[test]
fn a_tree_with_nothing_at_all_is_an_error_that_says_where() {
    let tree = Tree::empty();
    let error = tree.read().unwrap_err();
    let place = tree.root().join(CPUS);
    assert!(error.to_string().starts_with(&format!("no CPUs found below {}", place.display())));
    assert_eq!(error.exit(), Exit::NotPossible);
    assert!(!error.next_step().is_empty());
}

#[test]
fn a_root_that_is_no_directory_is_an_error() {
    let tree = Tree::empty().file("file", "");
    for root in ["file", "nowhere"] {
        let error = Machine::read(&tree.root().join(root)).unwrap_err();
        assert!(matches!(error, MachineError::Root { .. }), "{error}");
        assert_eq!(error.exit(), Exit::Failed);
        assert!(error.to_string().contains(root));
    }
}

#[test]
fn nul_bytes_and_white_space_around_values_do_not_matter() {
    let tree = Tree::of_cores(&[&[0, 1]])
        .raw(&format!("{CPUS}/online"), b"0-1\n\0\0\0\0")
        .raw(&format!("{CPUS}/cpu0/topology/core_cpus_list"), b"0-1\0\n")
        .raw(&format!("{CPUS}/cpu1/topology/core_id"), b" 0 \n\0")
        .raw(&format!("{CPUS}/smt/control"), b"on\0\0");
    let machine = tree.machine();
    assert_eq!(machine.cores.len(), 1);
    assert_eq!(machine.smt.control.map(|control| control.to_string()).as_deref(), Some("on"));
    assert_eq!(machine.findings, []);
}

#[test]
fn a_missing_file_leaves_a_gap_and_no_finding() {
    let tree = Tree::of_cores(&[&[0, 1]])
        .without(&format!("{CPUS}/cpu0/cache/index0/size"))
        .without(&format!("{CPUS}/cpu0/topology/physical_package_id"));
    let machine = tree.machine();
    assert_eq!(machine.caches[0].size_bytes, None);
    assert_eq!(machine.caches[0].line_bytes, Some(64));
    assert_eq!(machine.findings, []);
}

#[test]
fn an_unreadable_file_is_a_finding_once_for_all_cpus() {
    let tree = Tree::of_cores(&[&[0, 1]])
        .unreadable(&format!("{CPUS}/cpu0/topology/core_id"))
        .unreadable(&format!("{CPUS}/cpu1/topology/core_id"));
    let machine = tree.machine();
    assert_eq!(machine.cores[0].core_id, None);
    assert_eq!(machine.findings.len(), 1);
    assert_eq!(machine.findings[0].kind, FindingKind::UnreadableFile);
    assert_eq!(machine.findings[0].cpus, CpuSet::from([0, 1]));
    assert_eq!(machine.findings[0].file, format!("{CPUS}/cpu*/topology/core_id"));
}

#[test]
fn values_of_another_kind_are_findings_that_quote_them() {
    let tree = Tree::of_cores(&[&[0], &[1]])
        .file(&format!("{CPUS}/cpu0/topology/core_id"), "first")
        .file(&format!("{CPUS}/cpu0/topology/core_cpus_list"), "3-1")
        .file(&format!("{CPUS}/cpu0/cache/index0/size"), "big")
        .file(&format!("{CPUS}/cpu1/cache/index0/type"), "Trace")
        .raw(&format!("{CPUS}/cpu1/topology/core_id"), b"\xff\xfe")
        .smt("on", "perhaps");
    let sentences: Vec<String> =
        tree.machine().findings.into_iter().map(|finding| finding.sentence).collect();
    for quoted in ["`first`", "`3-1`", "`big`", "`Trace`", "no text", "`perhaps`"] {
        assert!(
            sentences.iter().any(|sentence| sentence.contains(quoted)),
            "{quoted}: {sentences:#?}"
        );
    }
}

#[test]
fn without_sibling_lists_core_numbers_serve_and_without_both_nothing_is_claimed() {
    let list = |cpu: u32| format!("{CPUS}/cpu{cpu}/topology/core_cpus_list");
    let tree =
        Tree::of_cores(&[&[0, 1], &[2]]).without(&list(0)).without(&list(1)).without(&list(2));
    let by_number = tree.machine();
    assert_eq!(by_number.cpu(0).unwrap().siblings, CpuSet::from([0, 1]));
    assert_eq!(by_number.findings[0].kind, FindingKind::UnknownSiblings);

    let unknown = tree.without(&format!("{CPUS}/cpu2/topology/core_id")).machine();
    let cpu = unknown.cpu(2).unwrap();
    assert_eq!((cpu.core, cpu.package, cpu.online), (None, Some(0), true));
    assert_eq!(cpu.siblings, CpuSet::from([2]));
    assert!(unknown.findings.iter().any(|one| one.kind == FindingKind::UnknownCore));
}

#[test]
fn links_that_lead_nowhere_are_missing_and_links_cannot_leave_the_root() {
    let outside = Tree::empty().file("model", "model name : of another machine");
    let tree = Tree::of_cores(&[&[0]])
        .link(&format!("{CPUS}/smt/control"), "/nowhere")
        .link("proc/cpuinfo", outside.root().join("model").to_str().unwrap());
    let machine = tree.machine();
    assert_eq!(machine.smt.control, None);
    assert_eq!(machine.cpu_model, None);
    // Inside of it they work, also those that begin at the root.
    let inside = tree.file("model", "model name : this one").link("proc/cpuinfo", "/model");
    assert_eq!(inside.machine().cpu_model.as_deref(), Some("this one"));
}

#[test]
fn numbers_beyond_belief_do_not_fill_the_memory() {
    let tree = Tree::of_cores(&[&[0]]).file(&format!("{CPUS}/online"), "0-4294967295");
    let machine = tree.machine();
    assert_eq!(machine.online(), CpuSet::from([0]));
    assert_eq!(machine.findings[0].kind, FindingKind::MalformedFile);
}
