//! `corun capacity`: the curve of this machine, its forms, and what it refuses.

use corun_record::{CapacityCurve, Document, Filling, Mode, Record, Source};

use crate::common::{Outcome, Scratch, corun};

/// A curve as quickly as it can be had.
const QUICK: [&str; 5] =
    ["capacity", "--measure", "--blocks=2", "--warmup=0", "--sample-time=20ms"];

/// True if it ran to its end; beside other work two blocks may be too few for an answer.
fn is_done(outcome: &Outcome) -> bool {
    matches!(outcome.exit, Some(0 | 5))
}

fn curve(arguments: &[&str]) -> Record<CapacityCurve> {
    let outcome = Outcome::of(corun(QUICK).arg("--json=-").args(arguments));
    assert!(is_done(&outcome), "{}", outcome.errors);
    Record::from_json(&outcome.output).expect("a curve")
}

#[test]
fn a_curve_begins_with_one_cpu_and_ends_with_all() {
    let curve = curve(&["--workload=fib"]).body;
    assert_eq!((curve.source, curve.workload.mode), (Source::Measured, Mode::Copies));
    if let Some(answer) = &curve.answer {
        assert!(answer.sentence.starts_with("At 50 % reported you have used "), "{answer:?}");
        assert!(answer.used_low <= answer.used_high, "{answer:?}");
    }
    for filling in [Filling::CoresFirst, Filling::SiblingsFirst] {
        let points = &curve.order(filling).expect("both orders").points;
        let last = points.last().expect("points");
        assert_eq!((points[0].busy, last.busy), (1, curve.cpus));
        assert_eq!((last.nominal, last.used.value), (1.0, 1.0));
        assert!(points.iter().all(|it| it.reported.is_some()), "{points:?}");
    }
    assert_eq!(curve.levels.len(), 10);
    assert_eq!(curve.samples.len(), 2 * curve.arms.len());
    assert!(curve.samples.iter().all(|sample| !sample.workers.is_empty()));
}

#[test]
fn a_mix_runs_its_workloads_side_by_side() {
    let curve = curve(&["--mix=fib,chase"]).body;
    assert_eq!((curve.workload.name.as_str(), curve.mix.len()), ("fib + chase", 2));
    let full = curve.samples.iter().find(|it| it.workers.len() as u32 == curve.cpus);
    let checks = full.expect("all CPUs busy").workers.iter().map(|it| it.check.clone());
    let mut checks: Vec<Option<String>> = checks.collect();
    checks.sort();
    checks.dedup();
    let expected = if curve.cpus > 1 { 2 } else { 1 };
    assert_eq!(checks.len(), expected, "a check value for each workload: {checks:?}");
}

#[test]
fn every_form_is_written_and_the_report_shows_it() {
    let scratch = Scratch::new();
    let [json, csv, svg, page] =
        ["curve.json", "curve.csv", "curve.svg", "page.html"].map(|name| scratch.file(name));
    let outcome = Outcome::of(
        corun(QUICK)
            .args(["--workload=fib", "--svg"])
            .arg(&svg)
            .arg("--csv")
            .arg(&csv)
            .arg("--json")
            .arg(&json),
    );
    assert!(is_done(&outcome), "{}", outcome.errors);
    for part in ["● cores first", "50 % reported", "100 % is the work done in a second"] {
        assert!(outcome.output.contains(part), "{part}:\n{}", outcome.output);
    }
    let text = |path: &std::path::Path| std::fs::read_to_string(path).expect("it was written");
    assert!(text(&csv).lines().count() > 2);
    assert!(text(&svg).contains("</svg>"));
    let outcome = Outcome::of(corun(["report"]).arg(&json).arg("-o").arg(&page));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert!(text(&page).contains("How much capacity is used"));
}

#[test]
fn what_cannot_be_mixed_or_counted_is_refused() {
    for (arguments, expected) in [
        (&["--mix=fib,nothing"][..], "nothing"),
        (&["--mix=fib", "--workload=fib"], "--workload"),
        (&["--copies=3", "true"], "--copies"),
        (&[], "expected a command"),
    ] {
        let outcome = Outcome::of(corun(QUICK).args(arguments));
        assert_eq!(outcome.exit, Some(2), "{arguments:?}: {}", outcome.errors);
        assert!(outcome.errors.contains(expected), "{arguments:?}: {}", outcome.errors);
    }
}

#[test]
fn a_predicted_program_has_its_environment_folder_and_input() {
    let scratch = Scratch::new();
    let input = scratch.file("input");
    std::fs::write(&input, "a line\n").expect("a file can be written");
    // What dies is not predicted.
    let script = "read line; test \"$A:$line\" = '1:a line' && test -f input || kill -9 $$; \
                  i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done";
    let predicted = |options: &[&str]| {
        let mut command = corun(["capacity", "--model=zen4", "--max-time=10m", "--json=-"]);
        command.args(options).arg("--stdin").arg(&input).args(["--", "sh", "-c", script]);
        Outcome::of(&mut command)
    };
    let folder = scratch.path().to_str().expect("text");
    let outcome = predicted(&["--env", "A=1", "--cwd", folder]);
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let curve = Record::<CapacityCurve>::from_json(&outcome.output).expect("a curve").body;
    assert_eq!((curve.source, curve.model.as_deref()), (Source::Predicted, Some("zen4")));
    for other in [&["--cwd", folder][..], &["--env", "A=1"]] {
        let outcome = predicted(other);
        assert_eq!(outcome.exit, Some(1), "{other:?}: {}", outcome.errors);
        assert!(outcome.errors.contains("killed"), "{other:?}: {}", outcome.errors);
    }
}

#[test]
fn a_run_that_does_not_fit_has_no_answer() {
    let outcome = Outcome::of(&mut corun([
        "capacity",
        "--measure",
        "--warmup=0",
        "--max-time=200ms",
        "--brief",
        "sleep",
        "1",
    ]));
    assert_eq!(outcome.exit, Some(5), "{}\n{}", outcome.output, outcome.errors);
    assert!(outcome.output.starts_with("No answer: "), "{}", outcome.output);
}
