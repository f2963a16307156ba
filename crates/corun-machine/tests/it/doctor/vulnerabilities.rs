//! The kernel's lines on SMT in plain words.

use corun_machine::doctor::{Exposure, SmtVulnerability};

use crate::doctor::healthy::{CPUS, tree, watched};
use crate::trees::builder::Tree;

/// Vulnerabilities by a line in the file of this name.
fn read(tree: Tree, name: &str, text: &str) -> Vec<SmtVulnerability> {
    let tree = tree.file(&format!("{CPUS}/vulnerabilities/{name}"), text);
    watched(&tree, || ()).smt_vulnerabilities
}

#[test]
fn every_phrase_of_the_kernel_is_understood() {
    for (name, text, exposure) in [
        (
            "l1tf",
            "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable",
            Exposure::Exposed,
        ),
        (
            "l1tf",
            "Mitigation: PTE Inversion; VMX: SMT disabled, L1D conditional cache flushes",
            Exposure::Closed,
        ),
        ("l1tf", "Mitigation: PTE Inversion; VMX: cache flushes, SMT disabled", Exposure::Closed),
        ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable", Exposure::Exposed),
        ("mds", "Mitigation: Clear CPU buffers; SMT mitigated", Exposure::Closed),
        ("mds", "Mitigation: Clear CPU buffers; SMT Host state unknown", Exposure::Unknown),
        (
            "tsx_async_abort",
            "Vulnerable: Clear CPU buffers attempted, no microcode; SMT disabled",
            Exposure::Closed,
        ),
        ("mmio_stale_data", "Mitigation: Clear CPU buffers; SMT vulnerable", Exposure::Exposed),
        (
            "retbleed",
            "Mitigation: untrained return thunk; SMT enabled with STIBP protection",
            Exposure::Closed,
        ),
        ("retbleed", "Mitigation: untrained return thunk; SMT vulnerable", Exposure::Exposed),
        ("spec_rstack_overflow", "Mitigation: SMT disabled", Exposure::Closed),
        (
            "spectre_v2",
            "Mitigation: Retpolines; IBPB: conditional; STIBP: always-on; RSB filling",
            Exposure::Closed,
        ),
        (
            "spectre_v2",
            "Mitigation: Retpolines, IBPB: conditional, STIBP: forced",
            Exposure::Closed,
        ),
        ("spectre_v2", "Mitigation: Retpolines; STIBP: conditional", Exposure::OnRequest),
        ("spectre_v2", "Mitigation: Retpolines; STIBP: disabled", Exposure::Exposed),
        (
            "spectre_v2",
            "Vulnerable: eIBRS+LFENCE with unprivileged eBPF and SMT",
            Exposure::Exposed,
        ),
        ("mds", "Mitigation: Clear CPU buffers; SMT flabbergasted", Exposure::Unknown),
        ("invented", "Mitigation: Prayer; SMT vulnerable", Exposure::Exposed),
    ] {
        let read = read(tree(), name, text);
        assert_eq!(read.len(), 1, "{name}: {text}");
        assert_eq!(read[0].exposure, exposure, "{name}: {text}");
        assert_eq!((read[0].name.as_str(), read[0].evidence.text.as_str()), (name, text));
        let knows_words = !text.contains("flabbergasted");
        assert_eq!(!read[0].meaning.contains("does not know"), knows_words, "{text}");
        assert_eq!(!read[0].what.contains("does not know"), name != "invented", "{name}");
    }
}

#[test]
fn lines_that_mention_no_sibling_are_left_out() {
    for text in ["Not affected", "Mitigation: PTI", "Vulnerable: Safe RET, no microcode", ""] {
        assert_eq!(read(tree(), "meltdown", text), []);
    }
}

#[test]
fn without_siblings_nobody_needs_protection_and_a_guest_cannot_know() {
    let text = "Mitigation: Retpolines; STIBP: disabled";
    let alone = || Tree::of_cores(&[&[0], &[1]]);
    assert_eq!(read(alone(), "spectre_v2", text)[0].exposure, Exposure::Closed);
    let guest = alone().file("proc/cpuinfo", "flags : hypervisor");
    assert_eq!(read(guest, "spectre_v2", text)[0].exposure, Exposure::Unknown);
}
