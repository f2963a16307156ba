//! Documents compared with each other: what is compared, how, and what comes out.

mod earlier;
mod made_up;
mod over_time;
mod tables;

use corun_compare::{Blind, ComparisonRequest, FailOn, Named, Subject, compare, gate, subjects};
use corun_record::{ChangeAnswer, ComparedObservation, Metric, Pairing, RunComparison};
use made_up::run;
use serde_json::{Value, json};

pub(crate) const REQUEST: ComparisonRequest =
    ComparisonRequest { confidence: 0.95, practical: 0.02, metrics: Vec::new() };

pub(crate) fn subjects_of(json: &Value) -> Vec<Subject> {
    subjects(&json.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn named(name: &str, json: &Value) -> Named {
    match name.split_once('#') {
        Some((name, arm)) => Named { arm: Some(arm.to_owned()), ..named(name, json) },
        None => Named { name: name.to_owned(), arm: None, subjects: subjects_of(json) },
    }
}

pub(crate) fn compared(base: &Value, other: &Value, history: &[Value]) -> RunComparison {
    let earlier: Vec<Subject> = history.iter().flat_map(subjects_of).collect();
    compare(&[named("base", base), named("other", other)], &earlier, &REQUEST).0
}

#[track_caller]
pub(crate) fn row<'a>(
    comparison: &'a RunComparison,
    metric: Metric,
    arm: &str,
) -> &'a ComparedObservation {
    let is_it = |row: &&ComparedObservation| row.metric == metric && row.arm == arm;
    comparison.observations.iter().find(is_it).expect("a row")
}

/// Runs of the same program with differences of a tenth of a per cent.
pub(crate) fn quiet_history(runs: u32) -> Vec<Value> {
    let shift = |index: u32| 1.0 + 0.001 * f64::from(index % 3);
    (0..runs).map(|index| run(100 + index, [10.0 * shift(index), 12.0 * shift(index)])).collect()
}

#[test]
fn without_history_only_large_changes_are_shown_and_that_is_said() {
    let base = run(1, [10.0, 12.0]);
    let (comparison, caveats) =
        compare(&[named("a", &base), named("b", &run(2, [9.6, 11.52]))], &[], &REQUEST);
    let seen = row(&comparison, Metric::Makespan, "spread");
    assert_eq!((seen.answer, seen.pairing), (ChangeAnswer::Inconclusive, Pairing::BetweenRuns));
    assert_eq!((seen.earlier_runs, caveats[0].kind.as_str()), (0, "no-history"));
    assert!((seen.run_deviation.unwrap() - 0.0253).abs() < 1e-4);
    let large = compared(&base, &run(2, [8.0, 9.6]), &[]);
    assert_eq!(row(&large, Metric::Makespan, "spread").answer, ChangeAnswer::Worse);
    assert_eq!(row(&large, Metric::SmtYield, "full").answer, ChangeAnswer::Inconclusive);
}

#[test]
fn a_history_of_a_quiet_machine_shows_smaller_changes() {
    let [base, worse] = [run(1, [10.0, 12.0]), run(2, [9.5, 11.4])];
    let comparison = compared(&base, &worse, &quiet_history(30));
    let seen = row(&comparison, Metric::Makespan, "spread");
    assert_eq!((seen.answer, seen.earlier_runs), (ChangeAnswer::Worse, 30));
    // The runs themselves are no history of theirs, nor are runs of something else.
    let mut others = quiet_history(30);
    for other in &mut others {
        other["machine"]["kernel"] = "5.0".into();
    }
    others.extend([base.clone(), worse.clone()]);
    let comparison = compared(&base, &worse, &others);
    assert_eq!(row(&comparison, Metric::Makespan, "spread").earlier_runs, 0);
}

#[test]
fn a_history_of_a_restless_machine_widens_the_interval() {
    let restless: Vec<Value> = (0..10)
        .map(|index: u32| {
            let shift = if index.is_multiple_of(2) { 1.1 } else { 1.0 };
            run(100 + index, [10.0 * shift, 12.0 * shift])
        })
        .collect();
    let [base, worse] = [run(1, [10.0, 12.0]), run(2, [9.2, 11.04])];
    let narrow = compared(&base, &worse, &[]);
    let wide = compared(&base, &worse, &restless);
    let width = |it: &RunComparison| {
        let ratio = row(it, Metric::Makespan, "spread").ratio;
        ratio.high - ratio.low
    };
    assert!(width(&wide) > 2.0 * width(&narrow));
    assert_eq!(row(&wide, Metric::Makespan, "spread").answer, ChangeAnswer::Inconclusive);
}

#[test]
fn arms_of_one_run_are_paired_by_block() {
    let document = run(1, [10.0, 10.8]);
    let pair = [named("run#spread", &document), named("run#full", &document)];
    let (comparison, caveats) = compare(&pair, &[], &REQUEST);
    let seen = row(&comparison, Metric::Throughput, "full");
    assert_eq!((seen.pairing, seen.base_arm.as_deref()), (Pairing::Blocks, Some("spread")));
    assert_eq!((seen.answer, seen.run_deviation), (ChangeAnswer::Better, None));
    // The drift of 10 % over the run cancels: blocks alone decide.
    assert!((seen.ratio.value - 1.08).abs() < 0.005, "{:?}", seen.ratio);
    assert!(seen.ratio.low > 1.07 && seen.ratio.high < 1.09, "{:?}", seen.ratio);
    assert_eq!(caveats, []);
}

/// The document, in which the workers of each sample waited for their CPUs for a share of their time.
fn waiting(mut document: Value, share: f64) -> Value {
    for sample in document["samples"].as_array_mut().expect("a list") {
        sample["evidence"]["cpu_wait"] = share.into();
    }
    for arm in document["arms"].as_array_mut().expect("a list") {
        let cpus: Vec<u64> = (0..arm["workers"].as_u64().expect("a count")).collect();
        arm["cpus"] = cpus.into();
    }
    document
}

#[test]
fn what_other_programs_took_is_no_change_of_the_program() {
    let base = waiting(run(1, [10.0, 12.0]), 0.0);
    let little = compared(&base, &waiting(run(2, [8.0, 9.6]), 0.04), &[]);
    let none = compared(&base, &waiting(run(2, [8.0, 9.6]), 0.0), &[]);
    let high = |it: &RunComparison| row(it, Metric::Makespan, "spread").ratio.high.ln();
    assert!((high(&little) - high(&none) + 0.96_f64.ln()).abs() < 1e-9);
    let loaded = compared(&base, &waiting(run(2, [5.0, 6.0]), 0.5), &[]);
    let seen = row(&loaded, Metric::Makespan, "spread");
    assert_eq!((seen.answer, seen.disturbed), (ChangeAnswer::Inconclusive, true));
    assert!(seen.sentence.contains("other programs took the workers' CPUs"), "{}", seen.sentence);
    let conditions = [FailOn::WorseBy(0.02)];
    let blind = gate(&conditions, Blind::Fails, &loaded).unwrap();
    assert!(!blind.passes && blind.fails_as_blind && blind.is_blind(), "{blind:?}");
    assert_eq!((blind.undecided.len(), blind.blind.len()), (2, 2));
    let allowed = gate(&conditions, Blind::Passes, &loaded).unwrap();
    assert!(allowed.passes && !allowed.fails_as_blind && allowed.is_blind(), "{allowed:?}");
    // What is not decided fails as such where that is asked for.
    let either = [FailOn::WorseBy(0.02), FailOn::Inconclusive];
    let undecided = gate(&either, Blind::Fails, &loaded).unwrap();
    assert!(!undecided.passes && !undecided.fails_as_blind, "{undecided:?}");
}

#[test]
fn what_says_the_same_is_counted_once() {
    let comparison = compared(&run(1, [10.0, 12.0]), &run(2, [8.0, 9.6]), &[]);
    assert!(row(&comparison, Metric::Throughput, "spread").restates);
    assert!(!row(&comparison, Metric::Makespan, "spread").restates);
    // Two times and a yield.
    assert_eq!(comparison.comparisons, 3);
    let level = row(&comparison, Metric::Makespan, "spread").ratio.level;
    assert!((level - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
}

#[test]
fn a_gate_fails_by_the_interval_and_not_by_the_point() {
    let base = run(1, [10.0, 12.0]);
    let of = |other: &Value, history: &[Value], conditions: &[FailOn]| {
        gate(conditions, Blind::Fails, &compared(&base, other, history)).expect("conditions")
    };
    let by_two = [FailOn::WorseBy(0.02)];
    let either = [FailOn::WorseBy(0.02), FailOn::Inconclusive];
    let much = of(&run(2, [8.0, 9.6]), &[], &by_two);
    assert!(!much.passes && much.worse.len() == 2, "{much:?}");
    let little = run(2, [9.7, 11.64]);
    let undecided = of(&little, &[], &by_two);
    assert!(undecided.passes && undecided.undecided.len() == 2, "{undecided:?}");
    assert!(!of(&little, &[], &either).passes);
    let history = quiet_history(200);
    let equal = of(&run(2, [10.0, 12.0]), &history, &either);
    assert!(equal.passes && equal.undecided.is_empty(), "{equal:?}");
    let better = of(&run(2, [12.0, 14.4]), &[], &either);
    assert!(better.passes && better.undecided.is_empty(), "{better:?}");
    assert!(gate(&[], Blind::Fails, &compared(&base, &little, &[])).is_none());
}

/// Document of one arm whose time has this logarithm, and is known within this standard error by ten blocks.
fn timed(index: u32, log: f64, standard_error: f64) -> Value {
    let mut document = run(index, [1.0, 1.0]);
    document["observations"]
        .as_array_mut()
        .expect("a list")
        .retain(|it| it["metric"] == "makespan" && it["arm"] == "spread");
    // The 97.5 % point of Student's t with nine degrees of freedom.
    let reach = 2.2622 * standard_error;
    let estimate = &mut document["observations"][0]["estimate"];
    for (limit, distance) in [("low", -reach), ("value", 0.0), ("high", reach)] {
        estimate[limit] = (log + distance).exp().into();
    }
    document
}

/// Numbers of the normal distribution: the sum of twelve uniform ones less six, from a linear congruential generator
/// (Knuth 1997, 3.3.4).
fn normal(state: &mut u64) -> f64 {
    let mut uniform = || {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

#[test]
fn a_gate_fails_in_four_of_five_cases_at_the_change_that_it_says() {
    let conditions = [FailOn::WorseBy(0.02)];
    let (within, between) = (0.01, corun_stats::FLOOR_DEVIATION);
    let of = |logs: [f64; 2]| {
        let compared = compared(&timed(1, logs[0], within), &timed(2, logs[1], within), &[]);
        gate(&conditions, Blind::Fails, &compared).expect("a condition")
    };
    let [said] = of([0.0, 0.0]).visible[..] else { panic!("one observation") };
    let mut state = 2026;
    let mut noisy = |log: f64| log + between * normal(&mut state) + within * normal(&mut state);
    let failed = (0..250).filter(|_| !of([noisy(0.0), noisy(said.change.ln_1p())]).passes).count();
    assert!((180..=220).contains(&failed), "{failed} of 250 at {said:?}");
}

#[test]
fn what_a_gate_would_have_seen_depends_on_the_intervals_and_the_noise_floor() {
    let conditions = [FailOn::WorseBy(0.02)];
    let of = |base: &Value, other: &Value| {
        gate(&conditions, Blind::Fails, &compared(base, other, &[])).expect("a condition")
    };
    let visible = |standard_error: f64| {
        let gate = of(&timed(1, 0.0, standard_error), &timed(2, 0.0, standard_error));
        gate.visible.first().map(|it| it.change)
    };
    let [narrow, wide] = [visible(0.001), visible(0.05)].map(|it| it.expect("a change"));
    assert!(0.05 < narrow && narrow < wide, "{narrow} {wide}");
    assert_eq!(visible(0.4), None, "not even a doubling");
    // Beside its equal nothing changes, however narrow the interval is.
    let itself = timed(1, 0.0, 0.001);
    assert!(of(&itself, &itself).fails_as_blind);
    // Arms of one run, block by block, and identical arms that differ by a fifth.
    let mut document = run(1, [10.0, 10.0]);
    let arms = |document: &Value| {
        let pair = [named("run#spread", document), named("run#full", document)];
        let gate = gate(&conditions, Blind::Fails, &compare(&pair, &[], &REQUEST).0);
        gate.expect("a condition").visible[0].change
    };
    let by_block = arms(&document);
    assert!(0.02 < by_block && by_block < 0.04, "{by_block}");
    for seen in document["observations"].as_array_mut().expect("a list") {
        if seen["metric"] == "noise_floor" {
            seen["estimate"]["value"] = 0.2.into();
        }
    }
    assert!(arms(&document) > 0.2);
}

/// A run whose caveats have this kind.
pub(crate) fn with_caveat(mut document: Value, kind: &str, sentence: &str) -> Value {
    document["caveats"] = json!([{ "kind": kind, "sentence": sentence }]);
    document
}

#[test]
fn a_run_whose_program_failed_is_not_compared_and_passes_no_gate() {
    let base = run(1, [10.0, 12.0]);
    let said = "8 of 8 runs did not end with exit status 0.";
    let failed = with_caveat(run(2, [2000.0, 2400.0]), "failed-runs", said);
    for [one, other] in [[&base, &failed], [&failed, &base]] {
        let comparison = compared(one, other, &[]);
        assert_eq!(comparison.observations, []);
        let [refused] = &comparison.not_compared[..] else { panic!("{comparison:?}") };
        assert!(refused.spoiled && refused.reason.ends_with(said), "{refused:?}");
        for condition in [FailOn::WorseBy(0.02), FailOn::Inconclusive] {
            let gate = gate(&[condition], Blind::Fails, &comparison).expect("a condition");
            assert_eq!((gate.passes, gate.spoiled), (false, 1));
        }
    }
    // Nor does it say how much equal runs differ.
    let history: Vec<Value> = (3..6)
        .map(|index| with_caveat(run(index, [f64::from(index), 12.0]), "failed-runs", said))
        .collect();
    let comparison = compared(&base, &run(2, [9.0, 12.0]), &history);
    assert_eq!(row(&comparison, Metric::Makespan, "spread").earlier_runs, 0);
}

#[test]
fn what_disturbed_a_run_is_said_of_the_comparison() {
    let base = run(1, [10.0, 12.0]);
    let disturbed = with_caveat(run(2, [10.0, 12.0]), "steal", "The hypervisor took time.");
    let (_, caveats) = compare(&[named("a", &base), named("b", &disturbed)], &[], &REQUEST);
    let carried = caveats.iter().find(|it| it.kind == "steal").expect("it travels");
    assert_eq!(carried.sentence, "In b: The hypervisor took time.");
}

#[test]
fn a_yield_that_falls_because_single_workers_got_faster_is_not_worse() {
    let comparison = compared(&run(1, [10.0, 12.0]), &run(2, [12.0, 12.0]), &[]);
    assert_eq!(row(&comparison, Metric::SmtYield, "full").answer, ChangeAnswer::Lower);
    let by_two = [FailOn::WorseBy(0.02)];
    let passed = gate(&by_two, Blind::Fails, &comparison).unwrap();
    assert!(passed.passes && passed.worse.is_empty(), "{passed:?}");
    // Alone it is nothing that gets worse, and a gate on it would see nothing.
    let mut yields = comparison;
    yields.observations.retain(|it| it.metric == Metric::SmtYield);
    let blind = gate(&by_two, Blind::Fails, &yields).unwrap();
    assert!(blind.fails_as_blind && blind.blind.is_empty(), "{blind:?}");
}

#[test]
fn what_differs_beside_the_figures_is_listed_and_unknown_is_no_difference() {
    let base = run(1, [10.0, 12.0]);
    let mut other = run(2, [10.0, 12.0]);
    other["machine"]["kernel"] = "6.2.0".into();
    other["machine"]["microcode"] = Value::Null;
    other["machine"]["vulnerabilities"]["mds"] = "Vulnerable".into();
    other["workload"]["command"] = json!(["./solver", "other input"]);
    let (comparison, caveats) = compare(&[named("a", &base), named("b", &other)], &[], &REQUEST);
    let found: Vec<(&str, [&str; 2])> = comparison
        .differences
        .iter()
        .map(|it| (it.what.as_str(), [0, 1].map(|run| it.values[run].as_deref().unwrap_or("-"))))
        .collect();
    assert_eq!(
        found,
        [
            ("command", ["./solver input", "./solver 'other input'"]),
            ("kernel", ["6.1.0", "6.2.0"]),
            ("mitigation of mds", ["Mitigation: Clear CPU buffers", "Vulnerable"]),
        ]
    );
    assert!(caveats.iter().any(|it| it.kind == "differences"), "{caveats:?}");
}

#[test]
fn what_cannot_be_compared_is_listed_with_its_reason() {
    let base = run(1, [10.0, 12.0]);
    let mut other = run(2, [10.0, 12.0]);
    let observations = other["observations"].as_array_mut().expect("a list");
    observations[0]["unit"] = "ms".into();
    observations[1]["source"] = "predicted".into();
    observations.retain(|seen| seen["metric"] != "smt_yield");
    let comparison = compared(&base, &other, &[]);
    let reasons: Vec<(&str, &str)> =
        comparison.not_compared.iter().map(|it| (it.what.as_str(), it.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            ("time of spread", "one is in s, the other in ms"),
            ("throughput of spread", "one is measured, the other predicted"),
            ("SMT yield of full", "the other run has no such observation"),
        ]
    );
    let mut less = run(2, [10.0, 12.0]);
    less["workload"]["operations"] = 2.0.into();
    let comparison = compared(&base, &less, &[]);
    assert!(comparison.observations.iter().all(|row| row.metric != Metric::Makespan));
    assert!(comparison.not_compared[0].reason.contains("amount of work"));
    assert!(!row(&comparison, Metric::Throughput, "spread").restates);
}

#[test]
fn each_of_several_runs_is_compared_with_the_first() {
    let runs = [run(1, [10.0, 12.0]), run(2, [10.0, 12.0]), run(3, [8.0, 9.6])];
    let runs: Vec<Named> =
        ["a", "b", "c"].iter().zip(&runs).map(|(it, run)| named(it, run)).collect();
    let comparison = compare(&runs, &[], &REQUEST).0;
    assert_eq!(comparison.comparisons, 6);
    let worse = comparison.observations.iter().filter(|it| it.answer == ChangeAnswer::Worse);
    assert!(worse.clone().count() >= 2 && worse.clone().all(|row| row.run == 2));
}

#[test]
fn a_text_that_is_no_document_with_observations_is_refused() {
    for (text, expected) in [
        ("", "expected a document written by corun as JSON, found text that ends too early"),
        ("{}", "expected a document written by corun as JSON"),
        (r#"{"format": "corun-doctor", "version": 1}"#, "found format \"corun-doctor\""),
        (r#"{"format": "corun-run", "version": 99}"#, "expected a version up to"),
    ] {
        let error = subjects(text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut empty = run(1, [10.0, 12.0]);
    empty["observations"] = json!([]);
    let error = subjects(&empty.to_string()).expect_err("nothing to compare").to_string();
    assert!(error.contains("without any"), "{error}");
}
