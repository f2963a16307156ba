//! Objective of a sweep, read from one sample.

use corun_record::{Goal, Mode, Sample};

/// The natural logarithm of what the goal is about, so that more is better; `None` where the sample does
/// not show it.
pub(crate) fn log_score(goal: Goal, sample: &Sample) -> Option<f64> {
    let value = match goal {
        Goal::Throughput => sample.throughput,
        Goal::Latency => 1.0 / latency_s(sample),
        Goal::Energy => 1.0 / sample.joules_per_operation()?,
    };
    (value.is_finite() && value > 0.0).then(|| value.ln())
}

/// The p99 of what a sample timed in parts (the requests of a service), else its makespan, in seconds.
fn latency_s(sample: &Sample) -> f64 {
    slowest_p99(sample).unwrap_or(sample.makespan_s)
}

/// The p99 of what a sample timed in parts, of the slowest kind, in seconds.
pub(crate) fn slowest_p99(sample: &Sample) -> Option<f64> {
    sample.latencies.values().filter_map(|latency| latency.p99_s).reduce(f64::max)
}

/// True if of equally good candidates the one with the most workers is the answer: where each worker
/// does work of its own, as many as run without slowing down each other are wanted.
pub(crate) fn wants_most_workers(goal: Goal, mode: Mode) -> bool {
    goal == Goal::Latency && matches!(mode, Mode::Copies | Mode::WorkersPerWorker)
}
