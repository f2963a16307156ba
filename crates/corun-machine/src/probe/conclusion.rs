//! From what was observed of every pair to conclusions, and to where sysfs is wrong.
//!
//! Whether two share a core each pair shows by itself; whether two of them share an L3 cache only
//! the comparison with the other pairs can show.

use super::distance::{Contrast, RoundTrips};
use super::judgement::{Judgement, Round, contention};
use super::record::{Contradiction, Pair, Relation, Sharing, Sureness};
use super::sysfs::SysfsClaim;

/// All that was observed of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) says: SysfsClaim,
    pub(super) judgement: Judgement,
    pub(super) rounds: Vec<Round>,
    pub(super) trips: RoundTrips,
}

/// The pairs by their CPUs, and the contradictions among them.
pub(super) fn conclude(mut observed: Vec<Observed>) -> (Vec<Pair>, Vec<Contradiction>) {
    observed.sort_by_key(|one| one.trips.cpus);
    let caches = Caches::of(&observed);
    let mut contradictions = Vec::new();
    let conclude = |one: &Observed| {
        let conclusion = one.conclusion(&caches);
        let pair = one.pair(&conclusion);
        contradictions.extend(one.contradiction(&pair, &conclusion));
        pair
    };
    let pairs = observed.iter().map(conclude).collect();
    (pairs, contradictions)
}

/// Conclusion on a pair.
struct Conclusion {
    relation: Relation,
    sureness: Sureness,
    /// True if sysfs is wrong about the L3 cache.
    against_l3: bool,
    because: String,
}

/// L3 caches by the round trips of all pairs that share no core.
struct Caches {
    contrast: Option<Contrast>,
    /// The middle one of the round trips of pairs that share an L3 cache according to sysfs.
    yardstick: Option<f64>,
}

impl Caches {
    fn of(observed: &[Observed]) -> Self {
        let apart = || observed.iter().filter(|one| one.judgement == Judgement::Apart);
        let shared = observed.iter().filter(|one| matches!(one.judgement, Judgement::Shared(_)));
        let trips: Vec<RoundTrips> = apart().map(|one| one.trips.clone()).collect();
        let cores: Vec<[u32; 2]> = shared.map(|one| one.trips.cpus).collect();
        let known = apart().filter(|one| one.says.l3 == Some(true));
        let mut known: Vec<f64> = known.filter_map(|one| one.trips.shortest()).collect();
        known.sort_by(f64::total_cmp);
        Self {
            contrast: Contrast::among(&trips, &cores),
            yardstick: known.get(known.len() / 2).copied(),
        }
    }

    /// Of a pair that shares no core: relation, sureness, whether sysfs is wrong, and why.
    fn conclude(
        &self,
        says: SysfsClaim,
        trips: &RoundTrips,
    ) -> (Relation, Sureness, bool, &'static str) {
        use Relation::{Farther, SharesAnL3};
        use Sureness::{AsSysfsSays, Likely, Sure};
        let near = self.contrast.as_ref().and_then(|contrast| contrast.is_near(trips));
        let is_strong = self.contrast.as_ref().is_some_and(Contrast::is_strong);
        let (short, long) = ("its round trip is a short one", "its round trip is a long one");
        let Some(is_near) = near else {
            let relation = if says.l3 == Some(true) { SharesAnL3 } else { Farther };
            return (relation, AsSysfsSays, false, "round trips do not distinguish the caches");
        };
        let as_near_as_known = trips.shortest() <= self.yardstick && self.yardstick.is_some();
        match (is_near, says.l3) {
            (true, Some(true)) => (SharesAnL3, Sure, false, short),
            (true, None) => (SharesAnL3, Likely, false, short),
            (true, Some(false)) if as_near_as_known && is_strong => {
                (SharesAnL3, Sure, true, "its round trip is as short as with a common L3")
            }
            (true, Some(false)) => {
                (Farther, AsSysfsSays, false, "round trips do not say otherwise")
            }
            (false, Some(false)) => (Farther, Sure, false, long),
            (false, Some(true)) if is_strong => (Farther, Sure, true, long),
            (false, _) => (Farther, Likely, false, long),
        }
    }
}

impl Observed {
    /// True if what was judged may be true for a moment only: sharing on a virtual machine, and
    /// whatever contradicts sysfs.
    pub(super) fn needs_repetition(&self, is_virtual: bool) -> bool {
        match self.judgement {
            Judgement::Shared(_) => is_virtual || self.says.siblings != Some(true),
            Judgement::Apart => self.says.siblings == Some(true),
            Judgement::Undecided(_) => false,
        }
    }

    fn conclusion(&self, caches: &Caches) -> Conclusion {
        let of_core = |because: &str| Conclusion {
            relation: Relation::SharesACore,
            sureness: Sureness::Sure,
            against_l3: false,
            because: because.to_owned(),
        };
        match self.judgement {
            Judgement::Shared(Sharing::Smt) => {
                of_core("port-saturating loops slow each other, dependent chains do not")
            }
            Judgement::Shared(Sharing::TimeSlicing) => {
                of_core("they never run at once, they take turns")
            }
            Judgement::Apart => {
                let (relation, sureness, against_l3, why) = caches.conclude(self.says, &self.trips);
                let because = format!("both run at full speed at once; {why}");
                Conclusion { relation, sureness, against_l3, because }
            }
            Judgement::Undecided(why) => Conclusion {
                relation: Relation::Undecided,
                sureness: Sureness::Undecided,
                against_l3: false,
                because: why.to_owned(),
            },
        }
    }

    fn pair(&self, conclusion: &Conclusion) -> Pair {
        let sharing = match self.judgement {
            Judgement::Shared(sharing) => Some(sharing),
            _ => None,
        };
        Pair {
            cpus: self.trips.cpus,
            conclusion: conclusion.relation,
            sureness: conclusion.sureness,
            sharing,
            because: conclusion.because.clone(),
            sysfs: self.says.relation(),
            ports: contention(&self.rounds, |round| &round.ports),
            chains: contention(&self.rounds, |round| &round.chains),
            round_trip_ns: self.trips.shortest(),
            rounds: u32::try_from(self.rounds.len()).unwrap_or(u32::MAX),
        }
    }

    fn contradiction(&self, pair: &Pair, conclusion: &Conclusion) -> Option<Contradiction> {
        let [one, other] = pair.cpus;
        let ratio = pair.ports.work_ratio.unwrap_or(0.0);
        let sentence = match (self.judgement, self.says.siblings?) {
            (Judgement::Apart, true) => format!(
                "sysfs lists CPUs {one} and {other} as siblings, but they do not slow each other: \
                 port-saturating loops on both do {ratio:.2} times the work of one, at the same \
                 time: they do not share a core"
            ),
            (Judgement::Shared(Sharing::Smt), false) => format!(
                "sysfs puts CPUs {one} and {other} on two cores, but port-saturating loops on both \
                 do only {ratio:.2} times the work of one, while dependent chains do not slow each \
                 other: they share a core"
            ),
            (Judgement::Shared(Sharing::TimeSlicing), false) => format!(
                "sysfs puts CPUs {one} and {other} on two cores, but they never run at once and do \
                 only {ratio:.2} times the work of one: they share a core by time slicing, as \
                 virtual CPUs on one host CPU do"
            ),
            (Judgement::Apart, false) if conclusion.against_l3 => {
                let trip = pair.round_trip_ns.unwrap_or(0.0);
                match pair.conclusion {
                    Relation::SharesAnL3 => format!(
                        "sysfs lists different L3 caches for CPUs {one} and {other}, but a cache \
                         line goes there and back in {trip:.0} ns, as fast as between CPUs that \
                         share one: they share an L3"
                    ),
                    _ => format!(
                        "sysfs lists one L3 cache for CPUs {one} and {other}, but a cache line \
                         takes {trip:.0} ns there and back, far longer than between others: they \
                         do not share an L3"
                    ),
                }
            }
            _ => return None,
        };
        let (sysfs, found) = (pair.sysfs?, pair.conclusion);
        Some(Contradiction { cpus: pair.cpus, sysfs, found, sentence })
    }
}
