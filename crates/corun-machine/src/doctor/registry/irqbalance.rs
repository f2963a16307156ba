//! A service that moves interrupts between CPUs every few seconds.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::System;

pub(super) const CHECK: Check = Check {
    name: "irqbalance",
    why: "It moves interrupts from CPU to CPU in the midst of a run, so that the same arm meets \
          other interrupts in the next block.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let tasks: Vec<u32> = system.list("proc").iter().filter_map(|name| name.parse().ok()).collect();
    if tasks.is_empty() {
        return Err(CheckUnavailable::new("No task can be seen in /proc."));
    }
    for task in tasks {
        // A task may end between the listing and the reading.
        let Ok(name) = system.read(&format!("proc/{task}/comm")) else { continue };
        if name.text == "irqbalance" {
            return Ok(Answer::disturbs("irqbalance is running.").seen([name]).advise(
                "Stop it while measuring.",
                ["sudo systemctl stop irqbalance".to_owned()],
            ));
        }
    }
    Ok(Answer::fine("irqbalance is not among the tasks that can be seen."))
}
