//! `corun runs`: the runs that are kept: listed, shown, named, exported, imported, deleted.

mod delete;
mod export;
mod import;
mod selection;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_record::{Exit, KeptRunList, shown};
use corun_store::{Filter, RunKind, Store};

use self::selection::FilterArguments;
use crate::answer::Answer;
use crate::keeping;
use crate::options::JsonFile;
use crate::problem::{Problem, code};

/// Rows for a person, where no other number is asked for.
const ROWS: u32 = 30;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    // Alone, it lists.
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the runs that are kept, the newest first
    List(ListArguments),
    /// Show all that a run says, as its command does with --verbose
    Show(show::Arguments),
    /// Give a run tags, by which it can be named
    Tag(TagArguments),
    /// Write a note beside a run
    Note(NoteArguments),
    /// Delete runs
    Delete(delete::Arguments),
    /// Write runs as JSON, as CSV with a row a sample, or as a directory for other programs
    Export(export::Arguments),
    /// Keep runs of other machines, and what hyperfine measured
    Import(import::Arguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten)]
    json: JsonFile,
}

/// One run.
#[derive(Debug, Args)]
struct RunArgument {
    /// The run: an id of `corun runs list`, the beginning of one, a tag, `last`, `last~1`
    #[arg(value_name = "RUN")]
    run: String,
}

#[derive(Debug, Args)]
struct TagArguments {
    #[command(flatten)]
    run: RunArgument,
    /// The tags; where several runs have one, it means the newest of them
    #[arg(value_name = "TAG", required = true)]
    tags: Vec<String>,
    /// Take the tags away from the run
    #[arg(long)]
    remove: bool,
}

#[derive(Debug, Args)]
struct NoteArguments {
    #[command(flatten)]
    run: RunArgument,
    /// The note, in place of an older one; an empty one takes it away
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.action {
        None => list(&arguments.list),
        Some(Action::List(arguments)) => list(arguments),
        Some(Action::Show(arguments)) => show::run(arguments),
        Some(Action::Tag(arguments)) => tag(arguments),
        Some(Action::Note(arguments)) => note(arguments),
        Some(Action::Delete(arguments)) => delete::run(arguments),
        Some(Action::Export(arguments)) => export::run(arguments),
        Some(Action::Import(arguments)) => import::run(arguments),
    }
}

fn list(arguments: &ListArguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(&arguments.json)?;
    let mut filter = arguments.filter.filter();
    if arguments.json.path().is_none() {
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

fn tag(arguments: &TagArguments) -> Result<ExitCode, Problem> {
    let mut store = store()?;
    let number = store.find(&arguments.run.run, RunKind::Finished)?;
    store.tag(number, &arguments.tags, !arguments.remove)?;
    Ok(code(Exit::Done))
}

fn note(arguments: &NoteArguments) -> Result<ExitCode, Problem> {
    let mut store = store()?;
    let number = store.find(&arguments.run.run, RunKind::Finished)?;
    store.note(number, &arguments.text.join(" "))?;
    Ok(code(Exit::Done))
}

/// The store, which has to be there.
fn store() -> Result<Store, Problem> {
    keeping::existing()?.ok_or_else(|| {
        Problem::usage(
            "expected runs that are kept, found none",
            "`corun measure` and its like keep what they answer; `corun runs import FILE` keeps files.",
        )
    })
}
