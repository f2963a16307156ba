//! Conclusions on machines of every kind, quiet and disturbed.

use std::time::Duration;

use proptest::prelude::*;

use super::machine::{machine, two_by_two};
use super::{Disturbance, PATIENT, Simulated, SimulatedLocation};
use crate::Machine;
use crate::probe::Relation::{self, Farther, SharesACore, SharesAnL3};
use crate::probe::{Probe, Sharing, Sureness, describe, probe_on};

/// A location under the first L3 cache.
fn location(core: u32, thread: u32) -> SimulatedLocation {
    SimulatedLocation { l3: 0, core, thread }
}

fn siblings_as_sysfs_says() -> Vec<SimulatedLocation> {
    vec![location(0, 0), location(0, 1), location(1, 0), location(1, 1)]
}

fn siblings_across() -> Vec<SimulatedLocation> {
    vec![location(0, 0), location(1, 0), location(0, 1), location(1, 1)]
}

fn turns_across() -> Vec<SimulatedLocation> {
    vec![location(0, 0), location(1, 0), location(0, 0), location(1, 0)]
}

fn probed(
    machine: &Machine,
    locations: Vec<SimulatedLocation>,
    disturbance: Disturbance,
    seed: u64,
) -> Probe {
    let mut target = Simulated::new(locations, disturbance, seed);
    probe_on(&mut target, machine, seed, Duration::ZERO, &mut { PATIENT }).expect("a probe")
}

fn conclusions(probe: &Probe) -> Vec<Relation> {
    probe.pairs.iter().map(|pair| pair.conclusion).collect()
}

#[test]
fn true_siblings_are_confirmed() {
    let probe = probed(&two_by_two(), siblings_as_sysfs_says(), Disturbance::None, 1);
    let l3 = SharesAnL3;
    assert_eq!(conclusions(&probe), [SharesACore, l3, l3, l3, l3, SharesACore]);
    assert_eq!(probe.pairs[0].sharing, Some(Sharing::Smt));
    assert_eq!(probe.pairs[0].sureness, Sureness::Sure);
    assert_eq!(probe.contradictions, []);
}

#[test]
fn four_siblings_all_share() {
    let machine = machine(&[&[0, 1, 2, 3]], &[&[0, 1, 2, 3]]);
    let locations = (0..4).map(|thread| location(0, thread)).collect();
    assert_eq!(conclusions(&probed(&machine, locations, Disturbance::None, 1)), [SharesACore; 6]);
}

#[test]
fn siblings_that_are_elsewhere_are_found() {
    let probe = probed(&two_by_two(), siblings_across(), Disturbance::None, 1);
    let pairs: Vec<_> = probe.contradictions.iter().map(|one| one.cpus).collect();
    assert_eq!(pairs, [[0, 1], [0, 2], [1, 3], [2, 3]]);
}

#[test]
fn virtual_cpus_that_take_turns_are_found() {
    let probe = probed(&two_by_two(), turns_across(), Disturbance::None, 1);
    assert_eq!(probe.pair(2, 0).and_then(|pair| pair.sharing), Some(Sharing::TimeSlicing));
    insta::assert_snapshot!(describe(&Probe { seconds: 1.25, ..probe }, 100));
}

#[test]
fn without_siblings_in_sysfs_sharing_is_found_too() {
    let machine = machine(&[&[0], &[1]], &[&[0, 1]]);
    for locations in [[location(0, 0), location(0, 1)], [location(0, 0), location(0, 0)]] {
        let probe = probed(&machine, locations.to_vec(), Disturbance::None, 1);
        assert_eq!((probe.pairs[0].conclusion, probe.contradictions.len()), (SharesACore, 1));
    }
}

#[test]
fn neither_turbo_nor_throttling_matters() {
    for disturbance in [Disturbance::Turbo(0.8), Disturbance::Throttling(0.01)] {
        let probe = probed(&two_by_two(), siblings_as_sysfs_says(), disturbance, 1);
        let shared = conclusions(&probe).iter().filter(|one| **one == SharesACore).count();
        assert_eq!((shared, probe.contradictions.len()), (2, 0), "{disturbance:?}: {probe:#?}");
    }
}

#[test]
fn a_hog_that_looks_for_room_is_not_taken_for_turns() {
    let machine = machine(&[&[0], &[1]], &[&[0, 1]]);
    let probe = probed(&machine, vec![location(0, 0), location(1, 0)], Disturbance::Hog, 1);
    assert_eq!(conclusions(&probe), [SharesAnL3]);
}

#[test]
fn a_quota_is_not_taken_for_sharing() {
    let machine = machine(&[&[0], &[1]], &[&[0, 1]]);
    let probe = probed(&machine, vec![location(0, 0), location(1, 0)], Disturbance::Quota, 1);
    assert_eq!(conclusions(&probe), [SharesAnL3]);
}

#[test]
fn sharing_for_a_moment_is_no_sharing() {
    // Long enough for the rounds that would have proved it.
    let moved = Disturbance::MovedAfter(33);
    let apart = vec![location(0, 0), location(1, 0)];
    let honest = machine(&[&[0], &[1]], &[&[0, 1]]);
    let probe = probed(&honest, apart.clone(), moved, 1);
    assert_eq!((conclusions(&probe), probe.contradictions.len()), (vec![SharesAnL3], 0));

    let hypervisor = Some("some".to_owned());
    let lying = Machine { hypervisor, ..machine(&[&[0, 1]], &[&[0, 1]]) };
    let probe = probed(&lying, apart, moved, 1);
    assert_eq!(conclusions(&probe), [Relation::Undecided]);
    assert!(probe.pairs[0].because.contains("at times"), "{}", probe.pairs[0].because);
}

#[test]
fn caches_are_reported_apart_by_contrast_alone() {
    let cores: &[&[u32]] = &[&[0], &[1], &[2], &[3]];
    let locations: Vec<SimulatedLocation> =
        (0..4).map(|core| SimulatedLocation { l3: core / 2, core, thread: 0 }).collect();
    let truth = [SharesAnL3, Farther, Farther, Farther, Farther, SharesAnL3];

    let honest =
        probed(&machine(cores, &[&[0, 1], &[2, 3]]), locations.clone(), Disturbance::None, 1);
    assert_eq!(conclusions(&honest), truth);
    assert!(honest.pairs.iter().all(|pair| pair.sureness == Sureness::Sure));
    assert_eq!(honest.contradictions, []);

    let hidden = probed(&machine(cores, &[&[0, 1, 2, 3]]), locations.clone(), Disturbance::None, 1);
    assert_eq!(conclusions(&hidden), truth);
    assert_eq!(hidden.contradictions.len(), 4);

    let crossed =
        probed(&machine(cores, &[&[0, 2], &[1, 3]]), locations.clone(), Disturbance::None, 1);
    assert_eq!(conclusions(&crossed), truth);
    let wrong: Vec<_> = crossed.contradictions.iter().map(|one| one.cpus).collect();
    assert_eq!(wrong, [[0, 1], [0, 2], [1, 3], [2, 3]]);

    let unknown = probed(&machine(cores, &[]), locations, Disturbance::None, 1);
    assert_eq!(conclusions(&unknown), truth);
    assert!(unknown.pairs.iter().all(|pair| pair.sureness == Sureness::Likely));
    assert_eq!(unknown.contradictions, []);
}

fn any_trouble() -> impl Strategy<Value = Disturbance> {
    prop_oneof![
        Just(Disturbance::None),
        (0.0..0.9).prop_map(Disturbance::Load),
        Just(Disturbance::Hog),
        Just(Disturbance::Quota),
        (0.45..1.0).prop_map(Disturbance::Turbo),
        (0.0..0.05).prop_map(Disturbance::Throttling),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_said_is_true_whatever_disturbs(
        locations in prop::collection::vec((0_u32..3, 0_u32..2), 4),
        disturbance in any_trouble(),
        seed in any::<u64>(),
    ) {
        let locations: Vec<SimulatedLocation> = locations.iter().map(|&(core, thread)| location(core, thread)).collect();
        let probe = probed(&two_by_two(), locations.clone(), disturbance, seed);
        for pair in &probe.pairs {
            let [one, other] = pair.cpus.map(|cpu| locations[cpu as usize]);
            let is_true = match pair.conclusion {
                Relation::Undecided => true,
                relation => (relation == SharesACore) == (one.core == other.core),
            };
            prop_assert!(is_true, "{disturbance:?} {pair:#?}");
            if let Some(sharing) = pair.sharing {
                prop_assert_eq!(sharing == Sharing::TimeSlicing, one == other);
            }
            let lies = (pair.sysfs == Some(SharesACore)) != (one.core == other.core);
            prop_assert!(lies || !probe.is_contradicted(pair.cpus[0], pair.cpus[1]));
        }
    }

    #[test]
    fn a_quiet_machine_leaves_nothing_undecided(
        locations in prop::collection::vec((0_u32..3, 0_u32..2), 4),
        seed in any::<u64>(),
    ) {
        let locations: Vec<SimulatedLocation> = locations.iter().map(|&(core, thread)| location(core, thread)).collect();
        let probe = probed(&two_by_two(), locations, Disturbance::None, seed);
        prop_assert!(!conclusions(&probe).contains(&Relation::Undecided), "{probe:#?}");
    }
}
