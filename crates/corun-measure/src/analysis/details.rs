//! Details of an arm besides its speed: its figure in a suite's table, other counts of the same
//! work, and how long parts of it took.

use corun_record::{Arm, Latency, Metric, Observation, Sample};
use corun_workload::{Figure, Row};

use super::Analyst;
use crate::series::Series;

/// The details of `arm`, a suite's figure first.
pub(super) fn of(analyst: &Analyst, arm: &Arm, samples: &[Sample]) -> Vec<Observation> {
    let own = |sample: &&Sample| sample.arm == arm.id;
    let Some(first) = samples.iter().find(own) else { return Vec::new() };
    let figures = analyst.question.row.into_iter().flat_map(|row| figures(analyst, arm, row));
    let rates = first.rates.keys().filter_map(|counted| {
        let unit = format!("{counted}/s");
        let rate = |sample: &Sample| sample.rates.get(counted).copied().unwrap_or(0.0);
        detail(analyst, arm, samples, (Metric::Rate, counted.clone(), &unit), rate)
    });
    let latencies = first.latencies.keys().flat_map(|kind| {
        Latency::QUANTILES.iter().enumerate().filter_map(move |(index, quantile)| {
            let took = |sample: &Sample| {
                sample.latencies.get(kind).and_then(|it| it.quantiles()[index]).unwrap_or(0.0)
            };
            let what = (Metric::Latency, format!("{kind} {quantile}"), "s");
            detail(analyst, arm, samples, what, took)
        })
    });
    figures.chain(rates).chain(latencies).collect()
}

/// The figure as the suite's table gives it: of the operations that are executed, and where the original counts
/// otherwise, also as it would be there.
fn figures(analyst: &Analyst, arm: &Arm, row: Row) -> Vec<Observation> {
    let logs = analyst.elapsed().arm(&arm.id);
    let unit = row.figure.unit();
    let seen = analyst.observation(Metric::Figure, &arm.id, None, unit, &logs);
    let Some(rate) = seen else { return Vec::new() };
    let figure = |of: String, credit: f64| {
        let estimate = match row.figure {
            Figure::Microseconds => rate.estimate.under(1e6 * f64::from(arm.workers) / credit),
            Figure::Rate { per, .. } => rate.estimate.scaled(credit / per),
        };
        Observation { of: Some(of), estimate, bootstrap: None, ..rate.clone() }
    };
    let mut figures = vec![figure(row.name.to_owned(), 1.0)];
    if row.credit != 1.0 {
        figures.push(figure(format!("{} as {} counts", row.name, row.suite.name()), row.credit));
    }
    figures
}

fn detail(
    analyst: &Analyst,
    arm: &Arm,
    samples: &[Sample],
    (metric, of, unit): (Metric, String, &str),
    quantity: impl Fn(&Sample) -> f64,
) -> Option<Observation> {
    let logs = Series::of(analyst.arms, samples, quantity).arm(&arm.id);
    let seen = analyst.observation(metric, &arm.id, None, unit, &logs)?;
    Some(Observation { of: Some(of), ..seen })
}
