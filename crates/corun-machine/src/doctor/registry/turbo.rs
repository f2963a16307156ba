//! Clocks above the nominal one, which depend on how many cores are busy and how warm they are.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::{CPUS, System};
use crate::doctor::words::write;

pub(super) const CHECK: Check = Check {
    name: "turbo",
    why: "The more cores and units are busy, the lower the clock: arms of different placements run \
          at different clocks, and the ratio holds both effects.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let no_turbo = format!("{CPUS}/intel_pstate/no_turbo");
    let boost = format!("{CPUS}/cpufreq/boost");
    for (file, on, off) in [(no_turbo, "0", "1"), (boost, "1", "0")] {
        let Some(found) = system.find(&file)? else { continue };
        return match found.text.as_str() {
            text if text == on => Ok(Answer::disturbs("Turbo (boost) is on.")
                .seen([found])
                .advise("Switch it off while measuring.", [write(off, &file)])),
            text if text == off => {
                Ok(Answer::fine("Turbo (boost) is off: all arms have the nominal clock.")
                    .seen([found]))
            }
            _ => Err(found.unexpected("0 or 1")),
        };
    }
    Err(CheckUnavailable::new(if system.machine.hypervisor.is_some() {
        "The host decides about turbo, and does not show it."
    } else {
        "There is neither intel_pstate/no_turbo nor cpufreq/boost below \
         /sys/devices/system/cpu."
    }))
}
