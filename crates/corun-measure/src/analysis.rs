//! From samples to observations, verdicts and caveats; repeatable from a stored run.

mod details;
pub(crate) mod service;

use std::collections::BTreeSet;

use corun_record::{
    Answer, Arm, Caveat, Displaced, Estimate, Metric, Mode, Observation, Sample, Source, Verdict,
};

use corun_workload::Row;

use crate::attainable::most_work;
use crate::caveats;
pub use crate::comparison::Workers;
use crate::comparison::{Comparison, comparisons, headline};
use crate::cpu_use;
pub use crate::foreign_load::estimate;
use crate::quantities::{Quantities, Quantity};
use crate::sentences::Finding;
use crate::series::Series;
use corun_stats::{BOOTSTRAP_FROM_BLOCKS, Bounds, Circumstances, ForeignLoad, decide};

/// Resamples of the bootstrap diagnostic.
const RESAMPLES: usize = 2000;

/// Request of an analysis of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnalysisRequest {
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// The level of intervals, adjusted for planned interim analyses.
    pub level: f64,
    /// The seed of the bootstrap.
    pub seed: u64,
    /// Kind of the workers.
    pub mode: Mode,
    /// Relation of the workers of one arm to each other.
    pub workers: Workers,
    /// The row of a published suite that is measured.
    pub row: Option<Row>,
}

/// Analysis of samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis {
    /// Arms first, then comparisons, then noise floors.
    pub observations: Vec<Observation>,
    /// The headline first.
    pub verdicts: Vec<Verdict>,
    /// Limits of trust.
    pub caveats: Vec<Caveat>,
}

/// Analyses the samples of these arms.
pub fn analyse(
    arms: &[Arm],
    samples: &[Sample],
    question: &AnalysisRequest,
    hypervisor: Option<&str>,
) -> Analysis {
    let quantities = Quantities::of(arms, samples);
    let cpu_share = cpu_use::share(arms, samples, question.mode);
    let load_seen = quantities.load.is_seen();
    let analyst = Analyst { quantities, load_seen, arms, question, cpu_share };
    let makespan = Series::of_makespan(arms, samples);
    let energy = Series::of_energy_per_operation(arms, samples);
    let least_share = Series::of_least_share(arms, samples);
    let mut analysis = Analysis::default();
    for arm in arms.iter().filter(|arm| arm.twin_of.is_none()) {
        let of_arm = [
            (Metric::Makespan, "s", makespan.arm(&arm.id)),
            (Metric::Throughput, "operations/s", analyst.elapsed().arm(&arm.id)),
            (Metric::EnergyPerOperation, "J/operation", energy.arm(&arm.id)),
        ];
        for (metric, unit, logs) in of_arm {
            analysis.observations.extend(analyst.observation(metric, &arm.id, None, unit, &logs));
        }
        if question.workers == Workers::Counted {
            let shares = least_share.arm(&arm.id);
            let seen = analyst.observation(Metric::LeastShare, &arm.id, None, "1", &shares);
            analysis.observations.extend(seen);
        }
        analysis.observations.extend(details::of(&analyst, arm, samples));
        analysis.observations.extend(noise_floor(analyst.elapsed(), &arm.id));
    }
    let mut comparisons = comparisons(arms);
    // What ran elsewhere is no evidence for the arm that it was to be.
    let left = arms_left(arms, samples);
    comparisons
        .retain(|it| [&it.arm, &it.against].into_iter().all(|arm| !left.contains(arm.as_str())));
    if question.workers == Workers::Together {
        // A worker that waits is not slowed down, and more of them do no more work.
        comparisons.retain(|it| !matches!(it.metric, Metric::SiblingSlowdown | Metric::Scaling));
    }
    if question.workers == Workers::Service {
        comparisons.retain(|it| it.metric != Metric::SiblingSlowdown);
    }
    let beyond: Vec<[&str; 2]> = comparisons
        .iter()
        .filter(|it| analyst.is_beyond_reach(it))
        .map(|it| [it.arm.as_str(), it.against.as_str()])
        .collect();
    for comparison in &comparisons {
        let [arm, against] = [comparison.arm.as_str(), comparison.against.as_str()];
        // Other metrics of the two arms restate the same ratio.
        if beyond.contains(&[arm, against]) || beyond.contains(&[against, arm]) {
            continue;
        }
        let quantity = analyst.quantity(comparison);
        let logs = analyst.quantities.series(quantity).comparison(comparison);
        let level = question.level;
        let estimate = analyst.quantities.estimate(quantity, comparison, &logs, level);
        let what = (comparison.metric, arm, Some(against), "1");
        analysis
            .observations
            .extend(estimate.and_then(|estimate| analyst.observation_of(what, &logs, &estimate)));
    }
    let first = headline(&comparisons);
    let others = comparisons.iter().filter(|other| other.is_judged() && Some(*other) != first);
    analysis.verdicts =
        first.into_iter().chain(others).filter_map(|it| analyst.verdict(it)).collect();
    analysis.caveats = caveats::of(arms, samples, &analysis.observations, hypervisor);
    analysis.caveats.extend(cpu_share.and_then(cpu_use::caveat));
    analysis.caveats.extend(analyst.quantities.caveat(comparisons.iter(), question.level));
    if question.workers == Workers::Service {
        service::add(&analyst, samples, &comparisons, &mut analysis);
    }
    analysis
}

/// Arms of which a worker left its place in some sample, their twins' included.
fn arms_left<'a>(arms: &'a [Arm], samples: &[Sample]) -> BTreeSet<&'a str> {
    let was_left = |arm: &Arm| {
        samples.iter().any(|sample| {
            sample.arm == arm.id && sample.evidence.displaced.iter().any(Displaced::left_its_place)
        })
    };
    let names = |arm: &'a Arm| arm.twin_of.as_deref().unwrap_or(&arm.id);
    arms.iter().filter(|arm| was_left(arm)).map(names).collect()
}

/// An estimate on the log scale as a ratio with its interval.
pub fn on_ratio_scale(estimate: &corun_stats::Estimate) -> Estimate {
    let [value, low, high] = estimate.ratio();
    Estimate { value, low, high, level: estimate.level, blocks: estimate.blocks }
}

/// Two blocks of noise can give an interval beyond every number, which says nothing.
fn is_finite(estimate: &Estimate) -> bool {
    [estimate.value, estimate.low, estimate.high].iter().all(|limit| limit.is_finite())
}

/// An estimate on the log scale as a ratio with its interval, unless it says nothing.
pub fn ratio(estimate: &corun_stats::Estimate) -> Option<Estimate> {
    Some(on_ratio_scale(estimate)).filter(is_finite)
}

/// The noise floor of an arm that has a twin, as a fraction, with the A/A ratio's own interval around it.
pub fn noise_floor(throughput: &Series, arm: &str) -> Option<Observation> {
    let logs = throughput.against_twin(arm);
    let interval = corun_stats::paired(&logs, 0.95)?;
    let floor = corun_stats::noise_floor(&logs)?.exp_m1();
    if !floor.is_finite() {
        return None;
    }
    Some(Observation {
        metric: Metric::NoiseFloor,
        arm: arm.to_owned(),
        against: None,
        of: None,
        unit: "1".to_owned(),
        estimate: Estimate {
            value: floor,
            low: interval.low.exp_m1(),
            high: interval.high.exp_m1(),
            level: interval.level,
            blocks: interval.blocks,
        },
        bootstrap: None,
        source: Source::Measured,
    })
}

struct Analyst<'a> {
    quantities: Quantities,
    /// True if load of others was seen in this run.
    load_seen: bool,
    arms: &'a [Arm],
    question: &'a AnalysisRequest,
    /// The share of its time for which the program uses a CPU.
    cpu_share: Option<f64>,
}

impl Analyst<'_> {
    /// Throughput as it was.
    fn elapsed(&self) -> &Series {
        self.quantities.elapsed()
    }

    /// The quantity that a comparison rests on; other work is never taken out of a service's answers.
    fn quantity(&self, comparison: &Comparison) -> Quantity {
        self.quantities.chosen(comparison, self.question.level)
    }

    fn observation(
        &self,
        metric: Metric,
        arm: &str,
        against: Option<&str>,
        unit: &str,
        logs: &[f64],
    ) -> Option<Observation> {
        let level = self.question.level;
        let estimate = estimate(logs, level, self.load_seen, &ForeignLoad::default())?;
        self.observation_of((metric, arm, against, unit), logs, &estimate)
    }

    /// An observation of a metric of an arm (against another, in a unit).
    fn observation_of(
        &self,
        (metric, arm, against, unit): (Metric, &str, Option<&str>, &str),
        logs: &[f64],
        estimate: &corun_stats::Estimate,
    ) -> Option<Observation> {
        let level = self.question.level;
        let estimate = ratio(estimate)?;
        let bootstrap = (logs.len() >= BOOTSTRAP_FROM_BLOCKS)
            .then(|| corun_stats::bootstrap_t(logs, level, RESAMPLES, self.question.seed))
            .flatten()
            .map(|interval| Estimate {
                low: interval.low.exp(),
                high: interval.high.exp(),
                ..estimate
            })
            .filter(is_finite);
        Some(Observation {
            metric,
            arm: arm.to_owned(),
            against: against.map(str::to_owned),
            of: None,
            unit: unit.to_owned(),
            estimate,
            bootstrap,
            source: Source::Measured,
        })
    }

    /// True if the ratio of a comparison is larger than the machine can have.
    fn is_beyond_reach(&self, comparison: &Comparison) -> bool {
        let of_arm = |id: &str| self.arms.iter().find(|arm| arm.id == id);
        let all_work = Comparison { sign: 1.0, ..comparison.of_all_work() };
        let limit = || {
            let arms = [of_arm(&comparison.arm)?, of_arm(&comparison.against)?];
            most_work(comparison.metric, arms, self.question.workers, self.cpu_share)
        };
        let logs = self.quantities.series(self.quantity(comparison)).comparison(&all_work);
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        limit().is_some_and(|most| mean.exp() > most)
    }

    /// The verdict on a comparison: does the arm do more work than the other?
    fn verdict(&self, comparison: &Comparison) -> Option<Verdict> {
        let of_arm = |id: &str| self.arms.iter().find(|arm| arm.id == id);
        let (arm, against) = (of_arm(&comparison.arm)?, of_arm(&comparison.against)?);
        let quantity = self.quantity(comparison);
        let series = self.quantities.series(quantity);
        let logs = series.comparison(&comparison.of_all_work());
        let load = self.quantities.load.between(comparison);
        let of = |logs: &[f64]| {
            self.quantities.estimate(quantity, comparison, logs, self.question.level)
        };
        let estimate = of(&logs)?;
        let gains: Vec<f64> = logs.iter().map(|log| comparison.sign * log).collect();
        let gain = of(&gains)?;
        let floors = [&comparison.arm, &comparison.against]
            .map(|arm| corun_stats::noise_floor(&series.against_twin(arm)));
        let noise_floor = floors.into_iter().flatten().reduce(f64::max);
        let bounds = Bounds {
            practical: self.question.practical.ln_1p(),
            noise_floor: noise_floor.unwrap_or(0.0),
        };
        let waits = self.cpu_share.filter(|&share| cpu_use::hardly_uses_a_cpu(share));
        let circumstances = Circumstances {
            program_waits: waits.is_some(),
            is_beyond_reach: self.is_beyond_reach(comparison),
            load_decides: quantity == Quantity::Elapsed && load.decides(),
        };
        let judged = decide(&gain, bounds, circumstances);
        let answer = judged.answer(Answer::ALL);
        let equivalence_level = 1.0 - 2.0 * (1.0 - self.question.level);
        let on_ratio = on_ratio_scale(&estimate);
        if !is_finite(&on_ratio) {
            return None;
        }
        let noise_floor = noise_floor.map(f64::exp_m1).filter(|floor| floor.is_finite());
        let finding = Finding {
            metric: comparison.metric,
            arm,
            against,
            estimate: &on_ratio,
            workers: self.question.workers,
            quantity,
            is_beside_load: load.is_in_most_blocks(),
        };
        let sentence = match waits {
            Some(share) => cpu_use::sentence(share),
            None => finding.sentence(judged, self.question.practical, noise_floor),
        };
        Some(Verdict {
            metric: comparison.metric,
            arm: comparison.arm.clone(),
            against: comparison.against.clone(),
            answer,
            sentence,
            noise_floor,
            equivalence: estimate
                .at_level(equivalence_level)
                .filter(|_| !circumstances.is_beyond_reach)
                .as_ref()
                .map(on_ratio_scale)
                .filter(is_finite),
        })
    }
}

#[cfg(test)]
mod tests {
    use corun_record::{Evidence, Placement, WorkerSample};

    use super::*;
    use crate::testing::arm;

    /// The answer about siblings where every second time of theirs is forty times as long, and workers wait for their CPUs for
    /// this share of their time.
    fn answer(cpu_wait: f64) -> String {
        let arms = [arm("spread", 2, 2, &[0, 1]), arm("full", 4, 2, &[0, 1, 2, 3])];
        let sample = |block: u32, position: u32| {
            let arm = &arms[position as usize];
            let makespan_s = if position == 1 && block % 2 == 1 { 40.0 } else { 1.0 };
            let worker = WorkerSample {
                seconds: makespan_s,
                subtracted_s: None,
                runs: 1,
                cpus: Default::default(),
                check: None,
            };
            let busy = makespan_s * f64::from(arm.workers) * (1.0 - cpu_wait);
            Sample {
                block,
                position,
                arm: arm.id.clone(),
                makespan_s,
                throughput: f64::from(arm.workers) / makespan_s,
                workers: vec![worker; arm.workers as usize],
                evidence: Evidence {
                    cpu_wait: Some(cpu_wait),
                    user_s: busy,
                    ..Evidence::default()
                },
                ..Sample::default()
            }
        };
        let samples: Vec<Sample> =
            (0..8).flat_map(|block| [sample(block, 0), sample(block, 1)]).collect();
        let question = AnalysisRequest {
            practical: 0.02,
            level: 0.95,
            seed: 1,
            mode: Mode::Copies,
            workers: Workers::Alike,
            row: None,
        };
        let analysis = analyse(&arms, &samples, &question, None);
        let verdict = analysis.verdicts.iter().find(|it| it.metric == Metric::SmtYield);
        verdict.expect("spread and full are compared").sentence.clone()
    }

    /// The analysis of one worker and of two, each on a core of its own, where the two do `factor` times the work of the one.
    fn scaled(factor: f64) -> Analysis {
        let arms = [
            Arm::new(Placement::Single, 1, 1, vec![0]),
            Arm::new(Placement::Spread(None), 2, 2, vec![0, 1]),
        ];
        let sample = |block: u32, position: u32| {
            let arm = &arms[position as usize];
            let noise = 1.0 + 0.002 * f64::from(block % 3);
            let makespan_s = if position == 0 { factor / 2.0 } else { noise };
            let worker = WorkerSample {
                seconds: makespan_s,
                subtracted_s: None,
                runs: 1,
                cpus: Default::default(),
                check: None,
            };
            Sample {
                block,
                position,
                arm: arm.id.clone(),
                makespan_s,
                throughput: f64::from(arm.workers) / makespan_s,
                workers: vec![worker; arm.workers as usize],
                evidence: Evidence {
                    user_s: makespan_s * f64::from(arm.workers),
                    ..Evidence::default()
                },
                ..Sample::default()
            }
        };
        let samples: Vec<Sample> =
            (0..8).flat_map(|block| [sample(block, 0), sample(block, 1)]).collect();
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

    #[test]
    fn a_factor_that_the_machine_cannot_have_is_no_figure() {
        let compared = |analysis: &Analysis| {
            analysis.observations.iter().filter(|it| it.against.is_some()).count()
        };
        let (sound, beyond) = (scaled(1.97), scaled(4.94));
        assert!(compared(&sound) > 0 && sound.verdicts[0].sentence.contains("2 cores do 1.96"));
        assert_eq!(compared(&beyond), 0, "{:?}", beyond.observations);
        let Verdict { answer, sentence, equivalence, .. } = &beyond.verdicts[0];
        assert_eq!((*answer, *equivalence), (Answer::Inconclusive, None));
        assert_eq!(
            sentence,
            "Using all cores at once: inconclusive, because spread did more than its workers can: something held up the \
             runs of single. Repeat it on an idle machine."
        );
    }

    #[test]
    fn load_is_named_where_it_is_the_reason_for_a_wide_interval() {
        let wide = "The interval of 8 blocks is wider than ± 100 %.";
        assert_eq!(answer(0.0), format!("SMT: too uncertain to say. {wide}"));
        let loaded = answer(0.3);
        assert!(loaded.contains("because other programs took the workers' CPUs"), "{loaded}");
        assert!(loaded.contains(wide), "{loaded}");
    }
}
