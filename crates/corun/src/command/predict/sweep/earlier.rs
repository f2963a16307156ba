//! Start of a sweep: nothing, or the cells of an earlier one.

use corun_record::{Document, PredictionSweep, Record};
use corun_store::{Filter, UnfinishedSweep};

use super::TypedSweep;
use crate::documents;
use crate::keeping::{self, Keeper};
use crate::problem::{Problem, say};

/// A sweep before its first new cell.
pub(super) struct Beginning {
    /// All cells, with the predictions that an earlier sweep has.
    pub(super) sweep: PredictionSweep,
    /// Keeper of the new ones.
    pub(super) keeper: Keeper,
}

impl Beginning {
    /// Earlier cells that the arguments ask for.
    ///
    /// # Errors
    /// If the earlier sweep cannot be read, or has other options.
    pub(super) fn of(typed: &TypedSweep<'_>) -> Result<Self, Problem> {
        let own = &typed.arguments.sweep;
        match &own.resume {
            Some(name) if documents::is_file(name) => {
                let text = documents::text(name)?;
                Self::new(typed, Some(Record::<PredictionSweep>::from_json(&text)?.body))
            }
            Some(name) => Self::kept(name, typed),
            None if own.resume_any && is_any_kept()? => Self::kept("last", typed),
            None => Self::new(typed, None),
        }
    }

    fn new(typed: &TypedSweep<'_>, earlier: Option<PredictionSweep>) -> Result<Self, Problem> {
        let sweep = typed.request.cells(earlier)?;
        Ok(Self { sweep, keeper: Keeper::new::<Record<PredictionSweep>>() })
    }

    /// The sweep of the store with this name.
    fn kept(name: &str, typed: &TypedSweep<'_>) -> Result<Self, Problem> {
        let Some(mut store) = keeping::existing()? else {
            return Err(Problem::usage(
                "expected a sweep to resume, found that no run is kept",
                "Leave --resume out.",
            ));
        };
        let UnfinishedSweep { number, id, sweep: earlier } = store.resume_sweep(name)?;
        let had = earlier.predictions().count();
        let new = Self::new(typed, Some(earlier))?;
        let taken = new.sweep.predictions().count();
        say(&format!("corun: {taken} cells are taken over from the sweep {id}"));
        // An answer without some of its cells would take their place in the store.
        Ok(match taken == had {
            true => Self { keeper: Keeper::going_on(store, number), ..new },
            false => new,
        })
    }
}

fn is_any_kept() -> Result<bool, Problem> {
    let filter = Filter { command: Some("predict".to_owned()), ..Filter::default() };
    Ok(match keeping::existing()? {
        Some(store) => store.count(&filter)? > 0,
        None => false,
    })
}
