//! Every study is run to its end on a real SMT kernel: switched by corun, and with SMT off all along.

use std::time::Duration;

use corun_guest_tests::{Guest, Host, Outcome, Scenario, Shape};
use corun_record::{Metric, Source, StudyResult};

/// Long enough for all studies, twice, on a busy host.
const DEADLINE: Duration = Duration::from_secs(600);

const BUDGET: &str = "--budget 6s --quiet";

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
        assert_eq!(switched, wanted, "{name}");
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
        let machine = result.machine.as_ref().unwrap_or_else(|| panic!("{name} ran nothing"));
        assert_eq!((machine.smt_width, machine.allowed_cpus), (1, 2), "{name}");
    }
}

/// Runs every study; a study that ends otherwise than done ends the scenario.
fn script(before: &str, options: &str) -> String {
    let run =
        |name: &str| format!("corun study run {name} {options} {BUDGET} --json /results/{name}\n");
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
    assert!(measured > 0, "{name}");
    result
}
