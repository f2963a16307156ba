//! Scores of each candidate, block by block, so that any two can be compared in the blocks that they share.

use std::collections::BTreeMap;

use corun_stats::{Estimate, ForeignLoad, noise_floor, steady};

/// Score of a candidate in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Score {
    /// The natural logarithm of what the goal is about; more is better.
    pub log: f64,
    /// The share of its time that other work is known to have taken.
    pub lost: Option<f64>,
}

/// The scores of all candidates, which are called by their index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contest {
    rows: Vec<BTreeMap<u32, Score>>,
    /// The log ratios of a candidate to its A/A twin, of whichever candidate had one in a block.
    twins: Vec<f64>,
}

impl Contest {
    /// Enters another candidate.
    pub(crate) fn enter(&mut self) {
        self.rows.push(BTreeMap::new());
    }

    /// Notes a score. A second one in the same block is the A/A twin's: their mean counts.
    pub(crate) fn note(&mut self, candidate: usize, block: u32, score: Score) {
        let Some(row) = self.rows.get_mut(candidate) else { return };
        let Some(first) = row.insert(block, score) else { return };
        self.twins.push(first.log - score.log);
        let lost = match (first.lost, score.lost) {
            (Some(one), Some(other)) => Some((one + other) / 2.0),
            (one, other) => one.or(other),
        };
        row.insert(block, Score { log: (first.log + score.log) / 2.0, lost });
    }

    /// The blocks in which the candidate ran.
    pub(crate) fn blocks(&self, candidate: usize) -> u32 {
        self.rows.get(candidate).map_or(0, |row| row.len() as u32)
    }

    /// The mean of `ln(one / other)` in the blocks that both ran in; `None` where there are none.
    pub(crate) fn mean_difference(&self, one: usize, other: usize) -> Option<f64> {
        let (sum, count) = self
            .pairs(one, other)
            .fold((0.0, 0_u32), |(sum, count), (a, b)| (sum + a.log - b.log, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// `ln(one / other)` with its interval, which holds what other work may have taken from only one of
    /// them; `None` below two blocks that both ran in.
    pub(crate) fn difference(&self, one: usize, other: usize, level: f64) -> Option<Estimate> {
        let (mut logs, mut lost) = (Vec::new(), Vec::new());
        for (one, other) in self.pairs(one, other) {
            logs.push(one.log - other.log);
            lost.push([one.lost, other.lost]);
        }
        let load = ForeignLoad::new(lost);
        let estimate = steady(&logs, level, load.is_seen())?;
        Some(estimate.allowing(load.allowance()))
    }

    /// The largest difference that two identical candidates can show by noise alone; `None` below two twins.
    pub(crate) fn noise_floor(&self) -> Option<f64> {
        noise_floor(&self.twins)
    }

    /// The scores of two candidates in the blocks that both ran in, in block order.
    fn pairs(&self, one: usize, other: usize) -> impl Iterator<Item = (Score, Score)> {
        let other = self.rows.get(other);
        let own = self.rows.get(one).into_iter().flatten();
        own.filter_map(move |(block, score)| Some((*score, *other?.get(block)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(log: f64) -> Score {
        Score { log, lost: None }
    }

    #[test]
    fn only_shared_blocks_are_compared() {
        let mut contest = Contest::default();
        contest.enter();
        contest.enter();
        for (block, log) in [(0, 9.0), (1, 1.0), (2, 1.2)] {
            contest.note(0, block, score(log));
        }
        for (block, log) in [(1, 0.5), (2, 0.7), (3, -9.0)] {
            contest.note(1, block, score(log));
        }
        let difference = contest.difference(0, 1, 0.95).unwrap();
        assert!((difference.log - 0.5).abs() < 1e-12 && difference.blocks == 2);
        assert_eq!(contest.mean_difference(0, 1), Some(difference.log));
        assert_eq!(contest.mean_difference(0, 7), None);
    }

    #[test]
    fn a_twin_is_averaged_in_and_gives_the_noise_floor() {
        let mut contest = Contest::default();
        contest.enter();
        assert_eq!(contest.noise_floor(), None);
        for block in 0..3 {
            contest.note(0, block, score(1.0));
            contest.note(0, block, score(1.1));
        }
        assert_eq!(contest.blocks(0), 3);
        assert!((contest.noise_floor().unwrap() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn what_other_work_took_from_one_only_widens_the_interval() {
        let mut contest = Contest::default();
        contest.enter();
        contest.enter();
        for block in 0..5 {
            let log = 1.0 + 0.001 * f64::from(block);
            contest.note(0, block, Score { log, lost: Some(0.5) });
            contest.note(1, block, Score { log: 1.0, lost: Some(0.0) });
        }
        assert!(contest.difference(0, 1, 0.95).unwrap().half_width() > 0.6);
    }
}
