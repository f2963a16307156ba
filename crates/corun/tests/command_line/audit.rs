//! `corun audit`: properties for people, JSON for programs, and nothing left behind.

use corun_record::{Audit, AuditPropertyList, AuditVerdict, Document, EvidenceSource, Metric};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun, wait_until};
use crate::interruption::{children_of, ended_by, is_gone, start};
use crate::schema::{fitting, validator};

/// Properties that take less than half a second a round and can be shown on one CPU.
const QUICK: [&str; 4] = ["audit", "--only=nice", "--max-time=1ms", "--quiet"];

#[track_caller]
fn audit(arguments: &[&str]) -> Audit {
    let outcome = Outcome::of(corun(QUICK).args(arguments).arg("--json=-"));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{}", outcome.output);
    Audit::from_json(&outcome.output).expect("nothing but an audit")
}

#[test]
fn two_rounds_are_observed_and_settle_nothing() {
    let audit = audit(&["--seed=7", "--no-events"]);
    assert_eq!((audit.rounds, audit.seed, audit.ending.is_interrupted()), (2, 7, false));
    assert_eq!(audit.evidence_source, EvidenceSource::Accounts);
    let [row] = &audit.rows[..] else { panic!("{:?}", audit.rows) };
    assert_eq!((row.property.as_str(), row.verdict), ("nice", AuditVerdict::Inconclusive));
    assert!(row.reason.as_deref().is_some_and(|why| why.contains("rounds")), "{row:?}");
    assert!(audit.caveats.iter().any(|caveat| caveat.kind == "few-rounds"));
}

#[test]
fn what_is_written_fits_the_schema_and_what_is_shown_has_the_same_rows() {
    let scratch = Scratch::new();
    let (json, csv) = (scratch.file("audit.json"), scratch.file("audit.csv"));
    let mut command = corun(["audit", "--only=affinity,nice", "--max-time=2s", "--quiet"]);
    let outcome = Outcome::of(command.arg("--json").arg(&json).arg("--csv").arg(&csv));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let json: Value = serde_json::from_str(&scratch.read("audit.json")).expect("JSON");
    let faults: Vec<String> =
        validator(Audit::FORMAT).iter_errors(&json).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
    let audit = Audit::from_json(&json.to_string()).expect("an audit");
    let names: Vec<&str> = audit.rows.iter().map(|row| row.property.as_str()).collect();
    assert_eq!(names, ["affinity", "nice"]);
    let (shown, csv) = (outcome.unwrapped(), scratch.read("audit.csv"));
    for row in &audit.rows {
        assert!(shown.contains(&row.property) && shown.contains(row.verdict.name()), "{shown}");
        assert!(csv.contains(&format!("\n{},", row.property)), "{csv}");
        let rounds = row.readings.iter().filter(|it| it.of == row.readings[0].of).count();
        assert!(rounds == audit.rounds as usize || row.verdict == AuditVerdict::NotPossible);
        for seen in row.observations.iter().filter(|it| it.metric == Metric::TimeShare) {
            let it = seen.estimate;
            assert!(0.0 <= it.low && it.low <= it.value && it.value <= it.high && it.high <= 1.0);
        }
    }
}

#[test]
fn the_list_says_what_cannot_be_shown() {
    let outcome = Outcome::of(&mut corun(["audit", "--list"]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    for property in corun_audit::ALL {
        let line = format!("{} {}", property.name, property.question);
        assert!(outcome.unwrapped().contains(&line), "{}", outcome.output);
    }
    let json = Outcome::of(&mut corun(["audit", "--list", "--json=-"])).output;
    let list = fitting::<AuditPropertyList>(&json).body;
    let names: Vec<&str> = list.properties.iter().map(|it| &*it.name).collect();
    assert_eq!(names, corun_audit::ALL.iter().map(|it| it.name).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let scratch = Scratch::new();
    let reported = |arguments: &[&str]| {
        let mut command = corun(["audit"]);
        Outcome::of(command.args(arguments).current_dir(scratch.path())).reported(scratch.path())
    };
    insta::assert_snapshot!(reported(&["--only=fairnes"]), @r#"
    exit 2
    corun: expected a property, found "fairnes"
      Did you mean `fairness`?
    "#);
    insta::assert_snapshot!(reported(&["--only=everything"]), @r#"
    exit 2
    corun: expected a property, found "everything"
      `corun audit --list` has them.
    "#);
    let refusal = reported(&["--pinned-to=65535"]);
    assert!(
        refusal.starts_with(
            "exit 2\ncorun: expected logical CPUs that may be used, found \"65535\"\n  Allowed are: "
        ),
        "{refusal}"
    );
    for arguments in
        [&["--pinned-to=3-1"][..], &["--max-time=0s"], &["--list", "--csv=list.csv"], &["nice"]]
    {
        assert!(reported(arguments).starts_with("exit 2\n"), "{arguments:?}");
    }
    assert!(reported(&["--json=missing/audit.json"]).starts_with("exit 1\n"));
    assert!(reported(&["--json=same", "--csv=same"]).starts_with("exit 2\n"));
}

#[test]
fn an_interrupt_before_the_first_round_ends_leaves_nothing_to_report() {
    let corun = start(corun(["audit", "--max-time=10m", "--quiet"]).arg("--only=fairness,nice"));
    let parent = corun.id();
    wait_until("a load", || !children_of(parent).is_empty());
    let loads = children_of(parent);
    let outcome = ended_by(corun, Signal::INT);
    insta::assert_snapshot!(outcome.reported(std::path::Path::new("/nowhere")), @r"
    exit 5
    corun: interrupted before the first round was finished; nothing to report
      Let at least one round finish, or audit fewer properties with --only.
    ");
    wait_until("the loads' end", || loads.iter().all(|&load| is_gone(load)));
}

#[test]
fn no_load_outlives_a_killed_corun() {
    let mut corun = start(&mut corun(["audit", "--max-time=10m", "--quiet", "--only=fairness"]));
    let parent = corun.id();
    wait_until("a load", || !children_of(parent).is_empty());
    let loads = children_of(parent);
    corun.kill().expect("corun runs");
    corun.wait().expect("corun ends");
    wait_until("the loads' end", || loads.iter().all(|&load| is_gone(load)));
}

#[test]
fn a_load_is_nothing_that_people_start() {
    let outcome = Outcome::of(&mut corun(["audit-load"]));
    assert_eq!(outcome.exit, Some(1));
    assert!(outcome.output.contains("for internal use"), "{}", outcome.output);
}
