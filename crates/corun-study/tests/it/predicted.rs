//! The predicted column: how many rows have one, and how figures follow from cycles.

use corun_record::ModelRole;
use corun_study::{
    CoreEngine, Cycles, SimulatedCycles, SimulatedProgram, Study, Value, WorkerLayout, find,
};

/// The studies whose figures stand in publications that measured whole machines, row by row.
const STUDIES: [&str; 4] = ["smt-test-2020", "os-lecture", "ibm-aim9-2003", "ibm-lmbench-2003"];

/// Figures with a published value, those of jobs' shares apart, and those of them that are predicted.
fn counted(study: &Study) -> (usize, usize) {
    let predicted = study.predicted(&SimulatedCycles::kept());
    let published =
        || study.figures.iter().filter(|it| it.value != Value::Unpublished && it.rank.is_none());
    (published().count(), published().filter(|it| predicted.contains_key(&it.id)).count())
}

/// Figures of a role, those of jobs' shares apart.
fn of_role(study: &Study, role: ModelRole) -> Vec<String> {
    let predicted = study.predicted(&SimulatedCycles::kept());
    let is_of = |id: &&String| {
        predicted[*id].role == role && study.figure(id).is_some_and(|it| it.rank.is_none())
    };
    predicted.keys().filter(is_of).cloned().collect()
}

#[test]
fn of_the_259_rows_most_that_are_predicted_are_arithmetic() {
    let counts = STUDIES.map(|name| counted(&find(name).unwrap()));
    assert_eq!(counts.iter().map(|(published, _)| published).sum::<usize>(), 259, "{counts:?}");
    for (name, counted) in [("os-lecture", 3), ("smt-test-2020", 1)] {
        let study = find(name).unwrap();
        let held_out = of_role(&study, ModelRole::HeldOut);
        assert!(held_out.len() >= counted, "{name}: {held_out:?}");
    }
    let aim9 = find("ibm-aim9-2003").unwrap();
    let arithmetic = of_role(&aim9, ModelRole::Arithmetic);
    assert!(arithmetic.iter().all(|id| id.ends_with("/gain")), "{arithmetic:?}");
    assert!(of_role(&aim9, ModelRole::HeldOut).iter().all(|id| !id.ends_with("/gain")));
}

#[test]
fn what_the_models_were_tuned_on_and_arithmetic_prove_nothing() {
    let [lecture, fib] = ["os-lecture", "smt-test-2020"].map(|name| find(name).unwrap());
    let has = |study: &Study, role, id: &str| of_role(study, role).iter().any(|it| it == id);
    for id in ["rex_ram_8_ht", "ram-yield", "ram-switch-gain"] {
        assert!(has(&lecture, ModelRole::Fitted, id), "{id}");
    }
    for id in ["rex_regn_4_ht", "rex_regn_2_same_cpu", "two-jobs-free", "ram-switch-gain-4"] {
        assert!(has(&lecture, ModelRole::Arithmetic, id), "{id}");
    }
    for id in ["rex_regn_8_ht", "regn-yield", "kvm_regn_5"] {
        assert!(has(&lecture, ModelRole::HeldOut, id), "{id}");
    }
    for id in ["test-7", "core-equivalence", "multitasking-gain"] {
        assert!(has(&fib, ModelRole::Fitted, id), "{id}");
    }
    assert!(has(&fib, ModelRole::Arithmetic, "test-8"));
    assert!(has(&fib, ModelRole::HeldOut, "test-6"));
}

#[test]
fn what_is_not_predicted_says_why() {
    for name in ["smt-test-2020", "os-lecture", "ibm-aim9-2003"] {
        let study = find(name).unwrap();
        let predicted = study.predicted(&SimulatedCycles::kept());
        for figure in &study.figures {
            let is_typed = matches!(figure.value, Value::Number(_) | Value::Workers(_));
            if is_typed && !predicted.contains_key(&figure.id) {
                assert!(study.not_predicted(figure).is_some(), "{name}: {}", figure.id);
            }
        }
    }
}

/// A core on which each worker beside another takes twice as long.
struct Halving;

impl CoreEngine for Halving {
    fn cycles(
        &self,
        _: &str,
        _: &SimulatedProgram,
        layouts: &[WorkerLayout],
    ) -> Result<Vec<Cycles>, String> {
        let cycles = |layout: &WorkerLayout| {
            let alone = 10.0;
            let beside = if layout.placement.to_string() == "full" { 2.0 } else { 1.0 };
            let mean = alone * beside;
            Cycles { mean, low: mean, high: mean }
        };
        Ok(layouts.iter().map(cycles).collect())
    }
}

#[test]
fn figures_follow_from_cycles_in_the_seconds_of_another_figure() {
    let study = find("smt-test-2020").unwrap();
    let prediction = study.prediction.as_ref().unwrap();
    let (cycles, failed) = SimulatedCycles::simulated(prediction, &Halving, |_, _, _| {});
    assert_eq!(failed, Vec::<String>::new());
    let predicted = study.predicted(&cycles);
    let is = |id: &str, expected: f64| {
        let found = predicted[id].estimate.value;
        assert!((found / expected - 1.0).abs() < 1e-9, "{id}: {found}, not {expected}");
    };
    // A fifth of the additions of test 6.
    is("test-4", 38.562 * 0.2 * 2.0);
    is("test-5", 38.562 * 0.2 * 4.0);
    is("test-7", 38.562 * 2.0);
    is("test-8", 38.562 * 2.0);
    is("multitasking-gain", 1.0);
    // The ratio that was simulated, though the seconds of test 6 are at another clock.
    is("core-equivalence", 2.0);
    // Its own seconds are cycles at a clock.
    is("test-6", 10.0 * 19_999_999_999.0 / 4.5e9);
}

#[test]
fn what_an_engine_cannot_do_is_left_out_with_its_reason() {
    struct Nothing;
    impl CoreEngine for Nothing {
        fn cycles(
            &self,
            _: &str,
            _: &SimulatedProgram,
            _: &[WorkerLayout],
        ) -> Result<Vec<Cycles>, String> {
            Err("no tracer works here".to_owned())
        }
    }
    let study = find("os-lecture").unwrap();
    let prediction = study.prediction.as_ref().unwrap();
    let (cycles, failed) = SimulatedCycles::simulated(prediction, &Nothing, |_, _, _| {});
    assert_eq!(failed.len(), prediction.needed().len());
    assert!(failed[0].ends_with(": no tracer works here"), "{failed:?}");
    assert!(!study.predicted(&cycles).contains_key("rex_ram_8_ht"));
}

#[test]
fn shares_of_jobs_are_modelled_largest_first() {
    let study = find("os-lecture").unwrap();
    let predicted = study.predicted(&SimulatedCycles::kept());
    for (id, jobs, cpus) in [
        ("three-on-two", 3, 2.0),
        ("five-on-four", 5, 4.0),
        ("ten-on-eight", 10, 8.0),
        ("eight-on-four", 8, 4.0),
    ] {
        let shares: Vec<f64> =
            (1..=jobs).map(|rank| predicted[&format!("{id}/{rank}")].estimate.value).collect();
        assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]), "{id}: {shares:?}");
        let sum: f64 = shares.iter().sum();
        assert!((sum / cpus - 100.0).abs() < 1.0, "{id}: {shares:?}");
    }
    assert_eq!(study.figures.iter().filter(|it| it.rank.is_some()).count(), 26);
}
