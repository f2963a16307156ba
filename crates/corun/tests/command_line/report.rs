//! `corun report`: pages and pictures of what other commands wrote.

use std::process::Command;

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
    assert_eq!(outcome.exit, Some(1));
    assert!(
        outcome.errors.starts_with(
            "corun: other.json: expected a format that begins with \"corun-\", found \"other\"\n"
        ),
        "{}",
        outcome.errors
    );
    assert!(!scratch.file("report.html").exists());
    let outcome = report(&scratch, &["missing.json"]);
    assert_eq!(outcome.exit, Some(1));
    assert!(outcome.errors.starts_with("corun: missing.json: "), "{}", outcome.errors);
}

#[test]
fn a_kept_run_has_the_forms_that_its_command_writes() {
    let scratch = Scratch::new();
    let kept = |mut command: Command| {
        command.env("CORUN_STORE", scratch.file("corun.db")).current_dir(scratch.path());
        let outcome = Outcome::of(&mut command);
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{}", outcome.output);
        outcome.output
    };
    let mut command = measure("spread,stacked", FEWEST);
    command.args([
        "--csv=run.csv",
        "--latex=run.tex",
        "--markdown=run.md",
        "--",
        "sh",
        "-c",
        "exit 0",
    ]);
    kept(command);
    kept(corun(["report", "--csv=again.csv", "--latex=again.tex", "--markdown=again.md"]));
    for form in ["csv", "tex", "md"] {
        let again = scratch.read(&format!("again.{form}"));
        assert_eq!(scratch.read(&format!("run.{form}")), again, "{form}");
    }
    assert!(!scratch.file("report.html").exists());
    let table = kept(corun(["report", "--csv", "last"]));
    assert_eq!(table, scratch.read("run.csv"));
    assert!(table.contains("\nsh -c 'exit 0',") && table.contains(",runs/s,"), "{table}");
    // What the store exports says the same, of the run that is named and of no other.
    let mut command = measure("spread", FEWEST);
    command.args(["--workload=fib", "--sample-time=1ms"]);
    kept(command);
    let samples = kept(corun(["runs", "export", "--csv", "last~1"]));
    let is_of_it = |row: &str| row.contains("sh -c 'exit 0'");
    assert!(samples.lines().count() > 2 && samples.lines().skip(1).all(is_of_it), "{samples}");
    assert!(!scratch.file("last").exists() && !scratch.file("last~1").exists());
    let document = kept(corun(["runs", "export", "--json", "last"]));
    assert_eq!(Run::from_json(&document).expect("a run").workload.name, "fib");
    let samples = kept(corun(["runs", "export", "--csv", "last"]));
    assert!(samples.contains(",fib call=") && !samples.contains("exit 0"), "{samples}");
    kept(corun(["runs", "export", "--directory", "all"]));
    let observations = scratch.read("all/observations.csv");
    assert!(
        observations.contains(",runs/s,") && observations.contains(",additions/s,"),
        "{observations}"
    );
    assert!(!observations.contains("operations/s"), "{observations}");
    // The same unit is compared, whichever way a document has it.
    let compared = kept(corun(["compare", "last~1#spread", "last~1#stacked"]));
    assert!(compared.contains("runs/s") && !compared.contains("operations/s"), "{compared}");
    let mut command =
        corun(["schedule", "--topology=1x2x1", "--policy=cfs", "--load=batch:jobs=2"]);
    command.env("CORUN_STORE", scratch.file("corun.db")).current_dir(scratch.path());
    Outcome::of(&mut command);
    let mut command = corun(["report", "--latex=none.tex"]);
    command.env("CORUN_STORE", scratch.file("corun.db")).current_dir(scratch.path());
    let refused = Outcome::of(&mut command).reported(scratch.path());
    insta::assert_snapshot!(refused, @r"
    exit 2
    corun: last: expected a document with a form in LaTeX, found corun-schedule
      Its page has all of its tables (-o FILE), and `--json` of `corun runs export` its figures.
    ");
}
