//! A sweep on this machine: each predicted cell is kept as soon as it is known, so that whatever ends corun, it is there.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use corun_machine::Machine;
use corun_predict::{PredictError, SweepObserver};
use corun_record::{PredictionSweep, Record, SweepCell};

use super::TypedSweep;
use crate::interruption;
use crate::keeping::Keeper;
use crate::problem::{Problem, say};

/// Predicts every cell that has no prediction yet.
///
/// # Errors
/// If signals cannot be handled.
pub(super) fn run(
    typed: &TypedSweep<'_>,
    beginning: Record<PredictionSweep>,
    mut keeper: Keeper,
) -> Result<(PredictionSweep, Keeper), Problem> {
    let machine = Machine::read(Path::new("/"))?;
    let stop = interruption::flag_on_signals()?;
    let interrupt = interruption::on_signals()?;
    keeper.begin_sweep(&beginning);
    let mut sweep = beginning.body;
    let course = Course {
        since: Instant::now(),
        all: sweep.cells.len(),
        is_quiet: typed.arguments.progress.quiet,
        state: Mutex::new((sweep.cells.len() - sweep.open().count(), keeper)),
    };
    typed.request.predict_open(&mut sweep, &machine, &course, (&interrupt, &stop));
    let (_, keeper) = course.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok((sweep, keeper))
}

/// The course of a sweep.
struct Course {
    since: Instant,
    all: usize,
    is_quiet: bool,
    /// Number of cells that have ended, and their keeper.
    state: Mutex<(usize, Keeper)>,
}

impl SweepObserver for Course {
    fn cell_ends(&self, cell: &SweepCell) {
        let Ok(mut state) = self.state.lock() else { return };
        let (done, keeper) = &mut *state;
        if cell.prediction.is_some() {
            keeper.add_cell(cell, self.since.elapsed());
        }
        *done += 1;
        if !self.is_quiet {
            say(&format!("{done} of {}: {}", self.all, line(cell)));
        }
    }

    fn program_fails(&self, name: &str, error: &PredictError) {
        say(&format!("corun: {name}: {error}"));
    }
}

fn line(cell: &SweepCell) -> String {
    let settings = cell.settings.iter().map(|it| format!(" {it}")).collect::<String>();
    let what = format!("{} on {}{settings}", cell.program, cell.model);
    match &cell.failure {
        Some(failure) => format!("{what}: failed: {failure}"),
        None => what,
    }
}
