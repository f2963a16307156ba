//! Which runs were made while others used little of what all cores share.
//!
//! Neighbours come and go within seconds. Runs are made in rounds, each between two looks at the memory around the
//! core; of all rounds the calmest count, and what was seen around them is what the program met.

use corun_calibrate::Seen;

/// The rounds that count, in the order in which they were: the calmest, until they have so many runs that are `alone`,
/// of which each round has some; all if that is not enough. Round `n` lies between the looks `n` and `n + 1`.
pub(super) fn calmest(seen: &[Seen], alone: &[usize], wanted: usize) -> Vec<usize> {
    let disturbed = |round: usize| seen[round].contested + seen[round + 1].contested;
    let mut rounds: Vec<usize> = (0..seen.len().saturating_sub(1)).collect();
    rounds.sort_by(|&one, &other| disturbed(one).total_cmp(&disturbed(other)));
    let mut runs = 0;
    rounds.retain(|&round| {
        let is_wanted = runs < wanted;
        runs += alone.get(round).copied().unwrap_or_default();
        is_wanted
    });
    rounds.sort_unstable();
    rounds
}

/// What was seen around these rounds.
pub(super) fn around(seen: &[Seen], rounds: &[usize]) -> Vec<Seen> {
    let is_around = |look: &usize| {
        rounds.contains(look) || look.checked_sub(1).is_some_and(|round| rounds.contains(&round))
    };
    (0..seen.len()).filter(is_around).map(|look| seen[look]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(contested: &[f64]) -> Vec<Seen> {
        let look = |&contested: &f64| Seen {
            last_level: 50.0,
            contested,
            main: 500.0,
            pages: 100.0,
            gigabytes_a_second: 30.0,
        };
        contested.iter().map(look).collect()
    }

    #[test]
    fn the_calmest_rounds_count_until_they_have_enough_runs() {
        let looks = seen(&[60.0, 70.0, 300.0, 310.0, 65.0, 60.0]);
        assert_eq!(calmest(&looks, &[3, 3, 3, 3, 3], 3), [4]);
        assert_eq!(calmest(&looks, &[3, 3, 3, 3, 1], 3), [0, 4], "one run is not enough");
        assert_eq!(calmest(&looks, &[0; 5], 3), [0, 1, 2, 3, 4], "nothing is");
        assert_eq!(calmest(&looks[..1], &[], 3), [0; 0]);
    }

    #[test]
    fn a_round_lies_between_two_looks() {
        let looks = seen(&[1.0, 2.0, 3.0, 4.0]);
        let contested = |rounds: &[usize]| -> Vec<f64> {
            around(&looks, rounds).iter().map(|look| look.contested).collect()
        };
        assert_eq!(contested(&[0]), [1.0, 2.0]);
        assert_eq!(contested(&[0, 2]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(contested(&[2]), [3.0, 4.0]);
    }
}
