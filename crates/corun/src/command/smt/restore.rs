//! `corun smt restore`: what corun has changed comes back.

use std::process::ExitCode;

use clap::Args;
use corun_machine::switch::{self, SwitchOptions};
use corun_record::Exit;

use crate::problem::{Problem, code, say};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Wait while another corun is switching, instead of refusing
    #[arg(long)]
    wait: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let options = SwitchOptions { wait: arguments.wait, ..SwitchOptions::default() };
    let restored = switch::restore_left(&options)?;
    let left = if restored.was_unfinished {
        "what a killed corun had left"
    } else {
        "what corun had switched"
    };
    say(&format!("corun: {left} is as it was before, SMT is {}", restored.smt));
    Ok(code(Exit::Done))
}
