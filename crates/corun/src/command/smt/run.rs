//! `corun smt run`: a command with SMT in a state, and everything back afterwards.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use corun_machine::switch::{self, SmtSwitch};
use corun_record::SmtState;

use super::SwitchArguments;
use crate::command::program;
use crate::consent;
use crate::foreground::{Foreground, Signals};
use crate::problem::{Problem, say};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The state of SMT while the command runs
    #[arg(long, value_name = "on|off")]
    state: SmtState,
    #[command(flatten)]
    switch: SwitchArguments,
    /// The command; corun ends with its exit status
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let command = program::resolve(&arguments.command)?;
    let wanted = arguments.state;
    let needs_switch = switch::is_needed(wanted, &arguments.switch.options())?;
    if needs_switch {
        consent::to_switch(wanted, arguments.switch.yes)?;
    }
    let signals = Signals::catch()?;
    if !needs_switch {
        say(&format!("corun: SMT is {wanted} already, nothing is changed"));
        let ended = Foreground::start(&command, &signals)?.see_through(signals)?;
        return Ok(ended.exit_code());
    }
    let mut switch = SmtSwitch::begin(&arguments.switch.options())?;
    switch.set(wanted)?;
    let running = Foreground::start(&command, &signals)?;
    let group = running.group();
    switch.watch_group(group);
    let ended = running.see_through(signals);
    if let Err(disturbed) = switch.verify() {
        say(&format!("corun: not all of the time was SMT {wanted}: {disturbed}"));
    }
    switch.forget_group(group);
    switch.restore()?;
    Ok(ended?.exit_code())
}
