//! A sweep on this machine: a program after the other, and of each several cells at a time.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use corun_record::{Prediction, PredictionSweep, SweepCell};

use super::Arguments;
use super::cells::Plan;
use crate::command::predict::{CoreVariant, on_each};
use crate::interruption;
use crate::problem::{Problem, say};

/// Predicts every cell that has no prediction yet. A cell that fails does not end the others, and what was predicted
/// before an interruption is kept.
///
/// # Errors
/// If signals cannot be handled.
pub(super) fn run(
    arguments: &Arguments,
    plan: &Plan,
    earlier: Option<PredictionSweep>,
) -> Result<PredictionSweep, Problem> {
    let stop = interruption::flag_on_signals()?;
    let jobs = arguments.jobs.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        std::num::NonZeroUsize::get,
    );
    let mut sweep = plan.with(earlier);
    let all = sweep.cells.len();
    let begun = all - sweep.open().count();
    let done = Mutex::new(begun);
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
            if let Ok(mut done) = done.lock() {
                *done += 1;
                if !arguments.output.quiet {
                    say(&format!("{} of {all}: {}", *done, said(cell)));
                }
            }
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
    Ok(sweep)
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
