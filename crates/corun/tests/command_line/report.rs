//! `corun report`: pages and pictures of what other commands wrote.

use corun_record::{Document, Run};

use crate::common::{FEWEST, Outcome, Scratch, corun, measure};

const RUN: &str = "run.json";

/// A run as a file, with its tables in LaTeX beside it.
fn measured() -> Scratch {
    let scratch = Scratch::new();
    let mut command = measure("spread,stacked", FEWEST);
    let options = ["--json=run.json", "--latex=run.tex", "--", "true"];
    let outcome = Outcome::of(command.current_dir(scratch.path()).args(options));
    assert_eq!(outcome.reported(scratch.path()), "exit 0\n");
    scratch
}

fn report(scratch: &Scratch, options: &[&str]) -> Outcome {
    Outcome::of(corun(["report"]).current_dir(scratch.path()).args(options))
}

/// As a page has it.
fn escaped(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '&' | '<' | '>' | '"' | '\'' => format!("&#{};", u32::from(letter)),
        other => other.to_string(),
    };
    text.chars().map(escaped).collect()
}

#[test]
fn a_run_becomes_a_page_and_pictures() {
    let scratch = measured();
    let outcome = report(&scratch, &[RUN]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), "corun: wrote report.html\n"));
    let run = Run::from_json(&scratch.read(RUN)).expect("a run");
    let page = scratch.read("report.html");
    assert!(page.starts_with("<!doctype html>"), "{page}");
    let sentence = escaped(&run.verdicts[0].sentence);
    assert!(page.contains(&sentence), "{sentence}");

    let outcome = report(&scratch, &[RUN, "--plots", "new/plots"]);
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let files: Vec<&str> = outcome.output.lines().collect();
    assert!(files.contains(&"new/plots/run-01-speed.svg"), "{files:?}");
    for file in files {
        assert!(scratch.read(file).contains("<svg"), "{file}");
    }

    let outcome = report(&scratch, &[RUN, RUN, "-o", "-"]);
    assert!(outcome.output.contains("<h1>2 runs</h1>"), "{}", outcome.errors);

    let table = scratch.read("run.tex");
    assert!(table.contains("\\begin{tabular}") && table.contains("\nstacked & "), "{table}");
}

#[test]
fn what_is_no_run_is_named_and_leaves_no_page() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("other.json"), r#"{ "format": "other" }"#).expect("written");
    let outcome = report(&scratch, &["other.json"]);
    assert_eq!(outcome.exit, Some(2));
    assert!(
        outcome.errors.starts_with(
            "corun: other.json: expected a format that begins with \"corun-\", found \"other\"\n"
        ),
        "{}",
        outcome.errors
    );
    assert!(!scratch.file("report.html").exists());
    let outcome = report(&scratch, &["missing.json"]);
    assert_eq!(outcome.exit, Some(2));
    assert!(outcome.errors.starts_with("corun: missing.json: "), "{}", outcome.errors);
}
