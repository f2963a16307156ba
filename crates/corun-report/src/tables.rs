//! The rows of a run's tables, as text: one table of arms, one of comparisons.

use std::collections::BTreeSet;

use corun_record::{Arm, Latency, Metric, Observation, Run, on_one_line};

use crate::figures::{
    difference, half_width, interval, joules, ratio, seconds, three_digits, unit, with_half_width,
};
use crate::grid::NO_BREAK;

/// A table before it takes a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// One name a column.
    pub header: Vec<String>,
    /// As many texts a row as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// With cells that neither steer a terminal nor break their line.
    pub(crate) fn plain(&self) -> Self {
        let plain = |row: &Vec<String>| row.iter().map(|cell| on_one_line(cell)).collect();
        Self { header: plain(&self.header), rows: self.rows.iter().map(plain).collect() }
    }
}

/// Form of an observation in a column.
type Form<'a> = &'a dyn Fn(&Observation) -> String;

/// The arms: where they ran, how long they took, what they did per second.
pub fn arms(run: &Run) -> Table {
    let scale = RateScale::of(run);
    let energy = match run.workload.operation.as_str() {
        "runs" => "energy per run",
        _ => "energy per operation",
    };
    let columns: [(&str, Metric, Form); 5] = [
        ("time", Metric::Makespan, &|seen| {
            with_half_width(seconds(seen.estimate.value), &seen.estimate)
        }),
        (&scale.unit, Metric::Throughput, &|seen| scale.show(seen.estimate.value)),
        ("to spread", Metric::RelativeThroughput, &|seen| ratio(&seen.estimate)),
        (energy, Metric::EnergyPerOperation, &|seen| {
            with_half_width(joules(seen.estimate.value), &seen.estimate)
        }),
        ("noise floor", Metric::NoiseFloor, &|seen| difference(seen.estimate.value)),
    ];
    // Not every experiment has `spread`, and not every machine counts energy.
    let is_shown = |(_, metric, _): &&(&str, Metric, Form)| {
        !matches!(metric, Metric::RelativeThroughput | Metric::EnergyPerOperation)
            || run.observations.iter().any(|seen| seen.metric == *metric)
    };
    let columns: Vec<_> = columns.iter().filter(is_shown).collect();
    let row = |arm: &Arm| {
        let cell = |(_, metric, form): &&(&str, Metric, Form)| {
            run.observation(*metric, &arm.id).map_or_else(none, form)
        };
        let place = [arm.id.clone(), arm.workers.to_string(), cpus(run, arm)];
        place.into_iter().chain(columns.iter().map(cell)).collect()
    };
    let names = ["arm", "workers", "CPUs"].into_iter().chain(columns.iter().map(|it| it.0));
    let header = names.map(str::to_owned).collect();
    let arms = run.arms.iter().filter(|arm| arm.twin_of.is_none());
    Table { header, rows: arms.map(row).collect() }
}

/// One prefix for all rates of a table, so that they can be compared at a glance.
pub struct RateScale {
    /// Factor of a rate.
    pub factor: f64,
    /// The unit with its prefix.
    pub unit: String,
}

impl RateScale {
    /// The prefix for the rates of a run.
    pub fn of(run: &Run) -> Self {
        let rates = run.observations.iter().filter(|seen| seen.metric == Metric::Throughput);
        let largest = rates.map(|seen| seen.estimate.value).fold(0.0, f64::max);
        Self::up_to(largest, &run.workload.operation)
    }

    /// The prefix for rates up to this one, of operations of this name.
    pub fn up_to(largest: f64, operation: &str) -> Self {
        let (factor, prefix) = match largest {
            size if size >= 1e9 => (1e-9, "G"),
            size if size >= 1e6 => (1e-6, "M"),
            size if size >= 1e4 => (1e-3, "k"),
            _ => (1.0, ""),
        };
        let space = if prefix.is_empty() { "" } else { NO_BREAK };
        Self { factor, unit: format!("{prefix}{space}{operation}/s") }
    }

    /// A rate in this unit.
    pub fn show(&self, rate: f64) -> String {
        three_digits(rate * self.factor)
    }
}

/// The comparisons: each metric, of which arms, with its interval and verdict.
pub fn comparisons(run: &Run) -> Table {
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
                compared(seen),
                format!("{} / {}", seen.arm, against),
                ratio(&seen.estimate),
                interval(&seen.estimate),
                verdict.map_or_else(String::new, |verdict| verdict.answer.name().to_owned()),
            ]
        })
        .collect();
    let names = ["metric", "arms", "value", "interval", "verdict"];
    Table { header: names.map(str::to_owned).to_vec(), rows }
}

/// Subject of a comparison: a metric, or of a service's latency the quantile.
pub(crate) fn compared(seen: &Observation) -> String {
    match (seen.metric, &seen.of) {
        (Metric::Latency, Some(quantile)) => format!("{quantile} latency"),
        (metric, _) => metric.name().to_owned(),
    }
}

/// Details of the arms beside how fast they are: figures as in a suite's table, other counts.
pub fn details(run: &Run) -> Table {
    let is_detail = |seen: &&Observation| matches!(seen.metric, Metric::Figure | Metric::Rate);
    let rows = run.observations.iter().filter(is_detail).map(|seen| {
        let amount = amount(seen).replace(' ', NO_BREAK);
        vec![
            seen.arm.clone(),
            seen.of.clone().unwrap_or_default(),
            amount,
            half_width(&seen.estimate),
        ]
    });
    let names = ["arm", "beside", "figure", "interval"];
    Table { header: names.map(str::to_owned).to_vec(), rows: rows.collect() }
}

/// A detail's value with its unit: `1.10 µs`, `638361 1000 additions/s`, `103 M bytes/s`.
pub(crate) fn amount(seen: &Observation) -> String {
    let value = seen.estimate.value;
    let scaled = match (seen.metric, value) {
        (Metric::Rate, 1e9..) => format!("{} G", three_digits(value * 1e-9)),
        (Metric::Rate, 1e6..) => format!("{} M", three_digits(value * 1e-6)),
        (Metric::Rate, 1e4..) => format!("{} k", three_digits(value * 1e-3)),
        _ => number(value),
    };
    format!("{scaled} {}", unit(&seen.unit))
}

/// A number as suites' tables have them: whole where it is large, else with three digits.
pub(crate) fn number(value: f64) -> String {
    let decimals = (2.0 - value.abs().max(1e-9).log10().floor()).max(0.0);
    format!("{value:.*}", decimals as usize)
}

/// Latencies of parts of the work, by arm and kind: a column for each quantile.
pub fn latencies(run: &Run) -> Table {
    let is_own = |seen: &&Observation| seen.metric == Metric::Latency && seen.against.is_none();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut previous = None;
    for seen in run.observations.iter().filter(is_own) {
        let of = seen.of.as_deref().unwrap_or_default();
        let (kind, quantile) = of.rsplit_once(' ').unwrap_or((of, ""));
        let of_row = Some((seen.arm.as_str(), kind));
        if previous != of_row {
            let known = [seen.arm.clone(), kind.to_owned(), count(run, &seen.arm, kind)];
            rows.push(known.into_iter().chain(Latency::QUANTILES.map(|_| none())).collect());
            previous = of_row;
        }
        let column = Latency::QUANTILES.iter().position(|it| *it == quantile);
        let cell = column.and_then(|column| rows.last_mut()?.get_mut(column + 3));
        if let Some(cell) = cell {
            // Of a service they are the answer; the outermost are worth no interval.
            let is_answer = run.workload.load.is_some() && ["p50", "p99"].contains(&quantile);
            let value = seconds(seen.estimate.value);
            *cell = if is_answer { with_half_width(value, &seen.estimate) } else { value };
        }
    }
    let names = ["arm", "latency of", "each run"].into_iter().chain(Latency::QUANTILES);
    Table { header: names.map(str::to_owned).collect(), rows }
}

/// Number of parts of a kind in a run of the arm, on average.
fn count(run: &Run, arm: &str, kind: &str) -> String {
    let samples = run.samples.iter().filter(|sample| sample.arm == arm);
    let counts: Vec<u64> = samples.filter_map(|it| it.latencies.get(kind)?.count).collect();
    match counts.len() as u64 {
        0 => none(),
        samples => (counts.iter().sum::<u64>() / samples).to_string(),
    }
}

fn none() -> String {
    "-".to_owned()
}

/// The CPUs of an arm in the kernel's list form, with a count where several workers share them;
/// where workers were not pinned, the CPUs they were seen on.
fn cpus(run: &Run, arm: &Arm) -> String {
    if arm.cpus.is_empty() {
        let samples = run.samples.iter().filter(|sample| sample.arm == arm.id);
        let workers = samples.flat_map(|sample| &sample.workers);
        let seen: BTreeSet<u32> = workers.flat_map(|it| it.cpus.keys().copied()).collect();
        return match seen.is_empty() {
            // Runs too short to look where they are.
            true => "any".to_owned(),
            false => format!("any: {}", list(&seen.into_iter().collect::<Vec<_>>())),
        };
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
pub fn list(numbers: &[u32]) -> String {
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
