//! The predicted column: how many rows have one, and how figures follow from cycles.

use corun_record::ModelRole;
use corun_study::{
    CoreEngine, Cycles, Seats, SimulatedCycles, SimulatedProgram, Study, Value, find,
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

#[test]
fn at_least_110_of_the_259_rows_are_predicted() {
    let counts = STUDIES.map(|name| counted(&find(name).unwrap()));
    let (published, predicted) =
        counts.iter().fold((0, 0), |(all, some), (more, of)| (all + more, some + of));
    assert_eq!(published, 259, "{counts:?}");
    assert!(predicted >= 110, "{predicted}: {counts:?}");
}

#[test]
fn no_simulated_figure_is_fitted_and_the_others_say_why() {
    for name in ["smt-test-2020", "os-lecture", "ibm-aim9-2003"] {
        let study = find(name).unwrap();
        let predicted = study.predicted(&SimulatedCycles::kept());
        for figure in &study.figures {
            let is_typed = matches!(figure.value, Value::Number(_) | Value::Workers(_));
            match predicted.contains_key(&figure.id) {
                true => assert_eq!(study.role(figure), ModelRole::HeldOut, "{}", figure.id),
                false if is_typed => {
                    assert!(study.not_predicted(figure).is_some(), "{name}: {}", figure.id);
                }
                false => {}
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
        seats: &[Seats],
    ) -> Result<Vec<Cycles>, String> {
        let cycles = |seats: &Seats| {
            let alone = 10.0;
            let beside = if seats.placement.to_string() == "full" { 2.0 } else { 1.0 };
            let mean = alone * beside;
            Cycles { mean, low: mean, high: mean }
        };
        Ok(seats.iter().map(cycles).collect())
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
        let found = predicted[id].value;
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
            _: &[Seats],
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
            (1..=jobs).map(|rank| predicted[&format!("{id}/{rank}")].value).collect();
        assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]), "{id}: {shares:?}");
        let sum: f64 = shares.iter().sum();
        assert!((sum / cpus - 100.0).abs() < 1.0, "{id}: {shares:?}");
    }
    assert_eq!(study.figures.iter().filter(|it| it.rank.is_some()).count(), 26);
}
