//! The clock that a CPU had, from the counters APERF and MPERF.
//!
//! While a CPU is not halted, APERF counts at its clock and MPERF at the rate of the time stamp
//! counter (Intel SDM volume 3, "Hardware Coordination Feedback"; AMD APM volume 2 likewise).
#![expect(clippy::disallowed_methods, reason = "a device of the kernel")]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The counters of one CPU, through `/dev/cpu/N/msr`: x86 only, with the `msr` module, as root.
#[derive(Debug)]
pub struct CycleCounters(File);

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycles {
    /// Cycles at the real clock while not halted.
    pub aperf: u64,
    /// Cycles at the rate of the time stamp counter while not halted.
    pub mperf: u64,
    /// The time stamp counter.
    pub tsc: u64,
}

/// The numbers of the registers.
const TSC: u64 = 0x10;
const MPERF: u64 = 0xe7;
const APERF: u64 = 0xe8;

impl CycleCounters {
    /// Opens the counters of `cpu` below `root`, and tries them.
    ///
    /// # Errors
    /// If there is no such device, this user may not open it, or the CPU lacks the registers.
    pub fn open(root: &Path, cpu: u32) -> io::Result<Self> {
        let counters = Self(File::open(root.join(format!("dev/cpu/{cpu}/msr")))?);
        counters.read()?;
        Ok(counters)
    }

    /// Reads the counters.
    ///
    /// # Errors
    /// If the CPU has gone offline.
    pub fn read(&self) -> io::Result<Cycles> {
        Ok(Cycles {
            aperf: self.register(APERF)?,
            mperf: self.register(MPERF)?,
            tsc: self.register(TSC)?,
        })
    }

    fn register(&self, number: u64) -> io::Result<u64> {
        let mut value = [0; 8];
        self.0.read_exact_at(&mut value, number)?;
        Ok(u64::from_le_bytes(value))
    }
}

impl Cycles {
    /// The mean clock since `earlier` while not halted, as a multiple of the time stamp counter's
    /// rate; `None` if the CPU was halted all the time.
    pub fn ratio_since(self, earlier: Self) -> Option<f64> {
        let mperf = self.mperf.wrapping_sub(earlier.mperf);
        (mperf > 0).then(|| self.aperf.wrapping_sub(earlier.aperf) as f64 / mperf as f64)
    }

    /// The mean clock since `earlier`, `elapsed_s` seconds ago, while not halted, in GHz.
    pub fn ghz_since(self, earlier: Self, elapsed_s: f64) -> Option<f64> {
        let stamp_ghz = self.tsc.wrapping_sub(earlier.tsc) as f64 / elapsed_s / 1e9;
        Some(self.ratio_since(earlier)? * stamp_ghz).filter(|ghz| ghz.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_the_ratio_of_the_counters_also_when_they_wrap() {
        let before = Cycles { aperf: u64::MAX - 99, mperf: 1_000, tsc: 0 };
        let after = Cycles { aperf: 2_900, mperf: 3_000, tsc: 2_000_000_000 };
        assert_eq!(after.ratio_since(before), Some(1.5));
        assert_eq!(after.ghz_since(before, 1.0), Some(3.0));
        assert_eq!(after.ghz_since(before, 0.0), None);
        assert_eq!(after.ratio_since(after), None);
    }

    #[test]
    fn a_machine_without_the_device_says_so() {
        let nowhere = tempfile::tempdir().unwrap();
        let error = CycleCounters::open(nowhere.path(), 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
