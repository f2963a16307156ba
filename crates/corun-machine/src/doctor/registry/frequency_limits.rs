//! The range in which the clock may move, and CPUs that have another range than their peers.

use std::collections::{BTreeMap, BTreeSet};

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::{OfEachCpu, System};
use crate::doctor::words::{cpus, ghz};

pub(super) const CHECK: Check = Check {
    name: "frequency-limits",
    why: "Arms use different CPUs: where those may run at different clocks, the clock is compared \
          and not the placement.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let limits = ["scaling_min_freq", "scaling_max_freq", "cpuinfo_max_freq"];
    let [lowest, highest, possible] = limits.map(|limit| format!("cpufreq/{limit}"));
    let lowest = system.of_each_cpu(&lowest)?;
    let highest = system.of_each_cpu(&highest)?;
    let possible = system.of_each_cpu(&possible)?;
    let evidence = [&lowest, &highest, &possible].into_iter().filter_map(OfEachCpu::evidence);
    let (lowest, highest) = (by_cpu(&lowest)?, by_cpu(&highest)?);
    let (Some(from), Some(to)) = (lowest.values().min(), highest.values().max()) else {
        return Err(CheckUnavailable::new(
            "The kernel has no cpufreq here, and shows no limits of the clock.",
        ));
    };
    if let Some(peers) = unequal_peers(system, &highest) {
        let least = peers.values().min().unwrap_or(to);
        let sentence = format!(
            "CPUs of one core type may run up to different clocks ({} to {}): {}.",
            ghz(*least),
            ghz(*peers.values().max().unwrap_or(to)),
            cpus(&peers.keys().copied().collect())
        );
        return Ok(Answer::disturbs(sentence).seen(evidence).advise(
            "Give all CPUs the same limits, or name the cores to use.",
            [format!("sudo cpupower frequency-set --min {least}kHz --max {least}kHz")],
        ));
    }
    let moves = lowest.iter().any(|(cpu, low)| highest.get(cpu).is_some_and(|high| low < high));
    if !moves {
        let clocks: BTreeSet<String> = highest.values().map(|khz| ghz(*khz)).collect();
        let clocks = clocks.into_iter().collect::<Vec<_>>().join(", ");
        return Ok(Answer::fine(format!("The clock is held at {clocks}.")).seen(evidence));
    }
    let sentence = format!("The clock may move between {} and {}.", ghz(*from), ghz(*to));
    Ok(Answer::note(sentence).seen(evidence).advise(
        "To hold it still, set both limits to a clock that all cores can keep under full load.",
        [],
    ))
}

/// The limit of each CPU, in kHz.
type Limits = BTreeMap<u32, u64>;

fn by_cpu(limits: &OfEachCpu) -> Result<Limits, CheckUnavailable> {
    let numbers = limits.numbers()?;
    let each = numbers.iter().flat_map(|(khz, cpus)| cpus.iter().map(move |cpu| (cpu, *khz)));
    Ok(each.collect())
}

/// The limits of the first core type within which they differ.
fn unequal_peers(system: &System<'_>, limits: &Limits) -> Option<Limits> {
    let core_type = |cpu: u32| system.machine.cpu(cpu).and_then(|cpu| cpu.core_type.as_deref());
    let mut by_type: BTreeMap<Option<&str>, Limits> = BTreeMap::new();
    for (cpu, khz) in limits {
        by_type.entry(core_type(*cpu)).or_default().insert(*cpu, *khz);
    }
    by_type.into_values().find(|limits| limits.values().collect::<BTreeSet<_>>().len() > 1)
}
