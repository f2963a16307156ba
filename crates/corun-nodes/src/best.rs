//! Which arm does the most work in a second, over the nodes of a hardware type.
//!
//! Arms of one run are compared within its blocks, and the differences of nodes are one value each. Multiple comparisons
//! with the best share the error rate (Hsu 1984), as in a thread sweep.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{BestOverNodes, Placement, Run, ThreadVerdict};
use corun_stats::best_of_several::{SharedLevel, Standing, standing};
use corun_stats::{Estimate, RunValue, lies_within, paired, random_effects, repeats};

use crate::figure::arm;
use crate::search::RareArms;
use crate::{NodeRun, ReportRequest};

/// The level at which standard errors are asked for; they do not depend on it.
const ANY_LEVEL: f64 = 0.95;

/// An arm that may be the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'a> {
    workers: u32,
    condition: Option<&'a str>,
    arm: &'a str,
}

impl Candidate<'_> {
    fn name(&self) -> String {
        arm(self.arm, self.condition)
    }

    fn is_of(&self, run: &NodeRun) -> bool {
        self.condition == run.condition.as_deref()
    }
}

/// The logarithms of throughput of a run: by arm, then by block, A/A twins averaged in.
type Logs<'a> = BTreeMap<&'a str, BTreeMap<u32, f64>>;

/// The arm with the most work in a second; `None` where there are fewer than two.
pub(crate) fn best(runs: &[&NodeRun], request: &ReportRequest) -> Option<BestOverNodes> {
    let rare = RareArms::of(runs);
    let candidates: BTreeSet<Candidate<'_>> =
        runs.iter().flat_map(|run| candidates(run).filter(|it| !rare.has(run, it.arm))).collect();
    let candidates: Vec<Candidate<'_>> = candidates.into_iter().collect();
    if candidates.len() < 2 {
        return None;
    }
    let logs: Vec<Logs<'_>> = runs.iter().map(|run| logs(&run.run)).collect();
    let by_node = by_node(runs, &logs);
    let shared = SharedLevel { confidence: request.confidence, analyses: 1 };
    let level = shared.of_one(candidates.len());
    let compared = |one: &Candidate<'_>, other: &Candidate<'_>| {
        let groups: Vec<Vec<RunValue>> =
            by_node.values().map(|runs| differences(runs, one, other)).collect();
        over_nodes(&groups, level)
    };
    let first = &candidates[0];
    let gain = |it: &Candidate<'_>| {
        let found = if it == first { None } else { compared(it, first) };
        found.map_or(0.0, |it| it.log)
    };
    let gains: Vec<f64> = candidates.iter().map(gain).collect();
    let most = (0..gains.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b]))?;
    let practical = request.practical.ln_1p();
    let (mut equal, mut undecided, mut may_be_better) = (Vec::new(), Vec::new(), false);
    for (index, other) in candidates.iter().enumerate().filter(|(index, _)| *index != most) {
        let Some(estimate) = compared(other, &candidates[most]) else {
            undecided.push(index);
            may_be_better = true;
            continue;
        };
        if lies_within(&estimate, practical) {
            equal.push(index);
        } else if matches!(standing(&estimate, practical, 0.0), Standing::Open | Standing::Better) {
            undecided.push(index);
            may_be_better |= estimate.high > practical;
        }
    }
    let verdict = match (&equal[..], &undecided[..]) {
        ([], []) => ThreadVerdict::Best,
        (_, []) => ThreadVerdict::Equal,
        _ if !may_be_better => ThreadVerdict::GoodEnough,
        _ => ThreadVerdict::Undecided,
    };
    // Of those that do as much, the one with the fewest workers; candidates are in that order.
    let chosen = equal.iter().copied().chain([most]).min().unwrap_or(most);
    equal.push(most);
    equal.retain(|it| *it != chosen);
    let names = |indices: Vec<usize>| indices.into_iter().map(|it| candidates[it].name()).collect();
    Some(BestOverNodes {
        verdict,
        arm: candidates[chosen].name(),
        workers: candidates[chosen].workers,
        equal: names(equal),
        undecided: names(undecided),
    })
}

/// The arms of a run that one may choose. `stacked` is a control: nobody chooses to take turns.
fn candidates(run: &NodeRun) -> impl Iterator<Item = Candidate<'_>> {
    let arms = run.run.arms.iter();
    let arms = arms.filter(|it| it.twin_of.is_none() && it.placement != Placement::Stacked);
    arms.map(|it| Candidate {
        workers: it.workers,
        condition: run.condition.as_deref(),
        arm: &it.id,
    })
}

fn logs(run: &Run) -> Logs<'_> {
    let twins: BTreeMap<&str, &str> =
        run.arms.iter().filter_map(|it| Some((it.id.as_str(), it.twin_of.as_deref()?))).collect();
    let mut sums: BTreeMap<&str, BTreeMap<u32, (f64, f64)>> = BTreeMap::new();
    for sample in &run.samples {
        let arm = twins.get(sample.arm.as_str()).copied().unwrap_or(&sample.arm);
        let (sum, count) = sums.entry(arm).or_default().entry(sample.block).or_default();
        *sum += sample.throughput.ln();
        *count += 1.0;
    }
    let mean = |blocks: BTreeMap<u32, (f64, f64)>| {
        blocks.into_iter().map(|(block, (sum, count))| (block, sum / count)).collect()
    };
    sums.into_iter().map(|(arm, blocks)| (arm, mean(blocks))).collect()
}

fn by_node<'r, 'a>(
    runs: &'r [&'a NodeRun],
    logs: &'r [Logs<'a>],
) -> BTreeMap<&'a str, Vec<(&'a NodeRun, &'r Logs<'a>)>> {
    let mut nodes: BTreeMap<&str, Vec<(&NodeRun, &Logs<'_>)>> = BTreeMap::new();
    for (run, logs) in runs.iter().zip(logs) {
        nodes.entry(&run.node).or_default().push((*run, logs));
    }
    nodes
}

/// The log ratios of two arms on a node: one of each run that has both, else one of all runs of the one and all of the
/// other.
fn differences(
    runs: &[(&NodeRun, &Logs<'_>)],
    one: &Candidate<'_>,
    other: &Candidate<'_>,
) -> Vec<RunValue> {
    let within = |(run, logs): &(&NodeRun, &Logs<'_>)| {
        if !one.is_of(run) || !other.is_of(run) {
            return None;
        }
        let (one, other) = (logs.get(one.arm)?, logs.get(other.arm)?);
        let blocks = one.iter().filter_map(|(block, log)| Some(log - other.get(block)?));
        value(&blocks.collect::<Vec<_>>())
    };
    let paired: Vec<RunValue> = runs.iter().filter_map(within).collect();
    if !paired.is_empty() {
        return paired;
    }
    let of = |candidate: &Candidate<'_>| {
        let of_run = |(run, logs): &(&NodeRun, &Logs<'_>)| {
            let blocks = logs.get(candidate.arm).filter(|_| candidate.is_of(run))?;
            value(&blocks.values().copied().collect::<Vec<_>>())
        };
        let values: Vec<RunValue> = runs.iter().filter_map(of_run).collect();
        repeats(&[values]).values.first().copied()
    };
    let difference = of(one).zip(of(other)).map(|(one, other)| RunValue {
        log: one.log - other.log,
        standard_error: one.standard_error.hypot(other.standard_error),
        blocks: one.blocks.min(other.blocks),
    });
    difference.into_iter().collect()
}

fn value(blocks: &[f64]) -> Option<RunValue> {
    let Estimate { log, standard_error, blocks, .. } = paired(blocks, ANY_LEVEL)?;
    Some(RunValue { log, standard_error, blocks })
}

/// The mean over nodes; of one node its own.
fn over_nodes(groups: &[Vec<RunValue>], level: f64) -> Option<Estimate> {
    let values = repeats(groups).values;
    match &values[..] {
        [one] => one.estimate(level),
        several => random_effects(several, level).map(|it| it.mean),
    }
}
