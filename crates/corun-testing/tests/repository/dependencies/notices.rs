//! `THIRD-PARTY.md`: whose work is in the binary, and under which terms.
//!
//! What corun embeds or derives from other work is described by hand in `embedded.md`; the text of DynamoRIO's
//! licence and those of all crates are taken from their packages. Licences of the same wording are given once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::dependencies::packages::{self, Package};

/// End of the text of DynamoRIO's own licence: those of parts that corun does not use come after it.
const NEXT_LICENCE: &str = "\n=====";
/// Continuation of every MIT licence after its copyright.
const MIT: &str = "Permission is hereby granted";
const GPL: &str = "GNU GENERAL PUBLIC LICENSE";
const EMBEDDED: &str = include_str!("embedded.md");
/// The package whose copy of the Apache License with LLVM's exception is printed for LLVM.
const LLVM: (&str, &str) = ("linux-raw-sys", "LICENSE-Apache-2.0_WITH_LLVM-exception");

/// A licence's text, and who uses it: each with the lines that stand before the text in its own copy.
#[derive(Default)]
struct Texts(BTreeMap<String, (String, Vec<(String, String)>)>);

/// The whole file.
pub(crate) fn notices(linked: &[Package]) -> String {
    let mut texts = Texts::default();
    let mut without: Vec<&Package> = Vec::new();
    for package in linked {
        let found = licences(package);
        if found.is_empty() {
            without.push(package);
        }
        for (file, text) in found {
            let place = if file.contains('/') { format!(", {file}") } else { String::new() };
            texts.add(&format!("{} {}{place}", package.name, package.version), &text);
        }
    }
    let mut page = EMBEDDED
        .replace("{dynamorio}", &fenced(&dynamorio()))
        .replace("{llvm}", &fenced(&llvm(linked)));
    page += "\n## Crates\n\n| crate | version | licence | source |\n|---|---|---|---|\n";
    for Package { name, version, licence, repository, .. } in linked {
        page += &format!("| `{name}` | {version} | {licence} | {repository} |\n");
    }
    page +=
        "\nPackages that hold no text of their licence; the terms are those that they declare:\n\n";
    for package in without {
        let authors = match &package.authors[..] {
            [] => "its contributors".to_owned(),
            authors => authors.join(", "),
        };
        page += &format!(
            "- `{}` {}: {}, by {authors}\n",
            package.name, package.version, package.licence
        );
    }
    page += "\n## Texts of the crates' licences\n";
    page += &texts.shown();
    page
}

impl Texts {
    fn add(&mut self, user: &str, text: &str) {
        let plain: Vec<&str> = text.lines().filter(|line| !line.starts_with("```")).collect();
        let text = plain.join("\n");
        let start = text.find(MIT).unwrap_or(0);
        let (head, body) = text.split_at(start);
        // Of a file with several licences, the lines of this one.
        let head = head.rsplit("MIT License").next().unwrap_or(head);
        let head = head.lines().map(str::trim).skip_while(|line| !is_copyright(line));
        let head: Vec<&str> = head.filter(|line| !line.is_empty()).collect();
        let key = body.split_whitespace().collect::<Vec<_>>().join(" ");
        let entry = self.0.entry(key).or_insert_with(|| (trimmed(body), Vec::new()));
        entry.1.push((user.to_owned(), head.join(" ")));
    }

    fn shown(&self) -> String {
        let mut texts: Vec<_> = self.0.values().collect();
        texts.sort_by_key(|(_, users)| (std::cmp::Reverse(users.len()), users[0].0.clone()));
        let mut shown = String::new();
        for (text, users) in texts {
            shown += "\nOf\n\n";
            for (user, head) in users {
                let head = if head.is_empty() { String::new() } else { format!(": {head}") };
                shown += &format!("- {user}{head}\n");
            }
            shown += &format!("\n{}", fenced(text));
        }
        shown
    }
}

fn is_copyright(line: &str) -> bool {
    line.to_lowercase().starts_with("copyright") || line.starts_with("(c)") || line.starts_with('©')
}

fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_matches('\n').lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn fenced(text: &str) -> String {
    format!("```text\n{}\n```\n", trimmed(text))
}

fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).replace(['\r', '\u{c}', '\t'], " ")
}

/// The first part of the file, which says what it covers.
fn dynamorio() -> String {
    let text = read(&packages::named("dynamorio-sys").folder.join("dynamorio/License.txt"));
    let text = text.trim_start_matches(['=', '\n', ' ']);
    let end = text.find(NEXT_LICENCE).expect("other licences come after DynamoRIO's own");
    text[..end].to_owned()
}

fn llvm(linked: &[Package]) -> String {
    let package = linked.iter().find(|it| it.name == LLVM.0).expect("it is linked");
    read(&package.folder.join(LLVM.1))
}

/// The texts of a package's licences that apply: where it offers a choice, the MIT licence's.
fn licences(package: &Package) -> Vec<(String, String)> {
    let mut files = Vec::new();
    find(&package.folder, "", &mut files);
    files.sort();
    let folder_of = |file: &str| file.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let mut folders: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in files {
        let text = read(&package.folder.join(&file));
        folders.entry(folder_of(&file)).or_default().push((file, text));
    }
    let mut chosen = Vec::new();
    for (_, found) in folders {
        let of_mit: Vec<_> = found.iter().filter(|(_, text)| text.contains(MIT)).cloned().collect();
        let is_choice = package.licence.contains("MIT");
        let applies = |(file, text): &(String, String)| {
            !text.contains(GPL) && !file.to_lowercase().ends_with("copyright")
        };
        chosen.extend(match is_choice && !of_mit.is_empty() {
            true => of_mit,
            false => found.into_iter().filter(applies).collect(),
        });
    }
    chosen
}

/// Files below a folder that are called as licences are.
fn find(folder: &Path, place: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder.join(place)).expect("a package's folder can be read") {
        let entry = entry.expect("a package's folder can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find(folder, &path, files);
        } else if is_licence(&name) {
            files.push(path);
        }
    }
}

fn is_licence(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_code = [".rs", ".c", ".h", ".py"].iter().any(|end| name.ends_with(end));
    let starts = ["license", "licence", "copying", "notice", "copyright"];
    !is_code && starts.iter().any(|start| name.starts_with(start))
}
