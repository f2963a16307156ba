//! From windows to a conclusion about one pair: do they share a core, and how?
//!
//! Other programs take time from windows, so each kind of evidence must be out of their reach. Two
//! that run at full speed *at the same time* have a core each. Two that slow each other's ports and
//! not each other's chains are siblings. Two that would often run at once if they were independent,
//! and never do, take turns. All else is undecided; what contradicts sysfs must be seen more often.

use super::record::{Contention, Sharing};
use super::track::WindowPair;

/// From this on the speeds add up to more than one core has.
const APART: f64 = 1.5;
/// Up to this the speeds add up to one core.
const SHARED: f64 = 1.35;
/// Both must run for this part of a window to be compared.
const COMPARABLE: f64 = 0.2;
/// Two that take turns run at once for no more than this part of a window: the edges of the turns.
const EDGES: f64 = 0.02;
/// A window without overlap counts if independent workers would have run at once for this part.
const EXPECTED: f64 = 0.05;
/// So much of the expected parts of all windows a round that is needed must bring: a little less
/// than undisturbed turns do, which take half of the time each.
const EXPECTED_A_ROUND: f64 = 0.2;
/// Windows below this are too short to see turns, in nanoseconds: a slice takes some milliseconds.
const SEES_TURNS: u64 = 20_000_000;

/// Rounds that decide that two are apart, and that they share, as sysfs says.
const ROUNDS_APART: usize = 2;
const ROUNDS_SHARED: usize = 3;
/// Rounds that decide what sysfs does not say.
const ROUNDS_AGAINST: usize = 4;
/// Rounds after which nothing is concluded.
const MAX_ROUNDS: usize = 12;

/// Lengths of windows in nanoseconds: enough to see two run at once; enough to see turns; and for
/// hypervisors with long slices.
const SHORT: u64 = 6_000_000;
const LONG: u64 = 30_000_000;
const LONGEST: u64 = 60_000_000;

/// One loop in one round: each worker alone, and both together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contest {
    /// Chunks per nanosecond of each while it ran alone.
    pub(super) alone: [f64; 2],
    pub(super) together: WindowPair,
}

/// Both loops in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Round {
    pub(super) ports: Contest,
    pub(super) chains: Contest,
}

/// Result of one contest.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ContestResult {
    /// At once and at full speed.
    Apart,
    /// At once and slower.
    Slowed,
    /// Never at once, though independent workers would have been for this part of the window.
    Turns(f64),
    /// At once, for whatever time: not time-sliced.
    Overlap,
    /// Nothing.
    Nothing,
}

/// Judgement of the rounds so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// They do not share a core.
    Apart,
    /// They share a core.
    Shared(Sharing),
    /// The rounds do not decide, for this reason.
    Undecided(&'static str),
}

/// Judges the rounds of one pair, `None` if another is needed; `siblings` is what sysfs says.
pub(super) fn judge(rounds: &[Round], siblings: Option<bool>) -> Option<Judgement> {
    let ports = ResultCounts::of(rounds, |round| &round.ports);
    let chains = ResultCounts::of(rounds, |round| &round.chains);
    let needed = |shared: bool| match (siblings, shared) {
        (Some(true), true) => ROUNDS_SHARED,
        (Some(false), false) => ROUNDS_APART,
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
    if [&ports, &chains].iter().all(|counts| counts.are_turns(needed(true))) {
        return Some(Judgement::Shared(Sharing::TimeSlicing));
    }
    (rounds.len() >= MAX_ROUNDS).then(|| give_up(rounds))
}

/// Why the rounds do not decide.
pub(super) fn give_up(rounds: &[Round]) -> Judgement {
    let ports = ResultCounts::of(rounds, |round| &round.ports);
    let chains = ResultCounts::of(rounds, |round| &round.chains);
    Judgement::Undecided(if ports.apart > 0 && ports.slowed + ports.turns > 0 {
        "they share a core at times, as virtual CPUs do that their host moves about"
    } else if ports.slowed > 0 && chains.slowed > 0 {
        "both loops slow each other without taking turns, as neither siblings nor time slices do"
    } else {
        "other work took too much of the time"
    })
}

/// True if most of some rounds show again what was judged before.
pub(super) fn confirms(later: &[Round], judgement: Judgement) -> bool {
    let ports = ResultCounts::of(later, |round| &round.ports);
    let again = match judgement {
        Judgement::Apart => ports.apart,
        Judgement::Shared(Sharing::Smt) => ports.slowed,
        Judgement::Shared(Sharing::TimeSlicing) => ports.turns,
        Judgement::Undecided(_) => 0,
    };
    2 * again > later.len()
}

/// Length of the windows of the next round, in nanoseconds.
pub(super) fn next_window(rounds: &[Round]) -> u64 {
    let ports = ResultCounts::of(rounds, |round| &round.ports);
    match rounds.len() {
        0 => SHORT,
        _ if ports.apart + ports.slowed == rounds.len() => SHORT,
        1..6 => LONG,
        _ => LONGEST,
    }
}

/// Contention, as reported besides the conclusion: the best round of each figure, since disturbance only takes away.
pub(super) fn contention(rounds: &[Round], of: fn(&Round) -> &Contest) -> Contention {
    let best = best_alone(rounds, of);
    let figure = |value: &dyn Fn(&Contest) -> f64| {
        rounds.iter().map(|round| value(of(round))).fold(0.0, f64::max)
    };
    let ratio = figure(&|contest| {
        let WindowPair { at_once, speeds, work, .. } = contest.together;
        // Beside each other where they were, else in the window as a whole.
        let together = if at_once >= COMPARABLE { speeds } else { work };
        over(together[0], best[0]) + over(together[1], best[1])
    });
    Contention {
        work_ratio: (ratio > 0.0).then_some(ratio),
        at_once: figure(&|contest| contest.together.at_once),
    }
}

/// The best speed of each worker alone in any round.
fn best_alone(rounds: &[Round], of: fn(&Round) -> &Contest) -> [f64; 2] {
    [0, 1].map(|worker| {
        let speeds = rounds.iter().map(|round| of(round).alone[worker]);
        speeds.fold(0.0, f64::max)
    })
}

/// Number of rounds by result.
#[derive(Debug, Default)]
struct ResultCounts {
    apart: usize,
    slowed: usize,
    overlaps: usize,
    turns: usize,
    /// The sum of the parts of windows in which independent workers would have run at once.
    expected: f64,
}

impl ResultCounts {
    /// True if there is nothing but turns, in this number of undisturbed rounds or more others.
    fn are_turns(&self, rounds: usize) -> bool {
        self.apart + self.slowed + self.overlaps == 0
            && self.turns >= rounds
            && self.expected >= rounds as f64 * EXPECTED_A_ROUND
    }

    fn of(rounds: &[Round], of: fn(&Round) -> &Contest) -> Self {
        let best = best_alone(rounds, of);
        let mut counts = Self::default();
        for round in rounds {
            match of(round).result(best) {
                ContestResult::Apart => counts.apart += 1,
                ContestResult::Slowed => counts.slowed += 1,
                ContestResult::Overlap => counts.overlaps += 1,
                ContestResult::Turns(expected) => {
                    counts.turns += 1;
                    counts.expected += expected;
                }
                ContestResult::Nothing => (),
            }
        }
        counts
    }
}

impl Contest {
    /// Result, given the best speed of each worker alone in any round.
    ///
    /// Disturbance makes speeds alone too low and so the sum too high: to prove two cores they are
    /// the best of all rounds, to prove one core those of the same round, at the same clock.
    fn result(&self, best: [f64; 2]) -> ContestResult {
        let WindowPair { window, running, at_once, speeds, .. } = self.together;
        if at_once >= COMPARABLE {
            let sum = |alone: [f64; 2]| over(speeds[0], alone[0]) + over(speeds[1], alone[1]);
            let beside_own = sum(self.alone);
            return match sum(best) {
                beside_best if beside_best >= APART => ContestResult::Apart,
                _ if beside_own > 0.0 && beside_own <= SHARED => ContestResult::Slowed,
                _ => ContestResult::Overlap,
            };
        }
        let expected = running[0] * running[1];
        match at_once {
            EDGES.. => ContestResult::Overlap,
            _ if window >= SEES_TURNS && expected >= EXPECTED => ContestResult::Turns(expected),
            _ => ContestResult::Nothing,
        }
    }
}

/// A quotient, 0 where there is nothing to divide by.
fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both workers alike: the part of the window each runs, the part both run, and the speed of
    /// each at once as a part of its speed alone.
    fn contest(running: f64, at_once: f64, speed: f64) -> Contest {
        let together = WindowPair {
            window: LONG,
            running: [running; 2],
            at_once,
            speeds: [if at_once > 0.0 { speed } else { 0.0 }; 2],
            work: [running * speed; 2],
        };
        Contest { alone: [1.0; 2], together }
    }

    fn judged(rounds: &[(Contest, Contest)], siblings: Option<bool>) -> Option<Judgement> {
        let round = |&(ports, chains): &(Contest, Contest)| Round { ports, chains };
        judge(&rounds.iter().map(round).collect::<Vec<_>>(), siblings)
    }

    /// One round, repeated, until it is judged.
    fn settled(ports: Contest, chains: Contest, siblings: Option<bool>) -> (usize, Judgement) {
        let judged = |rounds| Some((rounds, judged(&vec![(ports, chains); rounds], siblings)?));
        (1..).find_map(judged).expect("a judgement in the end")
    }

    const SMT: Judgement = Judgement::Shared(Sharing::Smt);
    const SLICED: Judgement = Judgement::Shared(Sharing::TimeSlicing);

    fn free() -> Contest {
        contest(1.0, 1.0, 1.0)
    }

    fn turns() -> Contest {
        contest(0.5, 0.0, 1.0)
    }

    #[test]
    fn each_kind_takes_its_number_of_rounds() {
        let halved = contest(1.0, 1.0, 0.5);
        for (ports, chains, judgement, rounds) in [
            (free(), free(), Judgement::Apart, [4, 2, 4]),
            (halved, free(), SMT, [3, 4, 4]),
            (turns(), turns(), SLICED, [3, 4, 4]),
        ] {
            let settled =
                [Some(true), Some(false), None].map(|siblings| settled(ports, chains, siblings));
            assert_eq!(settled, rounds.map(|rounds| (rounds, judgement)));
        }
    }

    #[test]
    fn between_one_core_and_two_nothing_is_concluded() {
        let (rounds, judgement) = settled(contest(1.0, 1.0, 0.71), free(), Some(true));
        assert!(matches!(judgement, Judgement::Undecided(_)), "{judgement:?}");
        assert_eq!(rounds, MAX_ROUNDS);
    }

    #[test]
    fn a_clock_that_falls_by_half_is_no_sharing() {
        let halved = contest(1.0, 1.0, 0.5);
        let (_, judgement) = settled(halved, halved, Some(false));
        let Judgement::Undecided(why) = judgement else { panic!("{judgement:?}") };
        assert!(why.contains("without taking turns"), "{why}");
    }

    #[test]
    fn a_single_overlap_refutes_turns() {
        let mut rounds = vec![(turns(), turns()); 6];
        assert_eq!(judged(&rounds, Some(false)), Some(SLICED));
        rounds[2].1 = contest(0.5, 0.1, 1.0);
        assert_eq!(judged(&rounds, Some(false)), None);
    }

    #[test]
    fn turns_of_workers_that_hardly_run_mean_little() {
        let (rounds, judgement) = settled(contest(0.3, 0.0, 1.0), turns(), Some(false));
        assert_eq!((rounds > ROUNDS_AGAINST, judgement), (true, SLICED));
        let (_, judgement) = settled(contest(0.2, 0.0, 1.0), turns(), Some(false));
        assert!(matches!(judgement, Judgement::Undecided(_)), "{judgement:?}");
    }

    #[test]
    fn virtual_cpus_that_are_moved_about_contradict_nothing() {
        let moved = [(free(), free()), (turns(), turns())].repeat(MAX_ROUNDS / 2);
        let judgement = judged(&moved, Some(true));
        let Some(Judgement::Undecided(why)) = judgement else { panic!("{judgement:?}") };
        assert!(why.contains("at times"), "{why}");
    }

    #[test]
    fn windows_in_which_hardly_anything_ran_veto_nothing() {
        let hardly = contest(0.1, 0.0, 1.0);
        let mut rounds = vec![(free(), free()); 4];
        rounds.extend([(hardly, hardly); 3]);
        assert_eq!(judged(&rounds, Some(true)), Some(Judgement::Apart));
    }

    #[test]
    fn windows_grow_until_they_decide() {
        let round = |contest| Round { ports: contest, chains: contest };
        assert_eq!(next_window(&[]), SHORT);
        assert_eq!(next_window(&[round(free())]), SHORT);
        assert_eq!(next_window(&[round(turns())]), LONG);
        assert_eq!(next_window(&[round(turns()); 6]), LONGEST);
    }
}
