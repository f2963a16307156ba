//! Which candidates run in the next block, and what the blocks so far say of them.
//!
//! Pure. Numbers of workers are screened by one run each; the few that may be the answer then run in blocks, and
//! only these are compared. Candidates join by what was seen before, and are judged by what is seen afterwards.

use corun_stats::best_of_several::{self, SharedLevel};
use corun_stats::student_t;

use super::contest::{Contest, Score};
use super::curve::{Curve, Observed, may_be_on_curve};
use super::grid::{Family, Grid, Point};
use super::screening::{self, Outcome, Screened};

mod conclusion;

pub use conclusion::Conclusion;

/// The blocks after which the candidates are judged. The first is the fewest that can show that a
/// candidate is several times slower; each of the others waits for about a third as many again.
pub(crate) const ANALYSES: [u32; 10] = [3, 5, 8, 12, 16, 20, 28, 40, 60, 90];
/// The most points of a sweep.
const MAX_POINTS: usize = 32;
/// The most points that run in one block.
const MAX_AT_ONCE: usize = 10;
/// The most points that join at one analysis.
const MAX_JOINING: usize = 2;
/// Numbers of workers closer than one part in this many are not distinguished.
const FINEST: u32 = 8;
/// Numbers between two are tried where these differ by more, on the log scale.
const VARIES: f64 = 0.05;
/// Assumed error of one run, beyond the practical bound, before the noise is known.
const DOUBT: f64 = 0.015;
/// Placements of a number that differ by less leave the number as the answer.
const PLACEMENT_MATTERS: f64 = 0.05;
/// The confidence with which one run, or the curve, leaves a candidate out: one in twenty on either side.
const LEFT_OUT: f64 = 0.9;
/// A run deviates from a curve that holds by no more than so many times the noise.
const ON_CURVE: f64 = 2.0;
/// Blocks are added for the fewest workers up to so many times those that the first sound answer took.
const PATIENCE: f64 = 3.0;
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
}

/// A search for the best point.
#[derive(Debug, Clone)]
pub(crate) struct Search<'a> {
    grid: &'a Grid,
    rules: Rules,
    /// The numbers that are screened first.
    numbers: Vec<u32>,
    entrants: Vec<Entrant>,
    contest: Contest,
    /// The program leaves CPUs idle that nothing else uses.
    leaves_cpus_idle: bool,
    /// The blocks after which an answer was first shown.
    first_shown: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Entrant {
    point: Point,
    state: State,
    screened: Option<Screened>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It ran once, and is not compared.
    Screened,
    Runs,
    /// It is shown to be no better than a point that is preferred to it: it waits whether that one stays.
    Rests,
    /// It was shown not to be the answer.
    Dropped,
    /// It did not run to its end.
    Failed,
}

impl<'a> Search<'a> {
    /// A search in which nothing has run.
    pub(crate) fn new(grid: &'a Grid, rules: Rules) -> Self {
        Self {
            grid,
            rules,
            numbers: screening::numbers(grid.cores(), grid.cpus(), rules.quota),
            entrants: Vec::new(),
            contest: Contest::default(),
            leaves_cpus_idle: false,
            first_shown: None,
        }
    }

    /// The candidates that are expected before the first has run: numbers, and placements of the best.
    pub(crate) fn expected(&self) -> usize {
        let placements = if self.grid.cpus() > self.grid.cores() { 2 } else { 1 };
        self.numbers.len() + placements
    }

    /// Notes that the program waits while its CPUs are free, so that more workers than logical CPUs may do more.
    pub(crate) fn leaves_cpus_idle(&mut self) {
        self.leaves_cpus_idle = true;
    }

    /// The index of a point, which enters if it is new.
    pub(crate) fn enter(&mut self, point: Point) -> usize {
        if let Some(known) = self.index_of(point) {
            return known;
        }
        self.entrants.push(Entrant { point, state: State::Screened, screened: None });
        self.contest.enter();
        self.entrants.len() - 1
    }

    fn index_of(&self, point: Point) -> Option<usize> {
        self.entrants.iter().position(|known| known.point == point)
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

    /// Result of screening a point.
    pub(crate) fn screened(&self, index: usize) -> Option<Screened> {
        self.entrants.get(index)?.screened
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

    /// The point that runs twice in a block: the best so far, until the noise is known to be below the practical bound.
    pub(crate) fn twin(&self) -> Option<usize> {
        let is_known = self.noise_floor().is_some_and(|floor| floor <= self.rules.practical);
        self.leader().filter(|_| !is_known)
    }

    /// Notes the result of screening a point; of two runs the better one counts.
    pub(crate) fn note_screened(&mut self, index: usize, run: Screened) {
        let entrant = &mut self.entrants[index];
        entrant.screened = Some(match entrant.screened {
            Some(first) if first.log > run.log => {
                Screened { runs: first.runs + 1, is_cold: false, ..first }
            }
            first => Screened { runs: first.map_or(0, |it| it.runs) + 1, ..run },
        });
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

    /// The level of one comparison, of those that are made in blocks.
    pub(crate) fn level(&self) -> f64 {
        self.rules.shared.of_one(self.compared())
    }

    /// The points that ran in a block.
    pub(crate) fn compared(&self) -> usize {
        (0..self.entrants.len()).filter(|&index| self.blocks(index) > 0).count()
    }

    /// `ln(one / other)` with its interval at the level of one comparison.
    pub(crate) fn difference(&self, one: usize, other: usize) -> Option<corun_stats::Estimate> {
        self.contest.difference(one, other, self.level())
    }

    /// The best point so far: by its mean in blocks, before the first by its one run.
    pub(crate) fn leader(&self) -> Option<usize> {
        let alive = self.alive();
        if alive.iter().all(|&index| self.blocks(index) == 0) {
            return self.best_screened();
        }
        let most_blocks = alive.iter().copied().max_by_key(|&index| self.blocks(index))?;
        let better = |best: usize, other: usize| {
            let is_better = self.contest.mean_difference(other, best).is_some_and(|it| it > 0.0);
            if is_better { other } else { best }
        };
        Some(alive.into_iter().filter(|&it| self.blocks(it) > 0).fold(most_blocks, better))
    }

    fn best_screened(&self) -> Option<usize> {
        let log = |index: &usize| self.screened(*index).map(|seen| seen.log);
        let seen = (0..self.entrants.len())
            .filter(|&index| self.entrants[index].state != State::Failed && log(&index).is_some());
        seen.max_by(|one, other| log(one).unwrap_or(0.0).total_cmp(&log(other).unwrap_or(0.0)))
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

    fn by_preference(&self, mut indices: Vec<usize>) -> Vec<usize> {
        indices.sort_by_key(|&index| self.rank(index));
        indices
    }

    fn workers(&self, index: usize) -> u32 {
        self.entrants[index].point.workers
    }

    /// The preferred point that seems to be as good as the best one.
    fn candidate(&self) -> Option<usize> {
        let leader = self.leader()?;
        if self.blocks(leader) > 0 {
            let is_as_good = |&index: &usize| {
                let behind = self.contest.mean_difference(leader, index);
                index == leader || behind.is_some_and(|it| it <= self.rules.practical)
            };
            return self.by_preference(self.alive()).into_iter().find(is_as_good).or(Some(leader));
        }
        let curve = self.curve();
        let is_as_good = |&index: &usize| {
            let tolerance = self.rules.practical + DOUBT;
            let behind = self.screened_behind(index, leader, curve.as_ref());
            index == leader || behind.is_some_and(|it| it <= tolerance)
        };
        let screened = self.that(|state| state == State::Screened);
        let pinned = screened
            .into_iter()
            .filter(|&index| self.entrants[index].point.family != Family::Free || index == leader);
        self.by_preference(pinned.collect()).into_iter().find(is_as_good).or(Some(leader))
    }

    /// Distance of a screened point behind another by their single runs, or by the curve if that has it nearer.
    fn screened_behind(&self, index: usize, leader: usize, curve: Option<&Curve>) -> Option<f64> {
        let (own, best) = (self.screened(index)?, self.screened(leader)?);
        let by_runs = best.log - own.log;
        let [point, other] = [index, leader].map(|it| self.entrants[it].point);
        let on_curve = |point| may_be_on_curve(point, self.grid.cores());
        let curve = curve
            .filter(|it| it.deviation <= ON_CURVE * DOUBT && on_curve(point) && on_curve(other));
        let by_curve = curve.map(|it| it.log(other.workers) - it.log(point.workers));
        Some(by_curve.map_or(by_runs, |it| it.min(by_runs)))
    }

    /// The scaling curve through what was screened and what ran in blocks.
    fn curve(&self) -> Option<Curve> {
        let reference = self.alive().into_iter().find(|&index| self.blocks(index) > 0);
        let observed = |(index, entrant): (usize, &Entrant)| {
            let seen = entrant.screened.filter(|seen| !seen.is_ended && !seen.is_cold)?;
            if !may_be_on_curve(entrant.point, self.grid.cores()) {
                return None;
            }
            // Blocks say how far a point lies from another one; the runs before them, where that one lies.
            let blocks = self.blocks(index);
            let (log, runs) = match reference.filter(|_| blocks > 0) {
                Some(reference) => {
                    let beside = self.contest.mean_difference(index, reference)?;
                    let anchor = self.anchor(reference)?;
                    ((anchor + beside), 1 + blocks)
                }
                None => (seen.log, 1),
            };
            Some(Observed { workers: entrant.point.workers, log, runs })
        };
        let observed: Vec<Observed> =
            self.entrants.iter().enumerate().filter_map(observed).collect();
        Curve::fit(&observed)
    }

    /// Level of a point by the single runs of all that are compared with it in blocks.
    fn anchor(&self, reference: usize) -> Option<f64> {
        let own = |index: usize| {
            let seen = self.screened(index).filter(|seen| !seen.is_ended && !seen.is_cold)?;
            Some(seen.log - self.contest.mean_difference(index, reference)?)
        };
        let all: Vec<f64> = (0..self.entrants.len()).filter_map(own).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// The point to screen next; `None` where nothing is to be learned by one run.
    pub(crate) fn next_to_screen(&self) -> Option<Point> {
        let outcomes: Vec<Outcome> =
            self.numbers.iter().map(|&workers| self.outcome(workers)).collect();
        if let Some(index) = screening::next(&outcomes) {
            return Some(Point { family: Family::Dealt, workers: self.numbers[index] });
        }
        if self.entrants.len() >= MAX_POINTS {
            return None;
        }
        let is_new = |point: &Point| self.grid.has(*point) && self.index_of(*point).is_none();
        self.wishes().into_iter().find(is_new)
    }

    /// The point to run once more before an answer is final: its only run leaves it out, and may have been disturbed.
    /// The likeliest first; `None` where every such point ran twice, or was ended because it was slow.
    pub(crate) fn next_to_confirm(&self) -> Option<Point> {
        let once = |index: usize| {
            let seen = self.screened(index).filter(|seen| seen.runs == 1 && !seen.is_ended)?;
            Some((seen.log, self.point(index)))
        };
        let left_out = self.that(|state| state == State::Screened).into_iter().filter_map(once);
        left_out.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, point)| point)
    }

    fn outcome(&self, workers: u32) -> Outcome {
        let index = self.index_of(Point { family: Family::Dealt, workers })?;
        let entrant = self.entrants[index];
        match entrant.state {
            State::Failed => Some(None),
            _ => entrant.screened.map(Some),
        }
    }

    /// Numbers beside the best where the curve is steep there, then other placements of the best.
    fn wishes(&self) -> Vec<Point> {
        let (Some(leader), Some(candidate)) = (self.leader(), self.candidate()) else {
            return Vec::new();
        };
        let best = [candidate, leader].map(|index| self.workers(index));
        let between = best
            .into_iter()
            .flat_map(|workers| [self.between(workers, false), self.between(workers, true)]);
        let mut wishes: Vec<Point> =
            between.flatten().map(|workers| Point { family: Family::Dealt, workers }).collect();
        // As many workers as cores on half of the cores: where siblings are worth more than cores.
        wishes.push(Point { family: Family::Packed, workers: self.grid.cores() });
        wishes.extend(self.oversubscribed());
        // How they are placed matters once their number is known.
        let is_new = |&point: &Point| self.grid.has(point) && self.index_of(point).is_none();
        if !wishes.iter().any(is_new) {
            let chosen = self.conclude().map_or(candidate, |conclusion| conclusion.chosen);
            for workers in [self.workers(chosen), self.workers(candidate)] {
                let of = |family| Point { family, workers };
                wishes.extend([Family::Free, Family::Dealt, Family::Packed].map(of));
            }
        }
        wishes
    }

    /// A number between this one and the next that was tried, where the two differ in what they do.
    fn between(&self, workers: u32, more: bool) -> Option<u32> {
        let beyond = self.tried().filter(|&it| if more { it > workers } else { it < workers });
        let other = if more { beyond.min()? } else { beyond.max()? };
        let gap = workers.abs_diff(other);
        if gap <= (workers / FINEST).max(1) {
            return None;
        }
        let log = |workers| Some(self.outcome(workers)??.log);
        let differ = match (log(workers), log(other)) {
            (Some(one), Some(other)) => (one - other).abs() > VARIES,
            _ => true,
        };
        differ.then_some(workers.min(other) + gap / 2)
    }

    fn tried(&self) -> impl Iterator<Item = u32> {
        self.points().filter(|point| point.family == Family::Dealt).map(|point| point.workers)
    }

    /// Twice as many workers as logical CPUs, and twice as many again as long as that is better: of a program that
    /// waits while the machine is free, and does more with more workers up to there.
    fn oversubscribed(&self) -> Option<Point> {
        let cpus = self.grid.cpus();
        if !self.leaves_cpus_idle {
            return None;
        }
        let log = |index: usize| self.screened(index).map(|seen| seen.log);
        let best_of = |is_meant: &dyn Fn(u32) -> bool| {
            let meant = (0..self.entrants.len()).filter(|&it| is_meant(self.workers(it)));
            meant.filter_map(log).reduce(f64::max)
        };
        let most =
            (0..self.entrants.len()).map(|it| self.workers(it)).filter(|&it| it >= cpus).max()?;
        let (own, fewer) = (best_of(&|it| it == most)?, best_of(&|it| it < most));
        let is_rising = fewer.is_none_or(|fewer| own > fewer + VARIES);
        let workers = most * 2;
        (is_rising && workers <= cpus * MAX_OVERSUBSCRIBED)
            .then_some(Point { family: Family::Free, workers })
    }

    /// Chooses what is compared in blocks first: the best by one run each, and the fewest workers that seem as good.
    pub(crate) fn admit_first(&mut self) {
        let first = [self.best_screened(), self.candidate()];
        for index in first.into_iter().flatten() {
            self.entrants[index].state = State::Runs;
        }
    }

    /// Lets join what ran once and may yet be the answer, the likeliest first; returns whether there was any.
    ///
    /// Before the answer is settled, only what may be much better.
    pub(crate) fn admit_doubtful(&mut self) -> bool {
        if self.conclude().is_none() {
            return false;
        }
        let room = MAX_AT_ONCE.saturating_sub(self.running().len()).min(MAX_JOINING);
        let mut doubtful = self.doubtful(self.is_settled());
        doubtful.truncate(room);
        for &index in &doubtful {
            self.entrants[index].state = State::Runs;
        }
        !doubtful.is_empty()
    }

    /// The points that ran once of which the noise does not rule out that they are the answer.
    fn doubtful(&self, is_settled: bool) -> Vec<usize> {
        let Some((deviation, freedom)) = self.contest.deviation() else { return Vec::new() };
        let Some(quantile) = student_t(LEFT_OUT, freedom + 1) else { return Vec::new() };
        let Some(conclusion) = self.conclude() else { return Vec::new() };
        let leader = conclusion.leader;
        let curve = self.curve().filter(|curve| curve.deviation <= ON_CURVE * deviation);
        let practical = self.rules.practical;
        let better_by = |index: usize| {
            let seen = self.screened(index)?;
            let (log, error) = self.beside_leader(index, leader, curve.as_ref(), deviation)?;
            let reach = quantile * error + seen.lost;
            let is_preferred = self.rank(index).0 < self.rank(conclusion.chosen).0;
            let is_placement = self.workers(index) == self.workers(conclusion.chosen);
            let bound = if is_placement { practical.max(PLACEMENT_MATTERS) } else { practical };
            let may_be_better = log + reach > bound;
            let may_be_fewer = is_preferred && log + reach > -practical;
            let is_meant = match is_settled {
                true => may_be_better || may_be_fewer,
                false => log + reach > 3.0 * practical && log > -reach,
            };
            (is_meant && !seen.is_ended).then_some((index, log))
        };
        let mut doubtful: Vec<(usize, f64)> =
            self.that(|state| state == State::Screened).into_iter().filter_map(better_by).collect();
        doubtful.sort_by(|one, other| other.1.total_cmp(&one.1));
        doubtful.into_iter().map(|(index, _)| index).collect()
    }

    /// `ln(point / leader)` of a point that ran once, with its standard error: by the curve where that holds for both.
    fn beside_leader(
        &self,
        index: usize,
        leader: usize,
        curve: Option<&Curve>,
        deviation: f64,
    ) -> Option<(f64, f64)> {
        let [point, best] = [index, leader].map(|it| self.entrants[it].point);
        let cores = self.grid.cores();
        if let Some(curve) =
            curve.filter(|_| may_be_on_curve(point, cores) && may_be_on_curve(best, cores))
        {
            let log = curve.log(point.workers) - curve.log(best.workers);
            return Some((log, curve.standard_error(point.workers, best.workers, deviation)));
        }
        let log = self.screened(index)?.log - self.anchor(leader)?;
        Some((log, deviation * std::f64::consts::SQRT_2))
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
            let is_no_better = self.rank(index).0 > self.rank(candidate).0
                && index != leader
                && self
                    .difference(index, candidate)
                    .is_some_and(|it| it.high <= self.rules.practical);
            let may_rest = is_no_better || self.is_placement_like_another(index);
            self.entrants[index].state = match (is_out && index != leader, may_rest) {
                (true, _) => State::Dropped,
                (_, true) => State::Rests,
                _ => State::Runs,
            };
        }
        if self.first_shown.is_none() && self.shown().is_some() {
            self.first_shown = self.leader().map(|leader| self.blocks(leader));
        }
    }

    /// True if workers that are placed otherwise are shown to do about as much as those that are dealt, by which numbers
    /// are compared.
    fn is_placement_like_another(&self, index: usize) -> bool {
        let Point { family, workers } = self.point(index);
        let dealt = self.index_of(Point { family: Family::Dealt, workers });
        let is_near = |dealt: usize| {
            let difference = self.difference(index, dealt);
            difference.is_some_and(|it| it.low.abs().max(it.high.abs()) <= PLACEMENT_MATTERS)
        };
        family != Family::Dealt
            && dealt.is_some_and(|dealt| self.alive().contains(&dealt) && is_near(dealt))
    }

    fn standing(&self, one: usize, other: usize) -> best_of_several::Standing {
        let floor = self.contest.noise_floor().unwrap_or(f64::INFINITY);
        self.difference(one, other).map_or(best_of_several::Standing::Open, |difference| {
            best_of_several::standing(&difference, self.rules.practical, floor)
        })
    }

    /// True if points that were screened may yet be the answer, or numbers beside the best were not tried.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.next_to_screen().is_some() || !self.doubtful(self.is_settled()).is_empty()
    }

    /// True if the blocks so far carry an answer, be it that more of them would name fewer workers.
    pub(crate) fn is_answered(&self) -> bool {
        self.shown().is_some()
    }

    /// True if more blocks would change nothing, given that no point is to be added.
    pub(crate) fn is_settled(&self) -> bool {
        self.conclude().is_some_and(|conclusion| conclusion.is_settled)
    }
}
