//! The answer of a sweep in one sentence.

use std::collections::BTreeSet;
use std::time::Duration;

use corun_record::{Arm, Goal, Metric, Placement, Standing, ThreadAnswer, ThreadVerdict};
use corun_stats::{Estimate, ForeignLoad, TOO_UNCERTAIN, median, percent, says_something};

use super::experiment::{SweepSchedule, rounded, twin_id};
use super::grid::Grid;
use super::objective::slowest_p99;
use super::outcome::{CandidateOutcome, SweepOutcome};
use super::search::Conclusion;
use crate::attainable::most_work;
use crate::comparison::Workers;
use crate::cpu_use;
use crate::foreign_load;

/// So many candidates are named in a sentence.
const MAX_NAMED: usize = 3;
/// A p99 so many times as long is worth a word.
const MUCH_SLOWER: f64 = 1.2;
/// A sweep that would take longer than a day is not proposed.
const MOST_SECONDS: u64 = 24 * 3600;
/// Other work that takes less, in CPUs, is not named.
const LEAST_TAKEN: f64 = 0.05;

/// The answer; `None` where no block was finished.
pub(crate) fn of(
    grid: &Grid,
    schedule: &SweepSchedule,
    outcome: &SweepOutcome,
    cpu_share: Option<f64>,
) -> Option<ThreadAnswer> {
    let conclusion = outcome.conclusion.as_ref()?;
    let chosen = &outcome.tried.get(conclusion.chosen)?.arm;
    let story = Story { grid, schedule, outcome, conclusion, chosen, cpu_share };
    let ids = |standing| story.of(standing).map(|tried| tried.arm.id.clone()).collect();
    Some(ThreadAnswer {
        verdict: conclusion.verdict,
        sentence: story.sentence(),
        arm: chosen.id.clone(),
        workers: chosen.workers,
        equal: ids(Standing::Equal),
        undecided: ids(Standing::Undecided),
        regret: conclusion.regret.map(f64::exp_m1).filter(|regret| regret.is_finite()),
        to_decide: story.to_decide(),
    })
}

struct Story<'a> {
    grid: &'a Grid,
    schedule: &'a SweepSchedule,
    outcome: &'a SweepOutcome,
    conclusion: &'a Conclusion,
    chosen: &'a Arm,
    /// The share of its time for which the program uses a CPU, if it is known.
    cpu_share: Option<f64>,
}

/// True if the chosen arm can have done so much more than another.
pub(crate) fn is_attainable(
    grid: &Grid,
    goal: Goal,
    [chosen, other]: [&Arm; 2],
    tried: &CandidateOutcome,
    cpu_share: Option<f64>,
) -> bool {
    let Some(beside) = tried.beside_chosen.as_ref().filter(|_| goal != Goal::Energy) else {
        return true;
    };
    let mut chosen = chosen.clone();
    if chosen.cpus.is_empty() {
        // Placed by the kernel: on all of them at most.
        chosen.cpus = (0..grid.cpus()).collect();
    }
    let most = most_work(Metric::Speedup, [&chosen, other], Workers::Together, cpu_share);
    most.is_none_or(|most| -beside.log <= most.ln())
}

impl<'a> Story<'a> {
    /// The candidates that ran to their end.
    fn ran(&self) -> impl Iterator<Item = &'a CandidateOutcome> {
        self.outcome.tried.iter().filter(|tried| tried.failure.is_none())
    }

    fn of(&self, standing: Standing) -> impl Iterator<Item = &'a CandidateOutcome> {
        let all = self.outcome.tried.iter().zip(&self.conclusion.standings);
        all.filter(move |(_, own)| **own == standing).map(|(tried, _)| tried)
    }

    fn sentence(&self) -> String {
        let what = place(self.chosen, self.grid);
        let used = self.used(&what);
        let said = match self.conclusion.verdict {
            ThreadVerdict::TooFewBlocks => {
                format!("Too few blocks to say: in one run of each candidate, {what} did best.")
            }
            ThreadVerdict::Best => format!("{used}: {}.", self.best()),
            ThreadVerdict::Equal => format!("{used}: {}.", self.equal()),
            ThreadVerdict::NumberKnown => self.number_known(),
            ThreadVerdict::GoodEnough => format!("{used}: {}.", self.good_enough()),
            ThreadVerdict::Undecided => self.undecided(),
        };
        let parts = [Some(said), self.latency(), self.untried(), waiting(self.cpu_share)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn used(&self, what: &str) -> String {
        match self.is_disturbed() {
            true => format!("While other programs run on these CPUs, use {what}"),
            false => format!("Use {what}"),
        }
    }

    /// Remark that the best may also lie elsewhere.
    fn untried(&self) -> Option<String> {
        self.outcome
            .is_cut_short
            .then(|| "Numbers of workers beside the best of these were not all tried.".to_owned())
    }

    /// Cost in latency of more throughput, where parts of the work are timed and another candidate is much quicker.
    fn latency(&self) -> Option<String> {
        if self.schedule.goal != Goal::Throughput {
            return None;
        }
        let own = self.mean_p99(self.chosen)?;
        let others =
            self.outcome.tried.iter().filter_map(|tried| Some((tried, self.mean_p99(&tried.arm)?)));
        let (tried, p99) = others.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let times = own / p99;
        let beside = tried.beside_chosen.as_ref()?;
        let [work, low, high] = beside.ratio();
        if !says_something(work, low, high) {
            return None;
        }
        (times >= MUCH_SLOWER).then(|| {
            format!(
                "Its p99 is {times:.1} times that of {}, which does {work:.2} times the work: `--goal latency` chooses by p99.",
                place(&tried.arm, self.grid)
            )
        })
    }

    /// The mean p99 of an arm on the log scale, in seconds.
    fn mean_p99(&self, arm: &Arm) -> Option<f64> {
        let twin = twin_id(arm);
        let samples = self.outcome.samples.iter();
        let own = samples.filter(|sample| sample.arm == arm.id || sample.arm == twin);
        let logs: Vec<f64> =
            own.map(|sample| Some(slowest_p99(sample)?.ln())).collect::<Option<_>>()?;
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        (!logs.is_empty()).then(|| mean.exp())
    }

    fn best(&self) -> String {
        let others = self.ran().filter_map(|tried| {
            let beside = tried.beside_chosen.as_ref()?;
            let is_other = self.conclusion.verdict != ThreadVerdict::NumberKnown
                || tried.arm.workers != self.chosen.workers;
            is_other.then(|| (tried, beside, place(&tried.arm, self.grid)))
        });
        match others.max_by(|(_, one, _), (_, other, _)| one.log.total_cmp(&other.log)) {
            Some((tried, beside, next)) if !self.says_something(tried, beside) => {
                format!(
                    "the next best, {next}, is {}, by how much is {TOO_UNCERTAIN}",
                    self.worse()
                )
            }
            Some((_, beside, next)) => {
                let [value, low, high] = beside.ratio();
                let [value, low, high] = match self.schedule.goal {
                    Goal::Throughput => [value, low, high],
                    Goal::Latency | Goal::Energy => [1.0 / value, 1.0 / high, 1.0 / low],
                };
                let verb = match self.schedule.goal {
                    Goal::Throughput => "does",
                    Goal::Latency | Goal::Energy => "takes",
                };
                let amount = match self.schedule.goal {
                    Goal::Throughput => "the work",
                    Goal::Latency => "the time",
                    Goal::Energy => "the energy",
                };
                format!(
                    "the next best, {next}, {verb} {value:.2} times {amount} ({low:.2} to {high:.2})"
                )
            }
            None if self.outcome.tried.len() == 1 => "there is nothing else to try".to_owned(),
            None if self.ran().count() == 1 => "no other candidate ran to its end".to_owned(),
            None => format!("every other candidate is {}", self.worse()),
        }
    }

    /// True if the distance of a candidate from the chosen one is known, and possible.
    fn says_something(&self, tried: &CandidateOutcome, beside: &Estimate) -> bool {
        let [value, low, high] = beside.ratio();
        let arms = [self.chosen, &tried.arm];
        // Requests wait for each other: their p99 has no limit.
        let is_service = self.mean_p99(self.chosen).is_some();
        says_something(value, low, high)
            && (is_service
                || is_attainable(self.grid, self.schedule.goal, arms, tried, self.cpu_share))
    }

    fn equal(&self) -> String {
        let within = percent(self.schedule.practical);
        let equal = self.of(Standing::Equal).map(|tried| &tried.arm);
        let is_number_known = self.conclusion.verdict == ThreadVerdict::NumberKnown;
        let equal: Vec<&Arm> =
            equal.filter(|arm| !is_number_known || arm.workers != self.chosen.workers).collect();
        let workers: BTreeSet<u32> =
            equal.iter().map(|arm| arm.workers).chain([self.chosen.workers]).collect();
        let (Some(fewest), Some(most)) = (workers.first(), workers.last()) else {
            return String::new();
        };
        if fewest == most {
            let others: Vec<String> = equal.iter().map(|arm| how(arm, self.grid)).collect();
            return format!("as many, {}, are equal within {within}", others.join(" or "));
        }
        let between =
            self.ran().map(|tried| tried.arm.workers).filter(|it| fewest < it && it < most);
        let numbers = match between.into_iter().all(|it| workers.contains(&it)) {
            true => format!("{fewest} to {most}"),
            false => workers.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        };
        let which = if self.schedule.most_workers { "most" } else { "fewest" };
        format!("{numbers} workers are equal within {within}, and these are the {which}")
    }

    /// The number, and what is not known of where its workers run.
    fn number_known(&self) -> String {
        let used = self.used(&count(self.chosen.workers));
        let has_equal =
            self.of(Standing::Equal).any(|tried| tried.arm.workers != self.chosen.workers);
        let why = if has_equal { self.equal() } else { self.best() };
        let others = [Standing::Undecided, Standing::Screened].map(|it| self.of(it));
        let same =
            others.into_iter().flatten().filter(|tried| tried.arm.workers == self.chosen.workers);
        let (mut ways, mut apart) = (vec![how(self.chosen, self.grid)], 0.0_f64);
        for tried in same {
            ways.push(how(&tried.arm, self.grid));
            let farther = |it: &Estimate| it.low.abs().max(it.high.abs()).exp_m1();
            apart = apart.max(tried.beside_chosen.as_ref().map_or(f64::INFINITY, farther));
        }
        let ways = ways.join(" or ");
        let apart = match apart {
            ..1.0 => format!(", at most {} apart", percent(apart)),
            _ => String::new(),
        };
        format!("{used}: {why}. Where they run is not decided ({ways}{apart}).")
    }

    fn good_enough(&self) -> String {
        let regret = self.conclusion.regret.map_or(0.0, f64::exp_m1);
        // What ran once is known to be no better than that.
        let has_screened = self.of(Standing::Screened).next().is_some();
        let least = if has_screened { self.schedule.practical } else { 0.001 };
        let bound = percent(regret.max(least));
        let said = format!("no other candidate is more than {bound} {}", self.better());
        let open = [Standing::Undecided, Standing::Equal].into_iter().flat_map(|it| self.of(it));
        let fewer = open.map(|tried| tried.arm.workers).filter(|&it| it < self.chosen.workers);
        match fewer.min() {
            Some(fewest) if !self.schedule.most_workers => {
                format!("{said}, but {fewest} may do as well")
            }
            _ => said,
        }
    }

    /// The smallest number that cannot be distinguished from the best, and how much better the best may be.
    fn undecided(&self) -> String {
        let leader = self.outcome.tried.get(self.conclusion.leader).map(|tried| &tried.arm);
        let which = if self.schedule.most_workers { "largest" } else { "smallest" };
        let number = count(self.chosen.workers);
        let bound = match self.conclusion.regret.map(f64::exp_m1) {
            Some(regret) if (0.0..1.0).contains(&regret) && regret > 0.0 => {
                format!(", and another may be up to {} {}", percent(regret), self.better())
            }
            _ => String::new(),
        };
        match leader.filter(|arm| arm.workers != self.chosen.workers) {
            Some(leader) => format!(
                "Not decided: {number} is the {which} number that cannot be distinguished from the best so far, {}{bound}.",
                place(leader, self.grid)
            ),
            None => format!(
                "Not decided: {number} did best so far, but cannot be distinguished from {}{bound}.",
                self.open_others()
            ),
        }
    }

    fn open_others(&self) -> String {
        let open: Vec<String> =
            self.of(Standing::Undecided).map(|tried| place(&tried.arm, self.grid)).collect();
        match open.as_slice() {
            [] => "the others".to_owned(),
            few if few.len() <= MAX_NAMED => few.join(", "),
            many => format!("{} other candidates", many.len()),
        }
    }

    /// Step that would probably decide: less other work on the machine, or more time.
    fn to_decide(&self) -> Option<String> {
        if self.conclusion.verdict.is_answer() {
            return None;
        }
        if self.is_disturbed() {
            return Some(match self.taken_cpus() {
                Some(taken) => format!("other programs take {taken:.1} CPUs: stop them"),
                None => "other programs run on these CPUs: stop them".to_owned(),
            });
        }
        let more = self.outcome.time_to_decide?;
        let whole = self.outcome.allowed + more;
        let most = Duration::from_secs(MOST_SECONDS);
        Some(match whole <= most {
            true => format!("{} more (--max-time {}s)", rounded(more), whole.as_secs_f64().ceil()),
            false => {
                "a machine with less noise, or a longer run: more time would hardly do".to_owned()
            }
        })
    }

    /// CPU time that other work took in a second, in CPUs: the median over the samples of pinned workers.
    fn taken_cpus(&self) -> Option<f64> {
        let cpus = f64::from(self.grid.cpus());
        let taken = self.outcome.samples.iter().filter_map(|sample| {
            let evidence = &sample.evidence;
            let own = (evidence.user_s + evidence.system_s) / sample.makespan_s;
            Some((evidence.busy_cpus? - own).clamp(0.0, cpus))
        });
        median(&taken.collect::<Vec<f64>>()).filter(|&taken| taken >= LEAST_TAKEN)
    }

    fn better(&self) -> &'static str {
        match self.schedule.goal {
            Goal::Throughput | Goal::Latency => "faster",
            Goal::Energy => "thriftier",
        }
    }

    fn worse(&self) -> &'static str {
        match self.schedule.goal {
            Goal::Throughput | Goal::Latency => "slower",
            Goal::Energy => "less thrifty",
        }
    }

    /// True if load of others decides what is said of the chosen candidate, or of one that it is compared with in the end.
    fn is_disturbed(&self) -> bool {
        let last = [Standing::Chosen, Standing::Equal, Standing::Undecided];
        last.into_iter().flat_map(|standing| self.of(standing)).any(|tried| {
            let twin = twin_id(&tried.arm);
            let samples = self.outcome.samples.iter();
            let lost = samples
                .filter(|sample| sample.arm == tried.arm.id || sample.arm == twin)
                .map(|sample| [foreign_load::lost_share(sample, &tried.arm), None]);
            ForeignLoad::new(lost.collect()).decides()
        })
    }
}

/// Remark that the program waits, so that the number of workers says how many may wait at once.
fn waiting(cpu_share: Option<f64>) -> Option<String> {
    let share = cpu_share.filter(|&share| cpu_use::hardly_uses_a_cpu(share))?;
    Some(format!(
        "The program uses a CPU for {} of its time: this is how many may wait at once, not how many cores it needs.",
        percent(share)
    ))
}

/// `4 workers (one on each core)`.
pub(crate) fn place(arm: &Arm, grid: &Grid) -> String {
    format!("{} ({})", count(arm.workers), how(arm, grid))
}

fn count(workers: u32) -> String {
    match workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    }
}

/// Placement of the workers of an arm, in words.
fn how(arm: &Arm, grid: &Grid) -> String {
    let cores = match arm.cores {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    match arm.placement {
        Placement::Free(_) => "placed by the kernel".to_owned(),
        Placement::Spread(_) if arm.workers == 1 => "pinned to a core".to_owned(),
        Placement::Spread(_) if arm.cores == grid.cores() => "one on each core".to_owned(),
        Placement::Spread(_) => format!("one on each of {cores}"),
        Placement::Full(_) => "one on each logical CPU".to_owned(),
        Placement::Packed(_) => format!("on all siblings of {cores}"),
        _ if arm.cores == 1 => format!("on {} siblings of a core", arm.workers),
        _ => format!("one on each core, {} more on siblings", arm.workers - arm.cores),
    }
}

#[cfg(test)]
mod tests {
    use corun_record::Ending;

    use super::super::experiment::WorkOfRun;
    use super::super::grid::{Family, Point};
    use super::*;
    use crate::cores::Core;

    fn grid() -> Grid {
        let core = |core: u32| {
            let cpus = vec![core, core + 4];
            Core { online_siblings: cpus.clone(), cpus, core_type: None, numa_node: None }
        };
        Grid::new((0..4).map(core).collect())
    }

    const POINTS: [(Family, u32); 5] = [
        (Family::Dealt, 4),
        (Family::Dealt, 6),
        (Family::Dealt, 8),
        (Family::Packed, 4),
        (Family::Free, 4),
    ];

    /// The sentence where the first of the points is chosen and the others are of these standings.
    fn sentence(verdict: ThreadVerdict, others: [Standing; 4], goal: Goal) -> String {
        let grid = grid();
        let tried = |(index, &(family, workers)): (usize, &(Family, u32))| CandidateOutcome {
            arm: grid.arm(Point { family, workers }),
            blocks: 8,
            screening: None,
            failure: None,
            beside_chosen: (index > 0)
                .then(|| {
                    let log = -0.05 * index as f64;
                    corun_stats::paired(&[log - 0.01, log, log + 0.01], 0.95)
                })
                .flatten(),
        };
        let tried = POINTS.iter().enumerate().map(tried).collect();
        story(&grid, tried, [vec![Standing::Chosen], others.to_vec()].concat(), verdict, goal)
    }

    /// The sentence where the first of what was tried is chosen.
    fn story(
        grid: &Grid,
        tried: Vec<CandidateOutcome>,
        standings: Vec<Standing>,
        verdict: ThreadVerdict,
        goal: Goal,
    ) -> String {
        let outcome = SweepOutcome {
            tried,
            conclusion: Some(Conclusion {
                chosen: 0,
                leader: 1,
                verdict,
                standings,
                regret: Some(0.012),
                blocks_to_decide: None,
                is_settled: true,
            }),
            samples: Vec::new(),
            time_to_decide: Some(Duration::from_secs(90)),
            allowed: Duration::from_secs(120),
            blocks: 8,
            ending: Ending::completed(),
            is_cut_short: false,
            noise_floor: None,
            failure: None,
        };
        let schedule = SweepSchedule {
            goal,
            most_workers: false,
            work: WorkOfRun::Fixed,
            practical: 0.02,
            quota: None,
            seed: 1,
            warmup: 0,
            max_time: Duration::from_secs(1),
            grows: false,
        };
        of(grid, &schedule, &outcome, None).unwrap().sentence
    }

    #[test]
    fn a_factor_that_the_cpus_cannot_have_is_not_named() {
        let cores = |core: u32| {
            let cpus = vec![core];
            Core { online_siblings: cpus.clone(), cpus, core_type: None, numa_node: None }
        };
        let grid = Grid::new((0..2).map(cores).collect());
        let said = |factor: f64| {
            let best = |family, workers, log: Option<f64>| CandidateOutcome {
                arm: grid.arm(Point { family, workers }),
                blocks: 8,
                screening: None,
                failure: None,
                beside_chosen: log
                    .and_then(|log| corun_stats::paired(&[log - 0.01, log, log + 0.01], 0.95)),
            };
            let tried =
                vec![best(Family::Free, 2, None), best(Family::Dealt, 1, Some(-factor.ln()))];
            story(
                &grid,
                tried,
                vec![Standing::Chosen, Standing::Worse],
                ThreadVerdict::Best,
                Goal::Throughput,
            )
        };
        assert!(said(1.9).contains("does 0.53 times the work"), "{}", said(1.9));
        let beyond = said(4.94);
        assert!(beyond.contains("is slower, by how much is too uncertain to say"), "{beyond}");
    }

    #[test]
    fn each_verdict_says_what_it_rests_on() {
        use Standing::{Equal, Undecided, Worse};
        let shown = [
            sentence(ThreadVerdict::Best, [Worse; 4], Goal::Throughput),
            sentence(ThreadVerdict::Best, [Worse; 4], Goal::Energy),
            sentence(ThreadVerdict::Equal, [Equal, Equal, Worse, Worse], Goal::Throughput),
            sentence(ThreadVerdict::Equal, [Worse, Worse, Worse, Equal], Goal::Throughput),
            sentence(ThreadVerdict::GoodEnough, [Undecided, Worse, Worse, Worse], Goal::Latency),
            sentence(ThreadVerdict::GoodEnough, [Worse, Undecided, Worse, Equal], Goal::Energy),
            sentence(ThreadVerdict::Undecided, [Undecided, Worse, Worse, Equal], Goal::Throughput),
            sentence(ThreadVerdict::Undecided, [Undecided; 4], Goal::Energy),
            sentence(ThreadVerdict::Undecided, [Worse, Worse, Worse, Undecided], Goal::Throughput),
            sentence(
                ThreadVerdict::NumberKnown,
                [Worse, Worse, Worse, Undecided],
                Goal::Throughput,
            ),
            sentence(ThreadVerdict::TooFewBlocks, [Undecided; 4], Goal::Throughput),
        ];
        insta::assert_snapshot!(shown.join("\n"));
    }
}
