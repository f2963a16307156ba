//! Core models in words: a line each, one in full, and two of them side by side.

use corun_record::{
    ListedModel, ModelChecks, ModelDescription, ModelDifference, ModelDifferences, ModelList, Tree,
};

use crate::grid::listing;
use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{grid, section, wrap};

/// A line for each model.
pub fn list_models(list: &ModelList, columns: u16) -> String {
    let header = ["model", "the machine", "threads", "GHz", "ROB", "status", "unchecked", "differ"];
    let row = |model: &ListedModel| {
        vec![
            model.name.clone(),
            model.title.clone(),
            model.smt_width.to_string(),
            model.gigahertz.to_string(),
            model.rob_entries.to_string(),
            if model.is_validated { "validated" } else { "unvalidated" }.to_owned(),
            match model.figures.published {
                0 => "-".to_owned(),
                published => format!("{} of {published}", model.figures.unchecked),
            },
            model.figures.differ.to_string(),
        ]
    };
    let header = header.map(str::to_owned).to_vec();
    let table = Table { header, rows: list.models.iter().map(row).collect() };
    let spare = ["ROB", "differ", "unchecked", "GHz"];
    format!("{}\n", listing(&table, columns, &spare, &[("the machine", 24)]))
}

/// A model in full: every figure, what siblings do with each resource, and from where it is known.
pub fn describe_model(model: &ModelDescription, columns: u16) -> String {
    let mut text = String::new();
    let overlays = match model.overlays.is_empty() {
        true => String::new(),
        false => format!(", overlaid by {}", model.overlays.join(", ")),
    };
    for line in [
        format!("{}: {}", model.name, model.title),
        format!(
            "vendor {}; {} a core; {} GHz without a machine; instructions timed by {}{overlays}",
            model.vendor,
            plural(model.smt_width as usize, "hardware thread"),
            model.gigahertz,
            model.timing,
        ),
        model.validation.clone(),
    ] {
        text.push_str(&wrap(&line, "  ", columns));
    }
    for (group, title) in [
        (&model.front, "Front end"),
        (&model.back, "Back end"),
        (&model.memory, "Loads, stores and the first level of data"),
        (&model.hierarchy, "Hierarchy beyond the first level"),
    ] {
        text.push_str(&format!("\n{title}\n\n{}\n", grid(&resources(group), columns)));
    }
    let reported = |list: &std::collections::BTreeMap<String, String>| {
        list.iter().map(|(name, reported)| format!("{name}: {reported}")).collect()
    };
    section(&mut text, "Figures that no source gives", reported(&model.estimates), columns);
    section(&mut text, "Sources", reported(&model.sources), columns);
    let differing = model.differing.iter().map(|it| {
        let reason = it.reason.as_ref().map_or(String::new(), |it| format!("; {it}"));
        format!(
            "{}: published {} ({}), model {}{reason}",
            it.figure, it.published, it.source, it.modelled
        )
    });
    section(&mut text, "Differing from what was published", differing.collect(), columns);
    let unchecked = model.unchecked.iter();
    let unchecked = unchecked.map(|it| format!("{}: {} ({})", it.figure, it.published, it.source));
    let title = "Published figures not checked against their source";
    section(&mut text, title, unchecked.collect(), columns);
    let rows = format!(
        "timing rows: {}, of which {} are inherited from an older core, and {} derived from other rows or assumed",
        model.timing_rows, model.inherited_rows, model.derived_rows
    );
    text.push_str(&format!("\n{}", wrap(&rows, "  ", columns)));
    text
}

/// Mistakes of each file, or its checks.
pub fn checked_models(checks: &ModelChecks) -> String {
    let lines = checks.files.iter().flat_map(|it| &it.sentences);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Differences between two models, side by side.
pub fn models_side_by_side(found: &ModelDifferences, columns: u16) -> String {
    let ModelDifferences { a, b, differences } = found;
    if differences.is_empty() {
        return format!("{a} and {b} are the same core.\n");
    }
    let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let row = |it: &ModelDifference| vec![it.field.clone(), cell(&it.a), cell(&it.b)];
    let table = Table {
        header: vec!["field".to_owned(), a.clone(), b.clone()],
        rows: differences.iter().map(row).collect(),
    };
    format!("{}\n", grid(&table, columns))
}

/// A row for each resource of a group.
fn resources(group: &Tree) -> Table {
    let header = ["resource", "figures", "siblings", "source"].map(str::to_owned).to_vec();
    let mut rows = Vec::new();
    if let Tree::Table(fields) = group {
        for (name, tree) in fields {
            match tree {
                Tree::List(trees) if trees.iter().any(|it| it.text().is_none()) => {
                    rows.extend(trees.iter().map(|tree| resource(name, tree)));
                }
                Tree::List(trees) if trees.is_empty() => {}
                Tree::Absent => {}
                tree => rows.push(resource(name, tree)),
            }
        }
    }
    Table { header, rows }
}

fn resource(name: &str, tree: &Tree) -> Vec<String> {
    let sharing = tree.get("sharing");
    let source = sharing.unwrap_or(tree).get("source").and_then(Tree::text);
    let reported = |(path, text): (String, String)| {
        let is_figure = path != "source" && !path.starts_with("sharing.");
        (is_figure && !text.is_empty()).then(|| format!("{path} {text}").trim().to_owned())
    };
    let figures: Vec<String> = tree.leaves().into_iter().filter_map(reported).collect();
    vec![
        name.replace('_', " "),
        figures.join(", "),
        sharing.map(policy).unwrap_or_default(),
        source.unwrap_or_default(),
    ]
}

fn policy(sharing: &Tree) -> String {
    let text = |name| sharing.get(name).and_then(Tree::text);
    let cap = text("cap").map_or(String::new(), |cap| format!(", at most {cap}"));
    let assumed = if text("assumed").as_deref() == Some("yes") { " (assumed)" } else { "" };
    format!("{}{cap}{assumed}", text("policy").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> ModelDescription {
        serde_json::from_value(serde_json::json!({
            "name": "made-up", "is_validated": false, "validation": "unvalidated: 1 differs",
            "timing_rows": 12, "inherited_rows": 3, "derived_rows": 2,
            "differing": [{
                "figure": "back.rob.entries", "published": 224.0, "modelled": 320.0, "source": "a guide",
                "reason": "measured so"
            }],
            "unchecked": [{ "figure": "smt_width", "published": 4.0, "source": "a talk" }],
            "title": "a core", "vendor": "generic", "smt_width": 2, "gigahertz": 3.5,
            "timing": "made-up", "overlays": ["measured"],
            "sources": { "guide": "A guide, page 3" },
            "estimates": { "front.fetch.bytes": "from a relative" },
            "front": { "fetch": { "bytes": 32, "source": "guide" }, "op_cache": null },
            "back": {
                "rob": {
                    "entries": 320,
                    "sharing": { "policy": "partitioned", "cap": 300, "source": "guide" }
                },
                "schedulers": [
                    { "name": "integer", "sharing": { "policy": "shared", "assumed": true } },
                    { "name": "vector" }
                ],
                "divisions": []
            },
            "memory": { "levels": [1, 2] },
            "hierarchy": {
                "l2": { "kib": 512, "sharing": { "policy": "shared", "source": "guide" } },
                "prefetch": { "lines": { "distance": [2, 8] }, "adjacent": true },
                "main": { "nanoseconds": 80.5, "source": "measured" }
            }
        }))
        .expect("a description")
    }

    #[test]
    fn everything_that_a_model_says_is_shown() {
        let shown = describe_model(&description(), 200);
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [
            "made-up: a core vendor generic; 2 hardware threads a core; 3.5 GHz without a machine",
            "instructions timed by made-up, overlaid by measured unvalidated: 1 differs",
            "fetch bytes 32 guide",
            "rob entries 320 partitioned, at most 300 guide",
            "schedulers name integer shared (assumed)",
            "schedulers name vector",
            "levels 1 2",
            "l2 kib 512 shared guide",
            // In the order of the document.
            "lines.distance 2 8",
            "adjacent yes",
            "main nanoseconds 80.5 measured",
            "front.fetch.bytes: from a relative",
            "guide: A guide, page 3",
            "back.rob.entries: published 224 (a guide), model 320; measured so",
            "smt_width: 4 (a talk)",
            "timing rows: 12, of which 3 are inherited from an older core, and 2 derived",
        ] {
            assert!(shown.contains(text), "{text}\n{shown}");
        }
        assert!(!shown.contains("op cache") && !shown.contains("divisions"), "{shown}");
    }
}
