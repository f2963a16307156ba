//! The rows of a run's tables, as text: one table of arms, one of comparisons.

use corun_record::{Arm, Metric, Observation, Run};

use crate::figures::{interval, percent, rate, ratio, seconds};

/// A table before it takes a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// One name a column.
    pub header: Vec<&'static str>,
    /// As many texts a row as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// The arms: where they ran, how long they took, what they did per second.
pub(crate) fn arms(run: &Run) -> Table {
    let rows = run
        .arms
        .iter()
        .filter(|arm| arm.twin_of.is_none())
        .map(|arm| {
            let of = |metric| run.observation(metric, &arm.id);
            let floor = of(Metric::NoiseFloor);
            vec![
                arm.id.clone(),
                arm.workers.to_string(),
                cpus(arm),
                of(Metric::Makespan).map_or_else(none, with_spread(seconds)),
                of(Metric::Throughput)
                    .map_or_else(none, |seen| rate(seen.estimate.value, &run.workload.operation)),
                match of(Metric::RelativeThroughput) {
                    Some(seen) => ratio(&seen.estimate),
                    None if arm.id.starts_with("spread") && arm.variant.is_none() => "1".into(),
                    None => none(),
                },
                floor.map_or_else(none, |seen| percent(seen.estimate.value)),
            ]
        })
        .collect();
    Table {
        header: vec![
            "arm",
            "workers",
            "CPUs",
            "time",
            "throughput",
            "/ spread",
            "noise floor",
        ],
        rows,
    }
}

/// The comparisons: each metric, of which arms, with its interval and verdict.
pub(crate) fn comparisons(run: &Run) -> Table {
    let rows = run
        .observations
        .iter()
        .filter(|seen| seen.against.is_some() && seen.metric != Metric::RelativeThroughput)
        .map(|seen| {
            let against = seen.against.as_deref().unwrap_or_default();
            let verdict = run
                .verdicts
                .iter()
                .find(|verdict| verdict.metric == seen.metric && verdict.arm == seen.arm);
            vec![
                seen.metric.name().to_owned(),
                format!("{} / {}", seen.arm, against),
                ratio(&seen.estimate),
                interval(&seen.estimate),
                verdict.map_or_else(String::new, |verdict| verdict.answer.name().to_owned()),
            ]
        })
        .collect();
    Table { header: vec!["metric", "arms", "value", "interval", "verdict"], rows }
}

fn with_spread(format: impl Fn(f64) -> String) -> impl Fn(&Observation) -> String {
    move |seen| format!("{} ± {}", format(seen.estimate.value), percent(seen.estimate.half_width()))
}

fn none() -> String {
    "-".to_owned()
}

/// The CPUs of an arm in the kernel's list form, with a count where several workers share them.
fn cpus(arm: &Arm) -> String {
    if arm.cpus.is_empty() {
        return "any".to_owned();
    }
    let mut distinct = arm.cpus.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let list = list(&distinct);
    match arm.cpus.len() / distinct.len() {
        1 => list,
        each => format!("{list} ({each} each)"),
    }
}

/// Ascending numbers as `0-3,8`.
fn list(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let text = |run: &[u32]| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    runs.map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_join_neighbours() {
        assert_eq!(list(&[0, 1, 2, 8, 10, 11]), "0-2,8,10-11");
        assert_eq!(list(&[]), "");
    }
}
