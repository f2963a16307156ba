//! Evidence from both sides of a sample: clocks, counters, and what else the CPUs were doing.

mod clock_probe;
mod counters;
mod processors;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use corun_record::{Arm, ClockProbe, Evidence};

use clock_probe::ClockProbes;
use counters::{Counters, EventCatalogue};
use processors::{Activity, Busy, Processors, Reading};
pub(crate) use waits::{TaskAccount, Waits, beyond_wake_ups_ns};

/// Resources that the workers of one sample used, as the kernel accounts it.
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

    /// Takes out the CPU time of a process before the common start, in user mode and in the kernel: it is no part of the
    /// makespan, and of short runs it is most of what the process used.
    pub(crate) fn without_start(&mut self, [user_us, system_us]: [u64; 2]) {
        self.user_s = (self.user_s - user_us as f64 * 1e-6).max(0.0);
        self.system_s = (self.system_s - system_us as f64 * 1e-6).max(0.0);
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
    /// CPU time that corun itself has used.
    own_s: f64,
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

    /// Reads the CPUs that an arm uses and begins to count for its threads.
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
        Before { cpus, clocks, counters, reading, own_s: own_cpu_s(), at: Instant::now() }
    }

    /// The rates of these CPUs, from the last sample's end if that is but a moment ago.
    fn fresh_rates(&mut self, cpus: &[u32]) -> BTreeMap<u32, f64> {
        match self.last_rates.take() {
            Some((at, rates)) if at.elapsed() < FRESH && rates.keys().eq(cpus) => rates,
            _ => self.probes.rates(cpus),
        }
    }

    /// Changes since, the share of its time for which the hypervisor took each CPU, where that is known, and the places of
    /// threads of which the kernel says that they moved between CPUs, or that something did which they started, however short
    /// it lived.
    pub(crate) fn after(
        &mut self,
        before: Before,
        arm: &Arm,
        usage: &Usage,
    ) -> (Evidence, BTreeMap<u32, f64>, BTreeSet<usize>) {
        let counts = before.counters.read();
        let elapsed_s = before.at.elapsed().as_secs_f64();
        let reading = self.processors.read(&before.cpus);
        let own_s = own_cpu_s() - before.own_s;
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
        let stolen = stolen_shares(&activity, elapsed_s);
        let evidence = Evidence {
            clocks,
            aperf_ghz: activity.ghz,
            steal_s: activity.stolen.as_ref().map(|it| it.values().map(|it| it.seconds).sum()),
            stolen: stolen.values().copied().reduce(f64::max),
            migrations: counts.migrations.or(usage.migrations),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            cpu_pressure_s: activity.pressure_s,
            idle_sibling_busy: idle_sibling_busy(&activity, arm, elapsed_s),
            foreign_busy: foreign_busy(
                &activity,
                &before.cpus,
                usage.user_s + usage.system_s + own_s,
                elapsed_s,
            ),
            busy_cpus: activity.reported_busy_s.map(|busy_s| busy_s / elapsed_s),
            user_s: usage.user_s,
            system_s: usage.system_s,
            max_resident_bytes: usage.max_resident_bytes,
            major_faults: usage.major_faults,
            counters: counts.hardware,
            package_joules: activity.joules,
            ..Evidence::default()
        };
        (evidence, stolen, counts.moved)
    }
}

/// A share of a sample's time is reported only if the account that it comes from advances by less than
/// half of this share: a tick says nothing about a run of a few.
const RESOLVED: f64 = 0.005;

/// The share of `seconds` in which a CPU was busy, if the account is fine enough to say so.
fn share(busy: Busy, seconds: f64) -> Option<f64> {
    (busy.step_s <= RESOLVED / 2.0 * seconds).then(|| busy.seconds / seconds)
}

/// The share of the time for which the hypervisor took each used CPU; nothing if that is not known of all of them.
fn stolen_shares(activity: &Activity, elapsed_s: f64) -> BTreeMap<u32, f64> {
    let shares =
        activity.stolen.iter().flatten().map(|(cpu, it)| Some((*cpu, share(*it, elapsed_s)?)));
    shares.collect::<Option<_>>().unwrap_or_default()
}

/// The busiest of the siblings that should be idle, as a share of the time between the readings.
fn idle_sibling_busy(activity: &Activity, arm: &Arm, elapsed_s: f64) -> Option<f64> {
    arm.idle_siblings
        .iter()
        .filter_map(|cpu| share(*activity.busy.get(cpu)?, elapsed_s))
        .reduce(f64::max)
}

/// CPU time that this process has used, in seconds.
fn own_cpu_s() -> f64 {
    // SAFETY: rusage is plain data, which the call fills.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut used);
        used
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

/// Foreign load of the used CPUs, beside the workers' and corun's own work, as a share of their time.
fn foreign_busy(activity: &Activity, cpus: &[u32], own_s: f64, elapsed_s: f64) -> Option<f64> {
    let shares = cpus.iter().map(|cpu| share(*activity.busy.get(cpu)?, elapsed_s));
    let busy: f64 = shares.sum::<Option<f64>>()?;
    Some((busy - own_s / elapsed_s).max(0.0) / cpus.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arm;

    fn activity() -> Activity {
        counted(1e-9)
    }

    /// Activity of CPUs by an account that advances by so much.
    fn counted(step_s: f64) -> Activity {
        let busy = [(0, 1.0), (1, 1.5), (4, 0.02)];
        let busy = busy.map(|(cpu, seconds)| (cpu, Busy { seconds, step_s }));
        Activity { busy: busy.into(), ..Activity::default() }
    }

    #[test]
    fn ticks_say_nothing_about_a_run_of_a_few() {
        assert_eq!(foreign_busy(&counted(0.01), &[0, 1], 2.0, 2.0), None);
        assert!(foreign_busy(&counted(0.01), &[0, 1], 2.0, 4.0).is_some());
        // Recorded: a loop of 6 ms that nothing disturbed, of which a tick made 10 ms.
        let activity = Activity {
            busy: BTreeMap::from([(0, Busy { seconds: 0.01, step_s: 0.01 })]),
            ..Activity::default()
        };
        assert_eq!(foreign_busy(&activity, &[0], 0.006, 0.0065), None);
        assert_eq!(idle_sibling_busy(&activity, &beside_idle_siblings(), 0.0065), None);
    }

    fn beside_idle_siblings() -> Arm {
        Arm { idle_siblings: vec![4, 5], ..arm("spread", 2, 2, &[0, 1]) }
    }

    #[test]
    fn cpu_time_before_the_start_is_not_the_workers() {
        // Recorded under an emulator: 8 ms of work by processes that took 0.76 s to start.
        let mut usage = Usage { user_s: 0.79, system_s: 0.02, ..Usage::default() };
        [[380_000, 5_000], [380_000, 30_000]]
            .into_iter()
            .for_each(|start| usage.without_start(start));
        assert!((usage.user_s - 0.03).abs() < 1e-9 && usage.system_s == 0.0, "{usage:?}");
    }

    #[test]
    fn a_busy_sibling_shows() {
        assert_eq!(idle_sibling_busy(&activity(), &beside_idle_siblings(), 2.0), Some(0.01));
    }

    #[test]
    fn work_that_is_not_the_workers_shows() {
        assert_eq!(foreign_busy(&activity(), &[0, 1], 2.0, 2.0), Some(0.125));
        assert_eq!(foreign_busy(&activity(), &[0, 9], 2.0, 2.0), None);
    }
}
