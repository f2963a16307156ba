//! The article of a machine: its cores with their siblings, and what a probe found of each pair.
//!
//! The document belongs to a crate that this one does not see, so its fields are read from the tree.

use std::collections::BTreeMap;

use corun_record::Tree;
use corun_report::parts::prose;

use super::other::{self, list, number, words};
use super::{Article, Figure, Part, Section, Statement};
use crate::Detail;
use crate::plot::Plot;
use crate::plot::heat::{Cell, Heat};
use crate::plot::places::{PlacedArm, Places};

pub(super) const FORMAT: &str = "corun-topology";

pub(super) fn article(tree: &Tree, detail: Detail) -> Article {
    let general = other::article(tree, detail);
    let cores: Vec<Vec<u32>> =
        list(tree.get("cores")).iter().filter_map(|core| Some(cpus(core.get("cpus")?))).collect();
    let mut pictures: Vec<Part> = Vec::new();
    if cores.iter().any(|core| !core.is_empty()) {
        pictures.push(machine(tree, &cores).into());
    }
    pictures.extend(matrix(tree, &cores).map(Part::from));
    let sections = general.sections.into_iter().map(|it| Section { is_folded: true, ..it });
    Article {
        kind: "The machine",
        title: words(tree.get("cpu_model")).unwrap_or_else(|| "unknown CPU".to_owned()),
        answers: answers(tree, &cores),
        sections: [Section::new("In pictures", pictures)].into_iter().chain(sections).collect(),
        ..Article::default()
    }
}

/// CPUs as a list of numbers, or as the kernel writes lists: `0-3,8`.
fn cpus(tree: &Tree) -> Vec<u32> {
    match tree {
        Tree::Text(text) => {
            let range = |part: &str| {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let [first, last] = [first, last].map(|it| it.trim().parse::<u32>().ok());
                Some(first?..=last?.min(first? + 4096))
            };
            text.split(',').filter_map(range).flatten().collect()
        }
        tree => {
            list(Some(tree)).iter().filter_map(|it| number(Some(it))).map(|it| it as u32).collect()
        }
    }
}

fn answers(tree: &Tree, cores: &[Vec<u32>]) -> Vec<Statement> {
    let logical: usize = cores.iter().map(Vec::len).sum();
    let width = cores.iter().map(Vec::len).max().unwrap_or(0);
    let mut answers = vec![Statement::new(
        "even",
        format!(
            "{}, {}: SMT width {width}.",
            prose::plural(cores.len(), "core"),
            prose::plural(logical, "logical CPU")
        ),
    )];
    if let Some(probe) = tree.get("probe") {
        let contradictions = list(probe.get("contradictions"));
        let pairs = list(probe.get("pairs")).len();
        answers.push(match contradictions.len() {
            0 => Statement::new(
                "good",
                format!(
                    "Nothing that was measured of {} contradicts the kernel.",
                    prose::plural(pairs, "pair")
                ),
            ),
            some => Statement::new(
                "bad",
                format!(
                    "The kernel is wrong about {}: see the matrix.",
                    prose::plural(some, "pair")
                ),
            ),
        });
    }
    answers
}

fn machine(tree: &Tree, cores: &[Vec<u32>]) -> Figure {
    let workers: BTreeMap<u32, u32> = BTreeMap::new();
    let row = PlacedArm { label: "logical CPUs".to_owned(), workers, ..PlacedArm::default() };
    Figure {
        name: "machine",
        message: "Which logical CPUs share a core".to_owned(),
        note: format!("As the kernel says. {}.", words(tree.get("cpu_model")).unwrap_or_default()),
        plot: Plot::Places(Places { cores: cores.to_vec(), rows: vec![row] }),
        table: None,
    }
}

/// Result for each pair of CPUs, those of a core together.
fn matrix(tree: &Tree, cores: &[Vec<u32>]) -> Option<Figure> {
    let pairs = list(tree.get("probe")?.get("pairs"));
    let mut found = BTreeMap::new();
    for pair in pairs {
        let of = cpus(pair.get("cpus")?);
        let [one, other] = of[..] else { continue };
        found.insert((one.min(other), one.max(other)), pair);
    }
    let mut order: Vec<u32> = found.keys().flat_map(|it| [it.0, it.1]).collect();
    let place = |cpu: &u32| (cores.iter().position(|core| core.contains(cpu)), *cpu);
    order.sort_by_key(place);
    order.dedup();
    if order.is_empty() {
        return None;
    }
    let kinds = [
        ("shares_a_core", "h5", "core", "share a core"),
        ("shares_an_l3", "h2", "L3", "share an L3"),
        ("farther", "h0", "far", "share neither"),
        ("undecided", "h1", "?", "undecided"),
    ];
    let cell = |one: u32, other: u32| {
        let pair = found.get(&(one.min(other), one.max(other)))?;
        let conclusion = words(pair.get("conclusion"))?;
        let kind = kinds.iter().find(|it| it.0 == conclusion)?;
        let because = words(pair.get("because")).unwrap_or_default();
        Some(Cell {
            value: 0.0,
            figure: kind.2.to_owned(),
            words: format!("CPUs {one} and {other} {}: {because}", kind.3),
            class: kind.1,
        })
    };
    let cells = order.iter().flat_map(|&one| order.iter().map(move |&other| (one, other)));
    let cells: Vec<Option<Cell>> = cells.map(|(one, other)| cell(one, other)).collect();
    let occurs = |class: &str| cells.iter().flatten().any(|it| it.class == class);
    let kinds = kinds.iter().filter(|it| occurs(it.1)).map(|it| (it.1, it.3.to_owned())).collect();
    let names: Vec<String> = order.iter().map(u32::to_string).collect();
    Some(Figure {
        name: "probe",
        message: "What pairs of logical CPUs share, as measured".to_owned(),
        note: "Both of a pair ran loops at once: siblings compete for the ports of their core, and a line of memory goes \
               to and fro more quickly within an L3. CPUs of a core stand together."
            .to_owned(),
        plot: Plot::Heat(Heat {
            rows: names.clone(),
            columns: names,
            cells,
            axes: ["logical CPU".to_owned(), "logical CPU".to_owned()],
            what: String::new(),
            kinds,
        }),
        table: None,
    })
}
