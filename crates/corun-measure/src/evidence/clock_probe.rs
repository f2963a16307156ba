//! The clock of CPUs, from a chain of dependent multiplications timed on all of them at once.
//!
//! Two such chains fit into one core without disturbing each other, so siblings can be probed
//! together. The rate compares clocks between samples.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use corun_machine::Affinity;
use corun_machine::evidence::multiplication_rate;

/// Time that probes wait for each other before they begin.
const PATIENCE: Duration = Duration::from_micros(200);
/// Time that the caller stays awake for the answer: falling asleep takes longer than a probe.
const AWAKE: Duration = Duration::from_micros(500);

/// A sleeping thread on each CPU that was ever probed.
#[derive(Default)]
pub(crate) struct ClockProbes(BTreeMap<u32, Probe>);

struct Probe {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    /// The round wanted; a probe runs when it has changed.
    round: AtomicU32,
    /// The meeting of the round, as a pointer kept alive by the caller.
    meeting: std::sync::Mutex<Option<Arc<ProbeRound>>>,
    /// Multiplications per nanosecond, as bits of an f64; 0 while unknown.
    rate: AtomicU64,
    over: AtomicBool,
}

/// The probes of one round.
struct ProbeRound {
    wanted: u32,
    arrived: AtomicU32,
    done: AtomicU32,
    caller: Thread,
}

impl ClockProbes {
    /// Multiplications per nanosecond on each of these CPUs, timed at once.
    ///
    /// A CPU whose probe could not be started or pinned there is left out.
    pub(crate) fn rates(&mut self, cpus: &[u32]) -> BTreeMap<u32, f64> {
        for &cpu in cpus {
            if let Entry::Vacant(vacant) = self.0.entry(cpu)
                && let Ok(probe) = Probe::start(cpu)
            {
                vacant.insert(probe);
            }
        }
        let probes: Vec<(u32, &Probe)> =
            cpus.iter().filter_map(|cpu| Some((*cpu, self.0.get(cpu)?))).collect();
        let meeting = Arc::new(ProbeRound {
            wanted: probes.len() as u32,
            arrived: AtomicU32::new(0),
            done: AtomicU32::new(0),
            caller: std::thread::current(),
        });
        for (_, probe) in &probes {
            *probe.shared.meeting.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                Some(Arc::clone(&meeting));
            probe.shared.round.fetch_add(1, Ordering::Release);
            probe.thread.thread().unpark();
        }
        let begin = Instant::now();
        while meeting.done.load(Ordering::Acquire) < meeting.wanted {
            if begin.elapsed() < AWAKE {
                std::thread::yield_now();
            } else {
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
        probes
            .into_iter()
            .map(|(cpu, probe)| (cpu, f64::from_bits(probe.shared.rate.load(Ordering::Acquire))))
            .filter(|(_, rate)| *rate > 0.0)
            .collect()
    }
}

impl Drop for ClockProbes {
    fn drop(&mut self) {
        for probe in self.0.values() {
            probe.shared.over.store(true, Ordering::Release);
            probe.thread.thread().unpark();
        }
        for (_, probe) in std::mem::take(&mut self.0) {
            let _ = probe.thread.join();
        }
    }
}

impl Probe {
    /// Fails where no further thread is allowed.
    fn start(cpu: u32) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = std::thread::Builder::new().spawn(move || seen.serve(cpu))?;
        Ok(Self { shared, thread })
    }
}

impl Shared {
    fn serve(&self, cpu: u32) {
        let pinned = Affinity::pin(0, cpu);
        let mut last = 0;
        loop {
            let round = self.round.load(Ordering::Acquire);
            if self.over.load(Ordering::Acquire) {
                return;
            }
            if round == last {
                std::thread::park();
                continue;
            }
            last = round;
            let meeting =
                self.meeting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            let Some(meeting) = meeting else { continue };
            meeting.wait_for_all();
            let rate = if pinned { multiplication_rate() } else { 0.0 };
            self.rate.store(rate.to_bits(), Ordering::Release);
            if meeting.done.fetch_add(1, Ordering::AcqRel) + 1 == meeting.wanted {
                meeting.caller.unpark();
            }
        }
    }
}

impl ProbeRound {
    fn wait_for_all(&self) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let begin = Instant::now();
        while self.arrived.load(Ordering::Acquire) < self.wanted && begin.elapsed() < PATIENCE {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allowed_cpu_gives_a_rate_again_and_again() {
        let allowed = corun_machine::Affinity::of(0).unwrap().cpus().as_slice().to_vec();
        let mut probes = ClockProbes::default();
        for _ in 0..20 {
            let rates = probes.rates(&allowed);
            assert_eq!(rates.keys().copied().collect::<Vec<_>>(), allowed);
            assert!(rates.values().all(|rate| rate.is_finite() && *rate > 0.0), "{rates:?}");
        }
    }
}
