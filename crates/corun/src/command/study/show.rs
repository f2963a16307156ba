//! `corun study show`: one study in full, and how it would run on this machine.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use corun_machine::Machine;
use corun_record::Exit;
use corun_study::Host;

use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The study's name, or a study file that ends in .toml
    #[arg(value_name = "NAME")]
    name: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let study = corun_study::find(&arguments.name)?;
    let machine = Machine::read(Path::new("/"))?;
    let plans = study.plans(&Host { machine: &machine, with_smt_on: None });
    terminal::show(&corun_report::describe_study(&study, &plans, terminal::width()))?;
    Ok(code(Exit::Done))
}
