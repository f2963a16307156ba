//! What a sweep begins with: nothing, or the cells of an earlier one.

use corun_record::{Document, PredictionSweep, Record};
use corun_store::{Filter, UnfinishedSweep};

use super::Arguments;
use super::cells::Plan;
use crate::documents;
use crate::keeping::{self, Keeper};
use crate::problem::{Problem, say};

/// A sweep before its first new cell.
pub(super) struct Beginning {
    /// All cells, with the predictions that an earlier sweep has.
    pub(super) sweep: PredictionSweep,
    /// What keeps the new ones.
    pub(super) keeper: Keeper,
}

impl Beginning {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// If the earlier sweep cannot be read, or has other options.
    pub(super) fn of(arguments: &Arguments, plan: &Plan) -> Result<Self, Problem> {
        match &arguments.resume {
            Some(name) if documents::is_file(name) => {
                let text = documents::text(name)?;
                let earlier = Record::<PredictionSweep>::from_json(&text)?.body;
                check_options(&earlier, plan)?;
                Ok(Self::new(plan, Some(earlier)))
            }
            Some(name) => Self::kept(name, plan),
            None if arguments.resume_any && is_any_kept()? => Self::kept("last", plan),
            None => Ok(Self::new(plan, None)),
        }
    }

    fn new(plan: &Plan, earlier: Option<PredictionSweep>) -> Self {
        Self { sweep: plan.with(earlier), keeper: Keeper::new::<Record<PredictionSweep>>() }
    }

    /// The sweep of the store with this name.
    fn kept(name: &str, plan: &Plan) -> Result<Self, Problem> {
        let Some(mut store) = keeping::existing()? else {
            return Err(Problem::usage(
                "expected a sweep to resume, found that no run is kept",
                "Leave --resume out.",
            ));
        };
        let UnfinishedSweep { number, id, sweep: earlier } = store.resume_sweep(name)?;
        check_options(&earlier, plan)?;
        let had = earlier.predictions().count();
        let new = Self::new(plan, Some(earlier));
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
    let filter = Filter { command: Some("sweep".to_owned()), ..Filter::default() };
    Ok(match keeping::existing()? {
        Some(store) => store.count(&filter)? > 0,
        None => false,
    })
}

fn check_options(earlier: &PredictionSweep, plan: &Plan) -> Result<(), Problem> {
    match earlier.options == plan.options() {
        true => Ok(()),
        false => Err(Problem::usage(
            format!(
                "expected a sweep with the options {:?}, found one with {:?}",
                plan.options().join(" "),
                earlier.options.join(" ")
            ),
            "Resume it with the options that it was begun with, or leave --resume out.",
        )),
    }
}
