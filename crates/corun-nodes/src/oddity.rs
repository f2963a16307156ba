//! Nodes that differ from the others of their type: by their figures, their settings, their clock, or other work on them.

use std::collections::BTreeMap;

use corun_record::{
    Evidence, FigureOverNodes, Metric, NodeFinding, NodeFindingKind, OddNode, OutlyingValue,
    ProgramOverNodes, Sample,
};
use corun_stats::{median, percent};

use crate::NodeRun;
use crate::figure::arm;

/// Other work that takes less than this share of the CPUs explains nothing.
const NOTABLE_LOAD: f64 = 0.01;
/// Nor does other work that is not several times that of the other nodes.
const TIMES_THE_USUAL: f64 = 3.0;

/// The nodes of a type that differ, in the order of their names.
pub(crate) fn odd_nodes(
    runs: &[&NodeRun],
    programs: &[ProgramOverNodes],
    practical: f64,
) -> Vec<OddNode> {
    let mut findings: BTreeMap<&str, Vec<NodeFinding>> = BTreeMap::new();
    let settings = settings(runs);
    for program in programs {
        for figure in &program.figures {
            for value in &figure.values {
                let Some(odd) = &value.outlying else { continue };
                let Some(run) = runs.iter().find(|it| it.node == value.node) else { continue };
                let finding = of_figure(program, figure, odd, programs.len() > 1);
                findings.entry(&run.node).or_default().push(finding);
            }
        }
    }
    let conditions = Conditions::of(runs);
    for (node, found) in &mut findings {
        let causes = conditions.of_node(node, practical);
        if causes.is_empty() && !settings.contains_key(node) {
            let last = found.last_mut().map(|it| &mut it.sentence);
            if let Some(sentence) = last {
                sentence
                    .push_str("; neither its settings nor its clock nor other work explains it");
            }
        }
        found.extend(causes);
    }
    for (node, found) in settings {
        findings.entry(node).or_default().extend(found);
    }
    let odd =
        |(node, findings): (&str, Vec<NodeFinding>)| OddNode { node: node.to_owned(), findings };
    findings.into_iter().map(odd).collect()
}

/// Finding of a figure on a node that does not belong to the others.
fn of_figure(
    program: &ProgramOverNodes,
    figure: &FigureOverNodes,
    odd: &OutlyingValue,
    names_program: bool,
) -> NodeFinding {
    let kind = match (figure.metric, odd.ratio < 1.0) {
        (Metric::SmtYield, _) => NodeFindingKind::Yield,
        (_, true) => NodeFindingKind::Slow,
        (_, false) => NodeFindingKind::Fast,
    };
    let against = figure.against.as_ref().map(|it| format!(" / {it}")).unwrap_or_default();
    let of_program = match names_program {
        true => format!(" with {}", program.workload),
        false => String::new(),
    };
    let chance = match odd.probability {
        tiny if tiny < 1e-4 => "below 0.01 %".to_owned(),
        share => percent(share),
    };
    NodeFinding {
        kind,
        sentence: format!(
            "{} of {}{against}{of_program}: {:.3} times that of the other nodes, {:.1} deviations off (p-value {chance})",
            figure.metric.name(),
            figure.arm,
            odd.ratio,
            odd.deviations.abs(),
        ),
    }
}

/// The settings in which nodes differ from what more than half of the nodes have.
fn settings<'a>(runs: &[&'a NodeRun]) -> BTreeMap<&'a str, Vec<NodeFinding>> {
    // A run that was given some of the CPUs says less of its node.
    let mut nodes: BTreeMap<&str, &NodeRun> = BTreeMap::new();
    for &run in runs {
        let known = nodes.entry(&run.node).or_insert(run);
        if run.run.machine.allowed_cpus > known.run.machine.allowed_cpus {
            *known = run;
        }
    }
    let facts: BTreeMap<&str, Vec<(String, Option<String>)>> =
        nodes.iter().map(|(node, run)| (*node, run.run.machine.settings())).collect();
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (name, value) in facts.values().flatten() {
        if let Some(value) = value {
            *counts.entry(name).or_default().entry(value).or_default() += 1;
        }
    }
    let mut findings: BTreeMap<&str, Vec<NodeFinding>> = BTreeMap::new();
    for (node, facts) in &facts {
        for (name, value) in facts {
            let (Some(value), Some(of_name)) = (value, counts.get(name.as_str())) else { continue };
            let all: usize = of_name.values().sum();
            let Some((usual, count)) = of_name.iter().max_by_key(|it| it.1) else { continue };
            if *usual == value || 2 * count <= all {
                continue;
            }
            let kind = match name.as_str() {
                "SMT" | "online CPUs" | "allowed CPUs" => NodeFindingKind::SiblingsHidden,
                _ => NodeFindingKind::Setting,
            };
            let sentence = format!("{name}: {value}, while {count} of {all} nodes have {usual}");
            findings.entry(node).or_default().push(NodeFinding { kind, sentence });
        }
    }
    findings
}

/// Conditions that may make a node slow while its settings are those of the others.
struct Conditions<'a> {
    /// The clock, by arm and node, in any unit.
    clocks: BTreeMap<String, BTreeMap<&'a str, f64>>,
    /// The share of CPU time that other work took, the hypervisor's included.
    loads: BTreeMap<&'a str, f64>,
}

impl<'a> Conditions<'a> {
    fn of(runs: &[&'a NodeRun]) -> Self {
        let mut clocks: BTreeMap<String, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
        let mut loads: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for run in runs {
            for sample in &run.run.samples {
                if let Some(clock) = clock(&sample.evidence) {
                    let key = arm(&sample.arm, run.condition.as_deref());
                    let key = format!("{}: {key}", run.program);
                    clocks.entry(key).or_default().entry(&run.node).or_default().push(clock);
                }
                loads.entry(&run.node).or_default().extend(load(sample));
            }
        }
        let medians = |nodes: BTreeMap<&'a str, Vec<f64>>| {
            let of_node = |(node, values): (&'a str, Vec<f64>)| Some((node, median(&values)?));
            nodes.into_iter().filter_map(of_node).collect::<BTreeMap<&str, f64>>()
        };
        Self {
            clocks: clocks.into_iter().map(|(arm, nodes)| (arm, medians(nodes))).collect(),
            loads: medians(loads),
        }
    }

    fn of_node(&self, node: &str, practical: f64) -> Vec<NodeFinding> {
        let mut findings = Vec::new();
        // The arm in which the clock is the furthest below that of the others.
        let ratios = self
            .clocks
            .values()
            .filter_map(|nodes| Some(nodes.get(node)? / median_of_others(nodes, node)?));
        if let Some(ratio) = ratios.min_by(f64::total_cmp)
            && ratio < 1.0 - practical
        {
            let sentence = format!(
                "its clock was {} below that of the other nodes while the program ran",
                percent(1.0 - ratio)
            );
            findings.push(NodeFinding { kind: NodeFindingKind::Throttled, sentence });
        }
        if let (Some(own), Some(others)) =
            (self.loads.get(node), median_of_others(&self.loads, node))
            && *own > NOTABLE_LOAD
            && *own > TIMES_THE_USUAL * others
        {
            let sentence = format!(
                "other work took {} of the time of its CPUs, against {} on the other nodes",
                percent(*own),
                percent(others)
            );
            findings.push(NodeFinding { kind: NodeFindingKind::Disturbed, sentence });
        }
        findings
    }
}

fn median_of_others(nodes: &BTreeMap<&str, f64>, node: &str) -> Option<f64> {
    let others: Vec<f64> =
        nodes.iter().filter(|(name, _)| **name != node).map(|(_, value)| *value).collect();
    median(&others)
}

/// The clock of the used CPUs: during the run where that is known, else around it.
fn clock(evidence: &Evidence) -> Option<f64> {
    let around: Vec<f64> =
        evidence.clocks.iter().flat_map(|it| [it.before_per_ns, it.after_per_ns]).collect();
    evidence.aperf_ghz.or_else(|| median(&around))
}

fn load(sample: &Sample) -> Option<f64> {
    let cpus: usize = sample.workers.len().max(1);
    let stolen = sample.evidence.steal_s.map(|it| it / (sample.makespan_s * cpus as f64));
    [sample.evidence.foreign_busy, stolen].into_iter().flatten().reduce(f64::max)
}
