//! Who chooses the clock between the limits (`Documentation/admin-guide/pm/cpufreq.rst`).

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::System;

pub(super) const CHECK: Check = Check {
    name: "governor",
    why: "A clock that follows the load rises at the start of each sample, and by another amount \
          where siblings share the load.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let governors = system.of_each_cpu("cpufreq/scaling_governor")?;
    let Some(evidence) = governors.evidence() else {
        return Err(CheckUnavailable::new(if system.machine.hypervisor.is_some() {
            "The host chooses the clock, and does not show how."
        } else {
            "The kernel has no cpufreq here, so that the firmware chooses the \
             clock."
        }));
    };
    let driver = system.of_each_cpu("cpufreq/scaling_driver")?;
    // With these drivers `powersave` is the name of a governor that follows the load.
    let follows =
        driver.values.iter().any(|(name, _)| name == "intel_pstate" || name == "amd-pstate-epp");
    let answer = match governors.only() {
        Some("performance") => {
            return Ok(Answer::fine("All CPUs ask for their highest clock.")
                .seen([evidence])
                .seen(driver.evidence()));
        }
        Some("userspace") => Answer::note("The clock stays where a program has put it."),
        Some("powersave") if !follows => {
            Answer::note("All CPUs ask for their lowest clock: figures hold for that clock.")
        }
        Some(governor) => {
            Answer::disturbs(format!("The governor `{governor}` makes the clock follow the load."))
        }
        None => Answer::disturbs("The CPUs have different governors."),
    };
    Ok(answer.seen([evidence]).seen(driver.evidence()).advise(
        "Ask for the highest clock while measuring.",
        ["sudo cpupower frequency-set --governor performance".to_owned()],
    ))
}
