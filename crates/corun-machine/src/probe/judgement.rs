//! From windows to a conclusion about one pair: do they share a core, and how?
//!
//! Other programs take time from windows, so each kind of evidence must be out of their reach: two
//! that run at full speed *at the same time* have a core each, two that slow each other's ports and
//! not each other's chains are siblings, and two that are always busy and never at once take turns.
//! All else is undecided; what contradicts sysfs must be seen more often.

use super::record::{Contention, Sharing};
use super::track::{Alone, Together};

/// From this on the speeds add up to more than one core has.
const APART: f64 = 1.5;
/// Up to this the speeds add up to one core.
const SHARED: f64 = 1.35;
/// Both must run for this part of a window to be compared.
const COMPARABLE: f64 = 0.2;
/// Two that take turns run at once for no more than this part of a window: the edges of the turns.
const TURNS: f64 = 0.05;
/// Of two that take turns somebody runs for at least this part of a window.
const BUSY: f64 = 0.8;
/// Each of them for at least this part.
const TURN: f64 = 0.1;
/// Alone, a worker must run for this part of a window for its turns to mean anything.
const UNDISTURBED: f64 = 0.9;
/// Windows below this are too short to see turns, in nanoseconds: a slice takes some milliseconds.
const SEES_TURNS: u64 = 20_000_000;

/// Rounds that decide that two are apart, and that they share, as sysfs says.
const ROUNDS_APART: usize = 2;
const ROUNDS_SHARED: usize = 3;
/// Rounds that decide what sysfs does not say.
const ROUNDS_AGAINST: usize = 4;
/// Rounds after which nothing is concluded.
const MOST_ROUNDS: usize = 10;

/// Lengths of windows in nanoseconds: enough to see two run at once; enough to see turns; and for
/// hypervisors with long slices.
const SHORT: u64 = 6_000_000;
const LONG: u64 = 30_000_000;
const LONGEST: u64 = 60_000_000;

/// One loop in one round: each worker alone, and both together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contest {
    pub(super) alone: [Alone; 2],
    pub(super) together: Together,
}

/// Both loops in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Round {
    pub(super) ports: Contest,
    pub(super) chains: Contest,
}

/// What one contest shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// At once and at full speed.
    Apart,
    /// At once and slower.
    Slowed,
    /// In turns.
    Turns,
    /// Nothing.
    Nothing,
}

/// What the rounds so far amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// They do not share a core.
    Apart,
    /// They share a core.
    Shared(Sharing),
    /// The rounds do not tell, for this reason.
    Undecided(&'static str),
}

/// Judges the rounds of one pair, `None` if another is needed; `siblings` is what sysfs says.
pub(super) fn judge(rounds: &[Round], siblings: Option<bool>) -> Option<Judgement> {
    let ports = Sights::of(rounds, |round| &round.ports);
    let chains = Sights::of(rounds, |round| &round.chains);
    let needed = |shared: bool| match siblings {
        Some(said) if said == shared => {
            if shared {
                ROUNDS_SHARED
            } else {
                ROUNDS_APART
            }
        }
        _ => ROUNDS_AGAINST,
    };
    // Virtual CPUs that their host moves about may share a core for a while.
    let apart_enough = match siblings {
        Some(false) => ports.apart > 0,
        _ => ports.apart + 1 >= ROUNDS_AGAINST && ports.apart >= 4 * (ports.slowed + ports.turns),
    };
    if apart_enough && rounds.len() >= needed(false) {
        return Some(Judgement::Apart);
    }
    if ports.apart == 0 && ports.turns == 0 && ports.slowed >= needed(true) && chains.apart > 0 {
        return Some(Judgement::Shared(Sharing::Smt));
    }
    let only_turns =
        |sights: &Sights| sights.apart == 0 && sights.slowed == 0 && sights.turns >= needed(true);
    if only_turns(&ports) && only_turns(&chains) {
        return Some(Judgement::Shared(Sharing::TimeSlicing));
    }
    if rounds.len() < MOST_ROUNDS {
        return None;
    }
    Some(Judgement::Undecided(if ports.apart > 0 && ports.slowed + ports.turns > 0 {
        "they share a core at times, as virtual CPUs do that their host moves about"
    } else if ports.slowed > 0 && chains.slowed > 0 {
        "both loops slow each other without taking turns, as neither siblings nor time slices do"
    } else {
        "other work took too much of the time"
    }))
}

/// How long the windows of the next round should be, in nanoseconds.
pub(super) fn next_window(rounds: &[Round]) -> u64 {
    let ports = Sights::of(rounds, |round| &round.ports);
    match rounds.len() {
        0 => SHORT,
        _ if ports.apart + ports.slowed == rounds.len() => SHORT,
        1..6 => LONG,
        _ => LONGEST,
    }
}

/// What is told of the contests besides the conclusion: the best round of each figure, since
/// disturbance only takes away.
pub(super) fn contention(rounds: &[Round], of: fn(&Round) -> &Contest) -> Contention {
    let best = |value: &dyn Fn(&Contest) -> f64| {
        rounds.iter().map(|round| value(of(round))).fold(0.0, f64::max)
    };
    let alone = [0, 1].map(|worker| best(&|contest| contest.alone[worker].work));
    let ratio = best(&|contest| {
        [0, 1].iter().map(|&worker| over(contest.together.work[worker], alone[worker])).sum()
    });
    Contention {
        work_ratio: (alone.iter().all(|&work| work > 0.0) && ratio > 0.0).then_some(ratio),
        at_once: best(&|contest| contest.together.at_once),
    }
}

/// How many rounds show what.
#[derive(Debug, Default)]
struct Sights {
    apart: usize,
    slowed: usize,
    turns: usize,
}

impl Sights {
    fn of(rounds: &[Round], of: fn(&Round) -> &Contest) -> Self {
        let best = [0, 1].map(|worker| {
            let speeds = rounds.iter().map(|round| of(round).alone[worker].speed);
            speeds.fold(0.0, f64::max)
        });
        let mut sights = Self::default();
        for round in rounds {
            match of(round).sight(best) {
                Sight::Apart => sights.apart += 1,
                Sight::Slowed => sights.slowed += 1,
                Sight::Turns => sights.turns += 1,
                Sight::Nothing => (),
            }
        }
        sights
    }
}

impl Contest {
    /// What it shows, given the best speed of each worker alone in any round.
    ///
    /// Disturbance makes speeds alone too low and so the sum too high: to prove two cores they are
    /// the best of all rounds, to prove one core those of the same round, at the same clock.
    fn sight(&self, best: [f64; 2]) -> Sight {
        let Together { window, running, at_once, speeds, .. } = self.together;
        if at_once >= COMPARABLE {
            let sum = |alone: [f64; 2]| over(speeds[0], alone[0]) + over(speeds[1], alone[1]);
            let beside_own = sum(self.alone.map(|alone| alone.speed));
            return match sum(best) {
                beside_best if beside_best >= APART => Sight::Apart,
                _ if beside_own > 0.0 && beside_own <= SHARED => Sight::Slowed,
                _ => Sight::Nothing,
            };
        }
        let somebody = running[0] + running[1] - at_once;
        let in_turns = window >= SEES_TURNS
            && at_once <= TURNS
            && somebody >= BUSY
            && running.iter().all(|&part| part >= TURN)
            && self.alone.iter().all(|alone| alone.running >= UNDISTURBED);
        if in_turns { Sight::Turns } else { Sight::Nothing }
    }
}

/// A quotient, 0 where there is nothing to divide by.
fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
