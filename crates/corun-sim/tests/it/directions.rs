//! Modules of this crate import in one direction: each from those before it in the list, and none from itself in a cycle.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules, each of which may import those before it.
const ORDER: [&str; 26] = [
    "thread_mapping",
    "parallel",
    "sharing",
    "memory",
    "pointer_chase",
    "uops",
    "parameters",
    // The units of a core.
    "frontend",
    "rename",
    "execute",
    "lsq",
    "retire",
    // The core, whose stages call them.
    "core",
    // What runs cores, and what it says of them.
    "progress",
    "spread",
    "plausible",
    "error",
    "machine",
    "steady",
    "replay",
    "simulate",
    "sampling",
    "together",
    "outcome",
    "comparison",
    "lib",
];

/// The Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|it| it == "rs")).collect()
}

/// The modules that a source names after `crate::`, before its tests.
fn imports(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let names = code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
        None => vec![rest],
    });
    let module = |name: &str| {
        let is_of_name = |letter: &char| letter.is_alphanumeric() || *letter == '_';
        name.trim_start().chars().take_while(is_of_name).collect::<String>()
    };
    names.map(module).filter(|name| !name.is_empty()).collect()
}

#[test]
fn modules_import_those_before_them() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let place = |module: &str| ORDER.iter().position(|other| *other == module);
    let mut wrong = Vec::new();
    for file in files(&sources) {
        let below = file.strip_prefix(&sources).unwrap();
        let first = below.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let module = first.trim_end_matches(".rs");
        let own = place(module).unwrap_or_else(|| panic!("{module} has no place in the order"));
        let all = imports(&fs::read_to_string(&file).unwrap());
        let against = |name: &String| {
            let is_before = place(name).is_some_and(|other| other < own);
            *name != module && !is_before
        };
        wrong.extend(
            all.into_iter().filter(against).map(|name| format!("{}: {name}", below.display())),
        );
    }
    assert!(wrong.is_empty(), "imports against the order: {wrong:#?}");
}
