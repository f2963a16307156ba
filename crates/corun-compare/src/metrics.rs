//! Meaning of each metric for a comparison of runs: which way is better, and which say nothing between runs.

use corun_record::{Metric, Observation, Sense};

/// Sense of the metric: whether more of it is better. Ratios between placements are neither: a yield falls if what it
/// is compared with gets better.
pub(crate) fn sense(seen: &Observation) -> Sense {
    match seen.metric {
        Metric::Throughput | Metric::Rate | Metric::InstructionsPerCycle => Sense::HigherIsBetter,
        Metric::Makespan
        | Metric::Latency
        | Metric::UserTime
        | Metric::Cycles
        | Metric::Instructions
        | Metric::KernelShare
        | Metric::EnergyPerOperation
            if seen.against.is_none() =>
        {
            Sense::LowerIsBetter
        }
        // The figure of a suite is a rate or a time, as its unit says.
        Metric::Figure if seen.unit.ends_with("/s") => Sense::HigherIsBetter,
        Metric::Figure if matches!(seen.unit.as_str(), "s" | "ms" | "us" | "ns") => {
            Sense::LowerIsBetter
        }
        _ => Sense::Neither,
    }
}

/// True if it says something of a program. A noise floor is what others are judged by.
pub(crate) fn is_compared(metric: Metric) -> bool {
    !matches!(metric, Metric::NoiseFloor | Metric::PredictedToMeasured)
}

/// True if it is of all the work of a run, so that it can be compared only where both did the same amount.
pub(crate) fn is_of_all_work(metric: Metric) -> bool {
    matches!(metric, Metric::Makespan | Metric::UserTime | Metric::Cycles | Metric::Instructions)
}

/// True if it is an exact count, which does not differ from run to run.
pub(crate) fn is_exact(seen: &Observation) -> bool {
    seen.metric == Metric::Instructions && seen.estimate.low == seen.estimate.high
}

/// The metric's name, with what is counted or timed.
pub(crate) fn name(seen: &Observation) -> String {
    let (source, name) = (seen.source.prefix(), seen.metric.name());
    match &seen.of {
        Some(of) => format!("{source}{name} of {of}"),
        None => format!("{source}{name}"),
    }
}
