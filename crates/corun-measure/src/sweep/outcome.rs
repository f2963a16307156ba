//! Outcome of a sweep: every candidate, the answer, the samples, and why it ended.

use std::time::Duration;

use corun_record::{Arm, EndReason, Ending, Sample, ScreeningRun};

use super::search::Conclusion;
use crate::execution::ExecutionError;

/// A candidate of a finished sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateOutcome {
    /// Arm of the candidate.
    pub arm: Arm,
    /// The blocks in which it ran.
    pub blocks: u32,
    /// The run by which it was screened.
    pub screening: Option<ScreeningRun>,
    /// Why it did not run to its end, if it did not.
    pub failure: Option<String>,
    /// `ln(it / the chosen one)` of what the goal is about.
    pub beside_chosen: Option<corun_stats::Estimate>,
}

/// Outcome of a sweep.
#[derive(Debug)]
pub struct SweepOutcome {
    /// The candidates, in the order in which they joined.
    pub tried: Vec<CandidateOutcome>,
    /// The answer, by index of `tried`; `None` where no block was finished.
    pub conclusion: Option<Conclusion>,
    /// The best may also lie at numbers that there was no time, or no room, to try.
    pub is_cut_short: bool,
    /// Every sample of every finished block.
    pub samples: Vec<Sample>,
    /// Time that more blocks would take, which would probably decide what is not decided.
    pub time_to_decide: Option<Duration>,
    /// The time allowed in the end.
    pub allowed: Duration,
    /// Finished blocks.
    pub blocks: u32,
    /// Why the sweep ended.
    pub ending: Ending,
    /// The largest difference that two identical runs can show by noise alone, on the log scale.
    pub noise_floor: Option<f64>,
    /// The failure that ended it, if one did.
    pub failure: Option<ExecutionError>,
}

impl SweepOutcome {
    /// Of a sweep that had no time to begin.
    pub(crate) fn not_begun(sentence: String, allowed: Duration) -> Self {
        Self {
            tried: Vec::new(),
            conclusion: None,
            is_cut_short: true,
            samples: Vec::new(),
            time_to_decide: None,
            allowed,
            blocks: 0,
            ending: Ending { reason: EndReason::TimeUp, sentence },
            noise_floor: None,
            failure: None,
        }
    }
}
