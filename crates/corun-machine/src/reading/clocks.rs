//! The clocks of the CPUs: their limits, and who chooses between them.
//!
//! The files are those of cpufreq (`Documentation/admin-guide/pm/cpufreq.rst`). The nominal clock is in a file of
//! `intel_pstate`, or in what the firmware says of its performance levels (ACPI CPPC, in MHz).

use super::source::Source;
use crate::{Clock, CpuSet, SystemFiles};

/// Reads the clocks, CPUs that are alike together, those with the lowest CPU first.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>, online: &CpuSet) -> Vec<Clock> {
    let mut clocks: Vec<Clock> = Vec::new();
    for cpu in online.iter() {
        let Some(found) = of_cpu(source, cpu) else { continue };
        let is_alike =
            |clock: &&mut Clock| found == Clock { cpus: CpuSet::new(), ..(**clock).clone() };
        match clocks.iter_mut().find(is_alike) {
            Some(clock) => clock.cpus.insert(cpu),
            None => clocks.push(Clock { cpus: CpuSet::from([cpu]), ..found }),
        }
    }
    clocks
}

/// The clock of a CPU, with no CPUs in it; `None` where the kernel does not report it.
fn of_cpu<F: SystemFiles>(source: &mut Source<'_, F>, cpu: u32) -> Option<Clock> {
    let mut khz = |name| source.cpu_number(cpu, name).filter(|khz| *khz > 0);
    let min_khz = khz("cpufreq/cpuinfo_min_freq");
    let max_khz = khz("cpufreq/cpuinfo_max_freq");
    let base_khz =
        khz("cpufreq/base_frequency").or_else(|| khz("acpi_cppc/nominal_freq")?.checked_mul(1000));
    let mut text = |name| source.cpu_text(cpu, name).map(str::to_owned);
    let governor = text("cpufreq/scaling_governor");
    let driver = text("cpufreq/scaling_driver");
    let is_known = [min_khz, base_khz, max_khz].iter().any(Option::is_some) || governor.is_some();
    is_known.then(|| Clock { cpus: CpuSet::new(), min_khz, base_khz, max_khz, governor, driver })
}
