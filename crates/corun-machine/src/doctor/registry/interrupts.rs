//! CPUs that serve many interrupts of devices.

use crate::CpuSet;
use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::doctor::words::{cpus as cpus_of, write};

pub(super) const CHECK: Check = Check {
    name: "interrupts",
    why: "Interrupts go to some CPUs and not to others: an arm that uses those CPUs, or their \
          siblings, pays for the devices.",
    examine,
};

/// A thousand a second, at a few microseconds each with what follows, is about half a per cent.
const PER_SECOND: f64 = 1000.0;
/// Fewer than this in a short while give no rate.
const FEWEST: u64 = 100;
/// So many CPUs are named.
const SHOWN: usize = 4;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let watch = system.watch()?;
    let interrupts = watch
        .interrupts
        .as_ref()
        .ok_or_else(|| CheckUnavailable::new("It takes /proc/interrupts, which shows no CPUs."))?;
    let cpus = system.cpus_and_siblings();
    let rate = |count: u64| count as f64 / watch.seconds;
    let mut busy: Vec<_> = cpus.iter().map(|cpu| (cpu, interrupts.of_cpu(cpu))).collect();
    busy.sort_by_key(|(_, taken)| std::cmp::Reverse(taken.count));
    let highest = busy.first().map_or(0.0, |(_, taken)| rate(taken.count));
    busy.retain(|(_, taken)| taken.count >= FEWEST && rate(taken.count) >= PER_SECOND);
    if busy.is_empty() {
        let sentence = format!("Devices interrupt the busiest CPU {highest:.0} times a second.");
        return Ok(Answer::fine(sentence));
    }
    let busiest: CpuSet = busy.iter().map(|(cpu, _)| *cpu).collect();
    let texts = busy.iter().take(SHOWN).map(|(cpu, taken)| {
        let most = taken.most.iter().map(|(number, name, count)| {
            format!(", {:.0} of them {number} ({name})", rate(*count))
        });
        let text =
            format!("CPU{cpu}: {:.0} a second{}", rate(taken.count), most.collect::<String>());
        Evidence::new("proc/interrupts", text)
    });
    let sentence =
        format!("Devices interrupt {} up to {highest:.0} times a second.", cpus_of(&busiest));
    let evidence: Vec<Evidence> = texts.collect();
    let others = system.machine.online().difference(&cpus);
    let commands = busy.iter().take(SHOWN).filter_map(|(_, taken)| {
        let (number, ..) = taken.most.as_ref()?;
        Some(write(&others.to_string(), &format!("proc/irq/{number}/smp_affinity_list")))
    });
    let commands: Vec<String> = if others.is_empty() { Vec::new() } else { commands.collect() };
    let advice =
        "Quieten the devices, or have their interrupts served by CPUs that are not measured.";
    Ok(Answer::disturbs(sentence).seen(evidence).advise(advice, commands))
}
