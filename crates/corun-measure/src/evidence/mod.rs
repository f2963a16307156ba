//! What is seen on both sides of a sample: clocks, counters, and what else the CPUs were doing.

mod clock_probe;
mod counters;
mod processors;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use corun_record::{Arm, ClockProbe, Evidence};

use clock_probe::ClockProbes;
use counters::{Counters, EventCatalogue};
use processors::{Activity, Processors, Reading};

/// What the workers of one sample used, as the kernel accounts it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    user_s: f64,
    system_s: f64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    major_faults: u64,
    max_resident_bytes: u64,
    /// Moves between CPUs, of processes with one thread.
    migrations: Option<u64>,
}

impl Usage {
    /// Adds what one ended process used, and how often it moved where that is known.
    pub(crate) fn add(&mut self, process: &libc::rusage, migrations: Option<u64>) {
        if let Some(more) = migrations {
            self.migrations = Some(self.migrations.unwrap_or(0) + more);
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        self.user_s += seconds(process.ru_utime);
        self.system_s += seconds(process.ru_stime);
        self.voluntary_switches += process.ru_nvcsw as u64;
        self.involuntary_switches += process.ru_nivcsw as u64;
        self.major_faults += process.ru_majflt as u64;
        self.max_resident_bytes = self.max_resident_bytes.max(process.ru_maxrss as u64 * 1024);
    }
}

/// A probe this fresh serves as the one before the next sample too.
const FRESH: Duration = Duration::from_millis(2);

/// Takes evidence around samples; keeps what is worth keeping between them.
pub(crate) struct EvidenceReader {
    probes: ClockProbes,
    /// The rates after the last sample, and when they were probed.
    last_rates: Option<(Instant, BTreeMap<u32, f64>)>,
    events: EventCatalogue,
    processors: Processors,
}

/// The state just before a sample.
pub(crate) struct Before {
    cpus: Vec<u32>,
    clocks: BTreeMap<u32, f64>,
    counters: Counters,
    reading: Option<Reading>,
    at: Instant,
}

impl EvidenceReader {
    pub(crate) fn new() -> Self {
        Self {
            probes: ClockProbes::default(),
            last_rates: None,
            events: EventCatalogue::default(),
            processors: Processors::new(),
        }
    }

    /// Looks at the CPUs an arm uses and begins to count for its threads.
    pub(crate) fn before(
        &mut self,
        cpus: Vec<u32>,
        threads: impl FnOnce() -> Vec<libc::pid_t>,
    ) -> Before {
        let mut counters = if self.events.has_any() {
            self.events.attach(&threads())
        } else {
            Counters::default()
        };
        let clocks = self.fresh_rates(&cpus);
        let reading = self.processors.read(&cpus);
        counters.start();
        Before { cpus, clocks, counters, reading, at: Instant::now() }
    }

    /// The rates of these CPUs, from the last sample's end if that is but a moment ago.
    fn fresh_rates(&mut self, cpus: &[u32]) -> BTreeMap<u32, f64> {
        match self.last_rates.take() {
            Some((at, rates)) if at.elapsed() < FRESH && rates.keys().eq(cpus) => rates,
            _ => self.probes.rates(cpus),
        }
    }

    /// What changed since.
    pub(crate) fn after(
        &mut self,
        before: Before,
        arm: &Arm,
        makespan: Duration,
        usage: &Usage,
    ) -> Evidence {
        let counts = before.counters.read();
        let elapsed_s = before.at.elapsed().as_secs_f64();
        let reading = self.processors.read(&before.cpus);
        let activity = before
            .reading
            .as_ref()
            .zip(reading.as_ref())
            .map(|(was, is)| self.processors.activity(was, is, &before.cpus, elapsed_s));
        let activity = activity.unwrap_or_default();
        let rates = self.probes.rates(&before.cpus);
        self.last_rates = Some((Instant::now(), rates.clone()));
        let clocks = before
            .clocks
            .iter()
            .filter_map(|(cpu, rate)| {
                Some(ClockProbe { cpu: *cpu, before_per_ns: *rate, after_per_ns: *rates.get(cpu)? })
            })
            .collect();
        let makespan_s = makespan.as_secs_f64();
        Evidence {
            clocks,
            aperf_ghz: activity.ghz,
            steal_s: activity.steal_s,
            migrations: counts.migrations.or(usage.migrations),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            cpu_pressure_s: activity.pressure_s,
            idle_sibling_busy: idle_sibling_busy(&activity, arm, makespan_s),
            foreign_busy: foreign_busy(&activity, &before.cpus, usage, makespan_s),
            user_s: usage.user_s,
            system_s: usage.system_s,
            max_resident_bytes: usage.max_resident_bytes,
            major_faults: usage.major_faults,
            counters: counts.hardware,
            package_joules: activity.joules,
            ..Evidence::default()
        }
    }
}

/// The busiest of the siblings that ought to be idle, as a share of the makespan.
fn idle_sibling_busy(activity: &Activity, arm: &Arm, makespan_s: f64) -> Option<f64> {
    arm.idle_siblings
        .iter()
        .filter_map(|cpu| activity.busy_s.get(cpu))
        .map(|busy| busy / makespan_s)
        .reduce(f64::max)
}

/// What the used CPUs did beside the workers' own user and system time, as a share of their time.
fn foreign_busy(activity: &Activity, cpus: &[u32], usage: &Usage, makespan_s: f64) -> Option<f64> {
    let busy: f64 = cpus.iter().map(|cpu| activity.busy_s.get(cpu)).sum::<Option<f64>>()?;
    let foreign = (busy - usage.user_s - usage.system_s).max(0.0);
    Some(foreign / (makespan_s * cpus.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use corun_record::Placement;

    fn activity() -> Activity {
        Activity { busy_s: BTreeMap::from([(0, 1.0), (1, 1.5), (4, 0.02)]), ..Activity::default() }
    }

    #[test]
    fn a_busy_sibling_shows() {
        let arm = Arm {
            id: "spread".into(),
            placement: Placement::Spread(None),
            core_type: None,
            variant: None,
            twin_of: None,
            workers: 2,
            cores: 2,
            cpus: vec![0, 1],
            idle_siblings: vec![4, 5],
            smt: None,
        };
        assert_eq!(idle_sibling_busy(&activity(), &arm, 2.0), Some(0.01));
    }

    #[test]
    fn work_that_is_not_the_workers_shows() {
        let usage = Usage { user_s: 1.5, system_s: 0.5, ..Usage::default() };
        assert_eq!(foreign_busy(&activity(), &[0, 1], &usage, 2.0), Some(0.125));
        assert_eq!(foreign_busy(&activity(), &[0, 9], &usage, 2.0), None);
    }
}
