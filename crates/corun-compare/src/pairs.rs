//! Arms of one run, compared block by block: what drifts over the run cancels.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{Metric, Observation, Sample};
use corun_stats::{Estimate, ForeignLoad, steady};

use crate::subject::Subject;

/// Values of an arm and its A/A twin in each block: the mean of a quantity's logarithm.
type Blocks = BTreeMap<u32, f64>;

/// The mean log ratio of an arm to another one of the same run, `None` where the samples do not hold the quantity.
pub(crate) fn paired(
    run: &Subject,
    base: &Observation,
    other: &Observation,
    level: f64,
) -> Option<Estimate> {
    let quantity = |sample: &Sample| quantity(sample, other).map(f64::ln);
    let [before, after] = [base, other].map(|seen| blocks(run, &seen.arm, &quantity));
    let common = before.iter().filter_map(|(block, log)| Some(after.get(block)? - log));
    let logs: Vec<f64> = common.collect();
    let load = load(run, [Some(&other.arm), Some(&base.arm)]);
    Some(steady(&logs, level, load.is_seen())?.allowing(load.allowance()))
}

/// Loss of one or two arms to other work of a run, by block.
pub(crate) fn load(run: &Subject, arms: [Option<&String>; 2]) -> ForeignLoad {
    let of = |arm: Option<&String>| {
        let Some(arm) = arm.and_then(|id| run.arms.iter().find(|it| it.id == *id)) else {
            return Blocks::new();
        };
        let own = arm.has_cpus_of_its_own();
        blocks(run, &arm.id, &|sample: &Sample| sample.evidence.lost_share(own))
    };
    let [one, other] = arms.map(of);
    let all: BTreeSet<u32> = one.keys().chain(other.keys()).copied().collect();
    // Beside an arm alone stands one that lost nothing.
    let beside = |block: &u32| match arms[1] {
        Some(_) => other.get(block).copied(),
        None => Some(0.0),
    };
    let pair = |block: &u32| [one.get(block).copied(), beside(block)];
    ForeignLoad::new(all.iter().map(pair).collect())
}

/// The quantity of a metric that is of one arm alone.
fn quantity(sample: &Sample, seen: &Observation) -> Option<f64> {
    match seen.metric {
        _ if seen.against.is_some() => None,
        Metric::Makespan => Some(sample.makespan_s),
        Metric::Throughput => Some(sample.throughput),
        Metric::EnergyPerOperation => sample.joules_per_operation(),
        Metric::Rate => sample.rates.get(seen.of.as_ref()?).copied(),
        _ => None,
    }
}

fn blocks(run: &Subject, arm: &str, value: &dyn Fn(&Sample) -> Option<f64>) -> Blocks {
    let is_twin =
        |id: &str| run.arms.iter().any(|it| it.id == id && it.twin_of.as_deref() == Some(arm));
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for sample in run.samples.iter().filter(|it| it.arm == arm || is_twin(&it.arm)) {
        if let Some(value) = value(sample) {
            let (sum, count) = sums.entry(sample.block).or_default();
            *sum += value;
            *count += 1.0;
        }
    }
    sums.into_iter().map(|(block, (sum, count))| (block, sum / count)).collect()
}
