//! Which runs had the core to themselves, although a virtual machine hides who shares it.
//!
//! A probe shows contention if it got clearly fewer allocation slots than the best one did; the runs with the smallest
//! contention share count.

use corun_record::MeasuredRun;

use super::probe::Probe;

/// The most that a probe may get less than the best one and still be called alone, as a share.
const ALONE: f64 = 0.08;

/// The most slots a cycle that several probes got: single ones may come out too high.
pub(super) fn best_slot_rate<'a>(probes: impl Iterator<Item = &'a Probe>) -> Option<f64> {
    let mut slots: Vec<f64> = probes.filter_map(|probe| probe.slots).collect();
    slots.sort_by(f64::total_cmp);
    let place = slots.len().checked_sub(1)?;
    Some(slots[place - place / 50])
}

/// The share of probes that got clearly less than `best`, from 0 to 1; none without probes of slots.
pub(super) fn share(probes: &[Probe], best: f64) -> Option<f64> {
    let slots = probes.iter().filter_map(|probe| probe.slots);
    let (all, fewer) = slots.fold((0_u32, 0_u32), |(all, fewer), slots| {
        (all + 1, fewer + u32::from(slots < (1.0 - ALONE) * best))
    });
    (all > 0).then(|| f64::from(fewer) / f64::from(all))
}

/// The places of the runs that count, in the order in which they were: all that were alone, and the least contended ones
/// besides until there are `least`; `most` at most.
pub(super) fn least_contended(shares: &[Option<f64>], least: usize, most: usize) -> Vec<usize> {
    let share = |place: usize| shares[place].unwrap_or(0.0);
    let mut places: Vec<usize> = (0..shares.len()).collect();
    places.sort_by(|&one, &other| share(one).total_cmp(&share(other)));
    let alone =
        places.iter().filter(|&&place| share(place) <= MeasuredRun::MAX_CONTENTION_SHARE).count();
    places.truncate(alone.clamp(least.min(most), most));
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(slots: &[f64]) -> Vec<Probe> {
        slots.iter().map(|&slots| Probe { ghz: 3.0, slots: Some(slots) }).collect()
    }

    #[test]
    fn a_sibling_shows_in_the_probes_that_got_less() {
        let seen = probes(&[6.0, 5.9, 3.1, 5.8, 4.0]);
        assert_eq!(best_slot_rate(seen.iter()), Some(6.0));
        assert_eq!(share(&seen, 6.0), Some(0.4));
        let silent = [Probe { ghz: 3.0, slots: None }];
        assert_eq!((best_slot_rate(silent.iter()), share(&silent, 6.0)), (None, None));
    }

    #[test]
    fn a_single_probe_that_is_too_good_makes_no_contention() {
        let mut slots = vec![6.0; 99];
        slots.push(9.0);
        let seen = probes(&slots);
        assert_eq!(share(&seen, best_slot_rate(seen.iter()).unwrap()), Some(0.0));
    }

    #[test]
    fn the_least_contended_runs_count() {
        let runs = [0.5, 0.01, 0.2, 0.0, 0.04, 0.3].map(Some);
        assert_eq!(least_contended(&runs, 3, 7), [1, 3, 4]);
        assert_eq!(least_contended(&runs, 4, 7), [1, 2, 3, 4]);
        assert_eq!(least_contended(&runs, 1, 2), [1, 3]);
        assert_eq!(least_contended(&[None; 3], 2, 7), [0, 1, 2]);
        assert_eq!(least_contended(&[], 3, 7), [0; 0]);
    }
}
