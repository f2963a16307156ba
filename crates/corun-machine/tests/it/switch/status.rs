//! What `corun smt status` reports of simulated kernels.

use std::collections::BTreeSet;
use std::path::Path;

use corun_machine::switch::{Holder, LeftBecause, OfflineBy, Runtime, SmtStatus, State, change};
use corun_record::SmtState;

use crate::switch::simulated_kernel::{Kernel, Met};
use crate::switch::{cpus, snapshot};

fn status(kernel: Kernel) -> SmtStatus {
    SmtStatus::read(&mut Met::new(kernel), &Runtime::at(Path::new("/nowhere"))).unwrap()
}

fn offline_by(status: &SmtStatus) -> Vec<(u32, OfflineBy)> {
    status.offline.iter().map(|offline| (offline.cpu, offline.by)).collect()
}

#[test]
fn what_depends_on_siblings_is_named() {
    let mut kernel = Kernel::new(2, 2);
    kernel.boot_line = "quiet mitigations=auto,nosmt".to_owned();
    kernel.irqs = [(4, cpus(&[0, 1, 2, 3])), (9, cpus(&[3])), (10, cpus(&[2]))].into();
    kernel.tasks = [(70, cpus(&[1])), (71, cpus(&[0, 1])), (72, cpus(&[0]))].into();
    kernel.cpusets.insert("jobs".into(), (cpus(&[2, 3]), BTreeSet::new()));
    let status = status(kernel);
    insta::assert_snapshot!(status.to_text(), @r"
    SMT is on: smt/control says `on` (siblings may be online)
    Logical CPUs of a core, as far as known: 2
    SMT off would take away: CPUs 1,3
    Offline: none
    The boot line's `mitigations=auto,nosmt` boots with SMT off if the processor needs that protection; it can be switched on
    What depends on those siblings:
    - cpuset /cs/jobs (CPUs 2-3) would lose CPU 3
    - task 70 (t) is bound to CPU 1, would run anywhere
    - task 71 (t) is bound to CPUs 0-1, would keep CPU 0
    - interrupt 9 (unused) is bound to CPU 3, would be moved
    ");
}

#[test]
fn who_took_a_cpu_offline_is_reported_as_far_as_the_kernel_shows() {
    let by_hand = Kernel { online: [0, 1, 2].into(), ..Kernel::new(2, 2) };
    assert_eq!(offline_by(&status(by_hand)), [(3, OfflineBy::Hand)]);
    let off = Kernel { online: [0].into(), control: Some("off".into()), ..Kernel::new(2, 2) };
    let either = [1, 2, 3].map(|cpu| (cpu, OfflineBy::SwitchOrHand));
    assert_eq!(offline_by(&status(off)), either);
    let at_boot =
        Kernel { online: [0, 1].into(), boot_line: "maxcpus=3".to_owned(), ..Kernel::new(2, 2) };
    let expected = [(2, OfflineBy::Hand), (3, OfflineBy::BootLine)];
    assert_eq!(offline_by(&status(at_boot)), expected);
}

#[test]
fn what_corun_switched_is_distinguished_from_what_was_offline_before() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::at(folder.path());
    let mut met = Met::new(Kernel { online: [0, 1, 2].into(), ..Kernel::new(2, 2) });
    let before = snapshot(&mut met);
    change(&mut met, SmtState::Off, &before).unwrap();
    let state = State {
        format: "corun-smt-state".to_owned(),
        version: 1,
        boot: corun_files::boot_id().expect("a boot has an identifier"),
        taken: "2026-01-01T00:00:00Z".to_owned(),
        by: Holder { process: 7, command: "corun smt off".to_owned() },
        before,
    };
    runtime.begin(&state).unwrap();
    let status = SmtStatus::read(&mut met, &runtime).unwrap();
    assert_eq!(offline_by(&status), [(1, OfflineBy::Corun), (3, OfflineBy::Hand)]);
    insta::assert_snapshot!(status.to_text(), @r"
    SMT is off: smt/control says `off` (siblings are offline, and can be switched on)
    Which offline CPUs are siblings shows only while they are online
    Offline by corun: CPU 1
    Offline by hand: CPU 3
    A corun that was killed has left SMT switched (process 7: corun smt off, since 2026-01-01T00:00:00Z). Bring everything back with: corun smt restore
    Nothing is bound to siblings that SMT off would take away
    ");
    runtime.keep(&state.before).unwrap();
    let held = SmtStatus::read(&mut met, &runtime).unwrap();
    insta::assert_snapshot!(held.left_by_corun.unwrap().sentence(), @"SMT was switched by request (process 7: corun smt off, since 2026-01-01T00:00:00Z); `corun smt restore` brings everything back");
}

#[test]
fn a_state_that_cannot_be_read_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::at(folder.path());
    std::fs::write(runtime.unfinished_file(), "half a fi").unwrap();
    let status = SmtStatus::read(&mut Met::new(Kernel::new(1, 2)), &runtime).unwrap();
    let left = status.left_by_corun.unwrap();
    assert_eq!(left.why, LeftBecause::Unreadable);
    assert!(left.sentence().contains(&left.file), "{}", left.sentence());
}

#[test]
fn the_switch_keeps_the_first_thread_of_a_core_even_if_it_is_offline() {
    let mut kernel = Kernel { online: [0, 1, 3].into(), ..Kernel::new(2, 2) };
    assert_eq!(status(kernel.clone()).extra_siblings, cpus(&[1, 3]));
    // CPU by CPU the first that is online stays.
    kernel.control = None;
    assert_eq!(status(kernel).extra_siblings, cpus(&[1]));
}

#[test]
fn each_word_of_the_switch_is_explained() {
    for word in ["on", "off", "forceoff", "notsupported", "notimplemented", "4", "later"] {
        let kernel = Kernel { control: Some(word.to_owned()), ..Kernel::new(1, 2) };
        let text = status(kernel).to_text();
        assert!(text.contains(&format!("smt/control says `{word}`")), "{text}");
    }
    let text = status(Kernel { control: None, ..Kernel::new(1, 2) }).to_text();
    assert!(text.contains("no smt/control"), "{text}");
}
