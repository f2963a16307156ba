//! `corun runs delete`: runs are named one by one, or many are agreed to with --all.

use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, excerpt};

use super::selection::{FilterArguments, numbers};
use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The runs: ids of `corun runs list`, beginnings of them, tags, `last`, `last~1`
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    filter: FilterArguments,
    /// Delete all runs that a filter or a tag means, however many
    #[arg(long)]
    all: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let filter = arguments.filter.filter();
    if arguments.runs.is_empty() && filter.is_all() {
        return Err(Problem::usage(
            "expected runs to delete, found none",
            "Name them, or say which with a filter such as --tag TAG.",
        ));
    }
    let mut store = super::store()?;
    let mut chosen = numbers(&store, &arguments.runs, &filter)?;
    for name in &arguments.runs {
        let tagged = store.tagged(name)?;
        if tagged.len() > 1 && !arguments.all {
            return Err(many(tagged.len(), &format!("the tag \"{}\"", excerpt(name))));
        }
        chosen.extend(tagged);
    }
    chosen.sort_unstable();
    chosen.dedup();
    if arguments.runs.is_empty() && chosen.len() > 1 && !arguments.all {
        return Err(many(chosen.len(), "the filter"));
    }
    for number in &chosen {
        let run = store.listed(*number)?;
        if run.is_running {
            return Err(Problem::failed(
                format!("expected runs that have ended, found {} still running", run.id),
                "Wait until it has ended, or end it.",
            ));
        }
    }
    store.delete(&chosen)?;
    let count = match chosen.len() {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    };
    terminal::show(&format!("{count} deleted\n"))?;
    Ok(code(Exit::Done))
}

fn many(count: usize, what: &str) -> Problem {
    Problem::usage(
        format!("expected one run, found {count} that {what} means"),
        "Add --all to delete all of them; `corun runs list` with the same filter shows which.",
    )
}
