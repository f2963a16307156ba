//! Asking before the machine is changed, where there is a user to ask.

use std::io::IsTerminal;

use corun_record::SmtState;
use dialoguer::Confirm;

use crate::problem::Problem;

/// Asks whether SMT may be switched, unless the user has said so or there is no terminal.
///
/// # Errors
/// If the answer is no.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub(crate) fn to_switch(wanted: SmtState, has_consented: bool) -> Result<(), Problem> {
    if has_consented || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(());
    }
    let what = match wanted {
        SmtState::Off => "takes the siblings of all cores offline",
        SmtState::On => "brings the siblings of all cores online",
    };
    let is_wanted = Confirm::new()
        .with_prompt(format!(
            "Switching SMT {wanted} {what}, for every program on this machine. Go on?"
        ))
        .default(false)
        .interact()
        .unwrap_or(false);
    if is_wanted { Ok(()) } else { Err(Problem::declined()) }
}
