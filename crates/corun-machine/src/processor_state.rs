//! State of the processor set by firmware and kernel: microcode and mitigations.
//!
//! Both change how fast a program runs and neither shows in the name of the CPU, so that a run records them.

use std::collections::BTreeMap;

use crate::SystemFiles;

const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";

/// Microcode and mitigations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessorState {
    /// The revision of the first CPU's microcode, as the kernel writes it (`0xa201016`); `None` where it does not.
    pub microcode: Option<String>,
    /// The kernel's report on each vulnerability (`Documentation/ABI/testing/sysfs-devices-system-cpu`), by its name;
    /// empty before Linux 4.15.
    pub vulnerabilities: BTreeMap<String, String>,
}

impl ProcessorState {
    /// Reads the state.
    pub fn read(files: &mut impl SystemFiles) -> Self {
        let microcode = files.read_start("proc/cpuinfo").ok().and_then(microcode);
        let mut vulnerabilities = BTreeMap::new();
        for name in files.list(VULNERABILITIES) {
            if let Ok(text) = files.read(&format!("{VULNERABILITIES}/{name}")) {
                vulnerabilities.insert(name, text.to_owned());
            }
        }
        Self { microcode, vulnerabilities }
    }
}

/// The revision in the text of `/proc/cpuinfo`, which only x86 has there.
fn microcode(cpuinfo: &str) -> Option<String> {
    let (_, value) = cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "microcode")?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}
