//! What `--json`, `--csv` and `--markdown` write, and what the terminal shows beside them.

use corun_record::{Document, EndReason, Metric, Run};

use crate::common::{FEWEST, Outcome, Scratch, corun, measure};

const ARMS: &str = "spread,stacked";

/// As `head` and pagers do: what reads standard output has seen enough.
#[test]
fn a_reader_that_goes_away_is_no_error_in_any_form() {
    let scratch = Scratch::new();
    let store = scratch.file("store.db");
    let kept = Outcome::of(measure(ARMS, FEWEST).env("CORUN_STORE", &store).args(["--", "true"]));
    assert_eq!(kept.exit, Some(0), "{}", kept.errors);
    let batch = ["schedule", "--topology", "1x1x1", "--load", "batch:jobs=1,work=1s"];
    let with = |words: &[&'static str]| [&batch, words].concat();
    for words in [
        vec!["runs", "list"],
        vec!["runs", "list", "--json", "-"],
        vec!["runs", "show", "last", "--json", "-"],
        vec!["runs", "export", "--csv", "-"],
        vec!["runs", "export", "--csv", "/dev/stdout"],
        vec!["runs", "export", "last", "--json", "-"],
        vec!["compare", "last", "last", "--markdown", "-"],
        vec!["report", "last", "-o", "-"],
        vec!["topo"],
        vec!["topo", "--json", "-"],
        vec!["topo", "--svg", "-"],
        vec!["doctor", "--json", "-"],
        vec!["models", "list"],
        vec!["models", "show", "zen4", "--json", "-"],
        vec!["study", "list", "--json", "-"],
        vec!["schema", "corun-run"],
        vec!["completions", "bash"],
        vec!["help"],
        vec!["--version"],
        with(&[]),
        with(&["--json", "-"]),
        with(&["--csv", "-"]),
    ] {
        let with_reader = Outcome::of(corun(&words).env("CORUN_STORE", &store));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let without = Outcome::of(corun(&words).env("CORUN_STORE", &store).stdout(writer));
        assert_eq!(without.exit, with_reader.exit, "{words:?}: {}", without.errors);
        assert!(without.exit.is_some_and(|exit| exit < 2), "{words:?}: {}", without.errors);
        assert_eq!(without.errors, with_reader.errors, "{words:?}");
    }
}

#[test]
fn all_files_describe_the_same_run() {
    let scratch = Scratch::new();
    let outcome = Outcome::of(measure(ARMS, FEWEST).current_dir(scratch.path()).args([
        "--json=run.json",
        "--csv=run.csv",
        "--markdown=run.md",
        "--",
        "true",
    ]));
    assert_eq!(outcome.reported(scratch.path()), "exit 0\n");
    let run = Run::from_json(&scratch.read("run.json")).expect("a run");
    assert_eq!(run.workload.command, ["true"]);
    assert_eq!(run.ending.reason, EndReason::BlocksDone);
    assert_eq!(run.samples.len(), run.arms.len() * FEWEST as usize);

    let csv = scratch.read("run.csv");
    let mut rows = csv.lines();
    assert_eq!(
        rows.next(),
        Some(
            "workload,cpu_model,metric,arm,against,unit,value,low,high,level,blocks,source,parameters,of"
        )
    );
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows.len(), run.observations.len());
    assert!(rows.iter().all(|row| row.starts_with("true,") && row.ends_with(",2,measured,,")));
    let slicing = run.observation(Metric::TimeSlicing, "stacked").expect("it is compared");
    let slicing = format!(",time_slicing,stacked,spread,1,{},", slicing.estimate.value);
    assert!(rows.iter().any(|row| row.contains(&slicing)), "{slicing}\n{csv}");

    let markdown = scratch.read("run.md");
    for start in [
        "# true (a process for each worker)",
        "| arm ",
        "| spread ",
        "| stacked ",
        "| metric ",
        "| time slicing ",
    ] {
        assert!(markdown.lines().any(|line| line.starts_with(start)), "{start}\n{markdown}");
    }
    let sentence = &run.verdicts[0].sentence;
    assert!(markdown.contains(sentence.as_str()), "{sentence}\n{markdown}");
    let shown = outcome.unwrapped();
    for words in ["spread", "stacked", "time slicing", sentence, "all figures: --verbose"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn a_dash_leaves_standard_output_to_the_export() {
    let run = Outcome::of(measure(ARMS, FEWEST).args(["--json=-", "--", "echo", "noise"])).run();
    assert_eq!(run.design.seed, 1);
    let csv = Outcome::of(measure(ARMS, FEWEST).args(["--csv=-", "--", "true"])).output;
    assert!(
        csv.starts_with("workload,") && csv.lines().all(|line| line.matches(',').count() >= 11)
    );
    let markdown = Outcome::of(measure(ARMS, FEWEST).args(["--markdown=-", "--", "true"])).output;
    assert!(markdown.starts_with("# true "), "{markdown}");
}

#[test]
fn the_seed_decides_the_order() {
    let order = |seed: &str| -> Vec<String> {
        let arguments =
            ["measure", "--warmup=0", "--blocks=3", "--json=-", "--placement=spread,free"];
        let run = Outcome::of(corun(arguments).args(["--seed", seed, "--", "true"])).run();
        run.samples.into_iter().map(|sample| sample.arm).collect()
    };
    assert_eq!(order("7"), order("7"));
    assert_ne!(order("7"), order("8"));
}

#[test]
fn an_older_file_is_replaced() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("run.json"), "something longer than nothing".repeat(10_000))
        .unwrap();
    let path = scratch.file("run.json");
    let outcome = Outcome::of(measure(ARMS, FEWEST).arg("--json").arg(path).args(["--", "true"]));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert!(Run::from_json(&scratch.read("run.json")).is_ok());
}
