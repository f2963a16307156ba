//! The accuracy gate: what the pages show, less of it, predicted by the present code and held to committed bounds.
//!
//! Whole programs come from committed traces and stand beside cycles that were measured natively; blocks are a part of each
//! measured list; yields are those of all published rows. A figure that is worse than its bound fails the gate, so that no page
//! is older than the code without anyone noticing. Bounds are in `benches/accuracy/gate/bounds.toml`.

mod blocks;
mod bounds;
mod compact;
mod errors;
mod figures;
pub(crate) mod programs;
mod report;
pub(crate) mod yields;

use std::path::{Path, PathBuf};

use corun_model::PredictionErrors;
use corun_sim::in_parallel;

use crate::blocks::List;
use crate::siblings::Row;
use bounds::Bounds;
use figures::Set;
use programs::Recording;
pub use report::Report;

/// Predicts everything and holds it to the bounds; `corun` is the program that simulates blocks and siblings.
///
/// # Errors
/// If a committed file cannot be read.
pub fn check(corun: &Path) -> Result<Report, String> {
    Ok(Report::of(&predicted(corun)?.0, &Bounds::read()?))
}

/// Predicts everything and makes the figures of today the bounds, and their errors those that printed intervals hold.
///
/// # Errors
/// If a committed file cannot be read, something cannot be predicted, or the bounds cannot be written.
pub(crate) fn bless(corun: &Path) -> Result<Report, String> {
    let (sets, errors) = predicted(corun)?;
    let known = Bounds::read()?;
    known.with(&sets)?.write()?;
    errors::write(&errors)?;
    Ok(Report::of(&sets, &known))
}

/// Records the traces again: those of the programs here as they are, those of the rows as the page of yields has them.
///
/// # Errors
/// If a program cannot be traced.
pub(crate) fn record(corun: &Path, names: &[String]) -> Result<(), String> {
    programs::record(corun, names)?;
    yields::record(corun, names)
}

/// The committed files of the gate.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gate")
}

/// A prediction of its own.
enum Task {
    Blocks(&'static List),
    Yield(Row),
    Program(Recording),
}

/// The answer to a task; nothing predicted is not a number, which is worse than any bound.
enum Answer {
    Blocks(Set),
    Figure(f64),
}

/// Everything that is predicted, as many things at a time as there are CPUs, and its errors. What takes longest comes first.
fn predicted(corun: &Path) -> Result<(Vec<Set>, PredictionErrors), String> {
    let (recordings, rows) = (programs::recordings()?, yields::rows()?);
    let blocks = blocks::lists().map(Task::Blocks);
    let tasks = blocks.chain(rows.iter().cloned().map(Task::Yield));
    let tasks: Vec<Task> = tasks.chain(recordings.iter().cloned().map(Task::Program)).collect();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let answers = in_parallel(jobs, tasks.len(), |at| match &tasks[at] {
        Task::Blocks(list) => blocks::set(corun, list).map(Answer::Blocks),
        Task::Yield(row) => yields::predict(corun, row).map(Answer::Figure),
        Task::Program(recording) => recording.predict().map(|it| Answer::Figure(it.value)),
    });
    let (mut sets, mut yields, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for (task, answer) in tasks.iter().zip(answers) {
        match (task, answer) {
            (Task::Blocks(list), answer) => sets.push(match answer {
                Ok(Answer::Blocks(set)) => set,
                Ok(Answer::Figure(_)) => unreachable!("blocks have several figures"),
                Err(reason) => return Err(format!("{}: {reason}", list.file)),
            }),
            (Task::Yield(_), answer) => yields.push(figure(answer)),
            (Task::Program(_), answer) => ratios.push(figure(answer)),
        }
    }
    sets.push(yields::set(&rows, &yields));
    let mut all = programs::sets(&recordings, &ratios);
    all.append(&mut sets);
    let errors = errors::errors((&recordings, &ratios), (&rows, &yields))?;
    all.extend(errors::sets(&errors));
    Ok((all, errors))
}

fn figure(answer: Result<Answer, String>) -> f64 {
    match answer {
        Ok(Answer::Figure(found)) => found,
        Ok(Answer::Blocks(_)) => f64::NAN,
        Err(reason) => {
            eprintln!("{reason}");
            f64::NAN
        }
    }
}
