//! `docs/seeds.md`: the claims that it answers, and what its cheap commands print.

use crate::common::{Outcome, corun};

fn read(path: &str) -> String {
    let path = corun_testing::repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The ids of a study's findings.
fn findings(study: &str) -> Vec<String> {
    let text = read(&format!("studies/{study}.toml"));
    let parts = text.split("[[finding]]").skip(1);
    parts.filter_map(|it| Some(it.split_once("id = \"")?.1.split_once('"')?.0.to_owned())).collect()
}

#[test]
fn the_findings_that_the_page_names_are_those_of_its_studies() {
    let page = read("docs/seeds.md");
    let named = ["linear", "fifty-two-percent", "one-alu-in-turns", "switch-in-nanoseconds"];
    let named = named.iter().chain(&["ram-is-no-ram", "sieve", "sync-disk", "forty-rooms"]);
    let studies = ["smt-test-2020", "os-lecture", "ibm-aim9-2003", "ibm-chat"];
    let known: Vec<String> = studies.iter().flat_map(|study| findings(study)).collect();
    for finding in named {
        assert!(page.contains(&format!("`{finding}`")), "{finding}");
        assert!(known.iter().any(|it| it == finding), "{finding}: {known:?}");
    }
    for (study, expected) in [
        ("os-lecture", "The two threads of a core share one ALU and use it in turns."),
        ("os-lecture", "Switching between the two threads of a core takes one or two nanoseconds."),
        ("smt-test-2020", "test-5 / test-4 = 24.841 / 13.193 = 1.883"),
    ] {
        let shown = Outcome::of(&mut corun(["study", "show", study])).unwrapped();
        assert!(shown.contains(expected), "{study}: {shown}");
    }
}

#[test]
fn an_idle_core_is_preferred_as_the_page_says() {
    let load = ["--load=batch:jobs=2,work=10s", "--slowdown=1.8", "--runs=40"];
    let policies = "--policy=flat,ht-2.4,ht-2.5";
    let shown =
        Outcome::of(corun(["schedule", "--topology=2x1x2", policies]).args(load)).unwrapped();
    assert!(shown.contains("flat 11.6 s 10.0 s to"), "{shown}");
    assert!(shown.contains("ht-2.4 10.0 s 10.0 s to"), "{shown}");
    assert!(shown.contains("ht-2.5 10.0 s 10.0 s to"), "{shown}");
}
