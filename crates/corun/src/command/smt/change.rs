//! `corun smt off` and `corun smt on`: a change that stays until it is restored.

use std::process::ExitCode;

use clap::Args;
use corun_machine::switch::{self, SmtSwitch};
use corun_record::{Exit, SmtState};

use super::SwitchArguments;
use crate::problem::{Problem, code, say};
use crate::{consent, interruption};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    switch: SwitchArguments,
}

pub(super) fn run(arguments: &Arguments, wanted: SmtState) -> Result<ExitCode, Problem> {
    let options = arguments.switch.options();
    if !switch::is_needed(wanted, &options)? {
        say(&format!("corun: SMT is {wanted} already, nothing was changed"));
        return Ok(code(Exit::Done));
    }
    consent::to_switch(wanted, arguments.switch.yes)?;
    let interrupt = interruption::on_signals()?;
    // Back to what corun itself has changed is back to exactly that.
    if switch::held_from() == Some(wanted) {
        switch::restore_left(&options)?;
        say(&format!("corun: SMT is {wanted}, and everything is as it was before corun switched"));
        return Ok(code(Exit::Done));
    }
    let mut switch = SmtSwitch::begin(&options)?;
    switch.set(wanted)?;
    if interrupt.is_raised() {
        switch.restore()?;
        say("corun: interrupted; everything is as it was");
        return Ok(code(Exit::Interrupted));
    }
    switch.keep()?;
    say(&format!("corun: SMT is {wanted}; `corun smt restore` brings everything back as it was"));
    Ok(code(Exit::Done))
}
