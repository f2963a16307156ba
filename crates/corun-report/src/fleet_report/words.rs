//! Sentences and tables of a report over nodes, before they take a form.

use corun_record::{
    Answer, BestOverNodes, FigureOverNodes, FleetReport, HardwareType, Metric, ProgramOverNodes,
    ThreadVerdict,
};
use corun_stats::percent;

use crate::compare::comparison::quantity;
use crate::figures::{interval, ratio};
use crate::prose::plural;
use crate::tables::Table;

/// Names that one line has, and reasons that are shown.
const MOST: usize = 12;

/// The answer for each type and program.
pub fn answers(report: &FleetReport) -> Vec<(Option<Answer>, String)> {
    let mut answers = Vec::new();
    for of_type in &report.types {
        let on_type = match report.types.len() {
            1 => String::new(),
            _ => format!(" on {}", of_type.name),
        };
        for program in &of_type.programs {
            answers.push((program.answer, answer(of_type, program, &on_type)));
        }
    }
    if answers.is_empty() {
        answers.push((None, "No answer: no node has a result that counts.".to_owned()));
    }
    answers
}

fn answer(of_type: &HardwareType, program: &ProgramOverNodes, on_type: &str) -> String {
    let name = &program.workload;
    let yielded = program.figures.iter().find(|it| it.metric == Metric::SmtYield);
    let mut sentence = match (program.answer, yielded) {
        (Some(Answer::Helps), Some(it)) => format!("SMT helps {name}{on_type}: {}", figure(it)),
        (Some(Answer::Hurts), Some(it)) => format!("SMT hurts {name}{on_type}: {}", figure(it)),
        (Some(Answer::NoPracticalEffect), Some(it)) => {
            format!("SMT has no practical effect on {name}{on_type}: {}", figure(it))
        }
        (_, Some(it)) => format!("Whether SMT helps {name}{on_type} is undecided: {}", figure(it)),
        (_, None) => format!(
            "{name}{on_type}: no yield was measured on {}",
            plural(of_type.nodes.len(), "node")
        ),
    };
    sentence.push('.');
    if let Some(best) = &program.best {
        sentence.push_str(&format!(" {}.", best_arm(best)));
    }
    let odd = of_type.odd_nodes.len();
    if odd > 0 {
        let verb = if odd == 1 { "differs" } else { "differ" };
        sentence.push_str(&format!(" {} {verb}.", plural(odd, "node")));
    }
    sentence
}

/// The yield over nodes with its interval.
fn figure(it: &FigureOverNodes) -> String {
    let (estimate, nodes) = match (&it.mean, it.values.first()) {
        (Some(mean), _) => (*mean, format!("over {}", plural(mean.blocks as usize, "node"))),
        (None, Some(only)) => (only.estimate, format!("on {}", only.node)),
        (None, None) => return "no value".to_owned(),
    };
    format!(
        "yield {} ({} interval {}) {nodes}",
        ratio(&estimate),
        percent(estimate.level),
        interval(&estimate)
    )
}

/// The arm with the most work, and how sure that is.
fn best_arm(best: &BestOverNodes) -> String {
    let arm = format!("{} with {}", best.arm, plural(best.workers as usize, "worker"));
    let others = |names: &[String]| names.join(", ");
    match best.verdict {
        ThreadVerdict::Best | ThreadVerdict::NumberKnown => format!("Most work: {arm}"),
        ThreadVerdict::Equal => format!("Most work: {arm}, as much as {}", others(&best.equal)),
        ThreadVerdict::GoodEnough => {
            format!("Most work: {arm}; {} may do as much", others(&best.undecided))
        }
        ThreadVerdict::Undecided | ThreadVerdict::TooFewBlocks => {
            format!("Most work so far: {arm}; {} may do more", others(&best.undecided))
        }
    }
}

/// A type with its number of nodes.
pub fn title(of_type: &HardwareType) -> String {
    format!("{} ({})", of_type.name, plural(of_type.nodes.len(), "node"))
}

/// For each program its name, and a table with a row for each figure.
pub fn tables(of_type: &HardwareType) -> Vec<(String, Table)> {
    let header = [
        "figure",
        "nodes",
        "mean",
        "interval",
        "a further node",
        "between nodes",
        "between runs",
        "within a node",
    ];
    let table = |program: &ProgramOverNodes| {
        let rows = program.figures.iter().map(row).collect();
        let header = header.map(str::to_owned).to_vec();
        (program.workload.clone(), Table { header, rows })
    };
    of_type.programs.iter().map(table).collect()
}

fn row(it: &FigureOverNodes) -> Vec<String> {
    let against = it.against.as_ref().map(|it| format!(" / {it}")).unwrap_or_default();
    let is_ratio = it.unit == "1";
    let none = || "-".to_owned();
    let spread = |deviation: Option<f64>| deviation.map_or_else(none, percent);
    let shown = it.mean.or_else(|| it.values.first().map(|only| only.estimate));
    vec![
        format!("{} of {}{against}", it.metric.name(), it.arm),
        it.mean.map_or_else(|| it.values.len().to_string(), |mean| mean.blocks.to_string()),
        shown.as_ref().map_or_else(none, |it_is| quantity(it.metric, it_is, &it.unit)),
        shown.as_ref().filter(|_| is_ratio).map_or_else(none, interval),
        it.further_node.as_ref().map_or_else(none, |further| match is_ratio {
            true => interval(further),
            false => format!("± {}", percent(further.half_width())),
        }),
        spread(it.between_nodes),
        spread(it.between_runs),
        percent(it.within_node),
    ]
}

/// Nodes that differ, those with the same finding together.
pub fn odd_nodes(report: &FleetReport) -> Vec<String> {
    let findings = report.types.iter().flat_map(|it| &it.odd_nodes).flat_map(|odd| {
        odd.findings.iter().map(|finding| (finding.sentence.as_str(), odd.node.as_str()))
    });
    grouped(findings)
}

/// Nodes without a result, those with the same reason together.
pub fn unmeasured(report: &FleetReport) -> Vec<String> {
    grouped(report.unmeasured.iter().map(|it| (it.reason.as_str(), it.node.as_str())))
}

/// `n7, n8: what is said of both`.
fn grouped<'a>(said: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (sentence, node) in said {
        match groups.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, nodes)) => nodes.push(node),
            None => groups.push((sentence, vec![node])),
        }
    }
    let line = |(sentence, nodes): (&str, Vec<&str>)| match nodes.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more: {sentence}.", nodes[..MOST].join(", ")),
        _ => format!("{}: {sentence}.", nodes.join(", ")),
    };
    groups.into_iter().map(line).collect()
}

/// Reasons for the width of each yield's interval.
pub fn reasons(report: &FleetReport) -> Vec<String> {
    let mut reasons = Vec::new();
    for of_type in &report.types {
        for program in &of_type.programs {
            let yields = program.figures.iter().find(|it| it.metric == Metric::SmtYield);
            reasons.extend(yields.and_then(|it| reason(&program.workload, it)));
        }
    }
    reasons.dedup();
    reasons.truncate(MOST);
    reasons
}

fn reason(program: &str, it: &FigureOverNodes) -> Option<String> {
    let (between, [low, high]) = (it.between_nodes?, it.between_nodes_interval?);
    let narrower = match between > it.within_node {
        true => "more nodes narrow the interval, more blocks hardly do",
        false => "more nodes and more blocks narrow the interval",
    };
    let mut sentence = format!(
        "The yields of {program}: the standard deviation between nodes is {} ({} to {}), that within a node {}: \
         {narrower}.",
        percent(between),
        percent(low),
        percent(high),
        percent(it.within_node),
    );
    if let Some(with_all) = &it.mean_with_outlying {
        sentence.push_str(&format!(
            " With the nodes that differ the mean yield is {} ({}).",
            ratio(with_all),
            interval(with_all)
        ));
    }
    Some(sentence)
}

/// Method of the report, in one paragraph.
pub fn method(report: &FleetReport) -> String {
    format!(
        "Means and intervals ({}) are over nodes, by a random-effects model; nodes of different hardware are kept apart. \
         Nodes called outlying are {} or more from the mean of the others, and left out of it. Of all campaigns without \
         such a node, at most {} name one.",
        percent(report.confidence),
        percent(report.practical),
        percent(report.error_rate)
    )
}
