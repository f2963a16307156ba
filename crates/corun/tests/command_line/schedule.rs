//! `corun schedule`: loads under policies, as a user asks for them.

use corun_record::{
    Document, Estimate, Metric, Observation, Run, Schedule, SchedulingList, Source,
};

use crate::common::{Outcome, Scratch, corun};
use crate::schema::fitting;

fn of(arguments: &[&str]) -> Outcome {
    Outcome::of(corun(["schedule"]).args(arguments))
}

#[test]
fn policies_are_compared_on_a_machine_that_is_not_at_hand() {
    let outcome = of(&[
        "--topology=1x4x2",
        "--yield=1.25",
        "--policy=cfs,smt-off,ht-2.5/smt-off",
        "--load=batch:jobs=8,work=10s",
        "--load=batch:jobs=4,work=10s",
    ]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    insta::assert_snapshot!(outcome.output);
}

#[test]
fn json_fits_its_schema_and_reads_back_the_same() {
    let outcome = of(&[
        "--topology=2x2x2",
        "--slowdown=1.6",
        "--cost=switch=2us",
        "--cost=refill-far=50us",
        "--load=server:requests=500",
        "--load=chat:rooms=1,users=4,messages=2",
        "--runs=2",
        "--json=-",
    ]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let record = fitting::<Schedule>(&outcome.output);
    assert_eq!(record.machine, None, "the machine was made up");
    let schedule = record.body;
    assert_eq!(schedule.runs.len(), 2 * 2 * corun_sched::policy::ALL.len());
    assert!(schedule.runs.iter().all(|run| run.finished));
}

#[test]
fn files_and_pictures_are_written() {
    let scratch = Scratch::new();
    let [pairs, csv, svg] = ["pairs.json", "runs.csv", "gantt.svg"].map(|name| scratch.file(name));
    let text = r#"{"format":"corun-pairs","version":1,"kinds":["batch"],"slowdowns":[[1.6]]}"#;
    std::fs::write(&pairs, text).unwrap();
    let mut command =
        corun(["schedule", "--topology=1x1x2", "--policy=cfs", "--load=batch:jobs=2"]);
    command.arg("--pairs").arg(&pairs).arg("--csv").arg(&csv).arg("--svg").arg(&svg);
    let outcome = Outcome::of(&mut command);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    assert!(outcome.output.contains("16.0 s"), "{}", outcome.output);
    assert!(scratch.read("runs.csv").contains(",16,"), "{}", scratch.read("runs.csv"));
    assert!(scratch.read("gantt.svg").contains("CPU 1"));
}

#[test]
fn costs_come_from_a_bench_of_this_machine() {
    let scratch = Scratch::new();
    let bench = scratch.file("switch.json");
    let run = Outcome::of(
        corun(["bench", "run", "lmbench/context-switch", "--placement=single", "--blocks=2"])
            .args(["--sample-time=1ms", "--json"])
            .arg(&bench),
    );
    assert!(bench.exists(), "{}", run.errors);
    let mut command =
        corun(["schedule", "--topology=1x1x1", "--load=tbench", "--policy=cfs", "--json=-"]);
    let outcome = Outcome::of(command.arg("--costs").arg(&bench));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let costs = fitting::<Schedule>(&outcome.output).body.costs;
    assert!(costs.iter().any(|cost| cost.name == "switch" && cost.nanoseconds > 0), "{costs:?}");
    std::fs::write(&bench, "{}").unwrap();
    assert_eq!(Outcome::of(&mut command).exit, Some(1));
}

#[test]
fn this_machine_and_the_list_are_shown() {
    let outcome = of(&["--slowdown=1.5", "--load=batch:jobs=1,work=1s", "--policy=flat"]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    assert!(outcome.output.contains("1.00 s"), "{}", outcome.output);
    let list = of(&["list"]);
    assert_eq!(list.exit, Some(0));
    for policy in corun_sched::policy::ALL {
        assert!(list.output.contains(policy.name), "{}", policy.name);
    }
}

#[test]
fn wrong_requests_say_what_is_expected() {
    for (arguments, exit, expected) in [
        (&["--topology=1x1x2"][..], 2, "expected a load, found none"),
        (&["--topology=1x1x2", "--load=batch"], 2, "expected --yield, --slowdown or --pairs"),
        (&["--topology=1x1", "--load=batch"], 2, "found \"1x1\""),
        (&["--topology=1x1x1", "--load=bach"], 2, "expected a load (batch"),
        (&["--topology=1x1x1", "--load=batch:job=1"], 2, "with a name of jobs, work"),
        (&["--topology=1x1x1", "--load=batch:jobs=0"], 2, "jobs: expected a whole number from 1"),
        (&["--topology=1x1x1", "--load=batch", "--policy=cfq"], 2, "Did you mean `cfs`?"),
        (&["--topology=1x1x1", "--load=batch", "--cost=swich=1us"], 2, "expected a name of switch"),
        (&["--topology=1x1x2", "--load=batch", "--slowdown=0"], 2, "expected a number above 0"),
        (
            &["--topology=1x1x2", "--load=batch", "--slowdown=0.2"],
            2,
            "expected 1 or more, found 0.2",
        ),
        (&["--topology=1x1x1", "--load=tasks:/nowhere"], 1, "No such file"),
        (&["--topology=1x1x1", "--load=tasks"], 2, "expected a file, as in tasks:FILE"),
    ] {
        let outcome = of(arguments);
        assert_eq!(outcome.exit, Some(exit), "{arguments:?}: {}", outcome.errors);
        assert!(outcome.errors.contains(expected), "{arguments:?}: {}", outcome.errors);
    }
}

/// A file of tasks with this text after its head.
fn tasks(scratch: &Scratch, text: &str) -> String {
    let path = scratch.file("tasks.toml");
    std::fs::write(&path, format!("format = \"corun-tasks\"\nversion = 1\n{text}")).unwrap();
    format!("--load=tasks:{}", path.display())
}

#[test]
fn runs_that_cannot_end_need_a_time_limit() {
    let scratch = Scratch::new();
    let endless = "[[program]]\nname = \"bg\"\nsteps = [{ repeat = { steps = [{ run = \"1ms\" }] } }]\n\
                   [[task]]\nprogram = \"bg\"\n";
    let load = tasks(&scratch, endless);
    let outcome = of(&["--topology=1x1x1", &load]);
    assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
    assert!(outcome.errors.contains("\"bg\" repeats without end"), "{}", outcome.errors);
    assert!(outcome.errors.contains("--max-time"), "{}", outcome.errors);
    let outcome = of(&["--topology=1x1x1", &load, "--max-time=1s"]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let dead = "queue = [{ name = \"never\" }]\n[[program]]\nname = \"w\"\n\
                steps = [{ receive = \"never\" }]\n[[task]]\nprogram = \"w\"\n";
    let outcome = of(&["--topology=1x1x1", "--policy=cfs", &tasks(&scratch, dead)]);
    assert_eq!(outcome.exit, Some(1), "{}", outcome.errors);
    assert!(outcome.errors.contains("expected tasks that end"), "{}", outcome.errors);
    assert!(
        outcome.output.contains("since all tasks that were left wait for"),
        "{}",
        outcome.output
    );
}

/// The sample of docs/scheduling.md, as a reader copies it.
#[test]
fn the_sample_of_the_manual_runs_to_its_end() {
    let scratch = Scratch::new();
    let manual = corun_testing::repository().join("docs/scheduling.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let (_, sample) = manual.split_once("```toml\nformat = \"corun-tasks\"").expect("a sample");
    let (sample, _) = sample.split_once("```").expect("its end");
    let path = scratch.file("sample.toml");
    std::fs::write(&path, format!("format = \"corun-tasks\"{sample}")).unwrap();
    let load = format!("--load=tasks:{}", path.display());
    let outcome = of(&["--topology=1x4x2", "--policy=cfs", "--yield=1.2", &load]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{}", outcome.output);
}

#[test]
fn a_load_that_smt_off_cannot_run_is_compared_under_the_others() {
    let scratch = Scratch::new();
    let load = tasks(
        &scratch,
        "[[program]]\nname = \"w\"\nsteps = [{ run = \"1s\" }]\n\
         [[task]]\nprogram = \"w\"\ncpus = \"2-3\"\n",
    );
    // CPUs 2 and 3 are the second siblings.
    let arguments = ["--topology=1x2x2", "--yield=1.25", &load];
    let outcome = of(&arguments);
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert!(outcome.errors.contains("smt-off is left out"), "{}", outcome.errors);
    assert!(outcome.output.contains("cfs") && !outcome.output.contains("smt-off"));
    let outcome = of(&[&arguments[..], &["--policy=cfs,smt-off"]].concat());
    assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
}

#[test]
fn pairs_without_a_kind_of_any_load_are_refused() {
    let scratch = Scratch::new();
    let pairs = scratch.file("pairs.json");
    for (kinds, exit, expected) in [
        (r#"["compile","x"]"#, 2, "expected a kind of work that a load has (batch)"),
        (r#"["batch","batch"]"#, 1, "found \"batch\" again"),
        (r#"["batch","x"]"#, 0, ""),
    ] {
        let text = format!(
            r#"{{"format":"corun-pairs","version":1,"kinds":{kinds},"slowdowns":[[1,2],[2,1]]}}"#
        );
        std::fs::write(&pairs, text).unwrap();
        let mut command = corun(["schedule", "--topology=1x1x2", "--policy=cfs", "--load=batch"]);
        let outcome = Outcome::of(command.arg("--pairs").arg(&pairs));
        assert_eq!(outcome.exit, Some(exit), "{kinds}: {}", outcome.errors);
        assert!(outcome.errors.contains(expected), "{kinds}: {}", outcome.errors);
    }
}

/// What other subcommands write is read as it is; a load's name of a kind is put before the file.
#[test]
fn documents_of_programs_are_pairs() {
    let scratch = Scratch::new();
    let trace = crate::simulate::recorded(&scratch);
    let simulated = scratch.file("simulated.json");
    let mut command =
        corun(["simulate", "--model=zen4", "--placement=spread,full", &trace, "--json"]);
    let outcome = Outcome::of(command.arg(&simulated));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let measured = scratch.file("measured.json");
    let mut run = crate::common::measure_one_worker(2);
    let mut run: Run = Outcome::of(run.args(["--json=-", "--", "true"])).run();
    let estimate = Estimate { value: 1.25, low: 1.2, high: 1.3, level: 0.95, blocks: 2 };
    run.observations.push(Observation {
        metric: Metric::SmtYield,
        arm: "full".to_owned(),
        against: Some("spread".to_owned()),
        of: None,
        unit: "1".to_owned(),
        estimate,
        bootstrap: None,
        source: Source::Measured,
    });
    std::fs::write(&measured, run.to_json()).unwrap();
    let [simulated, measured] = [simulated, measured].map(|it| it.display().to_string());
    let kind = corun_sched::kind(&trace).to_owned();
    for (pairs, exit, expected) in [
        (vec![format!("batch={simulated}")], 0, "batch beside batch"),
        (vec![format!("batch={measured}")], 0, "batch beside batch 1.600"),
        (vec![format!("batch={measured}"), simulated.clone()], 0, "batch beside batch 1.600"),
        (vec![simulated.clone()], 2, &format!("a load has (batch), found {kind}")),
        (vec![measured.clone()], 2, "a load has (batch), found true"),
        (vec![format!("batch,make={measured}")], 1, "a name for the kind true, found batch, make"),
        (vec![format!("batch={measured}"), format!("batch={simulated}")], 1, "found it in two"),
        (vec![format!("={measured}")], 2, "expected FILE or KIND=FILE"),
        (vec![format!("batch={measured}.none")], 1, "No such file"),
    ] {
        let mut command = corun(["schedule", "--topology=1x1x2", "--policy=cfs", "--load=batch"]);
        let pairs = pairs.iter().flat_map(|it| ["--pairs", it]);
        let outcome = Outcome::of(command.args(pairs));
        assert_eq!(outcome.exit, Some(exit), "{expected}: {}", outcome.errors);
        let said = outcome.unwrapped() + &outcome.errors;
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn the_list_has_what_the_command_line_takes() {
    let list = fitting::<SchedulingList>(&of(&["list", "--json=-"]).output).body;
    let shown = of(&["list"]).output;
    let policies = list.policies.iter().map(|it| &it.name);
    let loads = list.loads.iter().map(|it| &it.name);
    for name in policies.chain(loads).chain(list.costs.iter().map(|it| &it.name)) {
        assert!(shown.contains(&format!("\n {name} ")), "{name}: {shown}");
    }
    assert!(list.loads.iter().any(|it| it.is_file) && list.loads.iter().any(|it| !it.is_file));
}
