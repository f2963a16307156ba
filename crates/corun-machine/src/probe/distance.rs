//! Which round trips of a cache line are short and which are long, if there are two kinds at all.
//!
//! Only the contrast between pairs of one machine means something. A large gap is believed if no
//! short trip overlaps a long one, and if "near" makes groups of CPUs that are far from each other.
//! A CPU that is near no other shows nothing: it may merely be slow.

use std::collections::{BTreeMap, BTreeSet};

/// The smallest gap that is believed: the shortest long trip over the longest short one.
const CONTRAST: f64 = 1.5;
/// From this on it may contradict sysfs.
const STRONG: f64 = 2.0;

/// The round trips of a pair, in nanoseconds: the best burst of each rally.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RoundTrips {
    pub(super) cpus: [u32; 2],
    pub(super) rallies: Vec<f64>,
}

/// A gap between short and long round trips.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contrast {
    /// The shortest of the long trips, in nanoseconds.
    long: f64,
    /// Ratio to the longest short trip.
    ratio: f64,
    /// The CPUs that are near to another.
    grouped: BTreeSet<u32>,
}

impl RoundTrips {
    /// The shortest trip; disturbance only lengthens them.
    pub(super) fn shortest(&self) -> Option<f64> {
        self.rallies.iter().copied().min_by(f64::total_cmp)
    }

    fn longest(&self) -> f64 {
        self.rallies.iter().copied().fold(0.0, f64::max)
    }
}

impl Contrast {
    /// The contrast among pairs that share no core; `cores` are the pairs that do.
    pub(super) fn among(apart: &[RoundTrips], cores: &[[u32; 2]]) -> Option<Self> {
        let mut shortest: Vec<f64> = apart.iter().filter_map(RoundTrips::shortest).collect();
        shortest.sort_by(f64::total_cmp);
        let gaps = shortest.windows(2).map(|gap| (gap[1] / gap[0], gap[1]));
        let (ratio, long) = gaps.max_by(|one, other| one.0.total_cmp(&other.0))?;
        if ratio < CONTRAST {
            return None;
        }
        let groups = Groups::of_near(apart, cores, long)?;
        (groups.number() > 1).then(|| Self { long, ratio, grouped: groups.0.into_keys().collect() })
    }

    /// True if the trip of a pair is a short one; `None` if that is not known.
    pub(super) fn is_near(&self, trips: &RoundTrips) -> Option<bool> {
        let is_near = trips.shortest()? < self.long;
        let is_grouped = trips.cpus.iter().all(|cpu| self.grouped.contains(cpu));
        (is_near || is_grouped).then_some(is_near)
    }

    /// True if it is strong enough to contradict sysfs.
    pub(super) fn is_strong(&self) -> bool {
        self.ratio >= STRONG
    }
}

/// CPUs in groups: each CPU's group is named by one of its members.
#[derive(Default)]
struct Groups(BTreeMap<u32, u32>);

impl Groups {
    /// The groups within which pairs below `long` hang together; `None` if they make no groups.
    fn of_near(apart: &[RoundTrips], cores: &[[u32; 2]], long: f64) -> Option<Self> {
        let measured = apart.iter().filter(|trips| trips.shortest().is_some());
        let (near, far): (Vec<&RoundTrips>, Vec<&RoundTrips>) =
            measured.partition(|trips| trips.shortest().is_some_and(|trip| trip < long));
        let mut groups = Self::default();
        near.iter().for_each(|trips| groups.join(trips.cpus));
        cores.iter().for_each(|pair| groups.join(*pair));
        let holds = near.iter().all(|trips| trips.longest() < long)
            && far.iter().all(|trips| groups.of(trips.cpus[0]) != groups.of(trips.cpus[1]));
        holds.then_some(groups)
    }

    fn join(&mut self, cpus: [u32; 2]) {
        for cpu in cpus {
            self.0.entry(cpu).or_insert(cpu);
        }
        let [keep, gone] = cpus.map(|cpu| self.of(cpu));
        self.0.values_mut().filter(|group| **group == gone).for_each(|group| *group = keep);
    }

    fn of(&self, cpu: u32) -> u32 {
        self.0.get(&cpu).copied().unwrap_or(cpu)
    }

    fn number(&self) -> usize {
        self.0.values().collect::<BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trips(cpus: [u32; 2], nanoseconds: f64) -> RoundTrips {
        RoundTrips { cpus, rallies: vec![nanoseconds * 1.2, nanoseconds, nanoseconds * 1.1] }
    }

    /// All pairs of CPUs 0 to 3 at distances given by `of`.
    fn four(mut of: impl FnMut([u32; 2]) -> f64) -> Vec<RoundTrips> {
        let pairs = (0..4).flat_map(|one| (one + 1..4).map(move |other| [one, other]));
        pairs.map(|pair| trips(pair, of(pair))).collect()
    }

    #[test]
    fn two_groups_are_reported_apart() {
        let pairs = four(|[one, other]| if one / 2 == other / 2 { 40.0 } else { 110.0 });
        let contrast = Contrast::among(&pairs, &[]).expect("a contrast");
        assert!(contrast.is_strong());
        let near: Vec<_> = pairs.iter().map(|trips| contrast.is_near(trips)).collect();
        assert_eq!(near, [true, false, false, false, false, true].map(Some));
    }

    #[test]
    fn equal_distances_have_no_contrast() {
        assert_eq!(Contrast::among(&four(|[_, other]| 40.0 + f64::from(other)), &[]), None);
        assert_eq!(Contrast::among(&[], &[]), None);
    }

    #[test]
    fn one_slow_cpu_is_no_cache_boundary() {
        let pairs = four(|[_, other]| if other == 3 { 110.0 } else { 40.0 });
        assert_eq!(Contrast::among(&pairs, &[]), None);
    }

    #[test]
    fn near_to_near_must_be_near() {
        let pairs = four(|pair| if pair == [1, 3] { 110.0 } else { 40.0 });
        assert_eq!(Contrast::among(&pairs, &[]), None);
    }

    #[test]
    fn a_core_is_in_one_group() {
        // 0 and 2 share a core, 1 and 3 another: no line can be far from one and near to the other.
        let apart = [trips([0, 1], 40.0), trips([2, 3], 40.0), trips([1, 2], 110.0)];
        assert!(Contrast::among(&apart, &[]).is_some());
        assert_eq!(Contrast::among(&apart, &[[0, 2], [1, 3]]), None);
    }

    #[test]
    fn overlapping_trips_have_no_contrast() {
        let mut pairs = four(|[one, other]| if one / 2 == other / 2 { 40.0 } else { 110.0 });
        pairs[0].rallies.push(150.0);
        assert_eq!(Contrast::among(&pairs, &[]), None);
    }

    proptest! {
        #[test]
        fn moderate_noise_makes_no_contrast(noise in prop::collection::vec(1.0_f64..1.45, 6)) {
            let mut noise = noise.into_iter();
            let pairs = four(|_| 50.0 * noise.next().unwrap_or(1.0));
            prop_assert_eq!(Contrast::among(&pairs, &[]), None);
        }
    }
}
