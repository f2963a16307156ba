//! This machine, and the document that lists the checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use corun_machine::doctor::{Report, Severity};
use corun_record::json_text;

fn this_machine() -> Report {
    Report::read(Path::new("/"), Duration::from_millis(200)).unwrap()
}

#[test]
fn this_machine_is_examined_and_its_report_reads_back() {
    let report = this_machine();
    assert!(report.watched_s.is_some_and(|seconds| seconds >= 0.2));
    assert!(report.diagnoses.is_sorted_by_key(|diagnosis| diagnosis.severity));
    for diagnosis in &report.diagnoses {
        assert!(!diagnosis.why.is_empty(), "{diagnosis:#?}");
        let needs_advice = diagnosis.severity <= Severity::Disturbs;
        assert!(!needs_advice || diagnosis.advice.is_some(), "{diagnosis:#?}");
    }
    // What is watched can be read on a live machine.
    for check in ["load", "steal"] {
        assert_ne!(report.diagnosis(check).unwrap().severity, Severity::Unknown, "{check}");
    }
    assert_eq!(serde_json::from_str::<Report>(&json_text(&report)).unwrap(), report);
}

#[test]
fn the_document_lists_every_check_and_no_other() {
    let checks: BTreeSet<String> =
        this_machine().diagnoses.into_iter().map(|diagnosis| diagnosis.check).collect();
    let document = corun_testing::repository().join("docs/doctor.md");
    let document = fs::read_to_string(document).unwrap();
    let listed: BTreeSet<String> = document
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    assert_eq!(listed, checks);
}

#[test]
fn a_root_without_a_machine_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = Report::read(folder.path(), Duration::ZERO).unwrap_err();
    assert!(error.to_string().starts_with("no CPUs found below"), "{error}");
    assert!(Report::read(&folder.path().join("missing"), Duration::ZERO).is_err());
}
