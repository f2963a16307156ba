//! Time that tasks waited for a CPU, from pressure stall information.
//!
//! The file is described in the kernel's `Documentation/accounting/psi.rst`.

use crate::SystemFiles;

/// Waiting since the machine started, machine-wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPressure {
    /// Time in which at least one task waited for a CPU, in microseconds.
    pub some_us: u64,
}

impl CpuPressure {
    /// Reads `/proc/pressure/cpu`; `None` where the kernel does not keep it.
    pub fn read(files: &mut impl SystemFiles) -> Option<Self> {
        Self::parse(files.read("proc/pressure/cpu").ok()?)
    }

    /// Reads the text of `/proc/pressure/cpu`.
    pub fn parse(text: &str) -> Option<Self> {
        let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let total = some.split(' ').find_map(|field| field.strip_prefix("total="))?;
        Some(Self { some_us: total.parse().ok()? })
    }

    /// Time waited since `earlier`, in seconds.
    pub fn since(self, earlier: Self) -> f64 {
        self.some_us.saturating_sub(earlier.some_us) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_counts() {
        let text = "some avg10=1.99 avg60=3.02 avg300=1.72 total=2500000\nfull avg10=0.00 total=7";
        let pressure = CpuPressure::parse(text).unwrap();
        assert_eq!(pressure, CpuPressure { some_us: 2_500_000 });
        assert_eq!(pressure.since(CpuPressure { some_us: 1_000_000 }), 1.5);
        assert_eq!(pressure.since(CpuPressure { some_us: 3_000_000 }), 0.0);
        for wrong in ["", "full total=1", "some avg10=0.00", "some total=-1"] {
            assert_eq!(CpuPressure::parse(wrong), None, "{wrong}");
        }
    }
}
