//! Thermal throttling: how often the processor was too warm.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::{OfEachCpu, System};

pub(super) const CHECK: Check = Check {
    name: "thermal",
    why: "A full core is warmer than one with an idle sibling: throttling slows down the fuller \
          arm.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let core = system.of_each_cpu("thermal_throttle/core_throttle_count")?;
    let package = system.of_each_cpu("thermal_throttle/package_throttle_count")?;
    let most = |counts: &OfEachCpu| -> Result<Option<u64>, CheckUnavailable> {
        Ok(counts.numbers()?.iter().map(|(count, _)| *count).max())
    };
    let Some(most) = most(&core)?.max(most(&package)?) else {
        return Err(CheckUnavailable::new(
            "The kernel counts no thermal throttling here (it does on Intel's \
             processors, outside of virtual machines).",
        ));
    };
    let evidence = [core, package].into_iter().filter_map(|counts| counts.evidence());
    if most == 0 {
        return Ok(Answer::fine("No CPU was throttled since boot.").seen(evidence));
    }
    let sentence = format!("CPUs were throttled since boot, one of them {most} times.");
    Ok(Answer::disturbs(sentence).seen(evidence).advise(
        "Improve the cooling or lower the highest clock, and check whether the counts grow during a \
         run.",
        [],
    ))
}
