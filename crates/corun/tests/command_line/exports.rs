//! What `--json`, `--csv` and `--markdown` write, and what the terminal shows beside them.

use corun_record::{Document, EndReason, Metric, Run};

use crate::common::{FEWEST, Outcome, Scratch, corun, measure};

const ARMS: &str = "spread,stacked";

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
    for words in ["spread", "stacked", "time slicing", sentence, "all 2 planned blocks were done."]
    {
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
