//! A switch of SMT that is under way, or that a killed corun has left.

use corun_files::BOOT_ID;

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::System;
use crate::switch::UNFINISHED;

pub(super) const CHECK: Check = Check {
    name: "unfinished-switch",
    why: "Siblings that come and go, or are gone for no reason, are not the machine \
          that is to be measured.",
    examine,
};

/// So many characters of the snapshot are shown.
const SHOWN: usize = 60;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let fine = || Ok(Answer::fine("No corun has left SMT switched."));
    let Some(found) = system.find(UNFINISHED)? else { return fine() };
    // A reboot has brought SMT back; a file that says no boot counts.
    let boot = system.find(BOOT_ID)?;
    let state: serde_json::Value = serde_json::from_str(&found.text).unwrap_or_default();
    if boot.zip(state["boot"].as_str()).is_some_and(|(now, then)| now.text != then) {
        return fine();
    }
    if state["by"]["process"].as_u64() == Some(u64::from(std::process::id())) {
        return Ok(Answer::fine("This corun switches SMT itself, and brings it back."));
    }
    // A person does not read the whole snapshot.
    let mut seen = found;
    let start: String = seen.text.chars().take(SHOWN).collect();
    if start.len() < seen.text.len() {
        seen.text = format!("{start} ...");
    }
    let sentence = "A corun is switching SMT right now, or was killed while it did.";
    Ok(Answer::spoils(sentence).seen([seen]).advise(
        "Wait for it; if it is gone, bring everything back.",
        ["sudo corun smt restore".to_owned()],
    ))
}
