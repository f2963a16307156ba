//! Gives the binary of a release the commit that it is built from.

use std::process::Command;

/// Sources of the binary: a change in one of them is a change of the binary.
const SOURCES: [&str; 5] = ["crates/*/src", "models", "studies", "Cargo.toml", "Cargo.lock"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A build for tests stays as it is when something is committed.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rustc-env=CORUN_COMMIT=no commit: a debug build");
        println!("cargo::rustc-env=CORUN_DATE= ");
        return;
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for source in ["models", "studies", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={root}/{source}");
    }
    for package in std::fs::read_dir(format!("{root}/crates")).into_iter().flatten().flatten() {
        println!("cargo::rerun-if-changed={}", package.path().join("src").display());
    }
    // A file that grows by a line with each commit; there is none in an archive of the source.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    let log = log.map(|path| std::path::Path::new(root).join(path)).filter(|path| path.exists());
    if let Some(log) = log {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    println!("cargo::rustc-env=CORUN_COMMIT={}", commit().as_deref().unwrap_or("no commit known"));
    // Manual pages have a date; without one that is known, an empty one.
    let date = git(&["log", "-1", "--format=%cs"]).unwrap_or(" ".to_owned());
    println!("cargo::rustc-env=CORUN_DATE={date}");
}

/// The commit that is checked out, and whether the sources differ from it.
fn commit() -> Option<String> {
    // Not one of a repository that corun's source merely lies in.
    git(&["ls-files", "--error-unmatch", "crates/corun/build.rs"])?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(SOURCES);
    let is_changed = git(&status).is_none_or(|changes| !changes.is_empty());
    Some(format!("commit {commit}{}", if is_changed { ", with changes" } else { "" }))
}

fn git(arguments: &[&str]) -> Option<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
