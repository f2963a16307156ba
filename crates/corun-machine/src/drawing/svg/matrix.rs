//! Matrix of a probe's results, a cell for each pair that was probed.
//!
//! CPUs stand in the order of their cores, so that a correct sysfs shows as blocks
//! along the diagonal. Few CPUs have words in their cells, many have colours and tooltips only.

use svg::node::element::Group;

use crate::Machine;
use crate::probe::{Pair, Probe, Relation};

use super::piece::{Piece, rectangle};

/// Up to this number of CPUs cells have words.
const WORDS: usize = 16;
const CELL: (f64, f64) = (44.0, 24.0);
/// Pixels that a matrix without words takes at most, and its cells at most and at least.
const SQUARE: f64 = 640.0;
const DOTS: (f64, f64) = (16.0, 3.0);

/// The matrix, with the meaning of its colours.
pub(super) fn draw(machine: &Machine, probe: &Probe) -> Piece {
    let cpus = in_order(machine, probe);
    let has_words = cpus.len() <= WORDS;
    let (width, height) = if has_words {
        CELL
    } else {
        let side = (SQUARE / cpus.len() as f64).clamp(DOTS.1, DOTS.0);
        (side, side)
    };
    let mut rows = Group::new();
    // Words need room, and numbers before them.
    let (offset, gap) = if has_words { (1.0, 3.0) } else { (0.0, 0.0) };
    for (row, &one) in cpus.iter().enumerate() {
        let top = (row as f64 + offset) * height;
        if has_words {
            number(one).place(&mut rows, 0.0, top);
            number(one).place(&mut rows, (row as f64 + offset) * width, 0.0);
        }
        for (column, &other) in cpus.iter().enumerate() {
            let left = (column as f64 + offset) * width;
            if let Some(pair) = probe.pair(one, other) {
                let is_wrong = probe.is_contradicted(one, other);
                cell(pair, is_wrong, (width - gap, height - gap), has_words)
                    .place(&mut rows, left, top);
            } else if one == other {
                let own = Piece::cell(width - gap, height - gap, "", "none");
                own.place(&mut rows, left, top);
            }
        }
    }
    let (columns, lines) = (cpus.len() as f64 + offset, cpus.len() as f64 + offset);
    let mut whole = Piece { width: columns * width, height: lines * height, node: rows };
    if !has_words {
        let ground = rectangle(whole.width, whole.height, 0.0, "group");
        whole.node = Group::new().add(ground).add(whole.node);
    }
    Piece::stack(vec![whole, legend(probe)], 10.0)
}

/// The probed CPUs by their cores.
fn in_order(machine: &Machine, probe: &Probe) -> Vec<u32> {
    let mut cpus: Vec<u32> = probe.pairs.iter().flat_map(|pair| pair.cpus).collect();
    let place = |cpu: &u32| {
        let package = machine.cpu(*cpu).and_then(|cpu| cpu.package);
        (package, machine.cpu(*cpu).and_then(|cpu| cpu.core), *cpu)
    };
    cpus.sort_by_key(place);
    cpus.dedup();
    cpus
}

fn number(cpu: u32) -> Piece {
    Piece::word(CELL.0, CELL.1, &cpu.to_string(), "title")
}

fn cell(pair: &Pair, is_wrong: bool, (width, height): (f64, f64), has_words: bool) -> Piece {
    let mut class = class(pair.conclusion).to_owned();
    if is_wrong {
        class += " wrong";
    }
    let word = match pair.conclusion {
        _ if !has_words => String::new(),
        Relation::SharesACore => "core".to_owned(),
        Relation::SharesAnL3 => "L3".to_owned(),
        Relation::Farther => "far".to_owned(),
        Relation::Undecided => "?".to_owned(),
    };
    let mark = if is_wrong && has_words { "!" } else { "" };
    Piece::cell(width, height, &format!("{word}{mark}"), &class).explained(&words(pair, is_wrong))
}

fn words(pair: &Pair, is_wrong: bool) -> String {
    let [one, other] = pair.cpus;
    let mut words =
        format!("CPUs {one} and {other}: {}; {}", pair.conclusion.words(), pair.because);
    if let Some(ratio) = pair.ports.work_ratio {
        words += &format!("\nports {ratio:.2}");
    }
    if let Some(ratio) = pair.chains.work_ratio {
        words += &format!(", chains {ratio:.2}");
    }
    if let Some(trip) = pair.round_trip_ns {
        words += &format!(", round trip {trip:.0} ns");
    }
    if is_wrong {
        words += "\ncontradicts sysfs";
    }
    words
}

fn class(relation: Relation) -> &'static str {
    match relation {
        Relation::SharesACore => "shares_a_core",
        Relation::SharesAnL3 => "shares_an_l3",
        Relation::Farther => "farther",
        Relation::Undecided => "undecided",
    }
}

/// The colours that occur.
fn legend(probe: &Probe) -> Piece {
    let occurs = |relation: &Relation| probe.pairs.iter().any(|pair| pair.conclusion == *relation);
    let all = [Relation::SharesACore, Relation::SharesAnL3, Relation::Farther, Relation::Undecided];
    let mut entries: Vec<Piece> = all
        .into_iter()
        .filter(occurs)
        .map(|relation| entry(class(relation), relation.words()))
        .collect();
    if !probe.contradictions.is_empty() {
        entries.push(entry("cpu wrong", "contradicts sysfs"));
    }
    Piece::flow(entries, SQUARE, 18.0)
}

/// A colour and its meaning.
pub(super) fn entry(class: &str, meaning: &str) -> Piece {
    let swatch = Piece::cell(14.0, 14.0, "", class);
    Piece::flow(vec![swatch, Piece::line(meaning, "")], f64::INFINITY, 6.0)
}
