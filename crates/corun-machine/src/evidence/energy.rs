//! The energy that processor packages used, from the power capping framework.
//!
//! The files are described in the kernel's `Documentation/power/powercap/powercap.rst`. Since 2020
//! most kernels let only root read the counters.

use std::collections::BTreeMap;

use crate::SystemFiles;

const FOLDER: &str = "sys/class/powercap";

/// The counters of the packages, found once and read often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageEnergy(Vec<EnergyCounter>);

/// The counter of one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnergyCounter {
    /// The zone's name, such as `package-0`.
    pub name: String,
    /// The value after which it starts again at 0, in microjoules, where the kernel reports it.
    pub range_uj: Option<u64>,
    file: String,
}

/// One reading of all counters, in microjoules, by the zones' names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnergyReading(BTreeMap<String, u64>);

impl PackageEnergy {
    /// Finds the counters that can be read; parts of packages and the platform are left out, and so
    /// is the second way to a package that some machines offer.
    pub fn find(files: &mut impl SystemFiles) -> Self {
        let mut zones = files.list(FOLDER);
        // Where a package has two zones, the one that is not memory-mapped is the usual one.
        zones.sort_by_key(|zone| (zone.contains("mmio"), zone.clone()));
        let mut counters: Vec<EnergyCounter> = Vec::new();
        for zone in zones {
            let file = format!("{FOLDER}/{zone}/energy_uj");
            let Ok(name) = files.read(&format!("{FOLDER}/{zone}/name")).map(str::to_owned) else {
                continue;
            };
            let known = counters.iter().any(|counter| counter.name == name);
            if !name.starts_with("package") || known || number(files, &file).is_none() {
                continue;
            }
            let range_uj = number(files, &format!("{FOLDER}/{zone}/max_energy_range_uj"));
            counters.push(EnergyCounter { name, range_uj, file });
        }
        Self(counters)
    }

    /// The counters.
    pub fn counters(&self) -> &[EnergyCounter] {
        &self.0
    }

    /// Reads all counters.
    pub fn read(&self, files: &mut impl SystemFiles) -> EnergyReading {
        let readings = self
            .0
            .iter()
            .filter_map(|counter| Some((counter.name.clone(), number(files, &counter.file)?)));
        EnergyReading(readings.collect())
    }

    /// The energy of all packages between two readings, in joules; `None` without counters, or if
    /// one of them is missing in a reading. A counter may have started again once in between.
    pub fn joules(&self, before: &EnergyReading, after: &EnergyReading) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        let spent = |counter: &EnergyCounter| {
            let (before, after) = (*before.0.get(&counter.name)?, *after.0.get(&counter.name)?);
            let spent = match after.checked_sub(before) {
                Some(spent) => spent,
                None => counter.range_uj?.checked_sub(before - after)?,
            };
            Some(spent as f64 / 1e6)
        };
        self.0.iter().map(spent).sum()
    }
}

fn number(files: &mut impl SystemFiles, file: &str) -> Option<u64> {
    files.read(file).ok()?.parse().ok()
}
