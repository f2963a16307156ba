//! The schemas that corun prints, and the JSON that it writes.

use corun_record::{Body, Document, ReadError, Record, Run};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::common::{FEWEST, Outcome, Scratch, corun, measure, measure_one_worker};

#[test]
fn a_schema_is_printed_by_the_format_of_its_documents() {
    let listed = Outcome::of(&mut corun(["schema"]));
    assert_eq!((listed.exit, listed.errors.as_str()), (Some(0), ""));
    for format in listed.output.lines() {
        let schema = schema(format);
        assert!(jsonschema::meta::is_valid(&schema), "{format}");
        for field in ["format", "version"] {
            let required = schema["required"].as_array().expect("required fields");
            assert!(required.contains(&field.into()), "{format}: {field}");
        }
    }
    let unknown = Outcome::of(&mut corun(["schema", "corun-rum"]));
    assert_eq!((unknown.exit, unknown.output.as_str()), (Some(2), ""));
    assert!(unknown.errors.contains("as corun-run, corun-runs, "), "{}", unknown.errors);
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
    let validator = validator(Run::FORMAT);
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
            "expected corun-run written by corun as JSON, found other JSON: `format`: invalid type: integer `1` instead of a string",
        ),
        ("\u{0}", "expected corun-run written by corun as JSON, found text that is no JSON"),
    ] {
        let error = Run::from_json(text).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// The document that a command wrote, after it was held against its schema.
#[track_caller]
pub(crate) fn fitting<B: Body + DeserializeOwned>(text: &str) -> Record<B> {
    let json: Value = serde_json::from_str(text).expect("nothing but JSON");
    let faults: Vec<String> =
        validator(B::FORMAT).iter_errors(&json).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new(), "{text}");
    let record = Record::<B>::from_json(text).expect("a document");
    assert_eq!(record.to_json(), text);
    record
}

/// A validator by the schema that corun prints for a format.
pub(crate) fn validator(format: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&schema(format)).expect("the schema is a schema")
}

#[track_caller]
fn schema(format: &str) -> Value {
    let outcome = Outcome::of(&mut corun(["schema", format]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{format}");
    serde_json::from_str(&outcome.output).expect("nothing but JSON")
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
