//! The published schema of a run's JSON, and the JSON that corun writes.

use std::path::PathBuf;

use corun_machine::doctor::Report;
use corun_machine::probe::Topology;
use corun_machine::sharing::CpuSharing;
use corun_machine::switch::SmtStatus;
use corun_record::{
    Activity, Audit, AuditPropertyList, Bench, BlockTimings, Blocks, Body, CapacityCurve,
    CommandTimes, CoreCalibration, Document, FleetPlan, FleetReport, FleetStatus, FormCalibration,
    KeptRunList, ModelChecks, ModelDescription, ModelDifferences, ModelList, Placements,
    Prediction, PredictionSweep, PredictionTable, ReadError, Record, Run, RunComparison, Schedule,
    SchedulingList, Simulation, StudyDescription, StudyList, StudyResult, ThreadSweep, TraceInfo,
    Trend, WorkloadDescription, WorkloadList, YieldRecord,
};
use serde_json::Value;

use crate::common::{FEWEST, Outcome, Scratch, corun, measure, measure_one_worker};

#[test]
fn the_published_schemas_are_those_of_the_data_model() {
    for (format, generated) in [
        (Audit::FORMAT, Audit::schema()),
        (Run::FORMAT, Run::schema()),
        (Bench::FORMAT, Bench::schema()),
        (StudyResult::FORMAT, StudyResult::schema()),
        (Prediction::FORMAT, Prediction::schema()),
        (PredictionTable::FORMAT, PredictionTable::schema()),
        (YieldRecord::FORMAT, YieldRecord::schema()),
        schema_of::<AuditPropertyList>(),
        schema_of::<Schedule>(),
        schema_of::<Simulation>(),
        schema_of::<Blocks>(),
        schema_of::<Placements>(),
        schema_of::<ModelList>(),
        schema_of::<ModelDescription>(),
        schema_of::<ModelChecks>(),
        schema_of::<ModelDifferences>(),
        schema_of::<CoreCalibration>(),
        schema_of::<FormCalibration>(),
        schema_of::<BlockTimings>(),
        schema_of::<WorkloadList>(),
        schema_of::<WorkloadDescription>(),
        schema_of::<StudyList>(),
        schema_of::<StudyDescription>(),
        schema_of::<SchedulingList>(),
        schema_of::<Topology>(),
        schema_of::<CpuSharing>(),
        schema_of::<Report>(),
        schema_of::<SmtStatus>(),
        schema_of::<TraceInfo>(),
        schema_of::<ThreadSweep>(),
        schema_of::<CapacityCurve>(),
        schema_of::<RunComparison>(),
        schema_of::<Trend>(),
        schema_of::<KeptRunList>(),
        schema_of::<Activity>(),
        schema_of::<CommandTimes>(),
        schema_of::<FleetPlan>(),
        schema_of::<FleetStatus>(),
        schema_of::<FleetReport>(),
        schema_of::<PredictionSweep>(),
    ] {
        let path = published(format);
        if std::env::var_os("CORUN_BLESS").is_some_and(|it| it == "1") {
            std::fs::write(&path, &generated).expect("the schema can be written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == generated,
            "{} is not the schema of the data model; look at the difference that\n  \
             CORUN_BLESS=1 cargo test -p corun schema\nmakes, and commit it",
            path.display()
        );
    }
}

#[test]
fn every_kind_of_run_fits_the_schema_and_reads_back_the_same() {
    let validator = validator(Run::FORMAT);
    let scratch = Scratch::new();
    let failing = crate::counted_runs::script(&scratch, 5, "exit 1");
    for mut command in [
        corun_with(&["measure", "--blocks=2", "--json=-", "--", "true"]),
        corun_with(&["measure", "--blocks=2", "--json=-", "--", "echo", "{workers}"]),
        corun_with(&["measure", "--blocks=2", "--json=-", "--workload=fib", "--sample-time=1ms"]),
        corun_with(&["measure", "--max-time=1ms", "--json=-", "--", "true"]),
        with(measure("stacked", FEWEST), &["--steady", "--json=-", "--", "true"]),
        with(measure_one_worker(9), &["--json=-", "--", failing.to_str().expect("plain")]),
    ] {
        let outcome = Outcome::of(&mut command);
        let json: Value = serde_json::from_str(&outcome.output).expect("nothing but JSON");
        let faults: Vec<String> =
            validator.iter_errors(&json).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{command:?}");
        let run = outcome.run();
        assert_eq!(Run::from_json(&run.to_json()).expect("a run"), run, "{command:?}");
        assert_eq!(run.to_json(), outcome.output, "{command:?}");
    }
}

#[test]
fn the_schema_refuses_what_is_no_run() {
    let schema = serde_json::from_str(&Run::schema()).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let mut json = json_of_a_run();
    assert!(validator.is_valid(&json));
    json["samples"][0]["makespan_s"] = "long".into();
    assert!(!validator.is_valid(&json));
    let mut json = json_of_a_run();
    json.as_object_mut().expect("an object").remove("verdicts");
    assert!(!validator.is_valid(&json));
}

#[test]
fn what_is_no_run_of_a_known_version_is_refused() {
    let mut newer = json_of_a_run();
    newer["version"] = 2.into();
    let mut other = json_of_a_run();
    other["format"] = "corun-study".into();
    let whole = json_of_a_run().to_string();
    let cut = whole.strip_suffix('}').expect("an object");
    assert!(matches!(Run::from_json(&newer.to_string()), Err(ReadError::Version { found: 2, .. })));
    assert!(matches!(Run::from_json(&other.to_string()), Err(ReadError::Format { .. })));
    for (text, expected) in [
        (newer.to_string().as_str(), "expected a version up to 1, found 2"),
        (other.to_string().as_str(), "expected format \"corun-run\", found \"corun-study\""),
        (cut, "expected corun-run written by corun as JSON, found text that ends too early"),
        ("", "expected corun-run written by corun as JSON, found text that ends too early"),
        ("{}", "expected corun-run written by corun as JSON, found other JSON: missing field"),
        (
            r#"{"format": 1}"#,
            "expected corun-run written by corun as JSON, found other JSON: invalid type: integer `1` instead of a string",
        ),
        ("\u{0}", "expected corun-run written by corun as JSON, found text that is no JSON"),
    ] {
        let error = Run::from_json(text).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// The document that a command wrote, after it was held against its published schema.
#[track_caller]
pub(crate) fn fitting<B: Body>(text: &str) -> Record<B> {
    let json: Value = serde_json::from_str(text).expect("nothing but JSON");
    let faults: Vec<String> =
        validator(B::FORMAT).iter_errors(&json).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new(), "{text}");
    let record = Record::<B>::from_json(text).expect("a document");
    assert_eq!(record.to_json(), text);
    record
}

fn schema_of<B: Body>() -> (&'static str, String) {
    (B::FORMAT, Record::<B>::schema())
}

/// A validator by the published schema of a format.
pub(crate) fn validator(format: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(published(format)).expect("a published schema");
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

fn published(format: &str) -> PathBuf {
    corun_testing::repository().join(format!("schema/{format}.schema.json"))
}

fn json_of_a_run() -> Value {
    let outcome = Outcome::of(measure_one_worker(FEWEST).args(["--json=-", "--", "true"]));
    serde_json::from_str(&outcome.output).expect("JSON")
}

fn corun_with(arguments: &[&str]) -> std::process::Command {
    with(corun(["measure", "--warmup=0"]), &arguments[1..])
}

fn with(mut command: std::process::Command, arguments: &[&str]) -> std::process::Command {
    command.args(arguments);
    command
}
