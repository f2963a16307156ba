//! Comparisons beside other programs: do the intervals hold the truth, and are equal programs rarely called different?
//!
//! `recorded/disturbed.csv` has runs of one program beside a neighbour on its CPU that took nothing, a fifth or a half of it,
//! and beside one on every CPU; `cargo run -p corun-measure --example beside_neighbour record 800` made it on a machine that
//! others used too. Runs are drawn in their order, so that load comes and goes as it did, and dealt to the arms at random, so
//! that the arms are equal but for what is done to one of them here.

use std::collections::BTreeMap;

use corun_measure::analysis::{Analysis, AnalysisRequest, Workers, analyse};
use corun_record::{Answer, Arm, Evidence, Metric, Mode, Placement, Sample, Undisturbed};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Replications of each experiment.
const REPLICATIONS: u64 = 2000;
/// Blocks of an experiment.
const BLOCKS: u32 = 16;
/// Runs of a block: two arms and their twins.
const ARMS: usize = 4;

/// Recorded runs of each neighbour, in their order.
fn recorded() -> BTreeMap<&'static str, Vec<Sample>> {
    let mut runs: BTreeMap<&str, Vec<Sample>> = BTreeMap::new();
    for line in include_str!("recorded/disturbed.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |index: usize| fields[index].parse::<f64>().ok();
        let makespan_s = number(1).expect("a time");
        let undisturbed = Undisturbed {
            by_elapsed: number(4),
            by_processor: number(5),
            ..Undisturbed::default()
        };
        let evidence = Evidence {
            cpu_wait: number(2),
            cpu_pressure_s: number(3),
            user_s: undisturbed.by_processor.map_or(makespan_s, f64::recip),
            undisturbed,
            ..Evidence::default()
        };
        let sample =
            Sample { makespan_s, throughput: 1.0 / makespan_s, evidence, ..Sample::default() };
        runs.entry(fields[0]).or_default().push(sample);
    }
    runs
}

fn arms() -> Vec<Arm> {
    let arm = |placement| Arm::new(placement, 1, 1, vec![0]);
    let twin =
        |of: &Arm| Arm { id: format!("{}.aa", of.id), twin_of: Some(of.id.clone()), ..of.clone() };
    let (one, other) = (arm(Placement::Spread(None)), arm(Placement::Packed(None)));
    vec![twin(&one), twin(&other), one, other]
}

/// The sample of a program that takes so many times as long.
fn longer(sample: &Sample, times: f64) -> Sample {
    let mut sample = sample.clone();
    let Undisturbed { by_elapsed, by_processor, without_steal } = sample.evidence.undisturbed;
    sample.makespan_s *= times;
    sample.throughput /= times;
    sample.evidence.user_s *= times;
    sample.evidence.cpu_pressure_s = sample.evidence.cpu_pressure_s.map(|it| it * times);
    sample.evidence.undisturbed = Undisturbed {
        by_elapsed: by_elapsed.map(|it| it / times),
        by_processor: by_processor.map(|it| it / times),
        without_steal: without_steal.map(|it| it / times),
    };
    sample
}

/// An experiment in which the second arm takes so many times as long.
fn experiment(runs: &[Sample], times: f64, random: &mut ChaCha8Rng) -> Analysis {
    let arms = arms();
    let needed = BLOCKS as usize * ARMS;
    let first = random.random_range(0..=runs.len() - needed);
    let mut samples = Vec::with_capacity(needed);
    for (block, own) in runs[first..first + needed].chunks(ARMS).enumerate() {
        let mut order: Vec<&Arm> = arms.iter().collect();
        order.shuffle(random);
        for (position, (run, arm)) in own.iter().zip(order).enumerate() {
            let is_second = arm.placement == Placement::Packed(None);
            samples.push(Sample {
                block: block as u32,
                position: position as u32,
                arm: arm.id.clone(),
                ..longer(run, if is_second { times } else { 1.0 })
            });
        }
    }
    samples.sort_by_key(|sample| (sample.block, sample.position));
    let question = AnalysisRequest {
        practical: 0.02,
        level: 0.95,
        seed: 1,
        mode: Mode::Copies,
        workers: Workers::Alike,
        row: None,
    };
    analyse(&arms, &samples, &question, None)
}

/// Shares of experiments: the interval holds the truth; a difference is claimed; the interval excludes that there is none.
fn shares(runs: &[Sample], times: f64, seed: u64) -> [f64; 3] {
    let mut counts = [0_u32; 3];
    for replication in 0..REPLICATIONS {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(replication);
        let analysis = experiment(runs, times, &mut random);
        let seen = analysis.observations.iter().find(|it| it.metric == Metric::CoreEquivalence);
        let seen = seen.expect("the arms are compared").estimate;
        let answer = analysis.verdicts[0].answer;
        let is_claim = matches!(answer, Answer::Helps | Answer::Hurts);
        counts[0] += u32::from(seen.low <= times && times <= seen.high);
        counts[1] += u32::from(is_claim);
        counts[2] += u32::from(seen.low > 1.0 || seen.high < 1.0);
        // What is claimed is in the interval.
        assert!(!is_claim || seen.low > 1.0 || seen.high < 1.0, "{seen:?}");
    }
    counts.map(|count| f64::from(count) / REPLICATIONS as f64)
}

fn seed() -> u64 {
    let seed = match std::env::var("CORUN_TEST_SEED") {
        Ok(given) => given.parse().expect("CORUN_TEST_SEED is a whole number"),
        Err(_) => rand::random(),
    };
    eprintln!("CORUN_TEST_SEED={seed}");
    seed
}

#[test]
fn beside_neighbours_equal_programs_are_equal_and_others_are_not() {
    let seed = seed();
    for (neighbour, runs) in recorded() {
        let [covered, claimed, _] = shares(&runs, 1.0, seed);
        let [covered_5, _, found] = shares(&runs, 1.05, seed);
        let raw: Vec<Sample> = runs
            .iter()
            .map(|run| Sample {
                evidence: Evidence { undisturbed: Undisturbed::default(), ..run.evidence.clone() },
                ..run.clone()
            })
            .collect();
        let [.., found_by_elapsed] = shares(&raw, 1.05, seed);
        eprintln!(
            "{neighbour}: {} runs; equal: covered {:.1} %, claimed {:.1} %; 5 %: covered {:.1} %, found {:.1} %, \
             by elapsed time alone {:.1} %",
            runs.len(),
            covered * 100.0,
            claimed * 100.0,
            covered_5 * 100.0,
            found * 100.0,
            found_by_elapsed * 100.0
        );
        assert!(covered >= 0.93 && covered_5 >= 0.93, "{neighbour}: {covered} {covered_5}");
        assert!(claimed <= 0.05, "{neighbour}: {claimed}");
        assert!(found >= 2.0 * found_by_elapsed, "{neighbour}: {found} {found_by_elapsed}");
    }
}

/// Runs of 5 s of a program on a CPU that a hypervisor takes away for up to so much of the time, in bursts, while another program
/// takes turns with it: of the run and of its waits not the same share. Steal is counted in ticks of 10 ms.
fn stolen_from(most: f64, random: &mut ChaCha8Rng) -> Vec<Sample> {
    let (mut taken, mut ticks) = (0.0, 0.0_f64);
    let run = |_| {
        if random.random_bool(0.3) {
            taken = most * random.random::<f64>();
        }
        let own_s = 5.0 * (0.02 * (random.random::<f64>() - 0.5)).exp();
        let [of_run, of_wait] = [(); 2].map(|()| (taken * random.random_range(0.7..1.3)).min(0.9));
        let run_s = own_s / (1.0 - of_run);
        let waited_s = run_s * 0.2 * random.random::<f64>();
        let makespan_s = run_s + waited_s;
        let before = ticks.floor();
        ticks += 100.0 * (run_s - own_s + waited_s * of_wait);
        let stolen = (ticks.floor() - before) / 100.0 / makespan_s;
        let by_elapsed = 1.0 / run_s;
        let undisturbed = Undisturbed {
            by_elapsed: Some(by_elapsed),
            without_steal: Some(by_elapsed / (1.0 - stolen)),
            by_processor: None,
        };
        let (cpu_wait, stolen) = (Some(waited_s / makespan_s), Some(stolen));
        let evidence =
            Evidence { cpu_wait, stolen, user_s: own_s, undisturbed, ..Evidence::default() };
        Sample { makespan_s, throughput: 1.0 / makespan_s, evidence, ..Sample::default() }
    };
    (0..400).map(run).collect()
}

#[test]
fn what_a_hypervisor_takes_is_no_difference_and_hides_none() {
    let seed = seed();
    for most in [0.0, 0.1, 0.4] {
        let runs = stolen_from(most, &mut ChaCha8Rng::seed_from_u64(seed));
        let [covered, claimed, _] = shares(&runs, 1.0, seed);
        let [covered_5, _, found] = shares(&runs, 1.05, seed);
        let with_steal = runs.iter().map(|run| {
            let mut run = run.clone();
            (run.evidence.stolen, run.evidence.undisturbed.without_steal) = (None, None);
            run
        });
        let [.., found_with_steal] = shares(&with_steal.collect::<Vec<_>>(), 1.05, seed);
        eprintln!(
            "{most}: equal: covered {covered}, claimed {claimed}; 5 %: covered {covered_5}, found {found}, \
             with steal {found_with_steal}"
        );
        assert!(covered >= 0.93 && covered_5 >= 0.93, "{most}: {covered} {covered_5}");
        assert!(claimed <= 0.05, "{most}: {claimed}");
        assert!(most == 0.0 || found > found_with_steal, "{most}: {found} {found_with_steal}");
    }
}

/// A design of two arms whose runs differ by chance alone: placements, waits that are known or not, throughput without them.
#[derive(Debug, Clone)]
struct Design {
    arms: [(Placement, Vec<u32>); 2],
    blocks: u32,
    waited: [Option<f64>; 2],
    has_undisturbed: [[bool; 2]; 2],
    level: f64,
    noise: Vec<f64>,
    ratio: f64,
}

fn designs() -> impl Strategy<Value = Design> {
    let known = || prop_oneof![Just(None), (0.0..0.4).prop_map(Some)];
    (
        prop::sample::select(vec![
            (Placement::Free(None), vec![]),
            (Placement::Full(None), vec![0, 1]),
            (Placement::Stacked, vec![0, 0]),
        ]),
        10_u32..60,
        [known(), known()],
        prop::array::uniform2(prop::array::uniform2(any::<bool>())),
        0.95..0.9985,
        prop::collection::vec(-1.0..1.0, 120),
        0.8..1.25,
    )
        .prop_map(|(other, blocks, waited, has_undisturbed, level, noise, ratio)| {
            let spread = (Placement::Spread(None), vec![0, 2]);
            Design { arms: [spread, other], blocks, waited, has_undisturbed, level, noise, ratio }
        })
}

proptest! {
    /// A claim excludes no effect from its interval, which is as wide as its samples and the known load make it.
    #[test]
    fn intervals_agree_with_their_samples(design in designs()) {
        let arms: Vec<Arm> = design
            .arms
            .iter()
            .map(|(placement, cpus)| Arm::new(*placement, 2, 2, cpus.clone()))
            .collect();
        let mut samples = Vec::new();
        for block in 0..design.blocks {
            for (index, arm) in arms.iter().enumerate() {
                let noise = 0.02 * design.noise[2 * block as usize + index];
                let throughput = if index == 0 { 1.0 } else { design.ratio } * noise.exp();
                let is_pinned = !arm.cpus.is_empty();
                let taken = design.waited[index].unwrap_or(0.0);
                let [by_elapsed, by_processor] = design.has_undisturbed[index]
                    .map(|has| (has && is_pinned).then(|| throughput / (1.0 - taken)));
                let undisturbed =
                    Undisturbed { by_elapsed, by_processor, ..Undisturbed::default() };
                samples.push(Sample {
                    block,
                    position: index as u32,
                    arm: arm.id.clone(),
                    makespan_s: 2.0 / throughput,
                    throughput,
                    evidence: Evidence {
                        cpu_wait: design.waited[index],
                        user_s: 4.0 / throughput,
                        undisturbed,
                        ..Evidence::default()
                    },
                    ..Sample::default()
                });
            }
        }
        let question = AnalysisRequest {
            practical: 0.02,
            level: design.level,
            seed: 1,
            mode: Mode::Copies,
            workers: Workers::Together,
            row: None,
        };
        let analysis = analyse(&arms, &samples, &question, None);
        let is_known = arms.iter().zip(&design.waited);
        let both_known = is_known.clone().all(|(arm, it)| it.is_some() && arm.has_cpus_of_its_own());
        for seen in analysis.observations.iter().filter(|it| it.against.is_some()) {
            let (low, high) = (seen.estimate.low.ln(), seen.estimate.high.ln());
            // 0.02 at most in each of two runs, and chance in few batches; load that is known of both arms may add to it.
            // And a program of which 5 % of the time are not known may have waited for that.
            let of_samples = 0.06 + 6.0 * 3.6 * 0.04 / f64::from(design.blocks).sqrt();
            prop_assert!(both_known || (high - low) / 2.0 <= of_samples, "{seen:?}");
            for verdict in analysis.verdicts.iter().filter(|it| it.metric == seen.metric) {
                let claims = matches!(verdict.answer, Answer::Helps | Answer::Hurts);
                prop_assert!(!claims || low > 0.0 || high < 0.0, "{verdict:?} {seen:?}");
                prop_assert!(!claims || !verdict.sentence.contains("too uncertain"), "{verdict:?}");
            }
        }
    }
}
