//! Verdicts in plain words.

use corun_record::{Arm, Estimate, Metric};

use crate::analysis::{AnalysisRequest, Workers, service};
use crate::comparison::Comparison;
use corun_stats::{Unsettled, Verdict, percent};

/// The verdict on a comparison as one sentence, figures included.
pub(crate) fn verdict(
    comparison: &Comparison,
    arm: &Arm,
    estimate: &Estimate,
    verdict: Verdict,
    question: &AnalysisRequest,
    noise_floor: Option<f64>,
) -> String {
    let practical = question.practical;
    let subject = subject(comparison.metric, arm);
    let finding = finding(comparison.metric, arm, estimate, question.workers);
    let interval = format!(
        "95 % interval {:.*} to {:.*}",
        decimals(estimate),
        estimate.low,
        decimals(estimate),
        estimate.high
    );
    match verdict {
        Verdict::Helps => format!("{subject} helps: {finding} ({interval})."),
        Verdict::Hurts => format!("{subject} hurts: {finding} ({interval})."),
        Verdict::NoPracticalEffect => format!(
            "{subject} has no practical effect: {finding} ({interval}), shown to lie within ± {}.",
            percent(practical)
        ),
        Verdict::Inconclusive(unsettled) => format!(
            "{subject}: inconclusive. Measured: {finding} ({interval}), {}.",
            match unsettled {
                Unsettled::IntervalHoldsZero =>
                    "an interval that holds \"no difference\" and is too wide to claim that there is none"
                        .to_owned(),
                Unsettled::WithinPracticalBound => format!(
                    "a difference, but perhaps no larger than the practical bound of {}",
                    percent(practical)
                ),
                Unsettled::ForeignLoad =>
                    "while workers waited for their CPUs, on which other work ran: repeat it on an idle machine"
                        .to_owned(),
                Unsettled::WithinNoiseFloor => format!(
                    "a difference, but no larger than two identical arms could differ by here ({})",
                    noise_floor.map_or_else(|| "unknown".to_owned(), percent)
                ),
            }
        ),
    }
}

fn subject(metric: Metric, arm: &Arm) -> String {
    let subject = match metric {
        Metric::SmtYield => "SMT",
        Metric::SwitchGain => "Switching SMT on",
        Metric::SwitchYield => "SMT on against SMT off",
        Metric::CoreEquivalence => "Using siblings instead of cores",
        Metric::MultitaskingGain => "SMT instead of time slicing",
        Metric::TimeSlicing => "Time slicing",
        Metric::Scaling => "Using all cores at once",
        Metric::FreePlacement => "Leaving placement to the kernel",
        Metric::SharingPenalty => "Data in a shared cache line",
        other => other.name(),
    };
    match &arm.core_type {
        Some(core_type) => format!("{subject} ({core_type})"),
        None => subject.to_owned(),
    }
}

fn finding(metric: Metric, arm: &Arm, estimate: &Estimate, roles: Workers) -> String {
    let times = format!("{:.*} times", decimals(estimate), estimate.value);
    let workers = arm.workers.checked_div(arm.cores).unwrap_or(0);
    match metric {
        metric if roles == Workers::Service => service::finding(metric, workers, &times),
        Metric::SmtYield if roles == Workers::Together => {
            format!("all together do {times} the work they do with idle siblings")
        }
        Metric::SmtYield => format!(
            "with {workers} workers a core does {times} the work it does with one, and each of them is {:.2} times slower",
            f64::from(workers) / estimate.value
        ),
        Metric::SwitchGain => format!(
            "{} workers that the kernel places do {times} the work they do with SMT off",
            arm.workers
        ),
        Metric::SwitchYield => {
            format!(
                "with {workers} workers a core does {times} the work it does with one and SMT off"
            )
        }
        Metric::CoreEquivalence => format!("the same workers take {times} as long"),
        Metric::MultitaskingGain => {
            format!("siblings do {times} the work that time slices of one logical CPU do")
        }
        Metric::TimeSlicing if roles == Workers::Together => {
            format!("workers that take turns on a CPU do {times} the work they do with one each")
        }
        Metric::TimeSlicing => {
            format!("{workers} workers that take turns on a CPU do {times} the work of one alone")
        }
        Metric::Scaling => format!("a core does {times} the work it does on an idle machine"),
        Metric::FreePlacement => {
            format!("{} workers do {times} the work they do pinned", arm.workers)
        }
        Metric::SharingPenalty => format!("the work takes {times} as long on {}", arm.placement),
        other => format!("{} is {times}", other.name()),
    }
}

fn decimals(estimate: &Estimate) -> usize {
    if estimate.high - estimate.low < 0.01 { 3 } else { 2 }
}
