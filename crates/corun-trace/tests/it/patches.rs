//! Patches of DynamoRIO's source hold for the source that they were written for, and for no other.

#[path = "../../build/patches.rs"]
mod source;

use source::{PATCHES, Patch, apply};

/// Of "b\nc".
const HASH: u64 = 0xfff1_4519_12fb_ad5a;
const PATCH: Patch = Patch {
    file: "a file",
    lines: 2,
    hash: HASH,
    removed: 0..1,
    inserted_at: 1,
    inserted: "\nnew\nlines",
};

#[test]
fn lines_are_removed_and_inserted() {
    assert_eq!(apply(&PATCH, "a\nb\nc\nd\n").as_deref(), Ok("a\nnew\nlines\nc\nd\n"));
}

#[test]
fn a_source_that_differs_is_refused() {
    let error = apply(&PATCH, "a\nb\nC\nd\n").unwrap_err();
    assert!(error.contains("found them 0 times"), "{error}");
}

#[test]
fn a_place_that_is_not_the_only_one_is_refused() {
    let error = apply(&PATCH, "b\nc\nb\nc\n").unwrap_err();
    assert!(error.contains("found them 2 times"), "{error}");
}

#[test]
fn every_patch_names_lines_of_its_place() {
    for Patch { file, lines, removed, inserted_at, .. } in &PATCHES {
        assert!(removed.end <= *lines && inserted_at <= lines, "{file}");
    }
}
