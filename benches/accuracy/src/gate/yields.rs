//! Published yields, each from a short committed trace of the program that stands for it.

use std::path::{Path, PathBuf};

use super::compact::compact;
use super::figures::{Figure, Kind, Set, summaries};
use crate::siblings::{Extent, HELPS, Listed, Row, Traces, Yield, simulate};

/// Instructions that are recorded.
const RECORDED: &str = "600k";
/// As much of each program as two minutes allow.
const SHORT: Extent = Extent { warm_up: "100k", counted: "100k", phases: "2", slice: "0.2" };

/// The published rows.
///
/// # Errors
/// If the list is not as it should be.
pub(crate) fn rows() -> Result<Vec<Row>, String> {
    Listed::read().map(|listed| listed.rows)
}

/// The yield of a row's program on its core, in work a cycle.
///
/// # Errors
/// If it cannot be simulated.
pub(crate) fn a_cycle(corun: &Path, row: &Row) -> Result<Yield, String> {
    simulate(corun, row, &file(&row.program), &[], SHORT)
}

/// The same in work a second.
///
/// # Errors
/// If it cannot be simulated.
pub(super) fn predict(corun: &Path, row: &Row) -> Result<f64, String> {
    let found = a_cycle(corun, row).and_then(|it| row.a_second(&it.estimate()));
    found.map(|it| it.value).map_err(|reason| format!("{} on {}: {reason}", row.program, row.model))
}

/// All rows, with their summaries.
pub(super) fn set(rows: &[Row], yields: &[f64]) -> Set {
    let figure = |(row, &now): (&Row, &f64)| Figure {
        name: row.workload.clone(),
        kind: Kind::Row,
        ideal: row.published,
        now,
    };
    let mut figures: Vec<Figure> = rows.iter().zip(yields).map(figure).collect();
    let is_right = |one: &&Figure| (one.ideal > HELPS) == (one.now > HELPS);
    let right = figures.iter().filter(is_right).count() as f64;
    let signs = Figure {
        name: "\"helps by more than 5 %\" right".to_owned(),
        kind: Kind::Signs,
        ideal: rows.len() as f64,
        now: right,
    };
    figures.extend(summaries(&figures));
    figures.push(signs);
    Set { name: "yields".to_owned(), figures }
}

/// Records the programs of these names, or all.
///
/// # Errors
/// If one cannot be traced.
pub(super) fn record(corun: &Path, names: &[String]) -> Result<(), String> {
    let listed = Listed::read()?;
    let traces = Traces::new(corun, &listed)?;
    let is_asked = |name: &String| names.is_empty() || names.contains(name);
    for program in listed.programs.iter().filter(|program| is_asked(&program.name)) {
        let file = file(&program.name);
        traces.record(program, &file, RECORDED)?;
        compact(&file)?;
    }
    Ok(())
}

fn file(program: &str) -> PathBuf {
    super::folder().join(format!("yields/{}.trace", program.replace(' ', "-")))
}
