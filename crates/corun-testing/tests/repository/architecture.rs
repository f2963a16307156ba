//! ARCHITECTURE.md and the documents say what is there: paths exist, links lead somewhere, and crates import what
//! the table of crates lets them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use corun_testing::repository;

/// Folders whose files documents name by their path from the root.
const FOLDERS: [&str; 10] = [
    "benches/",
    "crates/",
    "docs/",
    "examples/",
    "fuzz/",
    "models/",
    "schema/",
    "scripts/",
    "studies/",
    "tests/",
];
/// What says of the first row that it may import everything.
const EVERYTHING: &str = "every crate below";

fn read(path: &str) -> String {
    let path = repository().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the table of crates: each crate, and which it may import.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().skip_while(|line| !line.ends_with("| may import |"));
    let cells = rows.skip(2).map_while(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (cells.len() == 5).then(|| (cells[1], cells[3]))
    });
    let cells: Vec<(&str, &str)> = cells.collect();
    let names: Vec<String> = cells.iter().map(|(name, _)| name.replace('`', "")).collect();
    let may_import = |(row, (_, cell)): (usize, &(&str, &str))| match *cell {
        EVERYTHING => names[row + 1..].iter().cloned().collect(),
        cell => cell.split('`').filter(|it| it.starts_with("corun")).map(str::to_owned).collect(),
    };
    names.iter().cloned().zip(cells.iter().enumerate().map(may_import)).collect()
}

/// The crates of corun that a crate imports, tests and benches aside.
fn imports(name: &str) -> BTreeSet<String> {
    let manifest: toml::Table = read(&format!("crates/{name}/Cargo.toml")).parse().expect("TOML");
    let mut found = BTreeSet::new();
    let mut add = |table: Option<&toml::Value>| {
        let names = table.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
        found.extend(names.filter(|it| it.starts_with("corun")).cloned());
    };
    for kind in ["dependencies", "build-dependencies"] {
        add(manifest.get(kind));
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        for target in targets.into_iter().flat_map(toml::Table::values) {
            add(target.get(kind));
        }
    }
    found
}

#[test]
fn the_table_has_every_crate() {
    let listed: BTreeSet<String> = table().into_iter().map(|(name, _)| name).collect();
    let folders = fs::read_dir(repository().join("crates")).expect("there are crates");
    let there: BTreeSet<String> = folders
        .map(|entry| entry.expect("a folder").file_name().into_string().expect("a name"))
        .filter(|name| repository().join("crates").join(name).join("Cargo.toml").exists())
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn crates_import_what_their_row_names_and_rows_point_down() {
    let table = table();
    let rows: BTreeMap<&String, usize> =
        table.iter().enumerate().map(|(row, (name, _))| (name, row)).collect();
    for (name, may_import) in &table {
        for other in may_import {
            assert!(rows[name] < rows[other], "{name} may import {other}, which stands above it");
        }
        let more: Vec<String> = imports(name).difference(may_import).cloned().collect();
        assert!(more.is_empty(), "{name} imports {more:?}, which its row does not name");
    }
}

/// What may be a path in text: pieces in backticks that begin with a folder of the repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    let paths = pieces.map(|it| it.trim_end_matches([',', ';', ':', '.']));
    paths.filter(|it| FOLDERS.iter().any(|folder| it.starts_with(folder)))
}

/// The folder of a pattern (`models/*.toml`, `studies/NAME.toml`), or the path.
fn without_pattern(path: &str) -> &str {
    let is_pattern =
        |part: &str| part.contains(['*', '<', '{']) || part.split('.').next() == Some("NAME");
    match path.rsplit_once('/') {
        Some((folder, file)) if is_pattern(file) => folder,
        _ => path,
    }
}

#[test]
fn the_paths_of_the_papers_exist() {
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/README.md", "docs/glossary.md"] {
        let text = read(page);
        for path in paths(&text) {
            let there = repository().join(without_pattern(path));
            assert!(there.exists(), "{page} names {path}, which is not there");
        }
    }
}

#[test]
fn architecture_names_what_is_in_the_file_beside_it() {
    let rows = read("ARCHITECTURE.md");
    for row in rows.lines().filter(|row| row.starts_with('|') && row.contains(", `")) {
        let Some((before, name)) = row.trim_end_matches([' ', '|']).rsplit_once(", `") else {
            continue;
        };
        let name = name.split('`').next().unwrap_or_default();
        let path = before.rsplit('`').nth(1).unwrap_or_default();
        if !path.ends_with(".rs") || name.contains('/') {
            continue;
        }
        let function = name.rsplit("::").next().unwrap_or(name);
        let code = read(path);
        assert!(code.contains(&format!("fn {function}(")), "{path} has no function {function}");
    }
}

/// The pages with links: those of `docs/` and of the root.
fn pages() -> Vec<PathBuf> {
    let of = |folder: &str| {
        let entries = fs::read_dir(repository().join(folder)).expect("it can be read");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect::<Vec<_>>()
    };
    [of("."), of("docs")].concat()
}

/// The anchor that a heading has.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

#[test]
fn links_of_documents_lead_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("it can be read");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.parent().expect("a page lies in a folder");
            let target = if file.is_empty() { page.clone() } else { folder.join(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            assert!(place.is_empty() || has_anchor(&target, place), "{}: {link}", page.display());
        }
    }
}

fn has_anchor(page: &Path, place: &str) -> bool {
    let text = fs::read_to_string(page).expect("it can be read");
    text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == place)
}

#[test]
fn the_index_has_every_page() {
    let index = read("docs/README.md");
    for page in pages() {
        let name = page.file_name().and_then(|it| it.to_str()).expect("a name");
        let is_listed = page.parent().is_some_and(|it| !it.ends_with("docs"))
            || name == "README.md"
            || index.contains(&format!("]({name})"));
        assert!(is_listed, "docs/README.md does not name {name}");
    }
}
