//! The article of a format that has none of its own: its fields as tables, in their order.

use corun_record::{Caveat, Ending, MachineSummary, Tree};

use super::common::{capital, machine, trust};
use super::{Article, Part, Section, Statement, Table};
use crate::Detail;

/// Fields of the common head, which are shown on their own.
const HEAD: [&str; 8] =
    ["format", "version", "corun_version", "started", "elapsed_s", "machine", "ending", "caveats"];
/// Tables are not deeper than this below the document; what is deeper is named by its path.
const DEEPEST: usize = 2;

pub(super) fn article(tree: &Tree, detail: Detail) -> Article {
    let Tree::Table(fields) = tree else { return Article::default() };
    let mut facts = Vec::new();
    let mut sections = Vec::new();
    for (name, value) in fields.iter().filter(|it| !HEAD.contains(&it.0.as_str())) {
        match value.text() {
            Some(text) => facts.push((title(name), text)),
            None => sections.extend(section(&title(name), value, detail, 0)),
        }
    }
    if !facts.is_empty() {
        sections.insert(0, Section::new("In short", vec![Part::Facts(facts)]));
    }
    let caveats: Vec<Caveat> = list(tree.get("caveats"))
        .iter()
        .filter_map(|it| Some(Caveat::new(words(it.get("kind"))?, words(it.get("sentence"))?)))
        .collect();
    let ending: Ending = of(tree.get("ending")).unwrap_or_else(Ending::completed);
    sections.extend(trust(&caveats, &ending));
    let origin = ["corun_version", "started", "elapsed_s"]
        .into_iter()
        .filter_map(|name| Some((title(name), words(tree.get(name)).filter(|it| !it.is_empty())?)));
    sections.push(Section::folded("How it was made", vec![Part::Facts(origin.collect())]));
    let summary: Option<MachineSummary> = of(tree.get("machine"));
    sections.extend(machine(summary.as_ref()));
    let format = words(tree.get("format")).unwrap_or_default();
    let kind = format.strip_prefix("corun-").unwrap_or(&format).replace('-', " ");
    let named = ["name", "title", "study", "model", "workload"];
    let own = named.iter().find_map(|name| words(tree.get(name)));
    Article {
        kind: "Document",
        title: own.map_or_else(|| kind.clone(), |own| format!("{kind}: {own}")),
        answers: ["answer", "summary", "verdict"]
            .iter()
            .filter_map(|name| words(tree.get(name)))
            .map(|sentence| Statement::new("even", sentence))
            .collect(),
        sections,
        ..Article::default()
    }
}

/// A value of a document in a type of its own, if it is one.
fn of<T: serde::de::DeserializeOwned>(tree: Option<&Tree>) -> Option<T> {
    tree?.clone().read().ok()
}

fn title(name: &str) -> String {
    capital(&name.replace('_', " "))
}

fn section(name: &str, value: &Tree, detail: Detail, depth: usize) -> Option<Section> {
    let parts = parts(name, value, detail, depth);
    (!parts.is_empty()).then(|| Section::new(name, parts))
}

fn parts(name: &str, value: &Tree, detail: Detail, depth: usize) -> Vec<Part> {
    match value {
        Tree::List(items) if items.iter().all(|it| it.text().is_some()) => {
            let texts: Vec<String> = items.iter().filter_map(Tree::text).collect();
            match texts.is_empty() {
                true => Vec::new(),
                false => vec![Part::List(shortened(texts, detail))],
            }
        }
        Tree::List(items) => tables(name, items, detail).into_iter().map(Part::Table).collect(),
        Tree::Table(fields) => {
            let single = fields.iter().filter_map(|(name, it)| Some((title(name), it.text()?)));
            let facts: Vec<(String, String)> = single.collect();
            let mut all = Vec::new();
            if !facts.is_empty() {
                all.push(Part::Facts(facts));
            }
            for (below, it) in fields.iter().filter(|it| it.1.text().is_none()) {
                if depth < DEEPEST {
                    all.extend(parts(&format!("{name}: {}", title(below)), it, detail, depth + 1));
                } else {
                    let leaves = it.leaves().into_iter().take(detail.rows);
                    let rows = leaves.map(|(path, text)| vec![path, text]).collect();
                    all.push(Part::Table(Table::of(
                        below.as_str(),
                        &["field", "value"],
                        rows,
                        detail,
                    )));
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

fn shortened(mut texts: Vec<String>, detail: Detail) -> Vec<String> {
    let left_out = texts.len().saturating_sub(detail.rows);
    texts.truncate(detail.rows);
    if left_out > 0 {
        texts.push(format!("{left_out} more are left out"));
    }
    texts
}

/// Items with their fields as columns, in the order in which fields appear first; what lists within them hold stands in a
/// table of its own.
fn tables(name: &str, items: &[Tree], detail: Detail) -> Vec<Table> {
    // A table that is wider than this is read as fields and values.
    const WIDEST: usize = 14;
    type Fields = Vec<(String, String)>;
    let is_in_list = |path: &str| path.split('.').any(|it| it.parse::<usize>().is_ok());
    let all = items.iter().take(detail.rows).map(Tree::leaves);
    let (mut own, mut below): (Vec<Fields>, Vec<Fields>) =
        all.map(|it| it.into_iter().partition::<Fields, _>(|(path, _)| !is_in_list(path))).unzip();
    let mut columns: Vec<String> = Vec::new();
    for (path, text) in own.iter().flatten() {
        if !columns.contains(path) && !text.is_empty() {
            columns.push(path.clone());
        }
    }
    if columns.len() > WIDEST {
        below = items.iter().take(detail.rows).map(Tree::leaves).collect();
        (own, columns) = (Vec::new(), Vec::new());
    }
    let mut tables = Vec::new();
    if !columns.is_empty() {
        let cell = |fields: &Fields, column: &String| {
            fields.iter().find(|it| it.0 == *column).map_or_else(String::new, |it| it.1.clone())
        };
        let rows = own.iter().map(|it| columns.iter().map(|column| cell(it, column)).collect());
        let header: Vec<String> = columns.iter().map(|it| it.replace(['_', '.'], " ")).collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        tables.push(Table::of(name, &header, rows.collect(), detail));
    }
    let rows = below.into_iter().enumerate().flat_map(|(index, fields)| {
        fields.into_iter().map(move |(path, text)| vec![(index + 1).to_string(), path, text])
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        let caption =
            if tables.is_empty() { name.to_owned() } else { format!("{name}: more of each") };
        tables.push(Table::of(caption, &["item", "field", "value"], rows, detail));
    }
    if let Some(first) = tables.first_mut() {
        first.left_out += items.len().saturating_sub(detail.rows);
    }
    tables
}

/// The items of a list; none of anything else.
pub(super) fn list(tree: Option<&Tree>) -> &[Tree] {
    match tree {
        Some(Tree::List(items)) => items,
        _ => &[],
    }
}

/// A single value as text.
pub(super) fn words(tree: Option<&Tree>) -> Option<String> {
    tree.and_then(Tree::text)
}

/// A number.
pub(super) fn number(tree: Option<&Tree>) -> Option<f64> {
    match tree? {
        Tree::Count(count) => Some(*count as f64),
        Tree::Negative(number) => Some(*number as f64),
        Tree::Number(number) => Some(*number),
        _ => None,
    }
}
