//! Scores of each candidate, block by block, so that any two can be compared in the blocks that they share.

use std::collections::BTreeMap;

use corun_stats::{Estimate, ForeignLoad, noise_floor, steady, student_t};

/// The most degrees of freedom by which the noise of other pairs moderates that of one (Smyth 2004): few enough that
/// a pair with noise of its own soon speaks for itself.
const MOST_BORROWED: u32 = 6;

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
        let is_plain = estimate.batches == estimate.blocks && !load.is_seen();
        let moderated = is_plain.then(|| self.moderated(&estimate, [one, other])).flatten();
        Some(moderated.unwrap_or(estimate).allowing(load.allowance()))
    }

    /// The estimate with a variance to which other pairs contribute: of few blocks one alone is hardly known.
    fn moderated(&self, estimate: &Estimate, own: [usize; 2]) -> Option<Estimate> {
        let (variance, freedom) = self.noise(Some(own))?;
        let borrowed = f64::from(freedom.min(MOST_BORROWED));
        let own = f64::from(estimate.blocks - 1);
        let of_own = estimate.standard_deviation().powi(2);
        let variance = (borrowed * variance + own * of_own) / (borrowed + own);
        let values = estimate.blocks + freedom.min(MOST_BORROWED);
        let standard_error = (variance / f64::from(estimate.blocks)).sqrt();
        let reach = student_t(estimate.level, values)? * standard_error;
        Some(Estimate {
            low: estimate.log - reach,
            high: estimate.log + reach,
            standard_error,
            batches: values,
            ..*estimate
        })
    }

    /// The variance of a log ratio of two candidates in a block, and its degrees of freedom: of twins, and of each candidate
    /// with the next one that ran, but for one pair.
    fn noise(&self, but: Option<[usize; 2]>) -> Option<(f64, u32)> {
        let (mut squares, mut freedom) = (0.0, 0);
        let ran: Vec<usize> = (0..self.rows.len()).filter(|&it| self.rows[it].len() > 1).collect();
        for pair in ran.windows(2).map(|pair| [pair[0], pair[1]]) {
            let [one, other] = pair;
            let logs: Vec<f64> = self.pairs(one, other).map(|(a, b)| a.log - b.log).collect();
            let is_left_out = but.is_some_and(|[a, b]| pair == [a, b] || pair == [b, a]);
            if logs.len() < 2 || is_left_out {
                continue;
            }
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            freedom += logs.len() - 1;
        }
        squares += self.twins.iter().map(|log| log * log).sum::<f64>();
        freedom += self.twins.len();
        (freedom > 0).then(|| (squares / freedom as f64, freedom as u32))
    }

    /// The standard deviation of one run, on the log scale, and its degrees of freedom.
    pub(crate) fn deviation(&self) -> Option<(f64, u32)> {
        let (variance, freedom) = self.noise(None)?;
        Some(((variance / 2.0).sqrt(), freedom))
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
    fn few_blocks_borrow_their_variance_and_many_do_not() {
        let noise = |block: u32| 0.01 * f64::from(block % 3) - 0.01;
        let of_blocks = |blocks: u32| {
            let mut contest = Contest::default();
            (0..3).for_each(|_| contest.enter());
            for block in 0..blocks {
                contest.note(0, block, score(noise(block)));
                contest.note(0, block, score(noise(block + 1)));
                // Beside the first nothing varies but by chance: of three blocks that is hardly known.
                contest.note(1, block, score(noise(block) + noise(block + 1)));
                contest.note(2, block, score(noise(block + 2)));
            }
            contest
        };
        let width = |blocks: u32, level| {
            let contest = of_blocks(blocks);
            let logs: Vec<f64> =
                contest.pairs(0, 2).map(|(one, other)| one.log - other.log).collect();
            let alone = corun_stats::paired(&logs, level).unwrap().half_width();
            contest.difference(0, 2, level).unwrap().half_width() / alone
        };
        assert!(width(3, 0.999) < 0.3, "{}", width(3, 0.999));
        assert!((0.8..1.2).contains(&width(60, 0.95)), "{}", width(60, 0.95));
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
