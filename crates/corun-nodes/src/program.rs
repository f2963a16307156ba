//! The runs of a program on the nodes of one hardware type.

use std::collections::BTreeMap;

use corun_record::{Answer, Metric, ProgramOverNodes, Source};
use corun_stats::{Bounds, Estimate, RunValue, judge};

use crate::best::best;
use crate::figure::{Figure, FigureKey};
use crate::hardware::nodes;
use crate::search::RareArms;
use crate::{NodeRun, ReportRequest};

/// A program's runs, and the figures that they have.
pub(crate) struct ProgramRuns<'a> {
    name: &'a str,
    runs: Vec<&'a NodeRun>,
    /// The yields first.
    pub(crate) figures: Vec<Figure<'a>>,
}

/// The programs of a type's runs, in the order of their names.
pub(crate) fn of_type<'a>(runs: &[&'a NodeRun]) -> Vec<ProgramRuns<'a>> {
    let mut by_name: BTreeMap<&str, Vec<&NodeRun>> = BTreeMap::new();
    for &run in runs {
        by_name.entry(&run.program).or_default().push(run);
    }
    by_name
        .into_iter()
        .map(|(name, runs)| ProgramRuns { name, figures: figures(&runs), runs })
        .collect()
}

/// Yields and throughputs, by arm.
fn figures<'a>(runs: &[&'a NodeRun]) -> Vec<Figure<'a>> {
    let rare = RareArms::of(runs);
    let mut figures: Vec<Figure<'a>> = Vec::new();
    for &run in runs {
        for seen in &run.run.observations {
            let is_shown = matches!(seen.metric, Metric::SmtYield | Metric::Throughput);
            let is_rare = rare.has(run, &seen.arm);
            if !is_shown || is_rare || seen.source != Source::Measured || seen.of.is_some() {
                continue;
            }
            let it = seen.estimate;
            let value = RunValue::of_interval(it.value, [it.low, it.high], it.level, it.blocks);
            let Some(value) = value else { continue };
            let key = FigureKey::of(run, seen);
            let place = figures.iter().position(|it| it.key == key).unwrap_or_else(|| {
                figures.push(Figure::new(key));
                figures.len() - 1
            });
            figures[place].add(&run.node, value);
        }
    }
    figures.sort_by_key(|it| it.key.metric != Metric::SmtYield);
    figures
}

impl ProgramRuns<'_> {
    /// Figures over nodes; an ordinary node is named as outlying in a figure with a probability of `error_rate` at
    /// most.
    pub(crate) fn over_nodes(&self, request: &ReportRequest, error_rate: f64) -> ProgramOverNodes {
        let figures: Vec<_> =
            self.figures.iter().map(|it| it.over_nodes(request, error_rate)).collect();
        // A node that is outlying in any figure is left out: its best arm need not be that of the other nodes.
        let odd: Vec<&str> = figures
            .iter()
            .flat_map(|(figure, _)| &figure.values)
            .filter(|value| value.outlying.is_some())
            .map(|value| value.node.as_str())
            .collect();
        let alike: Vec<&NodeRun> =
            self.runs.iter().copied().filter(|run| !odd.contains(&run.node.as_str())).collect();
        let first = figures.iter().find(|(figure, _)| figure.metric == Metric::SmtYield);
        let answer = first.and_then(|(figure, mean)| match mean {
            Some(mean) => Some(answer(mean, request.practical)),
            None => self.answer_of_the_node(&figure.arm),
        });
        ProgramOverNodes {
            workload: self.name.to_owned(),
            runs: self.runs.len() as u32,
            answer,
            best: best(&alike, request),
            figures: figures.into_iter().map(|(figure, _)| figure).collect(),
        }
    }

    /// Answer of the last run on the only node.
    fn answer_of_the_node(&self, arm: &str) -> Option<Answer> {
        if nodes(&self.runs).len() != 1 {
            return None;
        }
        let is_it = |it: &&corun_record::Verdict| it.metric == Metric::SmtYield && it.arm == arm;
        let mut verdicts = self.runs.iter().rev().flat_map(|run| &run.run.verdicts);
        verdicts.find(is_it).map(|it| it.answer)
    }
}

/// The verdict on the mean over nodes. There is no noise floor: a difference between identical arms on one node is not
/// repeated on the others, and is part of the variance between nodes.
fn answer(mean: &Estimate, practical: f64) -> Answer {
    judge(mean, Bounds { practical: practical.ln_1p(), noise_floor: 0.0 }).answer(Answer::ALL)
}
