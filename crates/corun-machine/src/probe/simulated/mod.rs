//! A machine whose truth is known, so that conclusions are tested without a clock.
//!
//! Each CPU has a location: a hardware thread of a core. What sysfs says is chosen apart from it.

mod machine;
mod pairs;
mod worlds;

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::ProbeError;
use super::loops::Loop;
use super::pairs::ProbeObserver;
use super::target::ProbeTarget;
use super::track::Track;

/// Length of an undisturbed chunk in nanoseconds.
const NOMINAL: u64 = 20_000;

/// The true location of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SimulatedLocation {
    l3: u32,
    core: u32,
    /// CPUs on one hardware thread take turns.
    thread: u32,
}

/// Disturbance of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Disturbance {
    None,
    /// Others take this part of each CPU's time, in spans of some milliseconds.
    Load(f64),
    /// Another program, as important as a worker, that searches for an idle CPU.
    Hog,
    /// Two at once get the time of one, both stopped at the same time.
    Quota,
    /// The clock falls to this part while two cores work.
    Turbo(f64),
    /// For so many windows and rallies all CPUs are siblings.
    MovedAfter(usize),
    /// The clock of all loses this part of itself from window to window.
    Throttling(f64),
}

/// A window or a rally that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Call {
    Window(Loop, Vec<u32>),
    Rally([u32; 2]),
}

/// The machine.
struct Simulated {
    locations: Vec<SimulatedLocation>,
    disturbance: Disturbance,
    /// Nanoseconds of a turn on a hardware thread.
    slice: u64,
    /// Factor by which everything takes longer than its windows.
    lag: u64,
    random: ChaCha8Rng,
    elapsed: u64,
    calls: Vec<Call>,
}

impl Simulated {
    fn new(locations: Vec<SimulatedLocation>, disturbance: Disturbance, seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self {
            locations,
            disturbance,
            slice: 3_000_000,
            lag: 1,
            random,
            elapsed: 0,
            calls: Vec::new(),
        }
    }

    fn location(&self, cpu: u32) -> SimulatedLocation {
        match self.disturbance {
            Disturbance::MovedAfter(calls) if self.calls.len() <= calls => {
                SimulatedLocation { l3: 0, core: 0, thread: cpu }
            }
            _ => self.locations[cpu as usize],
        }
    }

    /// Factor by which a chunk takes longer beside the others of the window.
    fn slowness(&self, which: Loop, cpu: u32, cpus: &[u32]) -> f64 {
        let location = self.location(cpu);
        let mut threads: Vec<u32> = cpus
            .iter()
            .map(|&other| self.location(other))
            .filter(|other| other.core == location.core)
            .map(|other| other.thread)
            .collect();
        threads.sort_unstable();
        threads.dedup();
        let contention = if which == Loop::Ports { threads.len() as f64 } else { 1.0 };
        let windows = self.calls.len() as i32;
        let clock = match self.disturbance {
            Disturbance::Turbo(part) if cpus.len() > 1 => part,
            Disturbance::Throttling(part) => (1.0 - part).powi(windows).max(0.3),
            _ => 1.0,
        };
        contention / clock
    }

    /// When the CPU does something else: spans in ascending order.
    fn away(&mut self, window: u64, place: usize, cpus: &[u32], phase: u64) -> Vec<(u64, u64)> {
        let location = self.location(cpus[place]);
        let sharers: Vec<usize> =
            (0..cpus.len()).filter(|&other| self.location(cpus[other]) == location).collect();
        let mut spans = Vec::new();
        if let Some(turn) =
            sharers.iter().position(|&one| one == place).filter(|_| sharers.len() > 1)
        {
            let number = sharers.len() as u64;
            for slot in 0..=window / self.slice + 1 {
                if slot % number != turn as u64 {
                    let start = (slot * self.slice).saturating_sub(phase);
                    spans.push((start, ((slot + 1) * self.slice).saturating_sub(phase)));
                }
            }
        }
        match self.disturbance {
            Disturbance::Load(part) => {
                let mut at = 0;
                while at < window {
                    let away = self.random.random_range(1_000_000..5_000_000_u64);
                    let here = (away as f64 * (1.0 - part) / part.max(1e-9)) as u64;
                    at += self.random.random_range(0..=here.saturating_mul(2).min(window));
                    spans.push((at, at + away));
                    at += away;
                }
            }
            // While one CPU is idle, the hog is there; else it sits down beside the last one.
            Disturbance::Hog if cpus.len() > 1 && place + 1 == cpus.len() => {
                spans.extend(
                    (0..window / self.slice)
                        .step_by(2)
                        .map(|slot| (slot * self.slice, (slot + 1) * self.slice)),
                );
            }
            Disturbance::Quota if cpus.len() > 1 => spans.push((window / 2, window)),
            _ => (),
        }
        spans.sort_unstable();
        spans
    }

    fn track(&mut self, which: Loop, window: u64, place: usize, cpus: &[u32], phase: u64) -> Track {
        let away = self.away(window, place, cpus, phase);
        let chunk = NOMINAL as f64 * self.slowness(which, cpus[place], cpus);
        let mut away = away.into_iter().peekable();
        let mut now = self.random.random_range(0..200_000);
        let mut marks = Vec::new();
        // A loop that should begin while its CPU is away begins afterwards.
        while let Some((_, end)) = away.next_if(|span| span.0 <= now) {
            now = now.max(end);
        }
        while now < window {
            marks.push(now);
            let mut left = (chunk * self.random.random_range(1.0..1.03)) as u64;
            while let Some((start, end)) = away.next_if(|span| span.0 < now + left) {
                left -= start.saturating_sub(now).min(left);
                now = now.max(end);
            }
            now += left;
        }
        Track { window, nominal: NOMINAL, marks }
    }
}

impl ProbeTarget for Simulated {
    fn window(
        &mut self,
        which: Loop,
        cpus: &[u32],
        nanoseconds: u64,
    ) -> Result<Vec<Track>, ProbeError> {
        self.calls.push(Call::Window(which, cpus.to_owned()));
        self.elapsed += nanoseconds * self.lag;
        let phase = self.random.random_range(0..self.slice);
        let track = |place| self.track(which, nanoseconds, place, cpus, phase);
        Ok((0..cpus.len()).map(track).collect())
    }

    fn round_trips(&mut self, cpus: [u32; 2]) -> Result<Vec<f64>, ProbeError> {
        self.calls.push(Call::Rally(cpus));
        let [one, other] = cpus.map(|cpu| self.location(cpu));
        let nanoseconds = match () {
            () if one == other => return Ok(Vec::new()),
            () if one.core == other.core => 20.0,
            () if one.l3 == other.l3 => 50.0,
            () => 120.0,
        };
        Ok((0..12).map(|_| nanoseconds * self.random.random_range(1.0..1.3)).collect())
    }

    fn wait(&mut self, time: Duration) {
        self.elapsed += time.as_nanos() as u64;
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed)
    }
}

/// Ends the probe after so many questions.
struct Ending(usize);

impl ProbeObserver for Ending {
    fn pair_begins(&mut self, _cpus: [u32; 2], _done: usize, _planned: usize) {}

    fn wants_end(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

/// Lets the probe go on.
const PATIENT: Ending = Ending(usize::MAX);
