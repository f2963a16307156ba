//! Dependencies that corun links: under which licences, in how many versions, from which Rust on,
//! and whether THIRD-PARTY.md names all of it.

mod notices;
mod packages;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use corun_testing::repository;
use packages::{Package, linked};

/// Says that THIRD-PARTY.md is to be written, not compared.
const WRITE: &str = "CORUN_WRITE_NOTICES";

fn configuration(file: &str) -> toml::Table {
    let text = fs::read_to_string(repository().join(file)).expect("the repository has it");
    text.parse().expect("it is TOML")
}

/// True if one of the alternatives of an expression has only allowed licences.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    assert!(!expression.contains('('), "an expression that this test does not read: {expression}");
    let expression = expression.replace('/', " OR ");
    let mut alternatives = expression.split(" OR ");
    alternatives.any(|it| it.split(" AND ").all(|licence| allowed.contains(licence.trim())))
}

#[test]
fn every_linked_package_has_a_licence_that_deny_toml_allows() {
    let deny = configuration("deny.toml");
    let allowed = deny["licenses"]["allow"].as_array().expect("a list");
    let allowed: BTreeSet<String> =
        allowed.iter().map(|it| it.as_str().expect("a name").to_owned()).collect();
    let linked = linked();
    assert!(linked.len() > 50, "{}", linked.len());
    let refused: Vec<&Package> =
        linked.iter().filter(|it| !is_allowed(&it.licence, &allowed)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn expressions_are_read() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "ISC".to_owned()]);
    for yes in ["MIT", "Apache-2.0 OR MIT", "MIT/Apache-2.0", "MIT AND ISC"] {
        assert!(is_allowed(yes, &allowed), "{yes}");
    }
    for no in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0 WITH LLVM-exception"] {
        assert!(!is_allowed(no, &allowed), "{no}");
    }
}

#[test]
fn a_package_is_linked_in_one_version_unless_deny_toml_says_why() {
    let deny = configuration("deny.toml");
    let skipped = deny["bans"]["skip"].as_array().expect("a list");
    let skipped: Vec<&str> =
        skipped.iter().map(|it| it["crate"].as_str().expect("a name")).collect();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked() {
        versions.entry(package.name).or_default().push(package.version);
    }
    for (name, versions) in versions {
        let is_known = |version: &str| {
            let known = |it: &&str| {
                it.split_once('@').is_some_and(|(of, prefix)| {
                    of == name && format!("{version}.").starts_with(&format!("{prefix}."))
                })
            };
            skipped.iter().any(known)
        };
        let new = versions.iter().filter(|version| !is_known(version)).count();
        assert!(new <= 1, "{name} is linked in several versions: {versions:?}");
    }
}

#[test]
fn no_linked_package_needs_a_newer_rust_than_corun_declares() {
    let number = |version: &str| -> Vec<u32> {
        version.split('.').map(|part| part.parse().expect("a number")).collect()
    };
    let manifest = configuration("Cargo.toml");
    let declared = manifest["workspace"]["package"]["rust-version"].as_str().expect("a version");
    for package in linked() {
        let Some(needed) = &package.rust_version else { continue };
        assert!(number(needed) <= number(&format!("{declared}.0")), "{package:?}");
    }
}

/// `scripts/notices` writes the file.
#[test]
fn the_notices_are_those_of_what_is_linked() {
    let path = repository().join("THIRD-PARTY.md");
    let made = notices::notices(&linked());
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, made).expect("the repository can be written");
        return;
    }
    let there = fs::read_to_string(&path).expect("the repository has THIRD-PARTY.md");
    assert!(there == made, "THIRD-PARTY.md is not what scripts/notices makes");
}
