//! `corun --version`: which corun this is, and whose work is in it.

use crate::common::{Outcome, corun};

fn of(arguments: &[&str]) -> String {
    let outcome = Outcome::of(&mut corun(arguments));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    outcome.output
}

#[test]
fn the_version_names_commit_features_and_tracers() {
    let short = of(&["-V"]);
    assert!(short.starts_with("corun 0.") && short.contains("commit"), "{short}");
    assert_eq!(short.lines().count(), 1);
    let long = of(&["--version"]);
    assert!(long.starts_with(short.trim_end()), "{long}");
    for expected in ["\nfeatures: ", "\ntracers: ", "--version --verbose"] {
        assert!(long.contains(expected), "{long}");
    }
    let has = |text: &str| long.lines().any(|line| line.contains(text));
    assert_eq!(has("features: dynamorio"), has("tracers: dynamorio"));
}

#[test]
fn the_notices_are_printed_behind_it() {
    let notices = of(&["--version", "--verbose"]);
    assert!(notices.starts_with(of(&["--version"]).trim_end()));
    for expected in ["\n## DynamoRIO\n", "\n## BHive's blocks\n", "\n## Crates\n", "`clap`"] {
        assert!(notices.contains(expected), "{expected}");
    }
}
