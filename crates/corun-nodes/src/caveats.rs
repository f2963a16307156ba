//! Limits of trust in a report over nodes.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{Caveat, HardwareType};

use crate::NodeRun;
use crate::hardware::nodes;

/// Kinds of caveats of the runs that are repeated, those of the most nodes first.
const MOST_OF_RUNS: usize = 6;

/// The caveats, those of the design first.
pub(crate) fn caveats(
    whole: &[&NodeRun],
    partial: &[&NodeRun],
    types: &[HardwareType],
) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = types.iter().filter_map(few_nodes).collect();
    if !whole.is_empty() && !types.iter().any(has_repeats) {
        caveats.push(Caveat::new(
            "no-repeats",
            "Each program ran once on each node, so that the variance between runs of one node is part of the variance between \
             nodes. Repeats separate the two.",
        ));
    }
    if !partial.is_empty() {
        let nodes = in_words(&nodes(partial));
        caveats.push(Caveat::new(
            "partial-runs",
            format!(
                "Runs that were cut short do not count ({} of them, on {nodes}).",
                partial.len()
            ),
        ));
    }
    let versions: BTreeSet<&str> = whole.iter().map(|it| it.run.corun_version.as_str()).collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        caveats.push(Caveat::new(
            "several-versions",
            format!("The runs were made by different versions of corun: {}.", versions.join(", ")),
        ));
    }
    caveats.extend(of_programs(whole));
    caveats.extend(of_runs(whole));
    caveats
}

fn few_nodes(of_type: &HardwareType) -> Option<Caveat> {
    let sentence = match of_type.nodes.len() {
        1 => "only one node was measured, so that the variance between nodes is unknown",
        2 => {
            "two nodes were measured: the interval of their mean is wide, nothing is expected of a further node, and neither \
             can be called the odd one"
        }
        3 | 4 => "few nodes were measured: only a node that is very far off can be called outlying",
        _ => return None,
    };
    Some(Caveat::new("few-nodes", format!("{}: {sentence}.", of_type.name)))
}

fn has_repeats(of_type: &HardwareType) -> bool {
    let figures = of_type.programs.iter().flat_map(|it| &it.figures);
    figures.into_iter().any(|it| it.between_runs.is_some())
}

/// Programs whose file was not the same on all nodes.
fn of_programs(runs: &[&NodeRun]) -> Vec<Caveat> {
    let mut files: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for run in runs {
        if let Some(file) = &run.run.workload.program {
            let of_program = files.entry(&run.program).or_default();
            of_program.entry(&file.sha256).or_default().insert(&run.node);
        }
    }
    let differing = files.into_iter().filter(|(_, contents)| contents.len() > 1);
    let sentence = |(program, contents): (&str, BTreeMap<&str, BTreeSet<&str>>)| {
        let smallest = contents.into_values().min_by_key(BTreeSet::len).unwrap_or_default();
        format!(
            "The file of {program} was not the same on all nodes: {} had another one.",
            in_words(&smallest)
        )
    };
    differing.map(|it| Caveat::new("different-programs", sentence(it))).collect()
}

/// Limits of trust in the runs, by kind, with the number of nodes.
fn of_runs(runs: &[&NodeRun]) -> Vec<Caveat> {
    let mut kinds: BTreeMap<&str, (&str, BTreeSet<&str>)> = BTreeMap::new();
    for run in runs {
        for caveat in &run.run.caveats {
            let of_kind =
                kinds.entry(&caveat.kind).or_insert((caveat.sentence.as_str(), BTreeSet::new()));
            of_kind.1.insert(&run.node);
        }
    }
    let all = nodes(runs).len();
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, (_, nodes))| std::cmp::Reverse(nodes.len()));
    let described = |(kind, (sentence, nodes)): (&str, (&str, BTreeSet<&str>))| {
        let sentence = match nodes.len() == all {
            true => format!("On all nodes, such as {}: {sentence}", first(&nodes)),
            false => {
                format!("On {} of {all} nodes, such as {}: {sentence}", nodes.len(), first(&nodes))
            }
        };
        Caveat::new(kind, sentence)
    };
    kinds.into_iter().take(MOST_OF_RUNS).map(described).collect()
}

fn first<'a>(nodes: &BTreeSet<&'a str>) -> &'a str {
    nodes.first().copied().unwrap_or_default()
}

/// Names of nodes, the first ones only where there are many.
fn in_words(nodes: &BTreeSet<&str>) -> String {
    const MOST: usize = 5;
    let named: Vec<&str> = nodes.iter().take(MOST).copied().collect();
    match nodes.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", named.join(", ")),
        _ => named.join(", "),
    }
}
