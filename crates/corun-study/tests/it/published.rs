//! The studies beside the published figures they come from, and what they owe to one another.

use std::collections::{BTreeMap, BTreeSet};

use corun_study::{Study, Value};

/// The rows of a file of published figures, typed from the publication, by column.
fn published(file: &str) -> Vec<BTreeMap<String, String>> {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn study(name: &str) -> Study {
    corun_study::find(name).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn same(study: &Study, figure: &str, expected: &str) {
    let found = study.figure(figure).unwrap_or_else(|| panic!("{figure} is missing"));
    let value = study.published(found).unwrap().value;
    let expected: f64 = expected.parse().unwrap();
    assert!((value - expected).abs() < 1e-9, "{figure}: {value} is not {expected}");
}

fn numbers(rows: &[&BTreeMap<String, String>], column: &str) -> Vec<f64> {
    rows.iter().map(|row| row[column].parse().unwrap()).collect()
}

#[test]
fn every_study_is_named_as_its_file_and_complete() {
    for (name, study) in corun_study::names().zip(corun_study::all().unwrap()) {
        assert_eq!(study.name, name);
        assert!(study.max_time.as_secs() <= 180, "{name}");
        assert!(!study.figures.is_empty() && !study.experiments.is_empty(), "{name}");
        let measured: BTreeSet<usize> =
            study.figures.iter().filter_map(|figure| figure.experiment).collect();
        assert_eq!(measured.len(), study.experiments.len(), "{name}: a figure for each experiment");
    }
}

#[test]
fn the_fibonacci_tests_are_those_of_the_publication() {
    let rows = published("fib_i7_9750h.csv");
    let study = study("smt-test-2020");
    assert_eq!(rows.len(), 8);
    for row in rows {
        let id = format!("test-{}", row["test"]);
        same(&study, &id, &row["real_s"]);
        let figure = study.figure(&id).unwrap();
        assert_eq!(figure.user_s, numbers(&[&row], "user_s"), "{id}");
        assert_eq!(figure.system_s, numbers(&[&row], "sys_s"), "{id}");
        let rerun = study.experiments[figure.experiment.unwrap()].rerun.as_ref().unwrap();
        assert_eq!(rerun.parameters["granularity"], row["alloc_granularity_bytes"], "{id}");
        let additions: f64 = row["fibonacci_n"].parse::<f64>().unwrap() - 1.0;
        assert_eq!(rerun.work_per_worker, Some(additions), "{id}");
    }
}

#[test]
fn every_timing_of_the_lecture_is_there() {
    let rows = published("lecture_experiments.csv");
    let study = study("os-lecture");
    let mut figures: BTreeMap<&str, Vec<&BTreeMap<String, String>>> = BTreeMap::new();
    rows.iter().for_each(|row| figures.entry(&row["experiment"]).or_default().push(row));
    for (id, rows) in &figures {
        let figure = study.figure(id).unwrap_or_else(|| panic!("{id} is missing"));
        let published = study.published(figure).expect("a published value");
        assert_eq!(published.workers_s, numbers(rows, "real_s"), "{id}");
        assert_eq!(published.user_s, figure.user_s, "{id}");
        assert_eq!(published.system_s, figure.system_s, "{id}");
        assert_eq!(published.decimals, Some(3), "{id}");
        assert_eq!(figure.user_s, numbers(rows, "user_s"), "{id}");
        assert_eq!(figure.system_s, numbers(rows, "system_s"), "{id}");
    }
    let typed = study.figures.iter().filter(|it| matches!(it.value, Value::Workers(_))).count();
    assert_eq!(typed, figures.len());
}

#[test]
fn every_share_that_top_listed_in_the_lecture_is_there() {
    let rows = published("lecture_top.csv");
    let study = study("os-lecture");
    let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &rows {
        let rank = ranks.entry(&row["experiment"]).or_default();
        *rank += 1;
        same(&study, &format!("{}/{rank}", row["experiment"]), &row["cpu_pct"]);
    }
    assert_eq!(rows.len(), 26);
    assert_eq!(study.figures.iter().filter(|it| it.rank.is_some()).count(), rows.len());
}

#[test]
fn the_rows_of_both_suites_are_those_of_the_publication() {
    for (name, file, [row_name, off, on], rows_expected) in [
        ("ibm-aim9-2003", "aim9_xeon_2419.csv", ["test_id", "noht", "ht"], 59),
        ("ibm-lmbench-2003", "lmbench_xeon_2419.csv", ["name", "noht_us", "ht_us"], 14),
    ] {
        let rows = published(file);
        let study = study(name);
        assert_eq!((rows.len(), study.experiments.len()), (rows_expected, rows_expected));
        for (row, experiment) in rows.iter().zip(&study.experiments) {
            let id = &experiment.id;
            assert!(*id == row[row_name] || experiment.summary.contains(&row[row_name]), "{id}");
            same(&study, &format!("{id}/off"), &row[off]);
            same(&study, &format!("{id}/on"), &row[on]);
            if let Some(unit) = row.get("unit") {
                let figure = study.figure(&format!("{id}/on")).unwrap();
                assert_eq!(figure.quantity.unit(), unit, "{id}");
            }
        }
    }
}

#[test]
fn the_gains_of_the_servers_are_those_of_the_publication() {
    for (name, file, count) in [
        ("ibm-chat", "chat_xeon.csv", "rooms"),
        ("ibm-dbench", "dbench_xeon.csv", "clients"),
        ("ibm-tbench", "tbench_xeon.csv", "clients"),
    ] {
        let rows = published(file);
        let study = study(name);
        for row in &rows {
            let of = if row[count] == "geomean" { "mean" } else { &row[count] };
            let gain: f64 = row["speedup_pct"].parse().unwrap();
            let expected = (1.0 + gain / 100.0).to_string();
            same(&study, &format!("{of}/{}", row["kernel"]), &expected);
        }
        assert_eq!(
            study.figures.iter().filter(|it| it.value != Value::Unpublished).count(),
            rows.len()
        );
    }
}

#[test]
fn every_workload_is_in_the_registry_and_takes_its_parameters() {
    let mut missing = BTreeSet::new();
    for study in corun_study::all().unwrap() {
        for rerun in study.experiments.iter().filter_map(|it| it.rerun.as_ref().ok()) {
            let given: Vec<String> =
                rerun.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            match corun_workload::find(&rerun.workload) {
                Ok(workload) => {
                    corun_workload::Parameters::parse(workload.descriptor(), &given).unwrap();
                }
                Err(_) => drop(missing.insert(rerun.workload.clone())),
            }
        }
    }
    assert_eq!(missing, BTreeSet::new());
}
