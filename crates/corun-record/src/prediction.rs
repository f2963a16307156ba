//! A prediction: what the simulator says of a program, beside what this machine measured of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::beside::{
    MeasuredSiblings, OtherProgram, PredictedPlacement, PredictedStacked, TracedWorkload, WhatIf,
};
use crate::json::Document;
use crate::observation::{Estimate, Metric, Observation, Source};
use crate::run::{Answer, Caveat, Ending, MachineSummary};

/// Document that `corun predict --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Always `corun-prediction`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Duration of tracing, simulating and measuring, in seconds.
    pub elapsed_s: f64,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The built-in workload that the command runs; absent for any other program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<TracedWorkload>,
    /// The seed that chose how far apart copies run and where pages lie; `--seed` takes it. Absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The machine that it was traced and measured on.
    pub machine: MachineSummary,
    /// Why it ended.
    #[serde(default = "Ending::completed")]
    pub ending: Ending,
    /// The core that was simulated.
    pub core: PredictedCore,
    /// Part of the program that was simulated.
    pub traced: TracedPart,
    /// Why the program as a whole is not predicted, although its own code was simulated.
    pub not_predicted: Option<String>,
    /// Predicted figures, and measured ones beside them.
    pub observations: Vec<Observation>,
    /// Predicted cycles with the interval of the choice of windows alone: two predictions on one model share its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_cycles: Option<Estimate>,
    /// Predicted cycle stack, the largest share first; the shares add up to 1.
    pub stack: Vec<StackShare>,
    /// The program beside busy siblings, a placement each; empty where it was predicted alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<PredictedPlacement>,
    /// Copies that take turns on one hardware thread; absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacked: Option<PredictedStacked>,
    /// Verdict on sharing the core, for each placement with a yield.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<PredictedVerdict>,
    /// Predictions on changed cores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<WhatIf>,
    /// The program on the other hardware thread; absent for copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherProgram>,
    /// Measurement of the yield on siblings of this machine; the yield itself is among the observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_siblings: Option<MeasuredSiblings>,
    /// Mispredicted branches in 1000 instructions.
    pub mispredicts_per_thousand: f64,
    /// The runs that were measured; absent where none was.
    pub measured: Option<MeasuredRuns>,
    /// Limits of trust, a sentence each.
    pub caveats: Vec<Caveat>,
}

/// A plain answer about a predicted ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedVerdict {
    /// The metric judged.
    pub metric: Metric,
    /// The arm it is said of.
    pub arm: String,
    /// The arm it is compared with.
    pub against: String,
    /// The answer: an effect is claimed beyond the model's own error, that there is none by what was simulated alone.
    pub answer: Answer,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// The limits of the ratio of work a cycle by what was simulated alone, without the model's own error, which are compared with that bound.
    pub simulated: [f64; 2],
}

/// A core model, as far as a table needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedCore {
    /// The model's name.
    pub model: String,
    /// The machine that its figures are of.
    pub title: String,
    /// Why it was chosen, as one sentence.
    pub reason: String,
    /// True if it is that of the machine that the program was measured on.
    #[serde(default)]
    pub is_own: bool,
    /// The clock that cycles were converted to seconds with, in GHz.
    pub ghz: f64,
    /// Source of that clock.
    pub clock: ClockSource,
    /// Clock with busy siblings, by which work a cycle becomes work a second; absent in older documents, whose ratios are of
    /// cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sibling_clock: Option<SiblingClock>,
    /// Fields of the model that were replaced by values measured on this machine beside the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<CalibratedField>,
}

/// Clock of a core with busy siblings over that of the core with idle ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SiblingClock {
    /// Likely ratio.
    pub ratio: f64,
    /// The least that it may be.
    pub low: f64,
    /// The most that it may be.
    pub high: f64,
    /// Kind of its source.
    pub known: KnownBy,
    /// Source: of a published or assumed ratio as the model names it.
    pub source: String,
}

/// Way in which a figure is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// Measured on this machine.
    Measured,
    /// Published for the core.
    Published,
    /// Assumed from other cores.
    Assumed,
}

impl SiblingClock {
    /// Work a second from work a cycle; the interval holds the range of the clock.
    pub fn work_a_second(&self, a_cycle: &Estimate) -> Estimate {
        Estimate {
            value: a_cycle.value * self.ratio,
            low: a_cycle.low * self.low,
            high: a_cycle.high * self.high,
            ..*a_cycle
        }
    }

    /// Ratio of times from a ratio of cycles, with busy siblings over without.
    pub fn time(&self, cycles: &Estimate) -> Estimate {
        self.work_a_second(&cycles.under(1.0)).under(1.0)
    }
}

/// A field of a model with the value that was measured on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibratedField {
    /// The field, as `corun models show` names it.
    pub field: String,
    /// The value.
    pub value: f64,
}

impl CalibratedField {
    /// Name and value as `--set` takes them.
    pub fn setting(&self) -> (String, String) {
        (self.field.clone(), self.value.to_string())
    }
}

/// Source of the clock of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockSource {
    /// Measured on this machine while the program ran.
    Measured,
    /// The model's.
    Model,
}

/// Part of a program that was simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedPart {
    /// The tracer's name.
    pub tracer: String,
    /// Threads of the program.
    pub threads: u32,
    /// The simulated one, counted from 0 as they begin.
    pub thread: u32,
    /// Instructions of that thread in all that counts of the run.
    pub instructions: u64,
    /// Simulated instructions that count.
    pub simulated: u64,
    /// Part of the program before the part that counts, if it counts from a system call on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkippedPart>,
    /// Cost of the simulation.
    pub cost: SimulationCost,
    /// The windows that they lie in; one for a run that was simulated whole.
    pub windows: Vec<PredictedWindow>,
}

/// Part of a program before the part that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedPart {
    /// The system call after whose first return it counts: a name, or a number that has none.
    pub call: String,
    /// Instructions of all threads together before it.
    pub instructions: u64,
}

/// Cost of a simulation on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationCost {
    /// Simulated instructions, those that warm up included.
    pub instructions: u64,
    /// CPU time of all threads, in seconds, that of reading the trace included.
    pub cpu_s: f64,
    /// The peak RSS of the process so far, in bytes.
    pub peak_rss_bytes: u64,
    /// The part of it that went through the pipeline, where that is known; the rest warmed caches and predictors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detailed: Option<DetailedCost>,
}

/// Cost of the detailed part of a simulation on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetailedCost {
    /// Instructions that went through the pipeline.
    pub instructions: u64,
    /// CPU time of them, in seconds.
    pub cpu_s: f64,
}

/// A simulated interval of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedWindow {
    /// Instructions of the thread before it.
    pub begin: u64,
    /// Number of instructions.
    pub instructions: u64,
    /// Predicted cycles.
    pub cycles: u64,
    /// Weight of the window: the instructions of the run, all threads together, that it represents. Absent where
    /// all windows represent as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
}

/// One cause of the stack of cycles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackShare {
    /// The simulator's name of it.
    pub component: String,
    /// Share of all cycles, from 0 to 1.
    pub share: f64,
}

/// The runs without a tracer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredRuns {
    /// The logical CPU that they were pinned to.
    pub cpu: u32,
    /// Runs before the first that counts.
    pub warmup: u32,
    /// Method that separated user time from kernel time, as one sentence.
    pub method: String,
    /// Runs that were tried after it; those that had the core to themselves, or most nearly, count.
    pub tried: u32,
    /// The runs that count.
    pub runs: Vec<MeasuredRun>,
}

/// A run without a tracer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredRun {
    /// From start to end, in seconds.
    pub wall_s: f64,
    /// The simulated thread's time in its own code, in seconds.
    pub user_s: f64,
    /// System time of the thread, in seconds.
    pub kernel_s: f64,
    /// The share of the program's processor time, from 0 to 1, of the processes that it started and waited for, which are
    /// not simulated. Absent in older documents.
    #[serde(default)]
    pub children_share: f64,
    /// The clock of the CPU meanwhile, in GHz: the median of the probes.
    pub ghz: f64,
    /// Number of probes of the clock.
    pub probes: u32,
    /// The share of probes, from 0 to 1, in which another thread contended for the core, such as a sibling that a virtual
    /// machine hides; absent where it cannot be known.
    pub contention_share: Option<f64>,
    /// Time that the hypervisor took from the CPU, in seconds; absent where it does not report it.
    pub steal_s: Option<f64>,
}

impl MeasuredRuns {
    /// The kernel's share of a thread's time beyond which nothing is predicted of it.
    pub const MAX_KERNEL_SHARE: f64 = 0.30;

    /// The kernel's share from which on a caveat says that the prediction is of the rest.
    pub const NOTABLE_KERNEL_SHARE: f64 = 0.10;

    /// The share of the processor time that other processes of a program may have, if the program is to be predicted.
    pub const MAX_CHILDREN_SHARE: f64 = 0.50;

    /// The share from which on a caveat names them.
    pub const NOTABLE_CHILDREN_SHARE: f64 = 0.05;

    /// The share of the program's processor time that processes had which it started: the mean over the runs.
    pub fn children_share(&self) -> f64 {
        let sum: f64 = self.runs.iter().map(|run| run.children_share).sum();
        sum / self.runs.len().max(1) as f64
    }
}

impl MeasuredRun {
    /// The contention share up to which a run is said to have had the core to itself.
    pub const MAX_CONTENTION_SHARE: f64 = 0.05;

    /// True if no other thread contended for the core, as far as is known.
    pub fn had_core_to_itself(&self) -> bool {
        self.contention_share.is_none_or(|share| share <= Self::MAX_CONTENTION_SHARE)
    }

    /// Cycles in the program's own code.
    pub fn cycles(&self) -> f64 {
        self.user_s * self.ghz * 1e9
    }

    /// The kernel's part of the thread's time, from 0 to 1.
    pub fn kernel_share(&self) -> f64 {
        let all = self.user_s + self.kernel_s;
        if all > 0.0 { self.kernel_s / all } else { 0.0 }
    }
}

impl Prediction {
    /// The estimate of a metric from a source.
    pub fn estimate(&self, metric: Metric, source: Source) -> Option<&Estimate> {
        let is_it = |seen: &&Observation| seen.metric == metric && seen.source == source;
        self.observations.iter().find(is_it).map(|seen| &seen.estimate)
    }

    /// Ratio of times beside siblings, from one of cycles; of older documents, which do not tell them apart, the same.
    pub fn time_beside(&self, cycles: &Estimate) -> Estimate {
        self.core.sibling_clock.as_ref().map_or(*cycles, |it| it.time(cycles))
    }

    /// The answer for an arm; none where its ratio is not judged.
    pub fn answer(&self, arm: &str) -> Option<Answer> {
        self.verdicts.iter().find(|it| it.arm == arm).map(|it| it.answer)
    }

    /// Title of the traced program, in a few words: a built-in workload's name, or the command as a shell takes it.
    pub fn title(&self) -> String {
        let workload = self.workload.as_ref().map(|it| it.name.clone());
        workload.unwrap_or_else(|| shell_words::join(&self.command))
    }

    /// The name of the program: the built-in workload, or the command's file without its folder.
    pub fn program(&self) -> &str {
        let first = self.command.first().map_or("the program", String::as_str);
        let workload = self.workload.as_ref().map(|it| it.name.as_str());
        workload.unwrap_or_else(|| first.rsplit('/').next().unwrap_or(first))
    }
}

impl Document for Prediction {
    const FORMAT: &str = "corun-prediction";
}

/// Document that `corun predict --model M1,M2 --json` writes: a prediction for each core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionTable {
    /// Always `corun-predictions`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// A core each, in the order in which they were asked for; the program is the same.
    pub predictions: Vec<Prediction>,
}

impl PredictionTable {
    /// The table of these predictions.
    pub fn new(predictions: Vec<Prediction>, corun_version: &str) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            corun_version: corun_version.to_owned(),
            predictions,
        }
    }
}

impl Document for PredictionTable {
    const FORMAT: &str = "corun-predictions";
}
