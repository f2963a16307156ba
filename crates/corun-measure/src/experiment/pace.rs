//! Duration of the least possible experiment, judged by the runs so far.
//!
//! A limit on time is of use only if a user learns early that it is too short: after two runs there is
//! an estimate for every arm, and it gets better until each arm has run.

use std::collections::BTreeMap;
use std::time::Duration;

use corun_record::Arm;

use super::BlockSchedule;

/// Changes of the state of SMT in a cycle on, off, off, on, each followed by uncounted runs.
const CHANGES_A_CYCLE: u32 = 3;
/// The first run of all also fills the caches of files, so that one run says too little.
const FEWEST_RUNS: u32 = 2;

/// The runs of an experiment so far, and what they took.
#[derive(Debug)]
pub(crate) struct Pace<'a> {
    arms: &'a [Arm],
    schedule: &'a BlockSchedule,
    /// Runs of each arm or twin, and the latest run of each arm, whether of itself or its twin.
    runs: BTreeMap<&'a str, u32>,
    latest: BTreeMap<&'a str, Duration>,
    /// The arm of the first run, as long as it has not run again.
    first: Option<&'a str>,
}

/// The least possible experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeastExperiment {
    /// Runs, those that are not counted included.
    pub runs: u32,
    /// When it would end, from the start of the experiment.
    pub end: Duration,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(arms: &'a [Arm], schedule: &'a BlockSchedule) -> Self {
        Self { arms, schedule, runs: BTreeMap::new(), latest: BTreeMap::new(), first: None }
    }

    /// Notes a run and what it took, with all that is done around it.
    pub(crate) fn note(&mut self, arm: &'a Arm, took: Duration) {
        let original = arm.twin_of.as_deref().unwrap_or(&arm.id);
        if self.runs.is_empty() {
            self.first = Some(original);
        } else if self.first == Some(original) {
            self.first = None;
        }
        *self.runs.entry(&arm.id).or_default() += 1;
        self.latest.insert(original, took);
    }

    /// True if every arm has run, and more than one run says so.
    pub(crate) fn is_known(&self) -> bool {
        let has_run = |arm: &Arm| self.latest.contains_key(arm.id.as_str());
        self.done() >= FEWEST_RUNS
            && self.arms.iter().filter(|arm| arm.twin_of.is_none()).all(has_run)
    }

    /// The least possible experiment at `spent`, if it would end later than allowed and enough is known to say
    /// so: two runs, or one where the time allowed has no room for another.
    pub(crate) fn too_long(&self, spent: Duration) -> Option<LeastExperiment> {
        let max_time = self.schedule.max_time;
        let shortest = self.latest.values().min().copied().unwrap_or_default();
        let may_judge = self.done() >= FEWEST_RUNS || spent.saturating_add(shortest) > max_time;
        let least = self.least(spent);
        (may_judge && least.end > max_time).then_some(least)
    }

    fn least(&self, spent: Duration) -> LeastExperiment {
        let BlockSchedule { warmup, fewest, .. } = *self.schedule;
        let is_switched = self.arms.iter().any(|arm| arm.smt.is_some());
        let after_switches = if is_switched { CHANGES_A_CYCLE * warmup * fewest } else { 0 };
        let mut runs = after_switches;
        let mut left = self.mean().mul_f64(after_switches.into());
        for arm in self.arms {
            let warm_up = if is_switched || arm.twin_of.is_some() { 0 } else { warmup };
            let planned = warm_up + fewest;
            let done = self.runs.get(arm.id.as_str()).copied().unwrap_or(0);
            runs += planned;
            left += self.run_of(arm) * planned.saturating_sub(done);
        }
        LeastExperiment { runs, end: spent.saturating_add(left) }
    }

    /// Expected duration of a run of an arm. An arm that has not run takes as long as the fastest; the
    /// one that ran first of all no longer than the slowest of the others.
    fn run_of(&self, arm: &Arm) -> Duration {
        let original = arm.twin_of.as_deref().unwrap_or(&arm.id);
        let others = || {
            let others = self.latest.iter().filter(|(id, _)| Some(**id) != self.first);
            others.map(|(_, took)| *took)
        };
        match self.latest.get(original) {
            Some(&took) if self.first == Some(original) => {
                others().max().map_or(took, |slowest| took.min(slowest))
            }
            Some(&took) => took,
            None => self.latest.values().copied().min().unwrap_or_default(),
        }
    }

    fn mean(&self) -> Duration {
        let arms = u32::try_from(self.latest.len()).unwrap_or(u32::MAX).max(1);
        self.latest.values().sum::<Duration>() / arms
    }

    fn done(&self) -> u32 {
        self.runs.values().sum()
    }
}
