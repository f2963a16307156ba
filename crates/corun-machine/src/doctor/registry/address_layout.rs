//! Random places of code, stack and heap (`Documentation/admin-guide/sysctl/kernel.rst`).

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::System;

pub(super) const CHECK: Check = Check {
    name: "address-layout",
    why: "Addresses decide which cache sets siblings fight over: with the same layout in every \
          run a figure holds for that layout alone, and repeating does not show it.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let found = system.read("proc/sys/kernel/randomize_va_space")?;
    if found.number::<u32>()? == 0 {
        return Ok(Answer::note("Every run has the same layout of addresses.")
            .seen([found])
            .advise(
                "Let the layout vary, so that intervals include it.",
                ["sudo sysctl kernel.randomize_va_space=2".to_owned()],
            ));
    }
    Ok(Answer::fine("The layout of addresses varies from run to run.").seen([found]))
}
