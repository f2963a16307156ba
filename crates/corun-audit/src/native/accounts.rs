//! Busy and stolen time of each CPU, by the kernel's accounts.

use std::collections::BTreeMap;
use std::path::Path;

use corun_machine::RootFiles;
use corun_machine::evidence::{CpuTime, CpuTimes, run_times_ns};
use corun_machine::kernel_clock::{cpu_time_ns, this_cpu};

use crate::timeline::seconds;

/// The accounts at a time.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    times: CpuTimes,
    /// Finer, where the kernel keeps it.
    run_ns: Option<BTreeMap<u32, u64>>,
    /// CPU of the reader, and the CPU time that it had been given.
    reader: (u32, u64),
}

impl Accounts {
    /// The accounts now; empty where they cannot be read.
    pub(super) fn now() -> Self {
        let Ok(mut files) = RootFiles::open(Path::new("/")) else { return Self::default() };
        let run_ns = run_times_ns(&mut files);
        let times = CpuTimes::read(&mut files).unwrap_or_default();
        Self { times, run_ns, reader: (this_cpu(), cpu_time_ns()) }
    }

    /// The CPU time of the reader since `earlier`, in seconds, if it is on this CPU: it works before and
    /// after a load, and sleeps meanwhile.
    pub(super) fn of_reader_since(&self, earlier: &Self, cpu: u32) -> f64 {
        match self.reader {
            (on, given_ns) if on == cpu => seconds(given_ns.saturating_sub(earlier.reader.1)),
            _ => 0.0,
        }
    }

    /// Time of a CPU since `earlier`.
    pub(super) fn since(&self, earlier: &Self, cpu: u32) -> CpuTime {
        let time = self.times.since(&earlier.times, cpu).unwrap_or_default();
        let run_ns = |accounts: &Self| accounts.run_ns.as_ref()?.get(&cpu).copied();
        match (run_ns(earlier), run_ns(self)) {
            (Some(before), Some(after)) => {
                CpuTime { busy_s: after.saturating_sub(before) as f64 / 1e9, ..time }
            }
            _ => time,
        }
    }
}
