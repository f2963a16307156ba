//! Which candidates run in the next block, and what the blocks so far say of them.
//!
//! Pure: it starts with a few points far apart, adds points where the best may lie, and drops points that
//! are shown to be worse. Points join by what was seen before, and are judged by what is seen afterwards.

use corun_record::{Standing, ThreadVerdict};
use corun_stats::best_of_several::{self, SharedLevel};

use super::contest::{Contest, Score};
use super::grid::{Family, Grid, Point};

/// The blocks after which the candidates are judged. The first is the fewest that can show that a
/// candidate is several times slower; each of the others waits for about half as many again.
pub(crate) const ANALYSES: [u32; 8] = [3, 5, 8, 13, 21, 34, 55, 90];
/// The most points of a sweep.
const MAX_POINTS: usize = 24;
/// The most points that run in one block.
const MAX_AT_ONCE: usize = 10;
/// Points are added when the ones they depend on ran so often.
const MIN_BLOCKS_SEEN: u32 = 2;
/// Numbers of workers closer than one part in this many are not distinguished.
const FINEST: u32 = 8;
/// The most workers that the kernel places, in workers for each logical CPU.
const MAX_OVERSUBSCRIBED: u32 = 16;

/// Rules of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rules {
    /// The confidence of the answer, and the analyses that share it.
    pub shared: SharedLevel,
    /// The practical bound, on the log scale.
    pub practical: f64,
    /// Of equal points, prefer the one with the most workers.
    pub most_workers: bool,
    /// The workers that a quota has CPU time for.
    pub quota: Option<u32>,
    /// The program leaves CPUs idle: more workers than logical CPUs may do more.
    pub leaves_cpus_idle: bool,
}

/// A search for the best point.
#[derive(Debug, Clone)]
pub(crate) struct Search<'a> {
    grid: &'a Grid,
    rules: Rules,
    entrants: Vec<Entrant>,
    contest: Contest,
}

#[derive(Debug, Clone, Copy)]
struct Entrant {
    point: Point,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    /// It is shown to be no better than a point that is preferred to it: it waits whether that one stays.
    Rests,
    /// It was shown not to be the answer.
    Dropped,
    /// It did not run to its end.
    Failed,
}

/// Conclusion from the blocks so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The index of the point to use.
    pub chosen: usize,
    /// Certainty of the conclusion.
    pub verdict: ThreadVerdict,
    /// The standing of every point, by index.
    pub standings: Vec<Standing>,
    /// By how much another point may be better at most, on the log scale.
    pub regret: Option<f64>,
    /// True if more blocks would change nothing.
    pub(crate) is_settled: bool,
}

impl<'a> Search<'a> {
    /// A search that begins with a few points far apart.
    pub(crate) fn new(grid: &'a Grid, rules: Rules) -> Self {
        let mut search = Self { grid, rules, entrants: Vec::new(), contest: Contest::default() };
        let (cores, cpus) = (grid.cores(), grid.cpus());
        let dealt = [cores.div_ceil(2), cores, cores + (cpus - cores) / 2, cpus]
            .into_iter()
            .chain(rules.quota)
            .map(|workers| Point { family: Family::Dealt, workers });
        let packed = Point { family: Family::Packed, workers: cores };
        let free = |workers| Point { family: Family::Free, workers };
        let idle = rules.leaves_cpus_idle.then(|| free(2 * cpus));
        dealt.chain([packed, free(cpus)]).chain(idle).for_each(|point| search.enter(point));
        search
    }

    fn enter(&mut self, point: Point) {
        if self.grid.has(point) && !self.entrants.iter().any(|known| known.point == point) {
            self.entrants.push(Entrant { point, state: State::Runs });
            self.contest.enter();
        }
    }

    /// The points, in the order in which they joined.
    pub(crate) fn points(&self) -> impl Iterator<Item = Point> {
        self.entrants.iter().map(|entrant| entrant.point)
    }

    /// The point of this index.
    ///
    /// # Panics
    /// If there is none: indices are those of [`points`](Self::points).
    pub(crate) fn point(&self, index: usize) -> Point {
        self.entrants[index].point
    }

    /// The indices of the points that run in the next block.
    pub(crate) fn running(&self) -> Vec<usize> {
        self.that(|state| state == State::Runs)
    }

    /// The indices of the points that may be the answer, or as good as it.
    fn alive(&self) -> Vec<usize> {
        self.that(|state| matches!(state, State::Runs | State::Rests))
    }

    fn that(&self, is_meant: impl Fn(State) -> bool) -> Vec<usize> {
        (0..self.entrants.len()).filter(|&index| is_meant(self.entrants[index].state)).collect()
    }

    /// The point that runs twice in a block: the best so far.
    pub(crate) fn twin(&self) -> Option<usize> {
        self.leader()
    }

    /// Notes what a point scored in a block.
    pub(crate) fn note(&mut self, index: usize, block: u32, score: Score) {
        self.contest.note(index, block, score);
    }

    /// Takes a point out that did not run to its end. What was dropped may have been dropped for its sake, and runs
    /// again.
    pub(crate) fn fail(&mut self, index: usize) {
        self.entrants[index].state = State::Failed;
        for entrant in &mut self.entrants {
            if matches!(entrant.state, State::Dropped | State::Rests) {
                entrant.state = State::Runs;
            }
        }
    }

    /// The blocks in which a point ran.
    pub(crate) fn blocks(&self, index: usize) -> u32 {
        self.contest.blocks(index)
    }

    /// The largest difference that two identical runs of a block can show by noise alone, on the log scale.
    pub(crate) fn noise_floor(&self) -> Option<f64> {
        self.contest.noise_floor()
    }

    /// The level of one comparison.
    pub(crate) fn level(&self) -> f64 {
        self.rules.shared.of_one(self.entrants.len())
    }

    /// `ln(one / other)` with its interval at the level of one comparison.
    pub(crate) fn difference(&self, one: usize, other: usize) -> Option<corun_stats::Estimate> {
        self.contest.difference(one, other, self.level())
    }

    /// The best point so far, by its mean.
    fn leader(&self) -> Option<usize> {
        let seen = self.alive().into_iter().filter(|&index| self.blocks(index) > 0);
        let most_blocks = self.alive().into_iter().max_by_key(|&index| self.blocks(index))?;
        let better = |best: usize, other: usize| {
            let is_better = self.contest.mean_difference(other, best).is_some_and(|it| it > 0.0);
            if is_better { other } else { best }
        };
        Some(seen.fold(most_blocks, better))
    }

    /// Smaller is preferred among equals: workers, then a placement that needs nothing done.
    fn rank(&self, index: usize) -> (i64, u8) {
        let Point { family, workers } = self.entrants[index].point;
        let workers = if self.rules.most_workers { -i64::from(workers) } else { workers.into() };
        let effort = match family {
            Family::Free => 0,
            Family::Dealt => 1,
            Family::Packed => 2,
        };
        (workers, effort)
    }

    fn by_preference(&self) -> Vec<usize> {
        let mut alive = self.alive();
        alive.sort_by_key(|&index| self.rank(index));
        alive
    }

    /// The preferred point whose mean is as good as the best one's.
    fn candidate(&self) -> Option<usize> {
        let leader = self.leader()?;
        let is_as_good = |&index: &usize| {
            let behind = self.contest.mean_difference(leader, index);
            index == leader || behind.is_some_and(|it| it <= self.rules.practical)
        };
        self.by_preference().into_iter().find(is_as_good).or(Some(leader))
    }

    /// Adds points where the best may lie; returns whether there were any to add.
    pub(crate) fn explore(&mut self) -> bool {
        let before = self.entrants.len();
        let room = MAX_AT_ONCE.saturating_sub(self.running().len());
        let room = room.min(MAX_POINTS.saturating_sub(before));
        self.untried().into_iter().take(room).for_each(|point| self.enter(point));
        self.entrants.len() > before
    }

    /// Points where the best may lie, and which were not tried.
    pub(crate) fn untried(&self) -> Vec<Point> {
        let mut wishes = self.wishes();
        let is_known = |point: &Point| self.entrants.iter().any(|known| known.point == *point);
        wishes.retain(|point| self.grid.has(*point) && !is_known(point));
        wishes
    }

    /// The neighbours of the best points, and their workers in the other placements.
    fn wishes(&self) -> Vec<Point> {
        let (Some(leader), Some(candidate)) = (self.leader(), self.candidate()) else {
            return Vec::new();
        };
        if self.blocks(leader).min(self.blocks(candidate)) < MIN_BLOCKS_SEEN {
            return Vec::new();
        }
        let workers = |index: usize| self.entrants[index].point.workers;
        let (most, chosen) = (workers(leader), workers(candidate));
        // The fewest workers that are as good lie below the candidate, the best on either side of the leader.
        let equal_and_more = self.between_more(chosen).filter(|_| self.rules.most_workers);
        let between = [
            self.between_fewer(chosen),
            equal_and_more,
            self.between_fewer(most),
            self.between_more(most),
        ];
        let mut wishes: Vec<Point> = between
            .into_iter()
            .flatten()
            .map(|workers| Point { family: Family::Dealt, workers })
            .collect();
        let cpus = self.grid.cpus();
        if most > cpus && most < cpus * MAX_OVERSUBSCRIBED {
            wishes.push(Point { family: Family::Free, workers: most * 2 });
        }
        // How they are placed matters once their number is known.
        if wishes.is_empty() {
            let of = |workers| {
                [Family::Dealt, Family::Free, Family::Packed]
                    .map(|family| Point { family, workers })
            };
            wishes.extend([chosen, most].into_iter().flat_map(of));
        }
        wishes
    }

    /// A number of workers between this one and the next fewer that were tried.
    fn between_fewer(&self, workers: u32) -> Option<u32> {
        let fewer = self.tried().filter(|&it| it < workers).max().unwrap_or(0);
        let gap = workers - fewer;
        (gap > (workers / FINEST).max(1)).then_some(fewer + gap / 2)
    }

    fn between_more(&self, workers: u32) -> Option<u32> {
        let more = self.tried().filter(|&it| it > workers).min()?;
        let gap = more - workers;
        (gap > (workers / FINEST).max(1)).then_some(workers + gap / 2)
    }

    fn tried(&self) -> impl Iterator<Item = u32> {
        self.points().filter(|point| point.family == Family::Dealt).map(|point| point.workers)
    }

    /// Drops every point that is shown not to be the answer, and lets those rest that are shown to be no
    /// better than a preferred one.
    pub(crate) fn judge(&mut self) {
        let (Some(leader), Some(candidate)) = (self.leader(), self.candidate()) else { return };
        for index in self.alive() {
            let is_out = match self.standing(index, leader) {
                best_of_several::Standing::MuchWorse => true,
                best_of_several::Standing::Worse => self.rank(index) > self.rank(leader),
                _ => false,
            };
            let may_rest = self.rank(index) > self.rank(candidate)
                && self
                    .difference(index, candidate)
                    .is_some_and(|it| it.high <= self.rules.practical);
            self.entrants[index].state = match (is_out && index != leader, may_rest) {
                (true, _) => State::Dropped,
                (_, true) => State::Rests,
                _ => State::Runs,
            };
        }
    }

    fn standing(&self, one: usize, other: usize) -> best_of_several::Standing {
        let floor = self.contest.noise_floor().unwrap_or(f64::INFINITY);
        self.difference(one, other).map_or(best_of_several::Standing::Open, |difference| {
            best_of_several::standing(&difference, self.rules.practical, floor)
        })
    }

    /// Regret: how much better than the point any other may be that is not dropped.
    fn regret(&self, index: usize) -> Option<f64> {
        let others = self.alive().into_iter().filter(|&other| other != index);
        let highs = others.map(|other| Some(self.difference(other, index)?.high));
        highs.collect::<Option<Vec<f64>>>().map(|highs| highs.into_iter().fold(0.0, f64::max))
    }

    /// The answer that the blocks so far give; `None` before the first.
    pub(crate) fn conclude(&self) -> Option<Conclusion> {
        let within =
            |index: &usize| self.regret(*index).is_some_and(|it| it <= self.rules.practical);
        let shown = self.by_preference().into_iter().find(within);
        let chosen = shown.or_else(|| self.candidate());
        let chosen = chosen.filter(|&index| self.blocks(index) > 0)?;
        let regret = self.regret(chosen);
        let standings: Vec<Standing> =
            (0..self.entrants.len()).map(|index| self.beside(index, chosen)).collect();
        let of = |standing| standings.iter().filter(|&&it| it == standing).count();
        let is_preferred = |&index: &usize| self.rank(index) < self.rank(chosen);
        let is_most_preferred = !self.alive().iter().any(is_preferred);
        let verdict = match (shown, of(Standing::Equal), of(Standing::Undecided)) {
            _ if self.blocks(chosen) < 2 => ThreadVerdict::TooFewBlocks,
            (None, ..) => ThreadVerdict::Undecided,
            (Some(_), 0, 0) => ThreadVerdict::Best,
            (Some(_), _, 0) if is_most_preferred => ThreadVerdict::Equal,
            (Some(_), ..) => ThreadVerdict::GoodEnough,
        };
        let is_settled = shown.is_some() && is_most_preferred;
        Some(Conclusion { chosen, verdict, standings, regret, is_settled })
    }

    /// Standing of a point beside the chosen one.
    fn beside(&self, index: usize, chosen: usize) -> Standing {
        if index == chosen {
            return Standing::Chosen;
        }
        match self.entrants[index].state {
            State::Dropped => return Standing::Worse,
            State::Failed => return Standing::Failed,
            State::Runs | State::Rests => {}
        }
        match self.standing(index, chosen) {
            best_of_several::Standing::Worse | best_of_several::Standing::MuchWorse => {
                Standing::Worse
            }
            _ if self.is_equal(index, chosen) => Standing::Equal,
            _ => Standing::Undecided,
        }
    }

    /// True if two points are shown to differ by no more than the practical bound.
    fn is_equal(&self, one: usize, other: usize) -> bool {
        let practical = self.rules.practical;
        self.difference(one, other).is_some_and(|it| -practical <= it.low && it.high <= practical)
    }

    /// True if more blocks would change nothing, given that no point is to be added.
    pub(crate) fn is_settled(&self) -> bool {
        self.conclude().is_some_and(|conclusion| conclusion.is_settled)
    }
}
