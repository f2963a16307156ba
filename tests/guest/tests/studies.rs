//! Every study is run to its end on a real SMT kernel: switched by corun, and with SMT off all along.

use std::collections::BTreeSet;
use std::time::Duration;

use corun_guest_tests::{Guest, Host, Outcome, Scenario, Shape};
use corun_record::{Metric, Source, StudyResult};

/// Long enough for all studies, twice, on a busy host.
const DEADLINE: Duration = Duration::from_secs(600);

const BUDGET: &str = "--budget 5s --quiet";

/// Twenty and more workers may need longer on four logical CPUs of a busy host than they are given.
const MANY_WORKERS: [&str; 3] = ["ibm-chat", "ibm-dbench", "ibm-tbench"];

#[test]
fn every_study_runs_to_its_end_where_smt_is_switched() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 2, threads: 2 }).deadline(DEADLINE);
    let script = script("", "--smt-switch --yes") + "corun smt status > /results/status\n";
    let outcome =
        guest.boot(host, &Scenario::new(script)).unwrap_or_else(|error| panic!("{error}"));
    for name in corun_study::names() {
        let result = result(&outcome, name);
        let switched =
            result.runs.iter().any(|run| run.arms.iter().any(|arm| arm.id.ends_with("/smt-off")));
        let wanted = result.figures.iter().any(|it| it.metric == Metric::SwitchGain);
        assert!(switched == wanted || result.runs.is_empty(), "{name}");
    }
    assert!(outcome.text("status").contains("on"), "{}", outcome.text("status"));
}

#[test]
fn every_study_runs_to_its_end_with_smt_off() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 2, threads: 2 }).deadline(DEADLINE);
    let script = script("corun smt off --yes\n", "");
    let outcome =
        guest.boot(host, &Scenario::new(script)).unwrap_or_else(|error| panic!("{error}"));
    for name in corun_study::names() {
        let result = result(&outcome, name);
        for run in &result.runs {
            assert_eq!((run.machine.smt_width, run.machine.online_cpus), (1, 2), "{name}");
        }
    }
}

/// Runs every study and keeps how it ends.
fn script(before: &str, options: &str) -> String {
    let run = |name: &str| {
        format!(
            "code=0; corun study run {name} {options} {BUDGET} --json /results/{name} || code=$?\n\
             echo $code > /results/{name}.exit\n"
        )
    };
    let studies: String = corun_study::names().map(run).collect();
    format!("ifconfig lo up\n{before}{studies}")
}

fn result(outcome: &Outcome, name: &str) -> StudyResult {
    let result = StudyResult::from_json(outcome.text(name)).expect("a result");
    assert!(!result.interrupted, "{name}");
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
    let exit = if result.runs.is_empty() { "3\n" } else { "0\n" };
    assert_eq!(outcome.text(&format!("{name}.exit")), exit, "{name}");
    // The guest has no bash, which is all that this study can do here.
    if name == "ht-aware-scheduler-2002" {
        assert!(reasons.iter().any(|it| it.contains("there is no `bash` on PATH")), "{reasons:?}");
    } else if !MANY_WORKERS.contains(&name) {
        assert!(measured > 0, "{name}");
    }
    result
}
