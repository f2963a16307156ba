//! Conclusion of a search: which candidate to use, how certain that is, and where each of the others stands.

use corun_record::{Standing, ThreadVerdict};
use corun_stats::best_of_several;
use corun_stats::student_t;

use super::{ANALYSES, FINEST, PATIENCE, PLACEMENT_MATTERS, Search, State};

/// Conclusion from the blocks so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The index of the point to use.
    pub chosen: usize,
    /// The index of the best point so far, by its mean.
    pub leader: usize,
    /// Certainty of the conclusion.
    pub verdict: ThreadVerdict,
    /// The standing of every point, by index.
    pub standings: Vec<Standing>,
    /// By how much another number of workers may be better at most, on the log scale.
    pub regret: Option<f64>,
    /// The blocks in all that would probably decide, where it is not decided.
    pub blocks_to_decide: Option<u32>,
    /// True if more blocks would change nothing.
    pub(crate) is_settled: bool,
}

impl Search<'_> {
    /// The answer that the blocks so far give; `None` before the first.
    pub(crate) fn conclude(&self) -> Option<Conclusion> {
        let leader = self.leader().filter(|&index| self.blocks(index) > 0)?;
        let shown = self.shown();
        // What is not known to be worse than the best may be as good: the smallest such number costs least.
        let not_worse = |&index: &usize| {
            let is_open = self.standing(index, leader) == best_of_several::Standing::Open;
            index == leader || (is_open && self.difference(index, leader).is_some())
        };
        let smallest = || self.by_preference(self.alive()).into_iter().find(not_worse);
        let chosen = shown.or_else(smallest).unwrap_or(leader);
        let regret = self.regret(chosen, false);
        let standings: Vec<Standing> =
            (0..self.entrants.len()).map(|index| self.beside(index, chosen)).collect();
        let count = |standing, same: bool| {
            let of = |index: &usize| {
                standings[*index] == standing
                    && same == (self.workers(*index) == self.workers(chosen))
            };
            (0..self.entrants.len()).filter(of).count()
        };
        let numbers = count(Standing::Undecided, false);
        let places = count(Standing::Undecided, true) + count(Standing::Screened, true);
        let equal = count(Standing::Equal, false) + count(Standing::Equal, true);
        let screened = count(Standing::Screened, false);
        let fewer: Vec<usize> = self
            .alive()
            .into_iter()
            .filter(|&index| self.rank(index).0 < self.rank(chosen).0)
            .collect();
        let verdict = match shown {
            _ if self.blocks(chosen) < 2 => ThreadVerdict::TooFewBlocks,
            None => ThreadVerdict::Undecided,
            Some(_) if numbers > 0 || !fewer.is_empty() || self.has_gap(chosen) => {
                ThreadVerdict::GoodEnough
            }
            Some(_) if screened > 0 && equal == 0 => ThreadVerdict::GoodEnough,
            Some(_) if places > 0 => ThreadVerdict::NumberKnown,
            Some(_) if equal > 0 => ThreadVerdict::Equal,
            Some(_) => ThreadVerdict::Best,
        };
        let is_settled = shown.is_some()
            && fewer.iter().all(|&index| self.is_out_of_reach(index, chosen, leader));
        let blocks_to_decide = match shown {
            Some(_) => None,
            None => self.blocks_to_decide(chosen, leader),
        };
        Some(Conclusion {
            chosen,
            leader,
            verdict,
            standings,
            regret,
            blocks_to_decide,
            is_settled,
        })
    }

    /// True if numbers that would be preferred to this one were not tried, beside it.
    fn has_gap(&self, chosen: usize) -> bool {
        let workers = self.workers(chosen);
        let is_preferred = |&it: &u32| match self.rules.most_workers {
            true => it > workers,
            false => it < workers,
        };
        let nearest = self.tried().filter(is_preferred).map(|it| it.abs_diff(workers)).min();
        nearest.is_some_and(|gap| gap > (workers / FINEST).max(1))
    }

    /// True if it would take too many blocks to show that a preferred point is as good.
    fn is_out_of_reach(&self, index: usize, chosen: usize, leader: usize) -> bool {
        let most = f64::from(self.first_shown.unwrap_or(0)) * PATIENCE;
        let behind = self.contest.mean_difference(leader, index).unwrap_or(0.0);
        let needed = self.rules.practical - behind;
        let Some(difference) = self.difference(index, chosen) else { return false };
        let blocks = f64::from(difference.blocks);
        needed <= 0.0 || blocks * (difference.half_width() / needed).powi(2) > most
    }

    /// The blocks that would probably tell whether a point is as good as the best one, or worse; `None` where that
    /// cannot be said.
    fn blocks_to_decide(&self, chosen: usize, leader: usize) -> Option<u32> {
        let last = ANALYSES.last().copied()?;
        let others = self.alive().into_iter().filter(|&other| other != chosen);
        let needed = others.map(|other| {
            let difference = self.difference(other, chosen)?;
            let practical = self.rules.practical;
            // It is shown to be no better by more than the bound, or to be better.
            let distance = (practical - difference.log).max(difference.log).max(practical / 4.0);
            let chance = difference.half_width() - difference.allowance;
            Some(f64::from(difference.blocks) * (chance / distance).powi(2))
        });
        let most = needed.collect::<Option<Vec<f64>>>()?.into_iter().fold(0.0, f64::max);
        let own = self.blocks(leader).max(self.blocks(chosen));
        let blocks = (most.ceil() as u32).max(own + 1);
        Some(ANALYSES.into_iter().find(|&planned| planned >= blocks).unwrap_or(last.max(blocks)))
    }

    /// Standing of a point beside the chosen one.
    fn beside(&self, index: usize, chosen: usize) -> Standing {
        if index == chosen {
            return Standing::Chosen;
        }
        match self.entrants[index].state {
            // What was dropped for the sake of another one need not be worse than this one.
            State::Dropped if self.is_worse_or_unknown(index, chosen) => return Standing::Worse,
            State::Failed => return Standing::Failed,
            State::Screened => return self.standing_of_screened(index, chosen),
            State::Runs | State::Rests | State::Dropped => {}
        }
        match self.standing(index, chosen) {
            best_of_several::Standing::Worse | best_of_several::Standing::MuchWorse => {
                Standing::Worse
            }
            _ if self.is_equal(index, chosen) => Standing::Equal,
            _ => Standing::Undecided,
        }
    }

    /// True unless the interval of the difference reaches that the point is as good.
    fn is_worse_or_unknown(&self, index: usize, chosen: usize) -> bool {
        self.difference(index, chosen).is_none_or(|it| it.high < 0.0)
    }

    /// One run shows a candidate to be worse where it was ended early, or does less by more than the noise.
    fn standing_of_screened(&self, index: usize, chosen: usize) -> Standing {
        let is_worse = || {
            let seen = self.screened(index)?;
            if seen.is_ended {
                return Some(true);
            }
            let (deviation, freedom) = self.contest.deviation()?;
            let level = self.rules.shared.of_one(self.entrants.len());
            let reach = student_t(level, freedom + 1)? * deviation * std::f64::consts::SQRT_2;
            Some(seen.log - self.anchor(chosen)? + reach + seen.lost < 0.0)
        };
        if is_worse() == Some(true) { Standing::Worse } else { Standing::Screened }
    }

    /// True if two points are shown to differ by no more than the practical bound.
    fn is_equal(&self, one: usize, other: usize) -> bool {
        let practical = self.rules.practical;
        self.difference(one, other).is_some_and(|it| -practical <= it.low && it.high <= practical)
    }

    /// Regret: how much better than the point any other may be that is not dropped, of another number of workers or of
    /// the same one.
    pub(super) fn regret(&self, index: usize, of_same_number: bool) -> Option<f64> {
        let is_meant = |&other: &usize| {
            let is_same = self.workers(other) == self.workers(index);
            // Another placement of another number rests beside the one that its number is compared by.
            let is_by_another = !is_same
                && self.entrants[other].state == State::Rests
                && self.is_placement_like_another(other);
            other != index && is_same == of_same_number && !is_by_another
        };
        let highs = self
            .alive()
            .into_iter()
            .filter(is_meant)
            .map(|other| Some(self.difference(other, index)?.high));
        highs.collect::<Option<Vec<f64>>>().map(|highs| highs.into_iter().fold(0.0, f64::max))
    }

    /// The preferred point that is shown to be within the practical bound of every other number of workers, and not
    /// far behind another placement of its own.
    pub(super) fn shown(&self) -> Option<usize> {
        let within = |index: &usize| {
            let of = |same, bound| self.regret(*index, same).is_some_and(|it| it <= bound);
            self.blocks(*index) > 1
                && of(false, self.rules.practical)
                && of(true, self.rules.practical.max(PLACEMENT_MATTERS))
        };
        let mut alive = self.by_preference(self.alive());
        // Numbers are compared by how they do where they are dealt.
        alive.sort_by_key(|&index| (self.rank(index).0, self.point(index).family));
        alive.into_iter().find(within)
    }
}
