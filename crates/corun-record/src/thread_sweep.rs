//! Number of workers and their placement: the document of `corun threads`.
//!
//! The answer names one candidate; the observations say how fast each candidate was, and the samples are
//! kept so that the answer can be computed again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::{Metric, Observation};
use crate::placement::Arm;
use crate::record::Body;
use crate::run::{PlannedAnalysis, Workload};
use crate::sample::Sample;

/// The best number of workers and their placement, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSweep {
    /// The work.
    pub workload: Workload,
    /// Goal of the sweep.
    pub goal: Goal,
    /// The answer; absent where no block was finished.
    pub answer: Option<ThreadAnswer>,
    /// Facts that cannot be known on this machine, a sentence each.
    pub unknown: Vec<String>,
    /// Limits of the CPUs that the workers may use, a sentence each.
    pub limits: Vec<String>,
    /// The candidates in table order: by placement, then by workers.
    pub candidates: Vec<Candidate>,
    /// Lines that put the answer into effect.
    pub advice: Vec<Advice>,
    /// Design of the sweep.
    pub design: SweepDesign,
    /// Observations that follow from the samples.
    pub observations: Vec<Observation>,
    /// Every sample of every finished block.
    #[serde(deserialize_with = "crate::whole_list::read")]
    pub samples: Vec<Sample>,
}

impl Body for ThreadSweep {
    const FORMAT: &'static str = "corun-threads";
}

impl ThreadSweep {
    /// The candidate that the answer names.
    pub fn chosen(&self) -> Option<&Candidate> {
        let answer = self.answer.as_ref()?;
        self.candidates.iter().find(|candidate| candidate.arm.id == answer.arm)
    }

    /// The observation of `metric` for an arm.
    pub fn observation(&self, metric: Metric, arm: &str) -> Option<&Observation> {
        self.observations.iter().find(|seen| seen.metric == metric && seen.arm == arm)
    }
}

/// Goal of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The most work in a second.
    Throughput,
    /// The shortest time of a run; of a service, the shortest p99 of its requests.
    Latency,
    /// The least energy for a unit of work.
    Energy,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadAnswer {
    /// Certainty of the answer.
    pub verdict: ThreadVerdict,
    /// The answer in one sentence.
    pub sentence: String,
    /// The arm to use.
    pub arm: String,
    /// Number of workers.
    pub workers: u32,
    /// The other arms that were shown to be as good, within the practical bound.
    pub equal: Vec<String>,
    /// The other arms that may be better or worse: the evidence does not say.
    pub undecided: Vec<String>,
    /// By how much another candidate may be better at most, as a fraction, with the confidence of the
    /// design; absent where there are too few blocks to say.
    pub regret: Option<f64>,
    /// Step that would probably decide, where it is not decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_decide: Option<String>,
}

/// Certainty of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadVerdict {
    /// Every other candidate was shown to be worse.
    Best,
    /// Others were shown to be as good; this is the one that takes the fewest workers.
    Equal,
    /// The number was shown to be the best, or the fewest of the best; where its workers run is not decided.
    NumberKnown,
    /// No other candidate is better by more than the practical bound, but some may be as good with fewer workers.
    GoodEnough,
    /// Others may be better: the smallest number that cannot be distinguished from the best is named.
    Undecided,
    /// Fewer than two finished blocks, so no interval.
    TooFewBlocks,
}

impl ThreadVerdict {
    /// True if the evidence carries an answer: a number of workers to use.
    pub fn is_answer(self) -> bool {
        match self {
            Self::Best | Self::Equal | Self::NumberKnown | Self::GoodEnough => true,
            Self::Undecided | Self::TooFewBlocks => false,
        }
    }
}

/// A number of workers and their placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The workers and their logical CPUs.
    pub arm: Arm,
    /// The blocks in which it ran.
    pub blocks: u32,
    /// The run by which it was screened, before any were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screening: Option<ScreeningRun>,
    /// Standing of the candidate by the evidence.
    pub standing: Standing,
    /// Why it did not run to its end, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A single run of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScreeningRun {
    /// Its time, in seconds.
    pub seconds: f64,
    /// It was ended because it was slower than the best by then.
    pub is_ended: bool,
}

/// Standing of a candidate by the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The answer.
    Chosen,
    /// As good as the answer, within the practical bound.
    Equal,
    /// Worse than the answer, or than another candidate.
    Worse,
    /// The evidence does not say.
    Undecided,
    /// It ran once, which shows that it hardly is the answer, and was not compared.
    Screened,
    /// It did not run to its end.
    Failed,
}

/// A line to copy that puts the answer into effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The tool that reads it, for instance `taskset` or `systemd`.
    pub tool: String,
    /// The line, ready for a shell or a configuration file.
    pub line: String,
    /// True if the program and this machine have a use for it.
    pub fits: bool,
}

/// Design of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepDesign {
    /// The seed of every random order.
    pub seed: u64,
    /// Finished blocks.
    pub blocks: u32,
    /// Counted runs, those of A/A twins included.
    pub runs: u32,
    /// The candidates that a full sweep would have: every number of workers in every placement.
    pub full_grid: u32,
    /// Runs of the first candidate before the first block, not counted.
    pub warmup: u32,
    /// The confidence of the answer, all comparisons and analyses together.
    pub confidence: f64,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// The planned interim analyses, with the level of one comparison where there is one only.
    pub interim_analyses: Vec<PlannedAnalysis>,
    /// The time allowed, in seconds.
    pub max_time_s: f64,
}
