//! Idle CPUs that spin in a loop instead of leaving the core to their siblings.
//!
//! `idle=poll`, `/dev/cpu_dma_latency` and disabled idle states all end there; the account of the
//! first idle state shows it whatever the cause (`Documentation/admin-guide/pm/cpuidle.rst`).

use crate::CpuSet;
use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::{CPUS, System};
use crate::doctor::words::cpus;
use corun_stats::percent;

pub(super) const CHECK: Check = Check {
    name: "idle-polling",
    why: "A sibling that polls while idle still takes its share of the core, so that a worker \
          which ought to have the core to itself does not.",
    examine,
};

/// Polling for a moment before going idle is ordinary.
const SHARE: f64 = 0.1;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let advice = "Let idle CPUs rest while measuring: boot without `idle=poll`, enable the idle \
                  states, end what holds /dev/cpu_dma_latency (tuned's latency profiles do).";
    let boot_line = system.boot_line()?;
    if let Some(word) = boot_line.find("idle").filter(|word| *word == "idle=poll") {
        let sentence = "The boot line makes idle CPUs poll.";
        return Ok(Answer::spoils(sentence).seen([Evidence::boot_word(word)]).advise(advice, []));
    }
    let watch = system.watch()?;
    if watch.polling_s.is_empty() {
        let sentence = "The kernel has no idle state that polls, and the boot line asks for none.";
        return Ok(Answer::fine(sentence));
    }
    let watched = system.cpus_and_siblings();
    let polls = |(cpu, polled): (&u32, &f64)| {
        (watched.contains(*cpu) && *polled > SHARE * watch.seconds).then_some(*cpu)
    };
    let polling: CpuSet = watch.polling_s.iter().filter_map(polls).collect();
    let most = watch.polling_s.values().copied().fold(0.0, f64::max) / watch.seconds;
    let evidence = Evidence::new(
        format!("{CPUS}/cpu*/cpuidle/state0/time"),
        format!("POLL for up to {} of {:.2} s", percent(most), watch.seconds),
    );
    if polling.is_empty() {
        return Ok(Answer::fine("Idle CPUs rest.").seen([evidence]));
    }
    let sentence = format!("{} polled while idle.", cpus(&polling));
    Ok(Answer::spoils(sentence).seen([evidence]).advise(advice, []))
}
