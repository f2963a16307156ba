//! The switch of SMT on a simulated kernel: what it writes, and that everything comes back from
//! wherever it is interrupted.

mod simulated_kernel;
mod status;

use std::collections::BTreeSet;

use corun_machine::switch::{ChangeError, Snapshot, change, restore};
use corun_machine::{CpuSet, Machine};
use corun_record::SmtState;
use proptest::prelude::*;

use simulated_kernel::{Kernel, Met};

fn snapshot(met: &mut Met) -> Snapshot {
    let machine = Machine::from_files(met).expect("a kernel with CPUs");
    Snapshot::take(met, &machine)
}

/// Switches; returns what was written.
fn written_by(kernel: Kernel, wanted: SmtState) -> (Met, Vec<String>) {
    let mut met = Met::new(kernel);
    let before = snapshot(&mut met);
    change(&mut met, wanted, &before).unwrap();
    let written = std::mem::take(&mut met.written);
    (met, written)
}

fn cpus(list: &[u32]) -> CpuSet {
    list.iter().copied().collect()
}

#[test]
fn the_kernels_switch_is_used_where_there_is_one() {
    let (met, written) = written_by(Kernel::new(2, 2), SmtState::Off);
    assert_eq!(written, ["sys/devices/system/cpu/smt/control off"]);
    assert_eq!(met.kernel.online, BTreeSet::from([0, 2]));
}

#[test]
fn without_the_kernels_switch_siblings_go_one_by_one() {
    let kernel = Kernel { control: None, ..Kernel::new(2, 4) };
    let (met, written) = written_by(kernel, SmtState::Off);
    assert_eq!(written.len(), 6);
    assert_eq!(written[0], "sys/devices/system/cpu/cpu1/online 0");
    assert_eq!(met.kernel.online, BTreeSet::from([0, 4]));
}

#[test]
fn a_number_of_threads_comes_back_as_a_number() {
    let mut kernel = Kernel::new(2, 4);
    kernel.control = Some("2".to_owned());
    kernel.online = BTreeSet::from([0, 1, 4, 5]);
    let mut met = Met::new(kernel.clone());
    let before = snapshot(&mut met);
    change(&mut met, SmtState::Off, &before).unwrap();
    assert_eq!(met.kernel.online, BTreeSet::from([0, 4]));
    assert_eq!(restore(&mut met, &before), []);
    assert_eq!(met.kernel, kernel);
}

#[test]
fn siblings_that_are_offline_by_hand_come_up_one_by_one() {
    // Writing `on` succeeds and changes nothing: the switch says `on` already.
    let kernel = Kernel { online: BTreeSet::from([0, 2]), ..Kernel::new(2, 2) };
    let (met, _) = written_by(kernel, SmtState::On);
    assert_eq!(met.kernel.online, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn a_whole_core_that_is_offline_stays_so_when_siblings_come_up() {
    let mut kernel = Kernel::new(3, 2);
    kernel.control = Some("off".to_owned());
    kernel.online = BTreeSet::from([0, 4]);
    let (met, _) = written_by(kernel, SmtState::On);
    assert_eq!(met.kernel.online, BTreeSet::from([0, 1, 4, 5]));
}

#[test]
fn a_write_that_the_kernel_refuses_is_an_error_with_its_words() {
    let mut met = Met::new(Kernel::new(1, 2));
    let before = snapshot(&mut met);
    met.fails_at = Some(0);
    let error = change(&mut met, SmtState::Off, &before).unwrap_err();
    insta::assert_snapshot!(error, @"writing `off` to /sys/devices/system/cpu/smt/control failed: Device or resource busy (os error 16)");
}

#[test]
fn a_write_that_succeeds_and_does_nothing_is_noticed() {
    let mut met = Met::new(Kernel::new(1, 2));
    let before = snapshot(&mut met);
    met.writes_left = 0;
    let error = change(&mut met, SmtState::Off, &before).unwrap_err();
    assert!(matches!(error, ChangeError::NotReached { .. }), "{error}");
}

#[test]
fn what_cannot_be_restored_is_named() {
    let mut met = Met::new(Kernel::new(1, 2));
    let before = snapshot(&mut met);
    change(&mut met, SmtState::Off, &before).unwrap();
    met.writes_left = 0;
    let left: Vec<String> = restore(&mut met, &before).iter().map(ToString::to_string).collect();
    assert_eq!(
        left,
        [
            "/sys/devices/system/cpu/smt/control: was `on`, is `off`",
            "/sys/devices/system/cpu/cpu1/online: was `1`, is `0`",
        ]
    );
}

#[test]
fn a_set_that_became_empty_gets_its_cpus_and_its_tasks_back() {
    let mut kernel = Kernel::new(2, 2);
    kernel.cpusets.insert("jobs".into(), (cpus(&[1, 2, 3]), BTreeSet::from([70])));
    kernel.cpusets.insert("jobs/fast".into(), (cpus(&[3]), BTreeSet::from([80])));
    kernel.tasks.insert(70, cpus(&[1, 2, 3]));
    kernel.tasks.insert(80, cpus(&[3]));
    let mut met = Met::new(kernel.clone());
    let before = snapshot(&mut met);
    change(&mut met, SmtState::Off, &before).unwrap();
    assert_eq!(met.kernel.cpusets["jobs"].1, BTreeSet::from([70, 80]), "the kernel moves tasks");
    assert_eq!(restore(&mut met, &before), []);
    assert_eq!(met.kernel, kernel);
}

#[test]
fn what_has_ended_meanwhile_is_not_missed() {
    let mut kernel = Kernel::new(1, 2);
    kernel.tasks.insert(70, cpus(&[1]));
    kernel.irqs.insert(9, cpus(&[1]));
    let mut met = Met::new(kernel);
    let before = snapshot(&mut met);
    change(&mut met, SmtState::Off, &before).unwrap();
    met.kernel.tasks.clear();
    met.kernel.irqs.clear();
    assert_eq!(restore(&mut met, &before), []);
}

#[test]
fn a_later_task_of_the_same_number_is_left_alone() {
    let mut kernel = Kernel::new(1, 2);
    kernel.tasks.insert(70, cpus(&[1]));
    let mut met = Met::new(kernel);
    let mut before = snapshot(&mut met);
    before.tasks[0].started -= 1;
    met.kernel.tasks.insert(70, cpus(&[0]));
    assert_eq!(restore(&mut met, &before), []);
    assert_eq!(met.kernel.tasks[&70], cpus(&[0]));
}

/// A kernel in any state that one can be found in.
fn any_kernel() -> impl Strategy<Value = Kernel> {
    let shape = (1_u32..4, 2_u32..5, 0_u8..4);
    let sets = proptest::collection::vec(proptest::collection::btree_set(0_u32..16, 1..4), 8);
    (shape, proptest::collection::btree_set(1_u32..16, 0..5), sets).prop_map(
        |((cores, width, control), offline, sets)| {
            let mut kernel = Kernel::new(cores, width);
            let count = cores * width;
            kernel.control = match control {
                0 => None,
                1 => Some("off".to_owned()),
                2 if width > 2 => Some("2".to_owned()),
                _ => Some("on".to_owned()),
            };
            let threads = kernel.allowed_threads();
            kernel.online.retain(|&cpu| !offline.contains(&cpu) && cpu % width < threads);
            let online = kernel.online.clone();
            let within: Vec<CpuSet> = sets
                .iter()
                .map(|set| {
                    let cpus = set.iter().map(|cpu| cpu % count);
                    cpus.filter(|cpu| online.contains(cpu)).chain([0]).collect()
                })
                .collect();
            // One mask in three names a single CPU, so that it can be lost altogether.
            let single = |set: &CpuSet| cpus(&[set.iter().next_back().unwrap_or(0)]);
            kernel.irqs = (1..).zip([within[0].clone(), single(&within[1])]).collect();
            kernel.tasks = (71..).zip([within[2].clone(), single(&within[3])]).collect();
            // 0 stays in every set that has children, as in no other.
            kernel.cpusets.insert("a".into(), (within[4].union(&within[5]), BTreeSet::from([71])));
            kernel.cpusets.insert("a/b".into(), (single(&within[5]), BTreeSet::from([72])));
            kernel
        },
    )
}

proptest! {
    /// corun dies after any number of writes of the change, its watchdog after any number of writes
    /// of restoring, and then `corun smt restore` finishes.
    #[test]
    fn everything_comes_back_from_wherever_it_is_interrupted(
        kernel in any_kernel(),
        wanted in prop_oneof![Just(SmtState::On), Just(SmtState::Off)],
        died_after in 0_usize..20,
        watchdog_died_after in 0_usize..20,
    ) {
        let mut met = Met::new(kernel.clone());
        let before = snapshot(&mut met);
        met.writes_left = died_after;
        let _ = change(&mut met, wanted, &before);
        met.writes_left = watchdog_died_after;
        let _ = restore(&mut met, &before);
        met.writes_left = usize::MAX;
        prop_assert_eq!(restore(&mut met, &before), []);
        prop_assert_eq!(met.kernel, kernel);
    }

    #[test]
    fn a_change_that_fails_anywhere_can_be_rolled_back(
        kernel in any_kernel(),
        wanted in prop_oneof![Just(SmtState::On), Just(SmtState::Off)],
        fails_at in 0_usize..12,
    ) {
        let mut met = Met::new(kernel.clone());
        let before = snapshot(&mut met);
        met.fails_at = Some(fails_at);
        let changed = change(&mut met, wanted, &before);
        let was_reached = met.written.len() > fails_at;
        prop_assert!(changed.is_err() || !was_reached);
        met.fails_at = None;
        prop_assert_eq!(restore(&mut met, &before), []);
        prop_assert_eq!(met.kernel, kernel);
    }

    #[test]
    fn a_restore_survives_a_write_that_is_refused_once(
        kernel in any_kernel(),
        fails_at in 0_usize..12,
    ) {
        let mut met = Met::new(kernel.clone());
        let before = snapshot(&mut met);
        let wanted = if before.smt == SmtState::On { SmtState::Off } else { SmtState::On };
        if change(&mut met, wanted, &before).is_ok() {
            met.written.clear();
            met.fails_at = Some(fails_at);
            prop_assert_eq!(restore(&mut met, &before), []);
            prop_assert_eq!(met.kernel, kernel);
        }
    }

    #[test]
    fn restoring_what_is_as_it_was_writes_nothing(kernel in any_kernel()) {
        let mut met = Met::new(kernel);
        let before = snapshot(&mut met);
        prop_assert_eq!(restore(&mut met, &before), []);
        prop_assert!(met.written.is_empty());
    }
}
