//! Every study is run to its end on a real SMT kernel, with SMT on and off; and one whose publication
//! switched SMT, switched by corun.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use corun_guest_tests::{Guest, Host, Outcome, Scenario, Shape};
use corun_record::{Document, EndReason, Metric, Source, StudyFigure, StudyResult};

/// Long enough for all studies, twice, on a busy host.
const DEADLINE: Duration = Duration::from_secs(600);

/// A limit for each of many studies: enough for two blocks of the first experiment.
const SHORT: &str = "--max-time 15s --quiet";

/// A limit for one study, which reaches its least blocks well before it, on a busy host too.
const AMPLE: &str = "--max-time 90s --quiet";

/// Twenty and more workers may need longer on four logical CPUs of a busy host than they are given.
const MANY_WORKERS: [&str; 3] = ["ibm-chat", "ibm-dbench", "ibm-tbench"];

#[test]
fn every_study_runs_to_its_end_with_smt_on() {
    let names = study_names();
    let Some(outcome) = outcome(&names, "", SHORT) else { return };
    for name in &names {
        for run in result(&outcome, name).runs {
            assert_eq!((run.machine.smt_width, run.machine.online_cpus), (2, 4), "{name}");
        }
    }
}

#[test]
fn every_study_runs_to_its_end_with_smt_off() {
    let names = study_names();
    let Some(outcome) = outcome(&names, "corun smt off --yes\n", SHORT) else { return };
    for name in &names {
        for run in result(&outcome, name).runs {
            assert_eq!((run.machine.smt_width, run.machine.online_cpus), (1, 2), "{name}");
        }
    }
}

#[test]
fn what_a_publication_switched_is_switched_and_comes_back() {
    let name = "smt-test-2020";
    let Some(outcome) = outcome(&[name.to_owned()], "", &format!("--smt-switch --yes {AMPLE}"))
    else {
        return;
    };
    let result = result(&outcome, name);
    let is_gain = |it: &&StudyFigure| it.metric == Metric::SwitchGain && it.measured.is_some();
    assert_eq!(result.figures.iter().filter(is_gain).count(), 1, "{:?}", result.figures);
    let status = outcome.text("status");
    assert!(status.contains("on"), "{status}");
}

/// The studies that come with corun: the files of `studies/`.
fn study_names() -> Vec<String> {
    let folder = corun_testing::repository().join("studies");
    let files = std::fs::read_dir(folder).expect("the folder of studies");
    let paths = files.map(|file| file.expect("a file of the folder").path());
    let is_study = |path: &PathBuf| path.extension().is_some_and(|it| it == "toml");
    let name = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let names: Vec<String> = paths.filter(is_study).map(name).collect();
    assert!(!names.is_empty());
    names
}

/// Runs these studies in a guest after a script; each ends with its result and its exit code.
fn outcome(names: &[String], before: &str, options: &str) -> Option<Outcome> {
    let host = Host::or_skip()?;
    let guest = Guest::new(Shape { sockets: 1, cores: 2, threads: 2 }).deadline(DEADLINE);
    let run = |name: &String| {
        format!(
            "code=0; corun study run {name} {options} --json /results/{name} || code=$?\n\
             echo $code > /results/{name}.exit\n"
        )
    };
    let studies: String = names.iter().map(run).collect();
    let script = format!("ifconfig lo up\n{before}{studies}corun smt status > /results/status\n");
    let booted = guest.boot(host, &Scenario::new(script));
    Some(booted.unwrap_or_else(|error| panic!("{error}")))
}

fn result(outcome: &Outcome, name: &str) -> StudyResult {
    let result = StudyResult::from_json(outcome.text(name)).expect("a result");
    assert!(!result.ending.is_interrupted(), "{name}");
    for figure in &result.figures {
        assert!(
            figure.measured.is_some() != figure.not_possible.is_some(),
            "{name} {}: {figure:?}",
            figure.id
        );
    }
    let measured = result.figures.iter().filter(|it| it.measured.is_some()).count();
    eprintln!("{name}: {measured} of {} figures, {:.1} s", result.figures.len(), result.elapsed_s);
    let mut observations = result.runs.iter().flat_map(|run| &run.observations);
    assert!(observations.all(|it| it.source == Source::Measured));
    let reasons: BTreeSet<&String> =
        result.figures.iter().filter_map(|it| it.not_possible.as_ref()).collect();
    eprintln!("{reasons:#?}");
    // A limit of seconds leaves experiments out on a busy host: the study ends as one that was interrupted.
    let exit = match result.ending.reason {
        EndReason::TimeUp => "5\n",
        _ if result.runs.is_empty() => "3\n",
        _ => "0\n",
    };
    assert_eq!(outcome.text(&format!("{name}.exit")), exit, "{name}");
    // The guest has no bash, which is all that this study can do here.
    if name == "ht-aware-scheduler-2002" {
        assert!(reasons.iter().any(|it| it.contains("there is no `bash` on PATH")), "{reasons:?}");
    } else if !MANY_WORKERS.contains(&name) {
        assert!(measured > 0, "{name}");
    }
    result
}
