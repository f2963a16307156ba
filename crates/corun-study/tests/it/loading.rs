//! Study files that are wrong, each reported with file, line, field and what is allowed.

use corun_study::{Study, StudyError, Value};
use proptest::prelude::*;

const GOOD: &str = r#"format = "corun-study"
version = 1
name = "user"
title = "A study"
max_time = "10s"

[citation]
authors = ["N. N."]
title = "Nothing"
where = "Nowhere"
year = 2000

[machine]
cpu = "a CPU"
cores = 2
logical_cpus = 4
smt_width = 2

[[experiment]]
id = "one"
summary = "one thing"
workload = "fib"
arms = ["spread", "full"]
confine = "1/2"

[[figure]]
id = "alone"
experiment = "one"
metric = "makespan"
arm = "spread"
unit = "s"
value = 2.5
precision = 0.1

[[figure]]
id = "together"
experiment = "one"
metric = "makespan"
arm = "full"
unit = "s"
workers_s = [3.0, 4.0]

[[figure]]
id = "yield"
experiment = "one"
metric = "smt_yield"
arm = "full"
against = "spread"
unit = "1"
ratio = { of = "alone", over = "together", factor = 2, by = "mean" }

[[table]]
summary = "{name}"
workload = "aim9/{row}"
arms = ["free@1"]
columns = [{ id = "on", metric = "throughput", arm = "free@1", precision = 1, is_truncated = true }]
rows = [{ row = "sieve", unit = "sieves/s", values = [15] }]

[[finding]]
id = "it"
claim = "It gains."
correction = "It does not."
computation = [{ kind = "ratio", of = "together", over = "alone" }]
"#;

/// Loads a text as a user's file.
fn load(text: &str) -> Result<Study, StudyError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.toml");
    std::fs::write(&path, text).unwrap();
    corun_study::find(path.to_str().unwrap())
}

#[test]
fn a_study_is_what_its_file_says() {
    let study = load(GOOD).unwrap();
    let ids: Vec<&str> = study.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["sieve/on", "alone", "together", "yield"]);
    let published = |id: &str| study.published(study.figure(id).unwrap()).unwrap();
    assert_eq!((published("alone").low, published("alone").high), (2.45, 2.55));
    let together = published("together");
    assert_eq!((together.value, together.low, together.high), (4.0, 3.95, 4.05));
    assert_eq!(together.decimals, Some(1));
    assert_eq!((published("sieve/on").low, published("sieve/on").high), (15.0, 16.0));
    let yielded = published("yield");
    assert!((yielded.value - 2.0 * 2.5 / 3.5).abs() < 1e-12 && yielded.computed);
    assert!(matches!(study.figure("yield").unwrap().value, Value::Computed(_)));
    let rerun = study.experiments[1].rerun.as_ref().unwrap();
    assert_eq!(rerun.workload, "aim9/sieve");
}

#[test]
fn mistakes_are_reported_with_line_field_and_what_is_allowed() {
    let reported: Vec<String> = [
        ("version = 1", "version = 2"),
        ("format = \"corun-study\"", "format = \"study\""),
        ("max_time = \"10s\"", "max_time = \"soon\""),
        ("cores = 2", "cores = \"two\""),
        ("year = 2000", "year = 2000\npages = 3"),
        ("title = \"A study\"\n", ""),
        ("metric = \"smt_yield\"", "metric = \"smt_gain\""),
        ("arms = [\"spread\", \"full\"]", "arms = [\"spread\", \"fast\"]"),
        ("arms = [\"free@1\"]", "arms = [\"free@one\"]"),
        ("confine = \"1/2\"", "confine = \"half\""),
        ("arm = \"full\"\nunit", "arm = \"packed\"\nunit"),
        ("experiment = \"one\"", "experiment = \"two\""),
        ("unit = \"1\"", "unit = \"s\""),
        ("over = \"together\"", "over = \"apart\""),
        ("kind = \"ratio\"", "kind = \"rate\""),
        ("of = \"together\", over = \"alone\" }]", "of = \"all\", over = \"alone\" }]"),
        ("id = \"together\"", "id = \"alone\""),
        ("values = [15]", "values = [15, 16]"),
        ("value = 2.5", "value = 2.5\nrange = [2, 3]"),
        ("workload = \"fib\"\n", ""),
        ("workload = \"fib\"", "workload = \"fob\""),
        ("value = 2.5", "value = 0"),
        ("precision = 0.1", "precision = nan"),
        ("value = 2.5", "range = [3, 2]"),
        ("value = 2.5", "value = 2.5\ngeometric_mean_of = [\"alone\"]"),
        ("value = 2.5", "value = 2.5\npublished = false"),
        ("workload = \"fib\"", "workload = \"fib\"\nwork_per_worker = -1.0"),
        ("workload = \"fib\"", "workload = \"fib\"\ncores = 0"),
        ("title = \"A study\"", "title = \"\\u001b[31mred\""),
        ("summary = \"one thing\"", "summary = \"\"\"\none\nthing\"\"\""),
        ("authors = [\"N. N.\"]", "authors = [\"N. N.\", \"\\u0085\"]"),
        ("cpu = \"a CPU\"", "\"\\u0007cpu\" = \"a CPU\""),
        ("cpu = \"a CPU\"", "cpu = \"a \u{1b}CPU\""),
        ("value = 2.5\nprecision = 0.1", "value = 0.2\nprecision = 1"),
        ("workers_s = [3.0, 4.0]", "workers_s = []"),
        ("workers_s = [3.0, 4.0]", "workers_s = [3.0, -4.0]"),
        ("correction = \"It does not.\"", "correction = \"It does not.\"\nkind = \"false\""),
        ("[[figure]]\nid = \"alone\"", "[[figures]]\nid = \"alone\""),
        ("cores = 2", "cores = 0"),
        ("arms = [\"spread\", \"full\"]", "arms = [\"spread\", \"full\", \"full\"]"),
        ("against = \"spread\"", "against = \"full\""),
        ("workers_s = [3.0, 4.0]", "workers_s = [3.0, 4.0]\nuser_s = [-1.0]"),
        ("\"smt_yield\"", "\"multitasking_gain\""),
        ("\"smt_yield\"", "\"switch_gain\""),
        ("unit = \"sieves/s\"", "unit = \"sieves\""),
        ("max_time = \"10s\"", "max_time = \"1000000y\""),
        ("name = \"user\"", "name = \"other\""),
        ("arms = [\"spread\", \"full\"]", "arms = [\"spread\", \"full\", \"free/smt-off\"]"),
        ("logical_cpus = 4", "logical_cpus = 5"),
        ("authors = [\"N. N.\"]", "authors = []"),
        ("year = 2000", "year = \"2000\""),
        ("rows = [{ row = \"sieve\", unit = \"sieves/s\", values = [15] }]", "rows = []"),
        (
            "computation = [{ kind = \"ratio\", of = \"together\", over = \"alone\" }]",
            "computation = []",
        ),
        ("id = \"alone\"", "id = \"\""),
    ]
    .into_iter()
    .map(|(right, wrong)| {
        assert!(GOOD.contains(right), "{right}");
        match load(&GOOD.replacen(right, wrong, 1)) {
            Err(StudyError::ValidationError { line, sentence, .. }) => {
                format!("line {line}: {sentence}")
            }
            other => panic!("{wrong}: {other:?}"),
        }
    })
    .collect();
    insta::assert_snapshot!(reported.join("\n"));
}

#[test]
fn the_example_of_the_documentation_is_a_study() {
    let document = corun_testing::repository().join("docs/studies.md");
    let text = std::fs::read_to_string(document).unwrap();
    let (_, example) = text.split_once("```toml\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let study = load(&example.replace("name = \"example\"", "name = \"user\"")).unwrap();
    assert_eq!(study.name, "user");
    let gain = study.published(study.figure("gain").unwrap()).unwrap();
    assert!((gain.value - 73.175 / 58.843).abs() < 1e-12);
    assert_eq!(study.findings.len(), 1);
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let error = corun_study::find("ibm-chats").unwrap_err();
    assert!(error.to_string().starts_with("no study is called `ibm-chats`; there are: ibm-chat,"));
    let error = corun_study::find("/nowhere/x.toml").unwrap_err();
    assert!(matches!(error, StudyError::Unreadable { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_damage_panics(begin in 0..GOOD.len(), length in 0..40_usize, text in "[ -~\n]{0,10}") {
        let end = (begin + length).min(GOOD.len());
        let _ = load(&format!("{}{text}{}", &GOOD[..begin], &GOOD[end..]));
    }
}
