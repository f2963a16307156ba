//! ARCHITECTURE.md and the documents say what is there: paths exist, links lead somewhere, crates import what the table
//! of crates lets them, and modules of a crate never import each other in a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use corun_testing::repository;

/// Folders whose files documents name by their path from the root.
const FOLDERS: [&str; 9] = [
    "benches/",
    "crates/",
    "docs/",
    "examples/",
    "fuzz/",
    "models/",
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

/// Crates whose modules still import each other in a cycle.
const CRATES_WITH_CYCLES: [&str; 10] = [
    "corun",
    "corun-fleet",
    "corun-machine",
    "corun-model",
    "corun-page",
    "corun-predict",
    "corun-record",
    "corun-report",
    "corun-sched",
    "corun-trace",
];

/// The code of a crate, tests aside: each file below `src` by its path there, without `.rs`.
fn sources(name: &str) -> BTreeMap<Vec<String>, String> {
    fn add(folder: &Path, path: &[String], found: &mut BTreeMap<Vec<String>, String>) {
        for entry in fs::read_dir(folder).expect("it can be read") {
            let entry = entry.expect("an entry").path();
            let stem = entry.file_stem().and_then(|it| it.to_str()).expect("a name").to_owned();
            let own = match stem.as_str() {
                "tests" => continue,
                "mod" => path.to_vec(),
                _ => [path, &[stem]].concat(),
            };
            if entry.is_dir() {
                add(&entry, &own, found);
            } else if entry.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&entry).expect("it can be read");
                let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
                found.insert(own, lines.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    let mut found = BTreeMap::new();
    add(&repository().join("crates").join(name).join("src"), &[], &mut found);
    found
}

/// The first names of what stands after `prefix` in code: one, or several in braces.
fn names_after(code: &str, prefix: &str) -> BTreeSet<String> {
    let is_of_name = |it: char| it.is_alphanumeric() || it == '_';
    let begins = |at: usize| !code[..at].ends_with(|it| is_of_name(it) || it == ':');
    let found = code.match_indices(prefix).filter(|(at, _)| begins(*at));
    let rests = found.map(|(at, _)| &code[at + prefix.len()..]);
    let names = rests.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => pieces(list),
        None => vec![rest],
    });
    let first = |it: &str| it.trim_start().split(|it| !is_of_name(it)).next().map(str::to_owned);
    names.filter_map(first).collect()
}

/// The pieces of a list, up to the brace that closes it.
fn pieces(list: &str) -> Vec<&str> {
    let (mut pieces, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            ',' | '}' if depth == 0 => {
                pieces.push(&list[start..at]);
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    pieces
}

/// The modules of a crate that others of it import and that import those, by way of others or not.
fn cycle(name: &str) -> BTreeSet<String> {
    let sources = sources(name);
    let is_root = |path: &[String]| matches!(path, [one] if one == "lib" || one == "main");
    let of_root: String =
        sources.iter().filter(|(path, _)| is_root(path)).map(|(_, code)| code.as_str()).collect();
    let mut modules: BTreeMap<&String, BTreeSet<String>> =
        sources.keys().filter(|path| !is_root(path)).map(|it| (&it[0], BTreeSet::new())).collect();
    let names: Vec<String> = modules.keys().copied().cloned().collect();
    // What the root passes on is its module's.
    let passed_on: BTreeMap<String, &String> = names
        .iter()
        .flat_map(|it| {
            names_after(&of_root, &format!("use {it}::")).into_iter().map(move |n| (n, it))
        })
        .collect();
    for (path, code) in sources.iter().filter(|(path, _)| !is_root(path)) {
        let own = &path[0];
        for prefix in ["crate::".to_owned(), "super::".repeat(path.len())] {
            let found = names_after(code, &prefix).into_iter();
            let found = found.filter_map(|it| match names.contains(&it) {
                true => Some(it),
                false => passed_on.get(&it).copied().cloned(),
            });
            modules.entry(own).or_default().extend(found.filter(|it| it != own));
        }
    }
    // Each is reached from itself in as many steps as there are modules, or never.
    for _ in 0..names.len() {
        let before = modules.clone();
        for reached in modules.values_mut() {
            let further: Vec<&String> = reached.iter().flat_map(|it| &before[it]).collect();
            reached.extend(further.into_iter().cloned());
        }
    }
    modules
        .iter()
        .filter(|(own, reached)| reached.contains(**own))
        .map(|it| (*it.0).clone())
        .collect()
}

#[test]
fn modules_of_a_crate_import_each_other_in_no_cycle() {
    let cycles = table().into_iter().map(|(name, _)| (cycle(&name), name));
    let is_new = |(cycle, name): &(BTreeSet<String>, String)| {
        !cycle.is_empty() && !CRATES_WITH_CYCLES.contains(&name.as_str())
    };
    let new: Vec<_> = cycles.filter(is_new).collect();
    assert!(new.is_empty(), "modules that import each other: {new:?}");
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
