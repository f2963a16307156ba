//! Runs of the same programs on many nodes: what they say of each hardware type, and which nodes differ from the others.
//!
//! It knows runs and the names of nodes, and nothing of how they came about. Nodes of different hardware are never taken
//! together, and the values of nodes are never pooled: the variance between nodes is part of every interval.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod advice;
mod best;
mod caveats;
mod figure;
mod hardware;
mod oddity;
mod program;
mod search;

use std::collections::BTreeMap;

use corun_record::{Caveat, FleetReport, HardwareType, OddNode, Run, UnmeasuredNode};

use crate::hardware::Hardware;
use crate::program::ProgramRuns;

/// A run on a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeRun {
    /// The node's name.
    pub node: String,
    /// The name of the program; runs with the same name are compared.
    pub program: String,
    /// Condition that was different, such as `nomultithread`; its arms are other arms then.
    pub condition: Option<String>,
    /// The run.
    pub run: Run,
    /// True if its arms were chosen on the node itself, in a search for the best number of threads.
    pub is_search: bool,
}

/// Request of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportRequest {
    /// The campaign's name.
    pub campaign: Option<String>,
    /// The confidence of every interval.
    pub confidence: f64,
    /// The smallest effect and the smallest distance of a node that matter, as a fraction.
    pub practical: f64,
    /// The probability that an ordinary node of the campaign is named as outlying, at most.
    pub error_rate: f64,
    /// Nodes without a result, with the reason.
    pub unmeasured: Vec<UnmeasuredNode>,
}

/// Report on these runs, and the limits of trust in it. Runs that were cut short are left out.
pub fn report(runs: &[NodeRun], request: &ReportRequest) -> (FleetReport, Vec<Caveat>) {
    let (whole, partial): (Vec<&NodeRun>, Vec<&NodeRun>) =
        runs.iter().partition(|it| !it.run.is_partial());
    let by_type = by_hardware(&whole);
    let programs: Vec<Vec<ProgramRuns<'_>>> =
        by_type.iter().map(|(_, runs)| program::of_type(runs)).collect();
    // Every figure is asked for outlying nodes, and all of them share the error rate.
    let figures = programs.iter().flatten().map(|it| it.figures.len()).sum::<usize>().max(1);
    let rate = request.error_rate / figures as f64;
    let mut types: Vec<HardwareType> = Vec::new();
    for ((hardware, runs), programs) in by_type.iter().zip(&programs) {
        let programs: Vec<_> = programs.iter().map(|it| it.over_nodes(request, rate)).collect();
        let odd_nodes = oddity::odd_nodes(runs, &programs, request.practical);
        types.push(hardware.described(runs, programs, odd_nodes));
    }
    for (index, nodes) in hardware::variants(&by_type).into_iter().enumerate() {
        merge(&mut types[index].odd_nodes, nodes);
    }
    let caveats = caveats::caveats(&whole, &partial, &types);
    let mut report = FleetReport {
        campaign: request.campaign.clone(),
        confidence: request.confidence,
        practical: request.practical,
        error_rate: request.error_rate,
        types,
        unmeasured: request.unmeasured.clone(),
        advice: Vec::new(),
    };
    report.advice = advice::advice(&report);
    (report, caveats)
}

/// The runs of each hardware type, the type with the most nodes first.
fn by_hardware<'a>(runs: &[&'a NodeRun]) -> Vec<(Hardware, Vec<&'a NodeRun>)> {
    let mut of_node: BTreeMap<&str, Hardware> = BTreeMap::new();
    for &run in runs {
        let hardware = Hardware::of(&run.run.machine);
        let known = of_node.entry(&run.node).or_insert_with(|| hardware.clone());
        *known = known.with_all_of(&hardware);
    }
    let mut types: Vec<(Hardware, Vec<&NodeRun>)> = Vec::new();
    for &run in runs {
        let hardware = &of_node[run.node.as_str()];
        match types.iter_mut().find(|(known, _)| known == hardware) {
            Some((_, of_type)) => of_type.push(run),
            None => types.push((hardware.clone(), vec![run])),
        }
    }
    types.sort_by_key(|(hardware, runs)| {
        (std::cmp::Reverse(hardware::nodes(runs).len()), hardware.name())
    });
    types
}

/// Adds findings to nodes that may have some.
fn merge(odd: &mut Vec<OddNode>, more: Vec<OddNode>) {
    for new in more {
        match odd.iter_mut().find(|it| it.node == new.node) {
            Some(known) => known.findings.splice(0..0, new.findings).for_each(drop),
            None => odd.push(new),
        }
    }
}
