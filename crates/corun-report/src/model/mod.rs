//! Core models in words: a line each, one in full, and two of them side by side.

mod fields;
#[cfg(test)]
mod tests;

use corun_model::{Comparison, CoreModel, MIN_PUBLISHED};

use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{grid, section, wrap};
use fields::Node;

/// What every output says of how a model was checked: against how many of the published figures of its
/// core, or that it is unvalidated.
pub fn validation(model: &CoreModel, compared: &[Comparison]) -> String {
    let agreed = compared.iter().filter(|it| it.agrees()).count();
    let differing = compared.iter().filter(|it| it.differs()).count();
    match &model.validated {
        Some(how) if agreed >= MIN_PUBLISHED && differing == 0 => {
            format!("validated {how}: {agreed} of {} agree", compared.len())
        }
        _ if compared.is_empty() => {
            "unvalidated: no published figures to check it against".to_owned()
        }
        _ => format!("unvalidated: {agreed} published figures agree, {differing} differ"),
    }
}

/// A line for each model.
pub fn list_models(models: &[(CoreModel, Vec<Comparison>)], columns: u16) -> String {
    let header = ["model", "the machine", "threads", "GHz", "ROB", "checked"];
    let row = |(model, compared): &(CoreModel, Vec<Comparison>)| {
        let validation = validation(model, compared);
        let word = validation.split([' ', ':']).next().unwrap_or_default();
        vec![
            model.name.clone(),
            model.title.clone(),
            model.smt_width.to_string(),
            model.gigahertz.to_string(),
            model.back.rob.entries.to_string(),
            word.to_owned(),
        ]
    };
    let header = header.map(str::to_owned).to_vec();
    let table = Table { header, rows: models.iter().map(row).collect() };
    format!("{}\n", grid(&table, columns))
}

/// A model in full: every figure, what siblings do with each resource, and from where it is known.
pub fn describe_model(model: &CoreModel, compared: &[Comparison], columns: u16) -> String {
    let mut text = String::new();
    let overlays = match model.overlays.is_empty() {
        true => String::new(),
        false => format!(", overlaid by {}", model.overlays.join(", ")),
    };
    for line in [
        format!("{}: {}", model.name, model.title),
        format!(
            "{} a core, {} GHz without a machine; instructions timed by {}{overlays}",
            plural(model.smt_width as usize, "hardware thread"),
            model.gigahertz,
            model.timing,
        ),
        validation(model, compared),
    ] {
        text.push_str(&wrap(&line, "  ", columns));
    }
    let all = Node::of(model);
    for (name, title) in [("front", "Front end"), ("back", "Back end"), ("memory", "Memory")] {
        let table = resources(all.get(name));
        text.push_str(&format!("\n{title}\n\n{}\n", grid(&table, columns)));
    }
    let reported = |list: &std::collections::BTreeMap<String, String>| {
        list.iter().map(|(name, reported)| format!("{name}: {reported}")).collect()
    };
    section(&mut text, "Figures that no source tells", reported(&model.estimates), columns);
    section(&mut text, "Sources", reported(&model.sources), columns);
    let differing = compared.iter().filter(|it| it.differs());
    let differing = differing.map(|it| {
        let modelled = it.modelled.unwrap_or_default();
        format!("{}: published {} ({}), modelled {modelled}", it.figure, it.published, it.source)
    });
    section(&mut text, "Differing from what was published", differing.collect(), columns);
    text
}

/// Fields in which two models differ, each with both texts; none where a model lacks the field.
///
/// What is said of the models (titles, sources, estimates) is not compared.
pub fn model_differences(a: &CoreModel, b: &CoreModel) -> Vec<ModelDifference> {
    let [left, right] = [a, b].map(|model| {
        let mut leaves = Node::of(model).leaves();
        leaves.retain(|(path, _)| is_compared(path));
        leaves
    });
    let of = |leaves: &[(String, String)], field: &str| {
        leaves.iter().find(|(path, _)| path == field).map(|(_, text)| text.clone())
    };
    let only_right = right.iter().filter(|(path, _)| of(&left, path).is_none());
    left.iter()
        .chain(only_right)
        .map(|(field, _)| ModelDifference {
            field: field.clone(),
            a: of(&left, field),
            b: of(&right, field),
        })
        .filter(|it| it.a != it.b)
        .collect()
}

/// A field in which two models differ.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ModelDifference {
    /// Its path: `back.rob.entries`.
    pub field: String,
    /// What the first model has.
    pub a: Option<String>,
    /// What the second model has.
    pub b: Option<String>,
}

/// What differs between two models, side by side.
pub fn models_side_by_side(a: &CoreModel, b: &CoreModel, columns: u16) -> String {
    let differences = model_differences(a, b);
    if differences.is_empty() {
        return format!("{} and {} are the same core.\n", a.name, b.name);
    }
    let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = |it: ModelDifference| vec![it.field, cell(it.a), cell(it.b)];
    let table = Table {
        header: vec!["field".to_owned(), a.name.clone(), b.name.clone()],
        rows: differences.into_iter().map(row).collect(),
    };
    format!("{}\n", grid(&table, columns))
}

fn is_compared(path: &str) -> bool {
    const SHOWN_ELSEWHERE: [&str; 4] = ["title", "validated", "sources", "estimates"];
    let first = path.split('.').next().unwrap_or_default();
    !SHOWN_ELSEWHERE.contains(&first) && !path.ends_with(".source")
}

/// A row for each resource of a group.
fn resources(group: Option<&Node>) -> Table {
    let header = ["resource", "figures", "siblings", "source"].map(str::to_owned).to_vec();
    let mut rows = Vec::new();
    if let Some(Node::Table(fields)) = group {
        for (name, node) in fields {
            match node {
                Node::List(nodes) if nodes.iter().any(|it| it.text().is_none()) => {
                    rows.extend(nodes.iter().map(|node| resource(name, node)));
                }
                Node::List(nodes) if nodes.is_empty() => {}
                node => rows.push(resource(name, node)),
            }
        }
    }
    Table { header, rows }
}

fn resource(name: &str, node: &Node) -> Vec<String> {
    let sharing = node.get("sharing");
    let source = sharing.unwrap_or(node).get("source").and_then(Node::text);
    let reported = |(path, text): (String, String)| {
        let is_figure = path != "source" && !path.starts_with("sharing.");
        (is_figure && !text.is_empty()).then(|| format!("{path} {text}").trim().to_owned())
    };
    let figures: Vec<String> = node.leaves().into_iter().filter_map(reported).collect();
    vec![
        name.replace('_', " "),
        figures.join(", "),
        sharing.map(policy).unwrap_or_default(),
        source.unwrap_or_default().to_owned(),
    ]
}

fn policy(sharing: &Node) -> String {
    let text = |name| sharing.get(name).and_then(Node::text);
    let cap = text("cap").map_or(String::new(), |cap| format!(", at most {cap}"));
    let assumed = if text("assumed") == Some("yes") { " (assumed)" } else { "" };
    format!("{}{cap}{assumed}", text("policy").unwrap_or_default())
}
