//! Errors of predictions of programs that no model was tuned with, which intervals that corun prints hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use corun_model::{PredictionError, PredictionErrors};

use super::figures::{Figure, Kind, Set};
use super::programs::Recording;
use crate::programs::Side;
use crate::siblings::{self, Row};

const HEAD: &str = "\
# How far predictions were from measured cycles and published yields, of programs that no model was tuned with: the root mean
# square of the logarithm of predicted over true. Written by `cargo run --release -p corun-accuracy -- --gate --bless`.

";

/// Errors of predicted over measured cycles, and of predicted yields beside the published ones.
///
/// # Errors
/// If nothing was held out.
pub(super) fn errors(
    (recordings, ratios): (&[Recording], &[f64]),
    (rows, yields): (&[Row], &[f64]),
) -> Result<PredictionErrors, String> {
    let mut logs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (recording, ratio) in recordings.iter().zip(ratios) {
        if Side::of(recording.program) == Side::HeldOut {
            logs.entry(recording.core.to_owned()).or_default().push(ratio.ln());
        }
    }
    let nothing = || "no program is held out".to_owned();
    let of_core = |(core, logs): (String, Vec<f64>)| Some((core, rounded(&logs)?));
    let cycles: Option<_> = logs.into_iter().map(of_core).collect();
    // Sizes of one loop are one program.
    let mut programs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (row, predicted) in rows.iter().zip(yields) {
        if row.side == siblings::Side::HeldOut {
            let name = row.program.split(' ').next().unwrap_or_default();
            programs.entry(name).or_default().push((predicted / row.published).ln());
        }
    }
    let of_program = |logs: &Vec<f64>| PredictionError::of(logs).map_or(0.0, |it| it.log_error);
    let yields = rounded(&programs.values().map(of_program).collect::<Vec<_>>());
    Ok(PredictionErrors {
        cycles: cycles.ok_or_else(nothing)?,
        yields: yields.ok_or_else(nothing)?,
    })
}

fn rounded(logs: &[f64]) -> Option<PredictionError> {
    let found = PredictionError::of(logs)?;
    Some(PredictionError { log_error: (found.log_error * 1e3).round() / 1e3, ..found })
}

/// The errors as figures of the gate.
pub(super) fn sets(errors: &PredictionErrors) -> Vec<Set> {
    let set = |of: &str, error: &PredictionError| {
        let now = error.log_error;
        let name = "root mean square of logarithms".to_owned();
        let figures = vec![Figure { name, kind: Kind::Mean, ideal: 0.0, now }];
        Set { name: format!("held-out {of}"), figures }
    };
    let of_core =
        |(core, error): (&String, &PredictionError)| set(&format!("programs on {core}"), error);
    let yields = set("yields", &errors.yields);
    errors.cycles.iter().map(of_core).chain([yields]).collect()
}

/// Writes the file that the models come with.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write(errors: &PredictionErrors) -> Result<(), String> {
    let text = toml::to_string(errors).map_err(|error| error.to_string())?;
    let path = path();
    std::fs::write(&path, format!("{HEAD}{text}"))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn path() -> PathBuf {
    crate::blocks::folder().join("prediction-errors.toml")
}

#[cfg(test)]
mod tests {
    use super::super::bounds::Bounds;
    use super::super::programs::recordings;
    use super::super::yields::rows;
    use super::*;

    #[test]
    fn what_intervals_hold_is_what_the_gate_found() {
        let bounds = Bounds::read().unwrap();
        for set in sets(PredictionErrors::committed()) {
            let (blessed, _) = bounds.of(&set, &set.figures[0]).expect("it was blessed");
            assert_eq!(blessed, set.figures[0].now, "{}", set.name);
        }
    }

    #[test]
    fn tuned_programs_and_sizes_of_one_loop_do_not_count() {
        let (recordings, rows) = (recordings().unwrap(), rows().unwrap());
        let ratio = |it: &Recording| if Side::of(it.program) == Side::Tuned { 9.0 } else { 1.1 };
        let ratios: Vec<f64> = recordings.iter().map(ratio).collect();
        let published = |row: &Row| match row.side {
            siblings::Side::Tuned => 9.0,
            siblings::Side::HeldOut => {
                row.published * if row.program.starts_with("walk") { 1.0 } else { 1.2 }
            }
        };
        let yields: Vec<f64> = rows.iter().map(published).collect();
        let found = errors((&recordings, &ratios), (&rows, &yields)).unwrap();
        assert_eq!(found.cycles["zen4"], PredictionError { programs: 8, log_error: 0.095 });
        let share = f64::from(found.yields.programs - 1) / f64::from(found.yields.programs);
        assert!((found.yields.log_error - share.sqrt() * 1.2_f64.ln()).abs() < 1e-3, "{found:?}");
    }
}
