//! Analysis of services beside throughput: how much longer requests take, and whether it was the
//! server that was measured.

use corun_record::{Arm, Caveat, Estimate, Metric, Observation, Sample};
use corun_stats::{median, percent};

use super::{Analysis, Analyst};
use crate::comparison::Comparison;
use crate::quantities::Quantity;
use crate::series::Series;

/// A load that is busy for this share of what it can do may ask for less than the server could answer.
const SATURATED: f64 = 0.9;
/// A server that is busy for less than this share of its CPUs' time could have done more.
const IDLE: f64 = 0.7;
/// The ends of an interval that are further apart than this, as a factor, say nothing.
const MEANINGLESS: f64 = 10.0;
/// The quantiles that are compared, each with its position in a record.
const COMPARED: [(&str, usize); 2] = [("p50", 0), ("p99", 2)];

/// Adds to an analysis what is known of a service.
pub(super) fn add(
    analyst: &Analyst,
    samples: &[Sample],
    comparisons: &[Comparison],
    analysis: &mut Analysis,
) {
    for comparison in comparisons {
        let ratios = ratios(analyst, samples, comparison);
        let judged = |verdict: &&mut corun_record::Verdict| {
            (verdict.metric, &verdict.arm, &verdict.against)
                == (comparison.metric, &comparison.arm, &comparison.against)
        };
        if let Some(verdict) = analysis.verdicts.iter_mut().find(judged)
            && let Some(said) = sentence(comparison, &ratios)
        {
            verdict.sentence = format!("{} {said}", verdict.sentence);
        }
        if comparison.is_judged() {
            analysis.observations.extend(ratios);
        }
    }
    // That is how every service is pinned.
    analysis.caveats.retain(|caveat| caveat.kind != "set-pinned");
    let limits = [load_saturated(analyst.arms, samples), server_idle(analyst.arms, samples)];
    analysis.caveats.extend(limits.into_iter().flatten());
}

/// Ratios of the quantiles in the arm to those in the other one.
fn ratios(analyst: &Analyst, samples: &[Sample], comparison: &Comparison) -> Vec<Observation> {
    let plain =
        Comparison { metric: Metric::Latency, sign: 1.0, factor: 1.0, ..comparison.clone() };
    let level = analyst.question.level;
    let ratio = |(quantile, index): (&str, usize)| {
        let took = |sample: &Sample| {
            let of_kinds = sample.latencies.values().next();
            of_kinds.and_then(|latency| latency.quantiles()[index]).unwrap_or(0.0)
        };
        let logs = Series::of(analyst.arms, samples, took).comparison(&plain);
        let what = (Metric::Latency, plain.arm.as_str(), Some(plain.against.as_str()), "1");
        let of = analyst.quantities.estimate(Quantity::Elapsed, comparison, &logs, level)?;
        let seen = analyst.observation_of(what, &logs, &of)?;
        Some(Observation { of: Some(quantile.to_owned()), ..seen })
    };
    COMPARED.into_iter().filter_map(ratio).collect()
}

/// The ratios in words, to follow a verdict on throughput.
fn sentence(comparison: &Comparison, ratios: &[Observation]) -> Option<String> {
    let ratio = |seen: &Observation| {
        let Estimate { value, low, high, .. } = seen.estimate;
        let quantile = seen.of.as_deref().unwrap_or_default();
        if high > MEANINGLESS * low {
            return format!("{quantile} unknown (too uncertain to say)");
        }
        format!("{quantile} {value:.2} times as long (95 % interval {low:.2} to {high:.2})")
    };
    let said: Vec<String> = ratios.iter().map(ratio).collect();
    let Comparison { arm, against, .. } = comparison;
    (!said.is_empty()).then(|| format!("Latency in {arm} against {against}: {}.", said.join(", ")))
}

/// Arms for which the median of a share is on the wrong side of a limit.
fn arms_where(
    arms: &[Arm],
    samples: &[Sample],
    share: impl Fn(&Arm, &Sample) -> Option<f64>,
    is_remarkable: impl Fn(f64) -> bool,
) -> Vec<String> {
    let of_arm = |arm: &Arm| {
        let own = samples.iter().filter(|sample| sample.arm == arm.id);
        let shares: Vec<f64> = own.filter_map(|sample| share(arm, sample)).collect();
        let share = median(&shares).filter(|share| is_remarkable(*share))?;
        Some(format!("{} {}", arm.id, percent(share.min(1.0))))
    };
    arms.iter().filter(|arm| arm.twin_of.is_none()).filter_map(of_arm).collect()
}

fn load_saturated(arms: &[Arm], samples: &[Sample]) -> Option<Caveat> {
    let busy = |_: &Arm, sample: &Sample| sample.evidence.load_busy;
    let found = arms_where(arms, samples, busy, |share| share >= SATURATED);
    (!found.is_empty()).then(|| {
        Caveat::new(
            "load-saturated",
            format!(
                "The load generator, or a thread of it, was busy for most of the time: {}. Where the \
                 server could answer more than it is asked, that is not seen: give the load more threads, \
                 and more CPUs with `--load-cpus`.",
                found.join(", ")
            ),
        )
    })
}

fn server_idle(arms: &[Arm], samples: &[Sample]) -> Option<Caveat> {
    let busy = |arm: &Arm, sample: &Sample| {
        let cpus: std::collections::BTreeSet<u32> = arm.cpus.iter().copied().collect();
        let used = sample.evidence.user_s + sample.evidence.system_s;
        // What others took was not left unused; it is only known of runs of some seconds.
        let foreign = sample.evidence.foreign_busy?;
        (!cpus.is_empty()).then(|| used / sample.makespan_s / cpus.len() as f64 + foreign)
    };
    let found = arms_where(arms, samples, busy, |share| share < IDLE);
    (!found.is_empty()).then(|| {
        Caveat::new(
            "server-idle",
            format!(
                "The server left a part of its CPUs' time unused; they were busy for: {}. It has fewer threads \
                 than CPUs, or is asked for no more: its throughput is then no limit of the CPUs.",
                found.join(", ")
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use corun_record::{Answer, Evidence, Latency, Mode, Placement};

    use super::super::{AnalysisRequest, Workers, analyse};
    use super::*;
    use crate::testing::arm;

    fn arms() -> Vec<Arm> {
        let with_twin = |arm: Arm| {
            let twin_of = Some(arm.id.clone());
            [arm.clone(), Arm { id: format!("{}.aa", arm.id), twin_of, ..arm }]
        };
        let arms = [arm("spread", 2, 2, &[0, 1]), arm("full", 4, 2, &[0, 1, 2, 3])];
        arms.into_iter().flat_map(with_twin).collect()
    }

    /// Blocks in which `full` answers 1.2 times as much and has 1.5 times the median and twice the p99,
    /// with a little noise; the server uses this share of its CPUs and the load this one of its own.
    fn analysed(server_busy: f64, load_busy: f64) -> Analysis {
        let arms = arms();
        let sample = |block: u32, arm: &Arm| {
            let is_full = arm.placement != Placement::Spread(None);
            let noise = 1.0 + f64::from(block * 7 % 5 + u32::from(arm.twin_of.is_some())) * 1e-3;
            let (throughput, p50, p99) =
                if is_full { (1200.0, 1.5e-3, 20e-3) } else { (1000.0, 1e-3, 10e-3) };
            let latency = Latency {
                p50_s: Some(p50 * noise),
                p99_s: Some(p99 * noise),
                ..Latency::default()
            };
            Sample {
                block,
                arm: arm.id.clone(),
                makespan_s: 5.0,
                throughput: throughput * noise,
                latencies: BTreeMap::from([("requests".to_owned(), latency)]),
                evidence: Evidence {
                    user_s: server_busy * 5.0 * f64::from(arm.workers),
                    foreign_busy: Some(0.0),
                    load_busy: Some(load_busy),
                    ..Evidence::default()
                },
                ..Sample::default()
            }
        };
        let samples: Vec<Sample> = (0..10)
            .flat_map(|block| arms.iter().map(move |arm| (block, arm)))
            .map(|(block, arm)| sample(block, arm))
            .collect();
        let question = AnalysisRequest {
            practical: 0.02,
            level: 0.95,
            seed: 1,
            workers: Workers::Service,
            mode: Mode::Service,
            row: None,
        };
        analyse(&arms, &samples, &question, None)
    }

    fn has(analysis: &Analysis, kind: &str) -> bool {
        analysis.caveats.iter().any(|caveat| caveat.kind == kind)
    }

    #[test]
    fn a_verdict_names_throughput_and_latency_side_by_side() {
        let analysis = analysed(0.95, 0.5);
        let verdict = &analysis.verdicts[0];
        assert_eq!((verdict.metric, verdict.answer), (Metric::SmtYield, Answer::Helps));
        for said in [
            "1.200 times the requests per second that it answers with idle siblings",
            "Latency in full against spread: p50 1.50 times as long",
            "p99 2.00 times as long",
        ] {
            assert!(verdict.sentence.contains(said), "{said}: {}", verdict.sentence);
        }
        let ratios: Vec<_> = analysis
            .observations
            .iter()
            .filter(|seen| seen.metric == Metric::Latency && seen.against.is_some())
            .map(|seen| (seen.of.as_deref().unwrap(), seen.arm.as_str()))
            .collect();
        assert_eq!(ratios, [("p50", "full"), ("p99", "full")]);
        let slowdown = |seen: &Observation| seen.metric == Metric::SiblingSlowdown;
        assert!(!analysis.observations.iter().any(slowdown), "a server's workers are not alike");
    }

    #[test]
    fn what_was_measured_instead_of_the_server_is_said() {
        let of_server = analysed(0.95, 0.5);
        assert!(!has(&of_server, "load-saturated") && !has(&of_server, "server-idle"));
        assert!(has(&analysed(0.95, 0.97), "load-saturated"));
        assert!(has(&analysed(0.3, 0.5), "server-idle"));
    }
}
