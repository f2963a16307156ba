//! Asking before the machine is changed, where there is somebody to ask.

use std::io::IsTerminal;

use corun_record::SmtState;
use dialoguer::Confirm;

/// Whether SMT may be switched: asked on a terminal, taken for granted where there is none.
pub fn to_switch(wanted: SmtState) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return true;
    }
    let what = match wanted {
        SmtState::Off => "takes the siblings of all cores offline",
        SmtState::On => "brings the siblings of all cores online",
    };
    Confirm::new()
        .with_prompt(format!(
            "Switching SMT {wanted} {what}, for every program on this machine. Go on?"
        ))
        .default(false)
        .interact()
        .unwrap_or(false)
}
