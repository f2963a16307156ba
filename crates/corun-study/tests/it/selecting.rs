//! `--only`: some rows of a study.

use corun_study::{Study, find};

fn experiments(study: &Study, rows: &[&str]) -> Vec<String> {
    let rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
    let selection = study.select(&rows).unwrap();
    let all = study.experiments.iter().enumerate();
    all.filter(|(index, _)| selection.has_experiment(*index)).map(|(_, it)| it.id.clone()).collect()
}

#[test]
fn a_row_brings_the_experiments_that_it_is_measured_in() {
    let study = find("smt-test-2020").unwrap();
    assert_eq!(experiments(&study, &["test-7"]), ["half-the-cores"]);
    assert_eq!(
        experiments(&study, &["half-the-cores", "test-1"]),
        ["shared-lines", "half-the-cores"]
    );
    assert_eq!(experiments(&study, &["sharing-penalty"]), ["one-a-cpu-shared", "one-a-cpu-own"]);
    assert_eq!(experiments(&study, &[]).len(), study.experiments.len());
    let chat = find("ibm-chat").unwrap();
    assert_eq!(experiments(&chat, &["mean/2.4.19"]), ["20", "30", "40", "50"]);
}

#[test]
fn an_experiment_brings_its_figures_and_no_others() {
    let study = find("ibm-aim9-2003").unwrap();
    let selection = study.select(&["sieve".to_owned()]).unwrap();
    let figures = study.figures.iter().enumerate();
    let chosen: Vec<&str> = figures
        .filter(|(index, _)| selection.has_figure(*index))
        .map(|(_, figure)| figure.id.as_str())
        .collect();
    assert_eq!(chosen, ["sieve/off", "sieve/on", "sieve/gain"]);
    assert!(!selection.is_all());
}

#[test]
fn a_row_that_there_is_not_is_answered_with_near_ones() {
    let study = find("ibm-aim9-2003").unwrap();
    let error = study.select(&["seive".to_owned()]).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "the study ibm-aim9-2003 has no figure and no experiment `seive`; near it are: sieve, "
        ),
        "{error}"
    );
}
