//! A probe's result for a person: a matrix where it fits, a summary by conclusion, and in plain
//! sentences what contradicts sysfs.

use corun_stats::median;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::record::{Contention, Pair, Probe, Relation, Sureness};

/// Up to this number of CPUs a matrix is drawn.
const MATRIX: usize = 16;
/// No more sentences of a kind than this are shown; JSON has them all.
const SENTENCES: usize = 8;
/// Columns of a cell: the longest word, its mark, and two spaces.
const CELL: usize = 7;

/// The result in lines of up to `width` columns.
pub fn describe(probe: &Probe, width: usize) -> String {
    let mut text = head(probe, width);
    let cpus: BTreeSet<u32> = probe.pairs.iter().flat_map(|pair| pair.cpus).collect();
    if cpus.len() <= MATRIX && 4 + CELL * (cpus.len() + 1) <= width.max(80) {
        matrix(&mut text, probe, &cpus);
    }
    text + &findings(probe, width)
}

/// The head alone, for those who draw the matrix themselves.
pub(crate) fn head(probe: &Probe, width: usize) -> String {
    let (done, possible) = (probe.pairs.len() as u64, probe.possible_pairs);
    let pairs = match possible - done.min(possible) {
        0 if possible == 1 => "the only pair".to_owned(),
        0 => format!("all {possible} pairs"),
        _ if probe.interrupted => format!("interrupted after {done} of {possible} pairs"),
        left_out => format!(
            "{done} of {possible} pairs: siblings, a pair for each distance between cores, and random \
             ones (seed {}); {left_out} left out",
            probe.seed
        ),
    };
    let head = format!("Probe: {pairs}; {:.1} s", probe.seconds);
    format!("\n{}\n", textwrap::fill(&head, width))
}

/// Findings below the matrix.
pub(crate) fn findings(probe: &Probe, width: usize) -> String {
    let mut text = String::new();
    summary(&mut text, probe);
    let contradictions = probe.contradictions.iter().map(|one| format!("{}.", one.sentence));
    list(&mut text, "Contradicts sysfs", &contradictions.collect::<Vec<_>>(), width);
    let undecided = probe.pairs.iter().filter(|pair| pair.conclusion == Relation::Undecided);
    let sentence =
        |pair: &Pair| format!("CPUs {} and {}: {}.", pair.cpus[0], pair.cpus[1], pair.because);
    list(&mut text, "Undecided", &undecided.map(sentence).collect::<Vec<_>>(), width);
    text
}

fn matrix(text: &mut String, probe: &Probe, cpus: &BTreeSet<u32>) {
    let mut line = " ".repeat(CELL - 2);
    for cpu in cpus {
        let _ = write!(line, "{cpu:>width$} ", width = CELL - 1);
    }
    let _ = writeln!(text, "\n{}", line.trim_end());
    for &row in cpus {
        let mut line = format!("{row:>width$}", width = CELL - 2);
        for &column in cpus {
            let word = match probe.pair(row, column) {
                _ if row == column => "·",
                None => "",
                Some(pair) => word(pair.conclusion),
            };
            let mark = if probe.is_contradicted(row, column) { '!' } else { ' ' };
            let _ = write!(line, "{word:>width$}{mark}", width = CELL - 1);
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if !probe.contradictions.is_empty() {
        text.push_str("     ! contradicts sysfs\n");
    }
}

/// The conclusion in a cell of the matrix.
fn word(relation: Relation) -> &'static str {
    match relation {
        Relation::SharesACore => "core",
        Relation::SharesAnL3 => "L3",
        Relation::Farther => "far",
        Relation::Undecided => "?",
    }
}

/// One line for each conclusion: the middle of its pairs.
fn summary(text: &mut String, probe: &Probe) {
    let _ = writeln!(
        text,
        "\n  {:<16}{:>6}{:>8}{:>8}{:>12}",
        "conclusion", "pairs", "ports", "chains", "round trip"
    );
    for relation in
        [Relation::SharesACore, Relation::SharesAnL3, Relation::Farther, Relation::Undecided]
    {
        let pairs: Vec<&Pair> =
            probe.pairs.iter().filter(|pair| pair.conclusion == relation).collect();
        if pairs.is_empty() {
            continue;
        }
        let ratio = |of: fn(&Pair) -> &Contention| {
            let ratios: Vec<f64> = pairs.iter().filter_map(|pair| of(pair).work_ratio).collect();
            median(&ratios).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
        };
        let trips: Vec<f64> = pairs.iter().filter_map(|pair| pair.round_trip_ns).collect();
        let trip = median(&trips).map_or_else(|| "-".to_owned(), time);
        let _ = writeln!(
            text,
            "  {:<16}{:>6}{:>8}{:>8}{trip:>12}{}",
            relation.words(),
            pairs.len(),
            ratio(|pair| &pair.ports),
            ratio(|pair| &pair.chains),
            remark(&pairs),
        );
    }
    text.push_str("  ports, chains: the work of two loops at once, over the work of one\n");
}

/// Remark on what is less than sure about pairs of one conclusion.
fn remark(pairs: &[&Pair]) -> &'static str {
    let sureness = |wanted| pairs.iter().filter(|pair| pair.sureness == wanted).count();
    match (sureness(Sureness::AsSysfsSays), sureness(Sureness::Likely)) {
        (0, 0) => "",
        (all, _) if all == pairs.len() => "  no core in common: sure; the L3: as sysfs says",
        (0, _) => "  no core in common: sure; the L3: likely",
        _ => "  no core in common: sure; the L3: in part as sysfs says",
    }
}

/// A time in nanoseconds, in the unit that suits it.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e4 => format!("{nanoseconds:.0} ns"),
        ..1e6 => format!("{:.0} us", nanoseconds / 1e3),
        _ => format!("{:.1} ms", nanoseconds / 1e6),
    }
}

/// Appends a list of sentences, if there are any.
fn list(text: &mut String, title: &str, sentences: &[String], width: usize) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    let options = textwrap::Options::new(width).initial_indent("  - ").subsequent_indent("    ");
    let more = sentences.len().saturating_sub(SENTENCES);
    let more = (more > 0).then(|| format!("and {more} more like these; --json lists them all."));
    for sentence in sentences.iter().take(SENTENCES).chain(&more) {
        let _ = writeln!(text, "{}", textwrap::fill(sentence, &options));
    }
}
