//! The kernel's watchdog for hard lockups, which occupies a hardware counter on every CPU
//! (`Documentation/admin-guide/lockup-watchdogs.rst`).

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::System;

pub(super) const CHECK: Check = Check {
    name: "watchdog",
    why: "With a counter fewer, events must take turns, and corun leaves out what it could not \
          count all the time.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let Some(found) = system.find("proc/sys/kernel/nmi_watchdog")? else {
        let sentence = "The kernel shows no watchdog that would occupy a counter.";
        return match system.find("proc/sys/kernel/randomize_va_space")? {
            Some(_) => Ok(Answer::fine(sentence)),
            None => Err(CheckUnavailable::new("/proc/sys/kernel is missing.")),
        };
    };
    if found.number::<u32>()? == 0 {
        return Ok(Answer::fine("The watchdog occupies no counter.").seen([found]));
    }
    Ok(Answer::note("The kernel's watchdog occupies a hardware counter.").seen([found]).advise(
        "Switch it off while measuring, if the table of counters has gaps.",
        ["sudo sysctl kernel.nmi_watchdog=0".to_owned()],
    ))
}
