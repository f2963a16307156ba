//! Workers that ran together on simulated cores, and one placement against another.

use std::fmt::Write as _;

use corun_record::{
    IssueCycles, Metric, PlacedWorker, PlacementComparison, Placements, Record, SimulatedPlacement,
    VariedResource,
};

use super::{heading, limits, wrapped};
use crate::tables::Table;
use crate::terminal::grid;

/// Components below this share of a worker's slots are left out of the text.
const MIN_SHARE: f64 = 0.005;
/// The policies that a resource is shared by otherwise, as their columns.
const POLICIES: [&str; 3] = ["replicated", "partitioned", "shared"];

/// The placements as text for a terminal of this many columns.
pub fn placements_to_terminal(
    Record { caveats, body: document, .. }: &Record<Placements>,
    columns: u16,
) -> String {
    let Placements { core, pages, .. } = document;
    let mut text = heading(&core.title, core, *pages, caveats, columns);
    for one in &document.placements {
        let phases = match one.phases {
            0 | 1 => String::new(),
            several => format!("; {several} phases"),
        };
        let title = format!("{}: {}{phases}", one.placement, one.placement.summary());
        let _ = write!(text, "\n{}\n\n", wrapped(&title, columns));
        text += &grid(&table(one, &document.workers), columns);
        text.push('\n');
        if let Some(sentence) = at_once(one) {
            let _ = write!(text, "\n{}\n", wrapped(&sentence, columns));
        }
    }
    let figures = document.comparisons.iter().map(|one| figure(one, document));
    let refused = document.refused.iter().map(|one| {
        let name = name(one.metric, &one.placement, &one.against);
        format!("{name}: no figure, since it is implausible: {}", one.reason)
    });
    let comparisons: Vec<String> = figures.chain(refused).collect();
    if !comparisons.is_empty() {
        text.push('\n');
    }
    for one in comparisons {
        let _ = writeln!(text, "{}", wrapped(&one, columns));
    }
    text += &limits(caveats, columns);
    if !document.resources.is_empty() {
        let title =
            "SMT yield if siblings shared one resource otherwise, the largest change first:";
        let _ = write!(text, "\n{}\n\n", wrapped(title, columns));
        text += &grid(&varied(document), columns);
        text.push('\n');
    }
    text
}

fn name(metric: Metric, placement: &impl ToString, against: &impl ToString) -> String {
    format!("{} ({} against {})", metric.name(), placement.to_string(), against.to_string())
}

/// A comparison, with its range over phases if it has one.
fn figure(one: &PlacementComparison, document: &Placements) -> String {
    let &PlacementComparison { metric, placement, against, mean, low, high } = one;
    let name = name(metric, &placement, &against);
    if low >= high {
        return format!("{name}: {mean:.3}");
    }
    let simulated = document.placements.iter().find(|it| it.placement == placement);
    let phases = simulated.map_or(0, |it| it.phases);
    format!(
        "{name}: {mean:.3}, {low:.3} to {high:.3} by where in this window the workers begin ({phases} phases); \
         other parts of the programs may lie outside"
    )
}

/// The workers of a placement.
fn table(placement: &SimulatedPlacement, names: &[String]) -> Table {
    let row = |one: &PlacedWorker| {
        let mean = one.cycles.iter().sum::<f64>() / one.cycles.len().max(1) as f64;
        let low = one.cycles.iter().copied().fold(f64::INFINITY, f64::min);
        let high = one.cycles.iter().copied().fold(0.0, f64::max);
        let range = match low < high {
            true => format!("{:.3} to {:.3}", low / 1e6, high / 1e6),
            false => String::new(),
        };
        vec![
            names.get(one.worker).cloned().unwrap_or_default(),
            format!("{}.{}", one.core, one.logical_cpu),
            format!("{:.3}", one.instructions as f64 / 1e6),
            format!("{:.3}", mean / 1e6),
            range,
            format!("{:.3}", one.instructions as f64 / mean),
            lost(&one.stack),
        ]
    };
    let header = [
        "worker",
        "core.CPU",
        "M instructions",
        "M cycles",
        "by start in window",
        "IPC",
        "where cycles went",
    ];
    let header = header.map(str::to_owned).to_vec();
    Table { header, rows: placement.workers.iter().map(row).collect() }
}

/// In how many cycles siblings use their core's ports at the same time; none where there are no siblings.
fn at_once(placement: &SimulatedPlacement) -> Option<String> {
    let has_sibling = |one: &&PlacedWorker| {
        let is_sibling =
            |it: &PlacedWorker| it.core == one.core && it.logical_cpu != one.logical_cpu;
        placement.workers.iter().any(is_sibling)
    };
    let (mut all, mut issue) = (0.0, IssueCycles::default());
    for one in placement.workers.iter().filter(has_sibling) {
        all += one.stack.iter().map(|(_, cycles)| cycles).sum::<f64>();
        issue = issue.plus(one.issue);
    }
    (issue.own > 0).then(|| {
        let percent = |cycles: u64| 100.0 * cycles as f64 / f64::max(all, 1.0);
        format!(
            "siblings: a worker starts micro-ops in {:.1} % of its cycles, in {:.1} % at the same time as its \
             sibling",
            percent(issue.own),
            percent(issue.with_sibling),
        )
    })
}

/// The largest components of a stack.
fn lost(stack: &[(String, f64)]) -> String {
    let all: f64 = stack.iter().map(|(_, cycles)| cycles).sum();
    let shares = stack.iter().map(|(name, cycles)| (name, cycles / all.max(1.0)));
    let mut parts: Vec<(&String, f64)> = shares.filter(|(_, share)| *share >= MIN_SHARE).collect();
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts: Vec<String> =
        parts.iter().map(|(name, share)| format!("{name} {:.1} %", 100.0 * share)).collect();
    parts.join(", ")
}

/// The SMT yield by resource and policy.
fn varied(document: &Placements) -> Table {
    let own = document.comparisons.iter().find(|one| one.metric == Metric::SmtYield);
    let own = own.map_or(1.0, |one| one.mean);
    let change = |one: &VariedResource| {
        one.smt_yield.values().map(|it| (it - own).abs()).fold(0.0, f64::max)
    };
    let mut resources: Vec<&VariedResource> = document.resources.iter().collect();
    resources.sort_by(|one, other| change(other).total_cmp(&change(one)));
    let row = |one: &VariedResource| {
        let assumed = if one.is_assumed { ", assumed" } else { "" };
        let mut row = vec![one.resource.clone(), format!("{}{assumed}", one.policy)];
        row.extend(POLICIES.map(|policy| {
            one.smt_yield.get(policy).map_or(String::new(), |it| format!("{it:.3}"))
        }));
        row
    };
    let header = [&["resource", "in the model"][..], &POLICIES].concat();
    Table {
        header: header.into_iter().map(str::to_owned).collect(),
        rows: resources.into_iter().map(row).collect(),
    }
}
