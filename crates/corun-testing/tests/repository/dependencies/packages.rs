//! The packages that end up in the binary `corun`, as `cargo metadata` lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use corun_testing::repository;
use serde_json::Value;

/// The platform whose packages are checked: the only one with every tracer.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// A package that is not corun's own.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An expression of SPDX, or the older form with a slash.
    pub(crate) licence: String,
    pub(crate) authors: Vec<String>,
    pub(crate) repository: String,
    /// The oldest Rust that it builds with, if it says so.
    pub(crate) rust_version: Option<String>,
    /// The folder of its source.
    pub(crate) folder: PathBuf,
}

/// Every package that is linked into `corun` with all of its features, by name and version.
pub(crate) fn linked() -> Vec<Package> {
    let metadata = metadata(&["--filter-platform", PLATFORM]);
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).map(|it| (text(&it["id"]), it)).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).map(|it| (text(&it["id"]), it)).collect();
    let root = packages.values().find(|it| it["name"] == "corun").expect("the workspace has corun");
    let mut wanted = vec![text(&root["id"])];
    let mut seen = BTreeSet::new();
    while let Some(id) = wanted.pop() {
        if runs_while_building(packages[id]) || !seen.insert(id) {
            continue;
        }
        let is_linked = |it: &&Value| list(&it["dep_kinds"]).any(|kind| kind["kind"].is_null());
        let dependencies = list(&nodes[id]["deps"]).filter(is_linked);
        wanted.extend(dependencies.map(|it| text(&it["pkg"])));
    }
    let mut linked: Vec<Package> = seen
        .into_iter()
        .map(|id| packages[id])
        .filter(|package| !package["source"].is_null())
        .map(described)
        .collect();
    linked.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    linked
}

/// The package of this name, whether or not anything is built from it.
pub(crate) fn named(name: &str) -> Package {
    let metadata = metadata(&[]);
    let package = list(&metadata["packages"]).find(|it| it["name"] == name).map(described);
    package.unwrap_or_else(|| panic!("Cargo.lock has the package {name}"))
}

fn metadata(more: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["metadata", "--locked", "--format-version", "1", "--features", "corun/dynamorio"])
        .args(more)
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

fn runs_while_building(package: &Value) -> bool {
    list(&package["targets"]).any(|it| list(&it["kind"]).any(|kind| kind == "proc-macro"))
}

fn described(package: &Value) -> Package {
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    Package {
        name: text(&package["name"]).to_owned(),
        version: text(&package["version"]).to_owned(),
        licence: text(&package["license"]).to_owned(),
        authors: list(&package["authors"]).map(|it| text(it).to_owned()).collect(),
        repository: text(&package["repository"]).to_owned(),
        rust_version: package["rust_version"].as_str().map(str::to_owned),
        folder: manifest.parent().expect("a manifest lies in a folder").to_owned(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
