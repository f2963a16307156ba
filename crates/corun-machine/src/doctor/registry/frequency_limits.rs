//! The range in which the clock may move, and CPUs that have another range than their peers.

use crate::CpuSet;
use crate::doctor::check::{Answer, CannotTell, Check};
use crate::doctor::system::{OfEachCpu, System};
use crate::doctor::words::ghz;

pub(super) const CHECK: Check = Check {
    name: "frequency-limits",
    why: "Arms use different CPUs: where those may run at different clocks, the clock is compared \
          and not the placement.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CannotTell> {
    let lowest = system.of_each_cpu("cpufreq/scaling_min_freq")?;
    let highest = system.of_each_cpu("cpufreq/scaling_max_freq")?;
    let possible = system.of_each_cpu("cpufreq/cpuinfo_max_freq")?;
    let range = |limits: &OfEachCpu| -> Result<_, CannotTell> {
        let numbers = limits.numbers()?;
        let ends =
            (numbers.iter().map(|(khz, _)| *khz).min(), numbers.iter().map(|(khz, _)| *khz).max());
        Ok(ends.0.zip(ends.1))
    };
    let (Some((min, _)), Some((least, max))) = (range(&lowest)?, range(&highest)?) else {
        return Err(CannotTell::new(
            "The kernel has no cpufreq here, and shows no limits of the clock.",
        ));
    };
    let evidence = [&lowest, &highest, &possible].into_iter().filter_map(OfEachCpu::evidence);
    let differing = differing(system, &highest)?;
    if let Some(cpus) = differing {
        let sentence = format!(
            "CPUs of one core type may run up to different clocks ({} to {}): CPUs {cpus}.",
            ghz(least),
            ghz(max)
        );
        return Ok(Answer::disturbs(sentence).seen(evidence).advise(
            "Give all CPUs the same limits, or name the cores to use.",
            [format!("sudo cpupower frequency-set --min {least}kHz --max {least}kHz")],
        ));
    }
    Ok(if min < max {
        let sentence = format!("The clock may move between {} and {}.", ghz(min), ghz(max));
        Answer::note(sentence).seen(evidence).advise(
            "To hold it still, set both limits to a clock that all cores can keep under full load.",
            [],
        )
    } else {
        Answer::fine(format!("The clock is held at {}.", ghz(max))).seen(evidence)
    })
}

/// The CPUs of a core type among which the limit differs.
fn differing(system: &System<'_>, limits: &OfEachCpu) -> Result<Option<CpuSet>, CannotTell> {
    let core_type = |cpu: u32| system.machine.cpu(cpu).and_then(|cpu| cpu.core_type.as_deref());
    let limits = limits.numbers()?;
    let of_type = |cpu: u32| {
        let same_type = |other: &u32| core_type(*other) == core_type(cpu);
        let sets = limits.iter().map(|(_, cpus)| cpus.iter().filter(same_type).collect::<CpuSet>());
        sets.filter(|cpus| !cpus.is_empty()).collect::<Vec<_>>()
    };
    let first_of_each = limits.iter().filter_map(|(_, cpus)| cpus.first());
    let differing = first_of_each.map(of_type).find(|sets| sets.len() > 1);
    Ok(differing.map(|sets| sets.iter().flat_map(|cpus| cpus.as_slice().to_vec()).collect()))
}
