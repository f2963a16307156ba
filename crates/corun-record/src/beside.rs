//! A program beside busy siblings on one core, predicted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::Estimate;
use crate::placement::Placement;
use crate::prediction::StackShare;

/// A program on a core whose other hardware threads are busy.
///
/// How much more or less the core does so is an observation of the prediction: its SMT yield or core equivalence, with
/// this placement as its arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedPlacement {
    /// The placement.
    pub placement: Placement,
    /// Busy hardware threads of the core.
    pub threads: u32,
    /// True if the workers are threads of one process, whose waits for each other are replayed, and not processes.
    #[serde(default)]
    pub is_one_process: bool,
    /// The programs on the other hardware threads; empty for copies of the program itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Vec<String>>,
    /// Slowdown of the program against itself alone, as a ratio of cycles; above 1 where a sibling costs it anything.
    pub slowdown: Estimate,
    /// Slowdown of the other program beside this one; absent for copies, whose slowdown is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_of_other: Option<Estimate>,
    /// Cycle stack of the program beside the siblings, the largest share first; the shares add up to 1.
    pub stack: Vec<StackShare>,
    /// Causes of the slowdown, the largest share first.
    pub causes: Vec<Cause>,
    /// Misses of the program in each cache, alone and beside the siblings.
    pub misses: Vec<MissRate>,
    /// The work of the core, over that of one copy, if the copies are spread over the run, so that other phases meet; absent for
    /// another program, and for a run that was simulated whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<f64>,
}

/// Copies that take turns on one hardware thread of a core whose other ones are idle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedStacked {
    /// Time slice of each worker, in milliseconds.
    pub slice_ms: f64,
    /// Duration of a context switch, in microseconds.
    pub switch_us: f64,
    /// Cycles of a slice that are lost since caches and predictors hold what another copy left there.
    pub refill_cycles: f64,
    /// The part of these that was lost in the later half of what was simulated of a slice: where it is large, a slice loses
    /// more.
    pub late_share: f64,
    /// The work of the hardware thread over that of one copy that has it for itself.
    pub work: Estimate,
}

/// The program on siblings of this machine, as its yield was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredSiblings {
    /// The logical CPUs of the core.
    pub cpus: Vec<u32>,
    /// Evidence that they are siblings.
    pub evidence: SiblingEvidence,
    /// Blocks of the experiment.
    pub blocks: u32,
    /// Duration of the measurement, in seconds.
    pub elapsed_s: f64,
    /// Clock with busy siblings over that without, where it was read in both kinds of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<f64>,
}

/// Evidence that logical CPUs are siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SiblingEvidence {
    /// The kernel says so, and no hypervisor is below it.
    Topology,
    /// A probe before and one after found that they share a core.
    Probe,
}

/// The program on the other hardware thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProgram {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Threads of the program, of which the busiest is simulated.
    pub threads: u32,
    /// Instructions of that thread.
    pub instructions: u64,
    /// The kernel's part of that thread's time; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_share: Option<Estimate>,
}

/// A built-in workload that was traced as a program of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedWorkload {
    /// Name of the workload.
    pub name: String,
    /// Parameters with their values.
    pub parameters: BTreeMap<String, String>,
    /// Number of workers.
    pub workers: u32,
}

/// Misses of a program in each cache, and lines that memory serves to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissRate {
    /// The cache: `L1I`, `L1D`, `L2` or `L3`, whose misses the program waits for; or [`Self::FROM_MEMORY`], the lines that
    /// memory serves, to prefetchers too.
    pub cache: String,
    /// Misses in 1000 instructions, alone.
    pub alone: f64,
    /// The rate beside the siblings.
    pub beside: f64,
}

impl MissRate {
    /// The name of what memory serves.
    pub const FROM_MEMORY: &str = "from memory";
}

/// A resource that decides what sharing the core does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Effect on the work of the core.
    pub effect: Effect,
    /// The component of the cycle stack, by the simulator's name.
    pub component: String,
    /// For [`Effect::Fills`] the share of all issue slots of the program alone, for [`Effect::Costs`] that of all
    /// components that grew beside the siblings; from 0 to 1.
    pub share: f64,
    /// The instruction or the function that most of it is lost to, where one stands out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<AttributedCode>,
}

/// Code that slots are lost to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttributedCode {
    /// Share of the cause, from 0 to 1.
    pub share: f64,
    /// The instruction's mnemonic; none if it is a whole function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The function, or the one that was inlined there; none without a symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Source file, without its folder; none without a line table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Executable or library, without its folder; none for code that was made at run time, or where it was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Address as the module numbers them; none where the module is no longer there as it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
}

/// Effect of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Alone, slots are lost to it, which a sibling can use.
    Fills,
    /// Beside the sibling, the program takes longer because of it.
    Costs,
}

/// A question of predicted siblings, asked of a changed core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// The changed field of the model and its value, as `--what-if` takes them.
    pub setting: String,
    /// The placement.
    pub placement: Placement,
    /// The ratio of work there: the SMT yield of `full`, the core equivalence of `packed`.
    pub estimate: Estimate,
}
