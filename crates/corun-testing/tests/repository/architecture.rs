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
/// Text in the first row, which may import everything.
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

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The paths of a tree of imports (`a::{b, c::d}`), below this one.
fn paths_of_tree(tree: &str, mut path: Vec<String>, found: &mut Vec<Vec<String>>) {
    let mut rest = tree.trim_start();
    if let Some(list) = rest.strip_prefix('{') {
        pieces(list).into_iter().for_each(|piece| paths_of_tree(piece, path.clone(), found));
        return;
    }
    let name;
    (name, rest) = rest.split_at(rest.find(|it| !is_of_name(it)).unwrap_or(rest.len()));
    path.extend((!name.is_empty()).then(|| name.to_owned()));
    match rest.strip_prefix("::").filter(|_| !name.is_empty()) {
        Some(rest) => paths_of_tree(rest, path, found),
        None => found.push(path),
    }
}

/// The paths in code that begin with `prefix`.
fn paths_from(code: &str, prefix: &str) -> Vec<Vec<String>> {
    let begins = |at: usize| !code[..at].ends_with(|it| is_of_name(it) || it == ':');
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix).filter(|(at, _)| begins(*at)) {
        paths_of_tree(&code[at..], Vec::new(), &mut found);
    }
    found
}

/// The files of a crate but its root, each with those that it imports. What the root of a folder passes on is its file's.
fn graph(name: &str) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let sources = sources(name);
    let is_root = |path: &[String]| matches!(path, [one] if one == "lib" || one == "main");
    let mut passed_on = BTreeMap::new();
    for (path, code) in &sources {
        let folder: &[String] = if is_root(path) { &[] } else { path };
        let mut paths = Vec::new();
        code.split("use ").skip(1).for_each(|tree| paths_of_tree(tree, Vec::new(), &mut paths));
        for mut own in paths {
            own.drain(..usize::from(own.first().is_some_and(|it| it == "self")));
            if own.len() > 1 && sources.contains_key(&[folder, &own[..1]].concat()) {
                let passed = [folder, &own[own.len() - 1..]].concat();
                passed_on.insert(passed, [folder, &own].concat());
            }
        }
    }
    let file = |mut path: Vec<String>| {
        for _ in 0..4 {
            let is_passed = |end: &usize| {
                !sources.contains_key(&path[..*end]) && passed_on.contains_key(&path[..*end])
            };
            let Some(end) = (1..=path.len()).find(is_passed) else { break };
            path = [&passed_on[&path[..end]], &path[end..]].concat();
        }
        let ends = (1..=path.len()).rev();
        ends.map(|end| path[..end].to_vec()).find(|path| sources.contains_key(path))
    };
    let imports = |path: &Vec<String>, code: &str| {
        let of_crate = paths_from(code, "crate::").into_iter().map(|it| it[1..].to_vec());
        let of_parents = paths_from(code, "super::").into_iter().map(|it| {
            let up = it.iter().take_while(|name| *name == "super").count();
            [&path[..path.len().saturating_sub(up)], &it[up..]].concat()
        });
        let files = of_crate.chain(of_parents).filter_map(&file);
        files.filter(|other| other != path && !is_root(other)).collect()
    };
    let files = sources.iter().filter(|(path, _)| !is_root(path));
    files.map(|(path, code)| (path.clone(), imports(path, code))).collect()
}

/// The nodes of a graph that are reached from themselves.
fn cycle<T: Ord + Clone>(graph: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<T> {
    let is_reached = |node: &&T| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![*node]);
        while let Some(next) = open.pop() {
            let new = graph.get(next).into_iter().flatten().filter(|it| reached.insert(*it));
            open.extend(new.collect::<Vec<_>>());
        }
        reached.contains(*node)
    };
    graph.keys().filter(is_reached).cloned().collect()
}

#[test]
fn modules_of_a_crate_import_each_other_in_no_cycle() {
    let mut new = Vec::new();
    for (name, _) in table().into_iter().filter(|(it, _)| !CRATES_WITH_CYCLES.contains(&&**it)) {
        let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (file, imported) in graph(&name) {
            let of_others = imported.iter().map(|it| it[0].clone()).filter(|it| *it != file[0]);
            modules.entry(file[0].clone()).or_default().extend(of_others);
        }
        new.extend(cycle(&modules).into_iter().map(|module| format!("{name}: {module}")));
    }
    assert!(new.is_empty(), "modules that import each other: {new:#?}");
}

/// Cycles of imports between single files. A folder's root and its files may import each other.
#[test]
fn files_of_a_crate_import_each_other_in_no_cycle() {
    let mut new = Vec::new();
    for (name, _) in table().into_iter().filter(|(it, _)| !CRATES_WITH_CYCLES.contains(&&**it)) {
        let mut files = graph(&name);
        let has_folder = |path: &[String], all: &BTreeSet<Vec<String>>| {
            all.iter().any(|other| other.len() > path.len() && other.starts_with(path))
        };
        let all: BTreeSet<Vec<String>> = files.keys().cloned().collect();
        files.retain(|path, _| !has_folder(path, &all));
        let cycle = cycle(&files).into_iter();
        new.extend(cycle.map(|file| format!("{name}: {}", file.join("/"))));
    }
    assert!(new.is_empty(), "files that import each other: {new:#?}");
}

#[test]
fn trees_of_imports_and_cycles_are_followed() {
    let mut found = Vec::new();
    paths_of_tree("super::{a, b::{c, D}};", Vec::new(), &mut found);
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["super::a", "super::b::c", "super::b::D"]);
    let graph = BTreeMap::from([
        (1, BTreeSet::from([2])),
        (2, BTreeSet::from([3])),
        (3, BTreeSet::from([2])),
    ]);
    assert_eq!(cycle(&graph), BTreeSet::from([2, 3]));
}

/// Possible paths in text: pieces in backticks that begin with a folder of the repository.
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
