//! Which pairs are measured, in which order, and for how long.

use std::collections::BTreeSet;
use std::time::Duration;

use super::machine::{machine, two_by_two};
use super::{Call, Disturbance, Ending, PATIENT, Simulated, SimulatedLocation};
use crate::Machine;
use crate::probe::loops::Loop::{Chain, Ports};
use crate::probe::plan::ProbePlan;
use crate::probe::{Probe, Relation, describe, probe_on};

/// 64 cores of two siblings, n and n + 64, under four L3 caches.
fn large() -> Machine {
    let cores: Vec<[u32; 2]> = (0..64).map(|core| [core, core + 64]).collect();
    let cores: Vec<&[u32]> = cores.iter().map(|core| &core[..]).collect();
    let cache = |cache: u32| (0..128).filter(move |cpu| cpu % 64 / 16 == cache);
    let caches: Vec<Vec<u32>> = (0..4).map(|one| cache(one).collect()).collect();
    machine(&cores, &caches.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn large_locations() -> Vec<SimulatedLocation> {
    (0..128)
        .map(|cpu| SimulatedLocation { l3: cpu % 64 / 16, core: cpu % 64, thread: cpu / 64 })
        .collect()
}

#[test]
fn few_pairs_are_all_probed() {
    let plan = ProbePlan::of(&two_by_two(), 0);
    assert_eq!(plan.required, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
    assert_eq!((plan.random.len(), plan.possible), (0, 6));
}

#[test]
fn of_many_pairs_siblings_and_each_distance_come_first() {
    let plan = ProbePlan::of(&large(), 7);
    let siblings: Vec<[u32; 2]> = (0..64).map(|core| [core, core + 64]).collect();
    assert_eq!(plan.required[..64], siblings);
    // One pair within an L3 cache, one across.
    let mut within: Vec<bool> =
        plan.required[64..].iter().map(|pair| pair[0] % 64 / 16 == pair[1] % 64 / 16).collect();
    within.sort_unstable();
    assert_eq!(within, [false, true]);
    let all: Vec<_> = plan.required.iter().chain(&plan.random).collect();
    assert_eq!(all.len(), all.iter().collect::<BTreeSet<_>>().len());
    assert!(all.iter().all(|pair| pair[0] < pair[1]));
    assert_eq!(plan.possible, 128 * 127 / 2);
}

#[test]
fn the_seed_settles_the_random_pairs() {
    assert_eq!(ProbePlan::of(&large(), 7), ProbePlan::of(&large(), 7));
    assert_ne!(ProbePlan::of(&large(), 7).random, ProbePlan::of(&large(), 8).random);
}

#[test]
fn random_pairs_end_with_the_time() {
    let probe = |time| {
        let mut target = Simulated::new(large_locations(), Disturbance::None, 3);
        probe_on(&mut target, &large(), 7, time, &mut { PATIENT }).expect("a probe")
    };
    assert_eq!(probe(Duration::ZERO).pairs.len(), 66);
    let longer = probe(Duration::from_secs(10));
    assert!(longer.pairs.len() > 66, "{}", longer.pairs.len());
    assert!(longer.pairs.is_sorted_by_key(|pair| pair.cpus));
    assert_eq!(longer.contradictions, []);
    let text = describe(&Probe { seconds: 10.0, ..longer }, 80);
    insta::assert_snapshot!(text);
}

#[test]
fn a_round_takes_each_loop_alone_together_alone_and_turns_the_order_about() {
    let machine = machine(&[&[0], &[1]], &[&[0, 1]]);
    let locations = [0, 1].map(|core| SimulatedLocation { l3: 0, core, thread: 0 }).to_vec();
    let mut target = Simulated::new(locations, Disturbance::None, 3);
    probe_on(&mut target, &machine, 0, Duration::ZERO, &mut { PATIENT }).expect("a probe");
    let window = |which, cpus: &[u32]| Call::Window(which, cpus.to_owned());
    let round = |first, last| {
        let loops = [Ports, Chain].into_iter().flat_map(move |which| {
            [window(which, &[first]), window(which, &[0, 1]), window(which, &[last])]
        });
        [Call::Rally([0, 1])].into_iter().chain(loops).chain([Call::Rally([0, 1])])
    };
    let last = [Call::Rally([0, 1])];
    assert_eq!(target.calls, round(0, 1).chain(round(1, 0)).chain(last).collect::<Vec<_>>());
}

#[test]
fn what_contradicts_sysfs_is_measured_longer() {
    let rounds = |cores: &[&[u32]]| {
        let machine = machine(cores, &[&[0, 1]]);
        let locations = [0, 1].map(|core| SimulatedLocation { l3: 0, core, thread: 0 }).to_vec();
        let mut target = Simulated::new(locations, Disturbance::None, 3);
        let probe = probe_on(&mut target, &machine, 0, Duration::ZERO, &mut { PATIENT });
        probe.expect("a probe").pairs[0].rounds
    };
    assert_eq!((rounds(&[&[0], &[1]]), rounds(&[&[0, 1]])), (2, 7));
}

#[test]
fn a_pair_that_decides_nothing_does_not_take_forever() {
    let machine = machine(&[&[0], &[1]], &[&[0, 1]]);
    let rounds = |lag| {
        let locations = [0, 1].map(|core| SimulatedLocation { l3: 0, core, thread: 0 }).to_vec();
        let mut target = Simulated { lag, ..Simulated::new(locations, Disturbance::Load(0.95), 3) };
        let probe = probe_on(&mut target, &machine, 0, Duration::ZERO, &mut { PATIENT });
        let pair = probe.expect("a probe").pairs.remove(0);
        assert_eq!(pair.conclusion, Relation::Undecided);
        pair.rounds
    };
    assert_eq!(rounds(1), 12);
    assert!((2..12).contains(&rounds(10)), "{}", rounds(10));
}

#[test]
fn an_interrupted_probe_keeps_its_finished_pairs() {
    let locations =
        (0..4).map(|cpu| SimulatedLocation { l3: 0, core: cpu / 2, thread: cpu % 2 }).collect();
    let mut target = Simulated::new(locations, Disturbance::None, 3);
    let probe = probe_on(&mut target, &two_by_two(), 0, Duration::ZERO, &mut Ending(6));
    let probe = probe.expect("a probe");
    assert!(probe.interrupted);
    // Three rounds for siblings, two for the pair after them.
    assert_eq!(probe.pairs.iter().map(|pair| pair.cpus).collect::<Vec<_>>(), [[0, 1], [0, 2]]);
    assert!(describe(&probe, 80).contains("interrupted after 2 of 6 pairs"));
}

#[test]
fn one_cpu_has_no_pair() {
    let mut target = Simulated::new(Vec::new(), Disturbance::None, 3);
    let alone = machine(&[&[0]], &[&[0]]);
    let error = probe_on(&mut target, &alone, 0, Duration::ZERO, &mut { PATIENT }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected two logical CPUs or more that this process may use, found 1"
    );
}
