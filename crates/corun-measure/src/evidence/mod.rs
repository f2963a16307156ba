//! What is seen on both sides of a sample: clocks, counters, and what else the CPUs were doing.

mod clock_probe;
mod counters;

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::{Arm, ClockProbe, Evidence};

use clock_probe::ClockProbes;
use counters::{Counters, EventCatalogue};

/// What the workers of one sample used, as the kernel accounts it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    user_s: f64,
    system_s: f64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    major_faults: u64,
    max_resident_bytes: u64,
}

impl Usage {
    /// Adds what one ended process used.
    pub(crate) fn add(&mut self, process: &libc::rusage) {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        self.user_s += seconds(process.ru_utime);
        self.system_s += seconds(process.ru_stime);
        self.voluntary_switches += process.ru_nvcsw as u64;
        self.involuntary_switches += process.ru_nivcsw as u64;
        self.major_faults += process.ru_majflt as u64;
        self.max_resident_bytes = self.max_resident_bytes.max(process.ru_maxrss as u64 * 1024);
    }
}

/// Takes evidence around samples; keeps what is worth keeping between them.
#[derive(Default)]
pub(crate) struct EvidenceReader {
    probes: ClockProbes,
    events: EventCatalogue,
}

/// The state just before a sample.
pub(crate) struct Before {
    clocks: BTreeMap<u32, f64>,
    counters: Counters,
}

impl EvidenceReader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Looks at the CPUs an arm uses and begins to count for its threads.
    pub(crate) fn before(&mut self, cpus: &[u32], threads: &[libc::pid_t]) -> Before {
        let mut counters = self.events.attach(threads);
        let clocks = self.probes.rates(cpus);
        counters.start();
        Before { clocks, counters }
    }

    /// What changed since.
    pub(crate) fn after(&mut self, before: Before, _arm: &Arm, _makespan: Duration, usage: &Usage) -> Evidence {
        let counts = before.counters.read();
        let cpus: Vec<u32> = before.clocks.keys().copied().collect();
        let rates = self.probes.rates(&cpus);
        let clocks = before
            .clocks
            .iter()
            .filter_map(|(cpu, rate)| {
                Some(ClockProbe { cpu: *cpu, before_per_ns: *rate, after_per_ns: *rates.get(cpu)? })
            })
            .collect();
        Evidence {
            clocks,
            migrations: counts.migrations,
            counters: counts.hardware,
            user_s: usage.user_s,
            system_s: usage.system_s,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            major_faults: usage.major_faults,
            max_resident_bytes: usage.max_resident_bytes,
            ..Evidence::default()
        }
    }
}
