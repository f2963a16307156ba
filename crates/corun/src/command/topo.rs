//! `corun topo`: the machine, drawn for a person or as JSON for a program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_machine::Machine;
use corun_record::Exit;
use corun_report::Destination;

use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Write the machine as JSON to FILE instead of drawing it (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Read the machine whose captured /sys and /proc lie below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let destination = arguments.json.as_deref().map(Destination::open).transpose()?;
    let machine = Machine::read(&arguments.root)?;
    match destination {
        Some(destination) => destination.write(&machine.to_json())?,
        None => {
            let (columns, has_colour) = (terminal::columns(), terminal::has_colour());
            terminal::show(&corun_machine::draw(&machine, columns, has_colour))?;
        }
    }
    Ok(code(Exit::Done))
}
