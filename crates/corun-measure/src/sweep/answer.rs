//! The answer of a sweep in one sentence.

use corun_record::{Arm, Goal, Placement, Standing, ThreadAnswer, ThreadVerdict};
use corun_stats::percent;

use super::experiment::{SweepOutcome, SweepSchedule, Tried};
use super::grid::Grid;
use super::objective::slowest_p99;
use super::search::Conclusion;

/// So many candidates are named in a sentence.
const MAX_NAMED: usize = 3;
/// A p99 so many times as long is worth a word.
const MUCH_SLOWER: f64 = 1.2;
/// A candidate lost more than this part of its time to other work.
const HEAVY: f64 = 0.05;

/// The answer; `None` where no block was finished.
pub(crate) fn of(
    grid: &Grid,
    schedule: &SweepSchedule,
    outcome: &SweepOutcome,
) -> Option<ThreadAnswer> {
    let conclusion = outcome.conclusion.as_ref()?;
    let chosen = &outcome.tried.get(conclusion.chosen)?.arm;
    let story = Story { grid, schedule, outcome, conclusion, chosen };
    let ids = |standing| story.of(standing).map(|tried| tried.arm.id.clone()).collect();
    Some(ThreadAnswer {
        verdict: conclusion.verdict,
        sentence: story.sentence(),
        arm: chosen.id.clone(),
        workers: chosen.workers,
        equal: ids(Standing::Equal),
        undecided: ids(Standing::Undecided),
        regret: conclusion.regret.map(f64::exp_m1).filter(|regret| regret.is_finite()),
    })
}

struct Story<'a> {
    grid: &'a Grid,
    schedule: &'a SweepSchedule,
    outcome: &'a SweepOutcome,
    conclusion: &'a Conclusion,
    chosen: &'a Arm,
}

impl<'a> Story<'a> {
    fn of(&self, standing: Standing) -> impl Iterator<Item = &'a Tried> {
        let all = self.outcome.tried.iter().zip(&self.conclusion.standings);
        all.filter(move |(_, own)| **own == standing).map(|(tried, _)| tried)
    }

    fn sentence(&self) -> String {
        let what = place(self.chosen, self.grid);
        let said = match self.conclusion.verdict {
            ThreadVerdict::TooFewBlocks => {
                format!("Too few blocks to say: in one run of each candidate, {what} did best.")
            }
            ThreadVerdict::Best => format!("Use {what}: {}.", self.best()),
            ThreadVerdict::Equal => format!("Use {what}: {}.", self.equal()),
            ThreadVerdict::GoodEnough => format!("Use {what}: {}.", self.good_enough()),
            ThreadVerdict::Undecided => self.undecided(&what),
        };
        let parts = [Some(said), self.latency(), self.disturbance()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// What more throughput costs in latency, where parts of the work are timed and another candidate is
    /// much quicker.
    fn latency(&self) -> Option<String> {
        if self.schedule.goal != Goal::Throughput {
            return None;
        }
        let own = self.mean_p99(self.chosen)?;
        let others =
            self.outcome.tried.iter().filter_map(|tried| Some((tried, self.mean_p99(&tried.arm)?)));
        let (tried, p99) = others.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let times = own / p99;
        let work = tried.beside_chosen.as_ref()?.ratio()[0];
        (times >= MUCH_SLOWER).then(|| {
            format!(
                "Its p99 is {times:.1} times that of {}, which does {work:.2} times the work: `--goal latency` chooses by p99.",
                place(&tried.arm, self.grid)
            )
        })
    }

    /// The mean p99 of an arm on the log scale, in seconds.
    fn mean_p99(&self, arm: &Arm) -> Option<f64> {
        let own = self.outcome.samples.iter().filter(|sample| sample.arm == arm.id);
        let logs: Vec<f64> =
            own.map(|sample| Some(slowest_p99(sample)?.ln())).collect::<Option<_>>()?;
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        (!logs.is_empty()).then(|| mean.exp())
    }

    fn disturbance(&self) -> Option<String> {
        self.is_disturbed().then(|| {
            "Other work ran on the same CPUs for most of the time: repeat it on an idle machine."
                .to_owned()
        })
    }

    fn best(&self) -> String {
        let others = self.outcome.tried.iter().filter_map(|tried| {
            let beside = tried.beside_chosen.as_ref()?;
            Some((beside, place(&tried.arm, self.grid)))
        });
        match others.max_by(|(one, _), (other, _)| one.log.total_cmp(&other.log)) {
            Some((beside, next)) => {
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
            None => format!("every other candidate is {}", self.worse()),
        }
    }

    fn equal(&self) -> String {
        let within = percent(self.schedule.practical);
        let equal: Vec<&Arm> = self.of(Standing::Equal).map(|tried| &tried.arm).collect();
        let workers = equal.iter().map(|arm| arm.workers).chain([self.chosen.workers]);
        let (fewest, most) = (workers.clone().min(), workers.max());
        match (fewest, most) {
            (Some(fewest), Some(most)) if fewest < most => {
                let which = if self.schedule.most_workers { "most" } else { "fewest" };
                format!(
                    "{fewest} to {most} workers are equal within {within}, and these are the {which}"
                )
            }
            _ => {
                let others: Vec<String> = equal.iter().map(|arm| how(arm, self.grid)).collect();
                format!("{} is equal within {within}", others.join(" or "))
            }
        }
    }

    fn good_enough(&self) -> String {
        let regret = self.conclusion.regret.map_or(0.0, f64::exp_m1);
        format!("no other candidate is more than {} {}", percent(regret.max(0.001)), self.better())
    }

    fn undecided(&self, what: &str) -> String {
        let open: Vec<String> =
            self.of(Standing::Undecided).map(|tried| place(&tried.arm, self.grid)).collect();
        let others = match open.as_slice() {
            [] => "the others".to_owned(),
            few if few.len() <= MAX_NAMED => few.join(", "),
            many => format!("{} other candidates", many.len()),
        };
        let bound = match self.conclusion.regret.map(f64::exp_m1) {
            Some(regret) if regret < 1.0 => {
                format!(", of which one may be up to {} {}", percent(regret), self.better())
            }
            _ => String::new(),
        };
        format!("Not decided: {what} did best, but cannot be told apart from {others}{bound}.")
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

    fn is_disturbed(&self) -> bool {
        let samples = &self.outcome.samples;
        let arm = |id: &str| {
            let id = id.trim_end_matches(".aa");
            self.outcome.tried.iter().map(|tried| &tried.arm).find(|arm| arm.id == id)
        };
        let lost = samples.iter().filter(|sample| {
            let lost =
                arm(&sample.arm).and_then(|arm| crate::foreign_load::lost_share(sample, arm));
            lost.is_some_and(|share| share > HEAVY)
        });
        2 * lost.count() > samples.len()
    }
}

/// `4 workers (one on each core)`.
pub(crate) fn place(arm: &Arm, grid: &Grid) -> String {
    let workers = match arm.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    };
    format!("{workers} ({})", how(arm, grid))
}

/// Where the workers of an arm are, in words.
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
