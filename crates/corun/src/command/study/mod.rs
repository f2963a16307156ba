//! `corun study`: published experiments: listed, described, run again.

mod prediction;
mod run;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use corun_machine::Machine;
use corun_measure::machine_summary;
use corun_record::{Exit, Record, StudyList};
use corun_study::{Host, Study};

use self::prediction::PredictionArguments;
use crate::answer::Answer;
use crate::options::JsonFile;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    // Alone, it lists.
    #[command(flatten)]
    list: JsonFile,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the studies: what each is about, how many figures it has, how long it takes
    List(JsonFile),
    /// Say all about a study: its figures, how it is rerun here, what was wrongly concluded
    Show(ShowArguments),
    /// Rerun a study: published and measured here, side by side
    Run(run::Arguments),
}

impl Arguments {
    /// True if its answer is kept in the store.
    pub(super) fn is_kept(&self) -> bool {
        match &self.action {
            Some(Action::Run(_)) => true,
            Some(Action::List(_) | Action::Show(_)) | None => false,
        }
    }
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// The study's name, or a study file that ends in .toml
    #[arg(value_name = "NAME")]
    name: String,
    /// Show this experiment or figure alone
    #[arg(value_name = "EXPERIMENT")]
    row: Option<String>,
    #[command(flatten)]
    prediction: PredictionArguments,
    #[command(flatten)]
    json: JsonFile,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.action {
        None => list(&arguments.list),
        Some(Action::List(json)) => list(json),
        Some(Action::Show(arguments)) => arguments.run(),
        Some(Action::Run(arguments)) => run::run(arguments),
    }
}

fn list(json: &JsonFile) -> Result<ExitCode, Problem> {
    let answer = Answer::open(json)?;
    let studies = corun_study::all()?.iter().map(Study::listed).collect();
    answer.give(StudyList { studies }, corun_report::list_studies)?;
    Ok(code(Exit::Done))
}

impl ShowArguments {
    fn run(&self) -> Result<ExitCode, Problem> {
        let answer = Answer::open(&self.json)?;
        let study = corun_study::find(&self.name)?;
        let selection = study.select(self.row.as_slice())?;
        let machine = Machine::read(Path::new("/"))?;
        let plans = study.plans(&Host { machine: &machine, with_smt_on: None });
        let (cycles, caveats) = self.prediction.cycles(&study)?;
        let mut description = study.description(&plans, &cycles);
        selection.retain(&mut description);
        let shown = Record {
            machine: Some(machine_summary(&machine, Path::new("/"))),
            caveats,
            ..answer.record(description)
        };
        answer.write_long(&shown, |shown, columns| {
            corun_report::describe_study(&shown.body, &shown.caveats, columns)
        })?;
        Ok(code(Exit::Done))
    }
}
