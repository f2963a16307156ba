//! `corun runs list`: the runs that are kept.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, KeptRunList, shown};
use corun_store::Filter;

use super::selection::FilterArguments;
use crate::answer::Answer;
use crate::keeping;
use crate::problem::{Problem, code};

/// Rows for a person, where no other number is asked for.
const ROWS: u32 = 30;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: FilterArguments,
    /// Write the list as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let mut filter = arguments.filter.filter();
    if arguments.json.is_none() {
        filter = Filter { limit: filter.limit.or(Some(ROWS)), ..filter };
    }
    let list = match keeping::existing()? {
        Some(store) => {
            let runs: Vec<_> = store.list(&filter)?.into_iter().map(|(_, run)| run).collect();
            let more = store.count(&filter)?.saturating_sub(runs.len() as u64);
            KeptRunList { store: shown(store.path()), runs, more }
        }
        None => {
            let store = keeping::place()?.map(shown).unwrap_or_default();
            KeptRunList { store, runs: Vec::new(), more: 0 }
        }
    };
    answer.give(list, corun_report::list_runs)?;
    Ok(code(Exit::Done))
}
