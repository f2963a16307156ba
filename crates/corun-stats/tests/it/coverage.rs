//! Do the intervals hold the truth as often as they say?
//!
//! Simulated machines with known ratios answer, for any seed: `CORUN_TEST_SEED` repeats a run, and
//! without it every run has fresh randomness. The numbers of replications are such that a correct
//! corun fails by bad luck less than once in a million runs of this file.

use corun_stats::{
    AnalysisPlan, Bounds, Estimate, ForeignLoad, InterimAnalysis, Verdict, bootstrap_t, judge,
    noise_floor, paired, steady,
};

use crate::simulation::planned::Variances;
use crate::simulation::tally::{check, seed, share};
use crate::simulation::{Drift, Experiment, Foreign, Machine, Noise, RUN_NOISE};

/// Replications where the true share is far from the limits.
const FEW_REPLICATIONS: u64 = 20_000;
const REPLICATIONS: u64 = 40_000;
/// Replications where the true share comes close to a limit.
const MANY_REPLICATIONS: u64 = 200_000;

/// A true ratio of about 1.25.
const EFFECT: f64 = 0.223;
const BLOCKS: [u32; 6] = [5, 6, 8, 10, 20, 50];
/// In deviations of one block's log ratio: from "ends at the last analysis" to "at the first".
const TARGETS: [f64; 5] = [0.2, 0.35, 0.48, 0.7, 3.0];
const DRIFTS: [Drift; 3] = [Drift::Still, Drift::Linear, Drift::RandomWalk];
const ODD_NOISES: [Noise; 4] =
    [Noise::HeavyTails, Noise::Outliers, Noise::ClockPerBlock, Noise::ClockPerRun];

#[test]
fn normal_and_drifting_data_are_covered() {
    assert_all(pairs(&DRIFTS, &BLOCKS).map(|(drift, blocks)| {
        let covered = coverage(REPLICATIONS, Noise::Normal, drift, &fixed(blocks));
        check(&format!("{drift:?}, {blocks} blocks"), covered, 0.94..=0.96)
    }));
}

#[test]
fn heavy_tails_and_two_clocks_are_covered() {
    assert_all(pairs(&ODD_NOISES, &BLOCKS).map(|(noise, blocks)| {
        let covered = coverage(REPLICATIONS, noise, Drift::Still, &fixed(blocks));
        check(&format!("{noise:?}, {blocks} blocks"), covered, 0.93..=0.99)
    }));
}

#[test]
fn planned_looks_cover_normal_and_drifting_data() {
    let plan = AnalysisPlan::planned(10, 50);
    assert_all(pairs(&DRIFTS, &TARGETS).map(|(drift, target)| {
        let rule = planned(&plan, target * RUN_NOISE);
        let covered = coverage(MANY_REPLICATIONS, Noise::Normal, drift, &rule);
        check(&format!("{drift:?}, analyses, target {target}"), covered, 0.94..=0.96)
    }));
}

#[test]
fn planned_looks_cover_heavy_tails_and_two_clocks() {
    let plan = AnalysisPlan::planned(10, 50);
    let targets = [0.35, 0.7, 1.5, 3.0, 10.0];
    assert_all(pairs(&ODD_NOISES, &targets).map(|(noise, target)| {
        let rule = planned(&plan, target * RUN_NOISE);
        let covered = coverage(REPLICATIONS, noise, Drift::Still, &rule);
        check(&format!("{noise:?}, analyses, target {target}"), covered, 0.93..=0.99)
    }));
}

/// Also what bounds false claims about identical arms where no noise floor is known: 5.5 %.
#[test]
fn planned_looks_cover_for_every_target() {
    let covers = |what: String, analyses: &[InterimAnalysis]| {
        let variances = Variances::draw(analyses, MANY_REPLICATIONS, seed());
        variances.extremes().map(|(target, covered)| {
            check(&format!("{what}, target {target:.3}"), covered, 0.945..=0.96)
        })
    };
    let finished = [14, 20, 25, 36, 50, 100, 320].into_iter().flat_map(|maximum| {
        covers(format!("10 to {maximum} blocks"), AnalysisPlan::planned(10, maximum).analyses())
    });
    let longest = AnalysisPlan::planned(10, 320);
    let interrupted = [11, 19, 30, 39, 60, 100, 200].into_iter().flat_map(|blocks| {
        let mut analyses = longest.analyses().to_vec();
        analyses.retain(|analysis| analysis.blocks < blocks);
        analyses.push(InterimAnalysis { blocks, level: longest.level_after(blocks) });
        covers(format!("interrupted after {blocks} blocks"), &analyses)
    });
    assert_all(finished.chain(interrupted));
}

#[test]
fn identical_arms_rarely_differ() {
    let plan = AnalysisPlan::planned(10, 50);
    let noises = [&[Noise::Normal], &ODD_NOISES[..]].concat();
    let after_blocks = pairs(&noises, &BLOCKS).map(|(noise, blocks)| {
        let claims = verdicts(FEW_REPLICATIONS, noise, 0.0, 0.0, &fixed(blocks), is_claim);
        check(&format!("claims, {noise:?}, {blocks} blocks"), claims, 0.0..=0.055)
    });
    let after_analyses = pairs(&noises, &[0.35, 0.48, 3.0]).map(|(noise, target)| {
        let rule = planned(&plan, target * RUN_NOISE);
        let claims = verdicts(FEW_REPLICATIONS, noise, 0.0, 0.0, &rule, is_claim);
        check(&format!("claims, {noise:?}, analyses, target {target}"), claims, 0.0..=0.055)
    });
    assert_all(after_blocks.chain(after_analyses));
}

#[test]
fn an_effect_at_the_practical_bound_is_rarely_called_none() {
    let plan = AnalysisPlan::planned(10, 50);
    let bound = RUN_NOISE;
    assert_all([0.3, 0.5, 0.7].map(|target| {
        let rule = planned(&plan, target * RUN_NOISE);
        let is_none = |verdict| verdict == Verdict::NoPracticalEffect;
        let wrong = verdicts(MANY_REPLICATIONS, Noise::Normal, bound, bound, &rule, is_none);
        check(&format!("called no effect, target {target}"), wrong, 0.0..=0.055)
    }));
}

#[test]
fn real_effects_are_found() {
    let cases =
        [(0.05, Verdict::Helps), (-0.05, Verdict::Hurts), (0.004, Verdict::NoPracticalEffect)];
    assert_all(cases.map(|(effect, expected)| {
        let is_expected = |verdict| verdict == expected;
        let found =
            verdicts(FEW_REPLICATIONS, Noise::Normal, effect, 0.02, &fixed(20), is_expected);
        check(&format!("{expected:?} at {effect}"), found, 0.99..=1.0)
    }));
}

/// With rare outliers it covers too little to decide anything.
#[test]
fn the_bootstrap_is_a_diagnostic() {
    let covered = |noise| {
        share(FEW_REPLICATIONS, |replication| {
            let mut experiment = experiment(noise, Drift::Still, EFFECT, replication);
            experiment.run_to(20);
            let interval = bootstrap_t(&experiment.ratios, 0.95, 199, replication);
            interval.is_some_and(|interval| interval.holds(EFFECT))
        })
    };
    check("bootstrap, normal", covered(Noise::Normal), 0.935..=0.96).unwrap();
    check("bootstrap, outliers", covered(Noise::Outliers), 0.93..=0.99).unwrap_err();
}

/// Blocks for which load stays, from "shorter than a block" to "longer than most experiments".
const STAYS: [f64; 5] = [0.25, 1.0, 3.0, 10.0, 100.0];
const LOADED_BLOCKS: [u32; 2] = [10, 50];

/// Coverage of what the next run measures, as long as load changes often enough within a run.
#[test]
fn load_that_comes_and_goes_is_covered() {
    let cases = [(0.25, 10), (0.25, 50), (1.0, 20), (1.0, 50), (3.0, 50), (3.0, 80)];
    let cover = |stays: f64, blocks, batches: bool| {
        let foreign = loaded(stays);
        let truth = EFFECT + foreign.long_run();
        share(FEW_REPLICATIONS, |replication| {
            let experiment = loaded_experiment(foreign, EFFECT, blocks, replication);
            let ratios = &experiment.ratios;
            let estimate = if batches { steady(ratios, 0.95, true) } else { paired(ratios, 0.95) };
            estimate.expect("enough finite values").interval().holds(truth)
        })
    };
    assert_all(cases.map(|(stays, blocks)| {
        let what = format!("load that stays {stays} blocks, {blocks} blocks");
        check(&what, cover(stays, blocks, true), 0.93..=0.995)
    }));
    check("the plain interval", cover(3.0, 50, false), 0.93..=0.995).unwrap_err();
}

/// Whatever load does, it is not taken for an effect of the placement.
#[test]
fn load_is_not_taken_for_an_effect() {
    assert_all(pairs(&STAYS, &LOADED_BLOCKS).map(|(stays, blocks)| {
        let claims = share(FEW_REPLICATIONS, |replication| {
            let experiment = loaded_experiment(loaded(stays), 0.0, blocks, replication);
            judged(&experiment).is_some_and(is_claim)
        });
        check(&format!("claims, load stays {stays} blocks, {blocks}"), claims, 0.0..=0.055)
    }));
    let plain = share(FEW_REPLICATIONS, |replication| {
        let experiment = loaded_experiment(loaded(3.0), 0.0, 20, replication);
        is_claim(judge(&estimate(&experiment, 0.95), bounds(&experiment)))
    });
    check("claims of the plain interval", plain, 0.0..=0.055).unwrap_err();
}

/// Drift that shows in nothing but the values themselves: as far as they can show it.
#[test]
fn drift_that_is_not_seen_otherwise_is_covered_better() {
    let cover = |batches: bool| {
        let foreign = loaded(1.5);
        share(FEW_REPLICATIONS, |replication| {
            let experiment = loaded_experiment(foreign, EFFECT, 120, replication);
            let ratios = &experiment.ratios;
            let estimate = if batches { steady(ratios, 0.95, false) } else { paired(ratios, 0.95) };
            estimate.expect("values").interval().holds(EFFECT + foreign.long_run())
        })
    };
    check("unseen drift, batches", cover(true), 0.93..=0.99).unwrap();
    check("unseen drift, plain", cover(false), 0.93..=0.99).unwrap_err();
}

/// The rules for load change nothing where there is none: intervals, and so power, stay.
#[test]
fn a_quiet_machine_keeps_its_intervals() {
    assert_all(pairs(&DRIFTS, &BLOCKS).map(|(drift, blocks)| {
        let wider = share(FEW_REPLICATIONS, |replication| {
            let mut experiment = experiment(Noise::Normal, drift, EFFECT, replication);
            experiment.run_to(blocks);
            let seen = ForeignLoad::new(experiment.waits.clone()).is_seen();
            steady(&experiment.ratios, 0.95, seen) != paired(&experiment.ratios, 0.95)
        });
        check(&format!("wider, {drift:?}, {blocks} blocks"), wider, 0.0..=0.02)
    }));
}

fn loaded(stays: f64) -> Foreign {
    Foreign { blocks: stays, takes: [0.5, 0.2] }
}

fn loaded_experiment(foreign: Foreign, effect: f64, blocks: u32, replication: u64) -> Experiment {
    let machine = Machine::new(Noise::Normal, Drift::Still, seed(), replication).with(foreign);
    let mut experiment = Experiment::new(machine, effect);
    experiment.run_to(blocks);
    experiment
}

/// The verdict as the product gives it; `None` where load decides.
fn judged(experiment: &Experiment) -> Option<Verdict> {
    let load = ForeignLoad::new(experiment.waits.clone());
    let estimate = steady(&experiment.ratios, 0.95, load.is_seen()).expect("enough finite values");
    let estimate = estimate.allowing(load.allowance());
    (!load.decides()).then(|| judge(&estimate, bounds(experiment)))
}

fn bounds(experiment: &Experiment) -> Bounds {
    let noise_floor = noise_floor(&experiment.twins).expect("enough finite values");
    Bounds { practical: 0.02, noise_floor }
}

/// The same checks fail for the rules that corun does not use, so they can fail.
#[test]
fn impatient_rules_fail_the_checks() {
    let until_narrow = impatient(|estimate| estimate.half_width() <= 0.6 * RUN_NOISE);
    let covered = coverage(FEW_REPLICATIONS, Noise::Normal, Drift::Still, &until_narrow);
    check("until narrow, a analysis a block", covered, 0.94..=0.96).unwrap_err();

    let until_significant = impatient(|estimate| !estimate.interval().holds(0.0));
    let claims = share(FEW_REPLICATIONS, |replication| {
        let mut experiment = experiment(Noise::Normal, Drift::Still, 0.0, replication);
        !until_significant(&mut experiment).interval().holds(0.0)
    });
    check("until significant, a analysis a block", claims, 0.0..=0.055).unwrap_err();
}

fn experiment(noise: Noise, drift: Drift, effect: f64, replication: u64) -> Experiment {
    Experiment::new(Machine::new(noise, drift, seed(), replication), effect)
}

/// Rule by which an experiment ends; all of them go through the functions that the product uses.
type Rule<'a> = &'a dyn Fn(&mut Experiment) -> Estimate;

fn estimate(experiment: &Experiment, level: f64) -> Estimate {
    paired(&experiment.ratios, level).expect("enough finite values")
}

/// Estimate of the product on a machine on which no load of others is seen.
fn product_estimate(experiment: &Experiment, level: f64) -> Estimate {
    steady(&experiment.ratios, level, false).expect("enough finite values")
}

/// After a fixed number of blocks.
fn fixed(blocks: u32) -> impl Fn(&mut Experiment) -> Estimate {
    move |experiment| {
        experiment.run_to(blocks);
        product_estimate(experiment, 0.95)
    }
}

/// At the first planned analysis with a narrow interval.
fn planned(plan: &AnalysisPlan, target: f64) -> impl Fn(&mut Experiment) -> Estimate {
    move |experiment| {
        let mut seen = None;
        for analysis in plan.analyses() {
            experiment.run_to(analysis.blocks);
            let estimate = product_estimate(experiment, analysis.level);
            seen = Some(estimate);
            if estimate.half_width() <= target {
                break;
            }
        }
        seen.expect("a plan has analyses")
    }
}

/// The rule that corun must not use: analysis after every block, at 95 %, until it `pleases`.
fn impatient(pleases: impl Fn(&Estimate) -> bool) -> impl Fn(&mut Experiment) -> Estimate {
    move |experiment| {
        for blocks in 3.. {
            experiment.run_to(blocks);
            let estimate = estimate(experiment, 0.95);
            if blocks == 50 || pleases(&estimate) {
                return estimate;
            }
        }
        unreachable!("ends at 50 blocks")
    }
}

/// Share of reported intervals that hold the truth.
fn coverage(replications: u64, noise: Noise, drift: Drift, rule: Rule) -> f64 {
    share(replications, |replication| {
        let mut experiment = experiment(noise, drift, EFFECT, replication);
        rule(&mut experiment).interval().holds(EFFECT)
    })
}

/// Share of verdicts that are `wanted` where the truth is `effect`.
fn verdicts(
    replications: u64,
    noise: Noise,
    effect: f64,
    practical: f64,
    rule: Rule,
    wanted: impl Fn(Verdict) -> bool,
) -> f64 {
    share(replications, |replication| {
        let mut experiment = experiment(noise, Drift::RandomWalk, effect, replication);
        let estimate = rule(&mut experiment);
        let noise_floor = noise_floor(&experiment.twins).expect("enough finite values");
        wanted(judge(&estimate, Bounds { practical, noise_floor }))
    })
}

fn is_claim(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Helps | Verdict::Hurts)
}

fn assert_all(checks: impl IntoIterator<Item = Result<(), String>>) {
    let failed: Vec<String> = checks.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn pairs<One: Copy, Other: Copy>(
    ones: &[One],
    others: &[Other],
) -> impl Iterator<Item = (One, Other)> {
    ones.iter().flat_map(|&one| others.iter().map(move |&other| (one, other)))
}
