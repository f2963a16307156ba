//! Who decides about the clock: frequency governors and turbo.

use std::collections::BTreeSet;

use crate::{CpuSet, SystemFiles};

/// The settings of cpufreq (`Documentation/admin-guide/pm/cpufreq.rst`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrequencyControl {
    /// The distinct governors of the CPUs asked for; none where the kernel has no say.
    pub governors: BTreeSet<String>,
    /// The distinct drivers that set their clock.
    pub drivers: BTreeSet<String>,
    /// True if clocks above the nominal one are enabled; `None` where the kernel does not report it.
    pub turbo: Option<bool>,
}

impl FrequencyControl {
    /// Reads the settings that hold for `cpus`.
    pub fn read(files: &mut impl SystemFiles, cpus: &CpuSet) -> Self {
        let mut distinct = |file: &str| {
            let mut found = BTreeSet::new();
            for cpu in cpus.iter() {
                let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}");
                if let Ok(text) = files.read(&file) {
                    found.insert(text.to_owned());
                }
            }
            found
        };
        let governors = distinct("scaling_governor");
        let drivers = distinct("scaling_driver");
        let turbo = switch(files, "sys/devices/system/cpu/cpufreq/boost").or_else(|| {
            switch(files, "sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| !off)
        });
        Self { governors, drivers, turbo }
    }
}

fn switch(files: &mut impl SystemFiles, file: &str) -> Option<bool> {
    match files.read(file) {
        Ok("0") => Some(false),
        Ok("1") => Some(true),
        _ => None,
    }
}
