//! Activity of the CPUs around a sample, beside the workers' work: read on both sides, subtracted.

use std::collections::BTreeMap;
use std::path::Path;

use corun_machine::RootFiles;
use corun_machine::evidence::{
    CpuPressure, CpuTimes, CycleCounters, Cycles, EnergyReading, PackageEnergy, run_times_ns,
    tick_s,
};

/// The readers, found once.
pub(super) struct Processors {
    files: Option<RootFiles>,
    energy: Option<PackageEnergy>,
    /// The cycle counters of CPUs that have been asked for, where they can be read.
    cycles: BTreeMap<u32, Option<CycleCounters>>,
}

/// One reading of everything.
pub(super) struct Reading {
    times: Option<CpuTimes>,
    run_times_ns: Option<BTreeMap<u32, u64>>,
    pressure: Option<CpuPressure>,
    energy: Option<EnergyReading>,
    cycles: BTreeMap<u32, Cycles>,
}

/// Activity between two readings.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Activity {
    /// Busy time of each CPU.
    pub busy: BTreeMap<u32, Busy>,
    /// Seconds for which all CPUs together were busy, as `/proc/stat` reports it.
    pub reported_busy_s: Option<f64>,
    /// Time that the hypervisor took from each of the CPUs asked for; none where one of them is not known.
    pub stolen: Option<BTreeMap<u32, Busy>>,
    /// Seconds in which some task waited for a CPU.
    pub pressure_s: Option<f64>,
    /// Joules of all packages.
    pub joules: Option<f64>,
    /// The mean clock of the CPUs asked for while not halted, in GHz.
    pub ghz: Option<f64>,
}

/// Busy time of a CPU, by an account that advances in steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Busy {
    pub seconds: f64,
    pub step_s: f64,
}

impl Processors {
    pub(super) fn new() -> Self {
        let mut files = RootFiles::open(Path::new("/")).ok();
        let energy =
            files.as_mut().map(PackageEnergy::find).filter(|energy| !energy.counters().is_empty());
        Self { files, energy, cycles: BTreeMap::new() }
    }

    /// Reads what there is; cycle counters of these CPUs only.
    pub(super) fn read(&mut self, cpus: &[u32]) -> Option<Reading> {
        let files = self.files.as_mut()?;
        let cycles = cpus
            .iter()
            .filter_map(|&cpu| {
                let counters = self
                    .cycles
                    .entry(cpu)
                    .or_insert_with(|| CycleCounters::open(Path::new("/"), cpu).ok());
                Some((cpu, counters.as_ref()?.read().ok()?))
            })
            .collect();
        Some(Reading {
            times: CpuTimes::read(files),
            run_times_ns: run_times_ns(files),
            pressure: CpuPressure::read(files),
            energy: self.energy.as_ref().map(|energy| energy.read(files)),
            cycles,
        })
    }

    /// Activity of these CPUs between two readings that lie `elapsed_s` seconds apart.
    pub(super) fn activity(
        &self,
        before: &Reading,
        after: &Reading,
        cpus: &[u32],
        elapsed_s: f64,
    ) -> Activity {
        let step_s = tick_s();
        let stolen = |cpu: &u32| {
            let (before, after) = (before.times.as_ref()?, after.times.as_ref()?);
            Some((*cpu, Busy { seconds: after.since(before, *cpu)?.steal_s, step_s }))
        };
        let reported_busy_s = || {
            let (before, after) = (before.times.as_ref()?, after.times.as_ref()?);
            let since = |cpu: &u32| Some(after.since(before, *cpu)?.busy_s);
            Some(after.0.keys().filter_map(since).sum())
        };
        let clocks: Vec<f64> = cpus
            .iter()
            .filter_map(|cpu| after.cycles.get(cpu)?.ghz_since(*before.cycles.get(cpu)?, elapsed_s))
            .collect();
        let joules = || {
            let (before, after) = (before.energy.as_ref()?, after.energy.as_ref()?);
            self.energy.as_ref()?.joules(before, after)
        };
        Activity {
            busy: busy(before, after),
            reported_busy_s: reported_busy_s(),
            stolen: cpus.iter().map(stolen).collect(),
            pressure_s: before.pressure.zip(after.pressure).map(|(was, is)| is.since(was)),
            joules: joules(),
            ghz: (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64),
        }
    }
}

/// Busy seconds by CPU: in nanoseconds where the kernel keeps them, else in ticks.
fn busy(before: &Reading, after: &Reading) -> BTreeMap<u32, Busy> {
    if let (Some(was), Some(is)) = (&before.run_times_ns, &after.run_times_ns) {
        return is
            .iter()
            .filter_map(|(cpu, now)| {
                let seconds = now.checked_sub(*was.get(cpu)?)? as f64 / 1e9;
                Some((*cpu, Busy { seconds, step_s: 1e-9 }))
            })
            .collect();
    }
    let (Some(was), Some(is)) = (&before.times, &after.times) else { return BTreeMap::new() };
    let step_s = tick_s();
    let of_cpu = |cpu: &u32| Some((*cpu, Busy { seconds: is.since(was, *cpu)?.busy_s, step_s }));
    is.0.keys().filter_map(of_cpu).collect()
}
