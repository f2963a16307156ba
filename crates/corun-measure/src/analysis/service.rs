//! What is said of services beside throughput: how much longer requests take, and whether it was the
//! server that was measured.

use corun_record::{Arm, Caveat, Estimate, Metric, Observation, Sample};
use corun_stats::{median, percent};

use super::{Analysis, Analyst};
use crate::comparison::Comparison;
use crate::series::Series;

/// A load that is busy for this share of what it can do may ask for less than the server could answer.
const SATURATED: f64 = 0.9;
/// A server that is busy for less than this share of its CPUs' time could have done more.
const IDLE: f64 = 0.7;
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

/// How much longer the quantiles are in the arm than in the other one.
fn ratios(analyst: &Analyst, samples: &[Sample], comparison: &Comparison) -> Vec<Observation> {
    let plain =
        Comparison { metric: Metric::Latency, sign: 1.0, factor: 1.0, ..comparison.clone() };
    let load = analyst.disturbed.between(comparison);
    let ratio = |(quantile, index): (&str, usize)| {
        let took = |sample: &Sample| {
            let of_kinds = sample.latencies.values().next();
            of_kinds.and_then(|latency| latency.quantiles()[index]).unwrap_or(0.0)
        };
        let logs = Series::of(analyst.arms, samples, took).comparison(&plain);
        let what = (Metric::Latency, plain.arm.as_str(), Some(plain.against.as_str()), "1");
        let seen = analyst.observation_beside(what, &logs, &load)?;
        Some(Observation { of: Some(quantile.to_owned()), ..seen })
    };
    COMPARED.into_iter().filter_map(ratio).collect()
}

/// The ratios in words, to follow a verdict on throughput.
fn sentence(comparison: &Comparison, ratios: &[Observation]) -> Option<String> {
    let ratio = |seen: &Observation| {
        let Estimate { value, low, high, .. } = seen.estimate;
        let quantile = seen.of.as_deref().unwrap_or_default();
        format!("{quantile} {value:.2} times as long (95 % interval {low:.2} to {high:.2})")
    };
    let said: Vec<String> = ratios.iter().map(ratio).collect();
    let Comparison { arm, against, .. } = comparison;
    (!said.is_empty()).then(|| format!("Latency in {arm} against {against}: {}.", said.join(", ")))
}

/// What a comparison of throughputs found, where these are a service's; `times` is its figure.
pub(crate) fn finding(metric: Metric, workers: u32, times: &str) -> String {
    match metric {
        Metric::SmtYield => {
            format!(
                "the server answers {times} the requests per second that it answers with idle siblings"
            )
        }
        Metric::CoreEquivalence => {
            format!(
                "as many logical CPUs on cores of their own answer {times} the requests per second"
            )
        }
        Metric::MultitaskingGain => format!(
            "on siblings the server answers {times} the requests per second that it answers on one logical CPU of each core"
        ),
        Metric::TimeSlicing => format!(
            "with {workers} workers on each logical CPU the server answers {times} the requests per second that it answers with one"
        ),
        Metric::Scaling => format!(
            "a core answers {times} the requests per second that it answers while the others are idle"
        ),
        Metric::FreePlacement => {
            format!("the server answers {times} the requests per second that it answers pinned")
        }
        other => format!("{} is {times}", other.name()),
    }
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
