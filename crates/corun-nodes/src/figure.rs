//! One figure over nodes: its mean, the variance between nodes, and the outlying nodes.

use corun_record::{FigureOverNodes, Metric, NodeValue, Observation, OutlyingValue};
use corun_stats::{
    Estimate, Interval, Outlying, RunValue, outlying, random_effects, repeats, student_t,
};

use crate::{NodeRun, ReportRequest};

/// Key that figures of several runs share if they are the same figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FigureKey<'a> {
    pub(crate) metric: Metric,
    arm: String,
    against: Option<&'a str>,
    unit: String,
}

impl<'a> FigureKey<'a> {
    pub(crate) fn of(run: &'a NodeRun, seen: &'a Observation) -> Self {
        Self {
            metric: seen.metric,
            arm: arm(&seen.arm, run.condition.as_deref()),
            against: seen.against.as_deref(),
            unit: run.run.workload.unit_of(seen),
        }
    }
}

/// An arm with the condition that makes it another one: `spread (nomultithread)`.
pub(crate) fn arm(id: &str, condition: Option<&str>) -> String {
    match condition {
        Some(condition) => format!("{id} ({condition})"),
        None => id.to_owned(),
    }
}

/// The values of a figure.
pub(crate) struct Figure<'a> {
    pub(crate) key: FigureKey<'a>,
    /// In the order of the nodes' names, the values of all runs.
    nodes: std::collections::BTreeMap<&'a str, Vec<RunValue>>,
}

impl<'a> Figure<'a> {
    pub(crate) fn new(key: FigureKey<'a>) -> Self {
        Self { key, nodes: Default::default() }
    }

    pub(crate) fn add(&mut self, node: &'a str, value: RunValue) {
        self.nodes.entry(node).or_default().push(value);
    }

    /// The figure over nodes, and its mean on the log scale.
    pub(crate) fn over_nodes(
        &self,
        request: &ReportRequest,
        error_rate: f64,
    ) -> (FigureOverNodes, Option<Estimate>) {
        let level = request.confidence;
        let groups: Vec<Vec<RunValue>> = self.nodes.values().cloned().collect();
        let repeats = repeats(&groups);
        let values = &repeats.values;
        let mut odd = outlying(values, error_rate);
        odd.retain(|it| it.distance.abs() > request.practical.ln_1p());
        let is_odd = |index: &usize| odd.iter().any(|it| it.index == *index);
        let alike: Vec<RunValue> =
            (0..values.len()).filter(|index| !is_odd(index)).map(|index| values[index]).collect();
        let found = random_effects(&alike, level);
        let with_all = (!odd.is_empty()).then(|| random_effects(values, level)).flatten();
        let variance = |it: &RunValue| it.standard_error.powi(2);
        let within = alike.iter().map(variance).sum::<f64>() / alike.len().max(1) as f64;
        let nodes = alike.len() as u32;
        let figure = FigureOverNodes {
            metric: self.key.metric,
            arm: self.key.arm.clone(),
            against: self.key.against.map(str::to_owned),
            unit: self.key.unit.clone(),
            mean: found.map(|it| recorded(&it.mean)),
            mean_with_outlying: with_all.map(|it| recorded(&it.mean)),
            further_node: found.and_then(|it| Some(further(it.mean.log, it.further?, nodes))),
            between_nodes: found.map(|it| it.between),
            between_nodes_interval: found
                .map(|it| [it.between_interval.low, it.between_interval.high]),
            within_node: within.sqrt(),
            between_runs: repeats.between_runs,
            values: self
                .nodes
                .iter()
                .zip(values)
                .enumerate()
                .map(|(index, ((node, runs), value))| NodeValue {
                    node: (*node).to_owned(),
                    runs: runs.len() as u32,
                    estimate: of_node(value, level),
                    outlying: odd.iter().find(|it| it.index == index).map(described),
                })
                .collect(),
        };
        (figure, found.map(|it| it.mean))
    }
}

fn recorded(mean: &Estimate) -> corun_record::Estimate {
    let [value, low, high] = mean.ratio();
    corun_record::Estimate { value, low, high, level: mean.level, blocks: mean.blocks }
}

fn further(log: f64, interval: Interval, nodes: u32) -> corun_record::Estimate {
    let Interval { low, high, level } = interval;
    corun_record::Estimate {
        value: log.exp(),
        low: low.exp(),
        high: high.exp(),
        level,
        blocks: nodes,
    }
}

/// A node's own value, with the interval of its own measurement.
pub(crate) fn of_node(value: &RunValue, level: f64) -> corun_record::Estimate {
    let reach =
        student_t(level, value.blocks).map_or(f64::INFINITY, |it| it * value.standard_error);
    corun_record::Estimate {
        value: value.log.exp(),
        low: (value.log - reach).exp(),
        high: (value.log + reach).exp(),
        level,
        blocks: value.blocks,
    }
}

fn described(odd: &Outlying) -> OutlyingValue {
    OutlyingValue {
        ratio: odd.distance.exp(),
        deviations: odd.deviations,
        probability: odd.probability,
    }
}
