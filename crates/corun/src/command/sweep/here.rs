//! A sweep on this machine: a program after the other, and of each several cells at a time.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

use corun_record::{Prediction, PredictionSweep, Record, SweepCell};

use super::Arguments;
use super::cells::Plan;
use crate::command::predict::{CoreVariant, on_each};
use crate::interruption;
use crate::keeping::Keeper;
use crate::problem::{Problem, say};

/// Predicts every cell that has no prediction yet. A cell that fails does not end the others. Each predicted cell is kept as
/// soon as it is known, so that whatever ends corun, it is there.
///
/// # Errors
/// If signals cannot be handled.
pub(super) fn run(
    arguments: &Arguments,
    plan: &Plan,
    beginning: Record<PredictionSweep>,
    mut keeper: Keeper,
) -> Result<(PredictionSweep, Keeper), Problem> {
    let stop = interruption::flag_on_signals()?;
    let jobs = arguments.jobs.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        std::num::NonZeroUsize::get,
    );
    keeper.begin_sweep(&beginning);
    let mut sweep = beginning.body;
    let course = Course {
        since: Instant::now(),
        all: sweep.cells.len(),
        is_quiet: arguments.output.quiet,
        state: Mutex::new((sweep.cells.len() - sweep.open().count(), keeper)),
    };
    for (program, cells) in plan.programs.iter().zip(sweep.cells.chunks_mut(plan.variants.len())) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let open: Vec<usize> =
            (0..cells.len()).filter(|at| cells[*at].prediction.is_none()).collect();
        if open.is_empty() {
            continue;
        }
        let variants: Vec<CoreVariant> = open.iter().map(|at| plan.variants[*at].clone()).collect();
        let cells = Mutex::new(cells);
        let set = |at: usize, found: Result<Prediction, Problem>| {
            let Ok(mut cells) = cells.lock() else { return };
            let cell = &mut cells[open[at]];
            fill(cell, found);
            course.ended(cell);
        };
        let recorded = on_each(&plan.line(program), &variants, jobs, &stop, &set);
        if let Err(problem) = recorded
            && !stop.load(Ordering::Relaxed)
        {
            // No cell of this program can be predicted; those that failed before have a reason of their own.
            let sentence = problem.sentence();
            if let Ok(mut cells) = cells.lock() {
                for at in open {
                    cells[at].failure.get_or_insert_with(|| sentence.to_owned());
                }
            }
            say(&format!("corun: {}: {sentence}", program.name));
        }
    }
    let (_, keeper) = course.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok((sweep, keeper))
}

/// The course of a sweep.
struct Course {
    since: Instant,
    all: usize,
    is_quiet: bool,
    /// How many cells have ended, and what keeps them.
    state: Mutex<(usize, Keeper)>,
}

impl Course {
    /// Keeps a cell that ended, and says so.
    fn ended(&self, cell: &SweepCell) {
        let Ok(mut state) = self.state.lock() else { return };
        let (done, keeper) = &mut *state;
        if cell.prediction.is_some() {
            keeper.add_cell(cell, self.since.elapsed());
        }
        *done += 1;
        if !self.is_quiet {
            say(&format!("{done} of {}: {}", self.all, said(cell)));
        }
    }
}

fn fill(cell: &mut SweepCell, found: Result<Prediction, Problem>) {
    match found {
        Ok(prediction) => cell.prediction = Some(prediction),
        Err(problem) => cell.failure = Some(problem.sentence().to_owned()),
    }
}

fn said(cell: &SweepCell) -> String {
    let settings = cell.settings.iter().map(|it| format!(" {it}")).collect::<String>();
    let what = format!("{} on {}{settings}", cell.program, cell.model);
    match &cell.failure {
        Some(failure) => format!("{what}: failed: {failure}"),
        None => what,
    }
}
