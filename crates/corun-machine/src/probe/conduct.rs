//! Measures pair after pair, each for as long as its conclusion needs.
//!
//! One pair at a time: others would take clock, cache and bandwidth from it. Alone and together
//! alternate within a round, and rounds differ in who is first, so that a clock that drifts cannot
//! pass for contention.

use std::time::Duration;

use super::ProbeError;
use super::bench::Bench;
use super::conclusion::Observed;
use super::distance::Trips;
use super::judgement::{Contest, Judgement, Round, give_up, judge, next_window};
use super::loops::Loop;
use super::plan::Plan;
use super::sysfs::Says;
use super::track::{Together, Track};
use crate::Machine;

/// No pair is measured for longer, however busy the machine is.
const LONGEST: Duration = Duration::from_secs(5);

/// Sees how the probe goes and may end it.
pub trait ProbeObserver {
    /// A pair is about to be measured: so many are done, of so many at least.
    fn pair_begins(&mut self, cpus: [u32; 2], done: usize, planned: usize);

    /// Whether the user wants to stop; asked between rounds.
    fn wants_end(&mut self) -> bool;
}

/// What was observed, and whether the observer ended it.
pub(super) struct Observations {
    pub(super) pairs: Vec<Observed>,
    pub(super) interrupted: bool,
}

/// Probes what the plan requires, and random pairs until `time` is over.
pub(super) fn conduct(
    machine: &Machine,
    plan: &Plan,
    time: Duration,
    bench: &mut impl Bench,
    observer: &mut dyn ProbeObserver,
) -> Result<Observations, ProbeError> {
    let mut pairs = Vec::new();
    for &cpus in plan.required.iter().chain(&plan.random) {
        let done = pairs.len();
        if done >= plan.required.len() && bench.elapsed() >= time {
            break;
        }
        observer.pair_begins(cpus, done, plan.required.len());
        let says = Says::of(machine, cpus);
        match probe_pair(bench, cpus, says, observer)? {
            Some(observed) => pairs.push(observed),
            None => return Ok(Observations { pairs, interrupted: true }),
        }
    }
    // Once more, later: the host of virtual CPUs may have moved them to other caches.
    for pair in pairs.iter_mut().filter(|pair| pair.judgement == Judgement::Apart) {
        rally(bench, &mut pair.trips)?;
    }
    Ok(Observations { pairs, interrupted: false })
}

/// Measures one pair; `None` if the observer ended it.
fn probe_pair(
    bench: &mut impl Bench,
    cpus: [u32; 2],
    says: Says,
    observer: &mut dyn ProbeObserver,
) -> Result<Option<Observed>, ProbeError> {
    let begin = bench.elapsed();
    let mut rounds = Vec::new();
    let mut trips = Trips { cpus, rallies: Vec::new() };
    loop {
        if observer.wants_end() {
            return Ok(None);
        }
        rally(bench, &mut trips)?;
        let window = next_window(&rounds);
        let ports = contest(bench, Loop::Ports, cpus, window, rounds.len())?;
        let chains = contest(bench, Loop::Chain, cpus, window, rounds.len())?;
        rounds.push(Round { ports, chains });
        rally(bench, &mut trips)?;
        let is_late = bench.elapsed().saturating_sub(begin) >= LONGEST;
        let judgement = judge(&rounds, says.siblings).or_else(|| is_late.then(|| give_up(&rounds)));
        if let Some(judgement) = judgement {
            return Ok(Some(Observed { says, judgement, rounds, trips }));
        }
    }
}

fn rally(bench: &mut impl Bench, trips: &mut Trips) -> Result<(), ProbeError> {
    let bursts = bench.round_trips(trips.cpus)?;
    trips.rallies.extend(bursts.into_iter().min_by(f64::total_cmp));
    Ok(())
}

/// One alone, both, the other alone; who is first alternates from round to round.
fn contest(
    bench: &mut impl Bench,
    which: Loop,
    [low, high]: [u32; 2],
    window: u64,
    round: usize,
) -> Result<Contest, ProbeError> {
    let (first, last) = if round.is_multiple_of(2) { (low, high) } else { (high, low) };
    let before = alone(bench, which, first, window)?;
    let tracks = bench.window(which, &[low, high], window)?;
    let after = alone(bench, which, last, window)?;
    let [one, other] = &tracks[..] else { return Err(ProbeError::Silent { cpu: high }) };
    let alone = if first == low { [before, after] } else { [after, before] };
    Ok(Contest { alone, together: Together::of([one, other]) })
}

/// The speed of one worker, nothing else at work.
fn alone(bench: &mut impl Bench, which: Loop, cpu: u32, window: u64) -> Result<f64, ProbeError> {
    let tracks = bench.window(which, &[cpu], window)?;
    tracks.first().map(Track::speed).ok_or(ProbeError::Silent { cpu })
}
