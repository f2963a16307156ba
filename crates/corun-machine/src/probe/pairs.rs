//! Measures pair after pair, each for as long as its conclusion needs.
//!
//! One pair at a time: others would take clock, cache and bandwidth from it. Alone and together
//! alternate within a round, and rounds differ in who is first, so that a clock that drifts cannot
//! pass for contention.

use std::time::Duration;

use super::ProbeError;
use super::conclusion::Observed;
use super::distance::RoundTrips;
use super::judgement::{Contest, Judgement, Round, confirms, give_up, judge, next_window};
use super::loops::Loop;
use super::plan::ProbePlan;
use super::sysfs::SysfsClaim;
use super::target::ProbeTarget;
use super::track::{Track, WindowPair};
use crate::Machine;

/// No pair is measured for longer, however busy the machine is.
const LONGEST: Duration = Duration::from_secs(5);

/// Repeats of the measurement of a pair in doubt, and the least time between them.
const VISITS: usize = 3;
const BETWEEN_VISITS: Duration = Duration::from_millis(700);

/// Sees how the probe goes and may end it.
pub trait ProbeObserver {
    /// A pair is about to be measured: so many are done, of so many at least.
    fn pair_begins(&mut self, cpus: [u32; 2], done: usize, planned: usize);

    /// True if the user wants to stop; asked between rounds.
    fn wants_end(&mut self) -> bool;
}

/// Observations, and whether the observer ended them.
pub(super) struct Observations {
    pub(super) pairs: Vec<Observed>,
    pub(super) interrupted: bool,
}

/// Probes what the plan requires, and random pairs until `time` is over.
pub(super) fn probe_pairs(
    machine: &Machine,
    plan: &ProbePlan,
    time: Duration,
    target: &mut impl ProbeTarget,
    observer: &mut dyn ProbeObserver,
) -> Result<Observations, ProbeError> {
    let mut pairs = Vec::new();
    for &cpus in plan.required.iter().chain(&plan.random) {
        let done = pairs.len();
        if done >= plan.required.len() && target.elapsed() >= time {
            break;
        }
        observer.pair_begins(cpus, done, plan.required.len());
        let says = SysfsClaim::of(machine, cpus);
        match probe_pair(target, cpus, says, observer)? {
            Some(observed) => pairs.push(observed),
            None => return Ok(Observations { pairs, interrupted: true }),
        }
    }
    let interrupted = !revisit(machine, &mut pairs, target, observer)?;
    Ok(Observations { pairs, interrupted })
}

/// Measures again, later, since the host of virtual CPUs may move them about: for a while two of them
/// share a core, or are near to each other's caches, and then no longer. False if it was ended.
fn revisit(
    machine: &Machine,
    pairs: &mut [Observed],
    target: &mut impl ProbeTarget,
    observer: &mut dyn ProbeObserver,
) -> Result<bool, ProbeError> {
    for pair in pairs.iter_mut().filter(|pair| pair.judgement == Judgement::Apart) {
        rally(target, &mut pair.trips)?;
    }
    let is_virtual = machine.hypervisor.is_some();
    let mut doubtful: Vec<(usize, &mut Observed)> = pairs
        .iter_mut()
        .filter(|pair| pair.needs_repetition(is_virtual))
        .map(|pair| (pair.rounds.len(), pair))
        .collect();
    for _ in 0..VISITS {
        if doubtful.is_empty() {
            break;
        }
        target.wait(BETWEEN_VISITS);
        for place in 0..doubtful.len() {
            if observer.wants_end() {
                for (_, pair) in &mut doubtful {
                    pair.judgement =
                        Judgement::Undecided("interrupted before it was measured again");
                }
                return Ok(false);
            }
            let pair = &mut doubtful[place].1;
            let round = round(target, pair.trips.cpus, &pair.rounds)?;
            pair.rounds.push(round);
        }
    }
    for (first_visit, pair) in doubtful {
        let again = judge(&pair.rounds, pair.says.siblings);
        let is_confirmed = |judgement: &Judgement| {
            *judgement != pair.judgement || confirms(&pair.rounds[first_visit..], *judgement)
        };
        pair.judgement = again.filter(is_confirmed).unwrap_or_else(|| give_up(&pair.rounds));
    }
    Ok(true)
}

/// Measures one pair; `None` if the observer ended it.
fn probe_pair(
    target: &mut impl ProbeTarget,
    cpus: [u32; 2],
    says: SysfsClaim,
    observer: &mut dyn ProbeObserver,
) -> Result<Option<Observed>, ProbeError> {
    let begin = target.elapsed();
    let mut rounds = Vec::new();
    let mut trips = RoundTrips { cpus, rallies: Vec::new() };
    loop {
        if observer.wants_end() {
            return Ok(None);
        }
        rally(target, &mut trips)?;
        rounds.push(round(target, cpus, &rounds)?);
        rally(target, &mut trips)?;
        let is_late = target.elapsed().saturating_sub(begin) >= LONGEST;
        let judgement = judge(&rounds, says.siblings).or_else(|| is_late.then(|| give_up(&rounds)));
        if let Some(judgement) = judgement {
            return Ok(Some(Observed { says, judgement, rounds, trips }));
        }
    }
}

/// The round after these.
fn round(
    target: &mut impl ProbeTarget,
    cpus: [u32; 2],
    rounds: &[Round],
) -> Result<Round, ProbeError> {
    let window = next_window(rounds);
    let ports = contest(target, Loop::Ports, cpus, window, rounds.len())?;
    let chains = contest(target, Loop::Chain, cpus, window, rounds.len())?;
    Ok(Round { ports, chains })
}

fn rally(target: &mut impl ProbeTarget, trips: &mut RoundTrips) -> Result<(), ProbeError> {
    let bursts = target.round_trips(trips.cpus)?;
    trips.rallies.extend(bursts.into_iter().min_by(f64::total_cmp));
    Ok(())
}

/// One alone, both, the other alone; who is first alternates from round to round.
fn contest(
    target: &mut impl ProbeTarget,
    which: Loop,
    [low, high]: [u32; 2],
    window: u64,
    round: usize,
) -> Result<Contest, ProbeError> {
    let (first, last) = if round.is_multiple_of(2) { (low, high) } else { (high, low) };
    let before = alone(target, which, first, window)?;
    let tracks = target.window(which, &[low, high], window)?;
    let after = alone(target, which, last, window)?;
    let [one, other] = &tracks[..] else { return Err(ProbeError::Silent { cpu: high }) };
    let alone = if first == low { [before, after] } else { [after, before] };
    Ok(Contest { alone, together: WindowPair::of([one, other]) })
}

/// The speed of one worker, nothing else at work.
fn alone(
    target: &mut impl ProbeTarget,
    which: Loop,
    cpu: u32,
    window: u64,
) -> Result<f64, ProbeError> {
    let tracks = target.window(which, &[cpu], window)?;
    tracks.first().map(Track::speed).ok_or(ProbeError::Silent { cpu })
}
