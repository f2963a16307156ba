//! Earlier runs of the same things: which of them say how much equal runs differ.

use corun_compare::{Subject, compare};
use corun_record::{Caveat, ChangeAnswer, Metric, RunComparison};
use serde_json::Value;

use crate::made_up::run;
use crate::{REQUEST, compared, named, quiet_history, row, subjects_of};

fn with_caveats(base: &Value, other: &Value, history: &[Value]) -> (RunComparison, Vec<Caveat>) {
    let earlier: Vec<Subject> = history.iter().flat_map(subjects_of).collect();
    compare(&[named("base", base), named("other", other)], &earlier, &REQUEST)
}

#[test]
fn an_earlier_run_counts_once_and_compared_ones_not_at_all() {
    let [base, other, third] = [1, 2, 3].map(|index| run(index, [10.0, 12.0]));
    let mut history = quiet_history(4);
    history.extend(quiet_history(4));
    history.extend([base.clone(), other.clone(), third.clone()]);
    let comparison = compared(&base, &other, &history);
    assert_eq!(row(&comparison, Metric::Makespan, "spread").earlier_runs, 5);
    let runs = [named("a", &base), named("b", &other), named("c", &third)];
    let earlier: Vec<Subject> = history.iter().flat_map(subjects_of).collect();
    let all = compare(&runs, &earlier, &REQUEST).0;
    assert!(all.observations.iter().all(|row| row.earlier_runs == 4));
}

/// Runs that take these milliseconds, give or take 0.2 %.
fn taking(milliseconds: &[f64]) -> Vec<Value> {
    let document = |(index, ms): (u32, &f64)| {
        let rate = 1000.0 / ms * (1.0 + 0.002 * (f64::from(index) * 2.4).sin());
        run(100 + index, [rate, 1.2 * rate])
    };
    (0..).zip(milliseconds).map(document).collect()
}

#[test]
fn runs_before_a_past_change_are_no_noise_and_that_is_said() {
    let mut history =
        taking(&[10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 13.0, 13.0, 13.0, 13.0, 13.0, 13.0, 13.0]);
    let base = history.pop().expect("a run");
    // They are given in any order.
    history.reverse();
    let slower = taking(&[14.5]).remove(0);
    let (comparison, caveats) = with_caveats(&base, &slower, &history);
    let seen = row(&comparison, Metric::Makespan, "spread");
    assert_eq!((seen.answer, seen.earlier_runs), (ChangeAnswer::Worse, 6), "{}", seen.sentence);
    let caveat = caveats.iter().find(|it| it.kind == "changed-history").expect("a caveat");
    assert!(caveat.sentence.starts_with("Up to 6 earlier runs"), "{}", caveat.sentence);
    let (comparison, caveats) = with_caveats(&base, &slower, &taking(&[13.0; 12]));
    assert_eq!(row(&comparison, Metric::Makespan, "spread").earlier_runs, 12);
    assert!(caveats.iter().all(|it| it.kind != "changed-history"), "{caveats:?}");
}

#[test]
fn runs_of_another_host_are_no_equal_runs() {
    let on = |host: &str, mut document: Value| {
        document["machine"]["host"] = host.into();
        document
    };
    let [base, other] = [on("alpha", run(1, [10.0, 12.0])), on("beta", run(2, [10.0, 12.0]))];
    let history: Vec<Value> = quiet_history(5)
        .into_iter()
        .zip(["alpha", "alpha", "gamma", "gamma", "gamma"])
        .map(|(document, host)| on(host, document))
        .collect();
    let mut faster = other.clone();
    faster["workload"]["command"] = serde_json::json!(["./solver", "other input"]);
    let differences = compared(&base, &faster, &[]).differences;
    assert_eq!((differences[0].what.as_str(), differences.len()), ("host", 2));
    let comparison = compared(&base, &other, &history);
    assert_eq!(row(&comparison, Metric::Makespan, "spread").earlier_runs, 2);
}

#[test]
fn a_run_that_is_compared_with_itself_is_said_to_be() {
    let base = run(1, [10.0, 12.0]);
    let (comparison, caveats) = with_caveats(&base, &base, &[]);
    assert_eq!(row(&comparison, Metric::Makespan, "spread").answer, ChangeAnswer::NoChange);
    let kinds = |caveats: &[Caveat]| caveats.iter().map(|it| it.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&caveats), ["same-run"]);
    assert!(caveats[0].sentence.contains("other are the same run"), "{}", caveats[0].sentence);
    let arms = [named("a#spread", &base), named("a#full", &base)];
    assert_eq!(compare(&arms, &[], &REQUEST).1, []);
}
