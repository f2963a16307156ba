//! Small parts of sentences.

use crate::CpuSet;

/// `CPU 3`, `CPUs 0-3`.
pub(crate) fn cpus(cpus: &CpuSet) -> String {
    if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") }
}

/// `1 core`, `4 cores`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A frequency in kHz, as cpufreq gives it, in GHz.
pub(crate) fn ghz(khz: u64) -> String {
    format!("{:.2} GHz", khz as f64 / 1e6)
}

/// The command that writes `value` to a file of the system.
pub(crate) fn write(value: &str, file: &str) -> String {
    format!("echo {value} | sudo tee /{file}")
}
