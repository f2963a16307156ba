//! Content of a trace as a document: where it is from, how it ended, and its instructions in figures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;
use crate::trace_plan::TracePlan;

/// Document of `corun trace info`. Warm-up intervals count like all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceInfo {
    /// Opening of the trace.
    pub opening: TraceOpening,
    /// Closing of the trace; absent if the tracer did not finish.
    pub closing: Option<TraceClosing>,
    /// The threads, in the order in which they were met.
    pub threads: Vec<TracedThread>,
    /// True if it holds the bytes of its instructions, without which it cannot be simulated.
    pub has_code: bool,
    /// Damage of the file; what follows is what could be read.
    pub damage: Option<String>,
    /// Recorded instructions.
    pub instructions: u64,
    /// Executed blocks.
    pub executions: u64,
    /// Blocks of the dictionary that were executed.
    pub blocks: u64,
    /// Branches by kind.
    pub branches: TracedBranches,
    /// Accesses to memory.
    pub memory: TracedMemory,
    /// The code that was executed.
    pub code: TraceFootprint,
    /// The memory that was accessed.
    pub data: TraceFootprint,
    /// The blocks that executed most instructions, hottest first.
    pub hottest: Vec<HotBlock>,
}

/// Opening of a trace: its origin and plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceOpening {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// A hash of the environment: equal if the variables are.
    pub environment: String,
    /// The tracer.
    pub tracer: UsedTracer,
    /// The CPU's name.
    pub cpu: String,
    /// The CPU's features by their names in the kernel.
    pub features: Vec<String>,
    /// The kernel's name and release.
    pub kernel: String,
    /// When tracing began: RFC 3339, in UTC.
    pub started: String,
    /// Plan of the recording.
    pub plan: TracePlan,
    /// Remarks for the reader, a sentence each.
    pub remarks: Vec<String>,
}

/// A tracer and its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsedTracer {
    /// As given to `--tracer`.
    pub name: String,
    /// As it gives it.
    pub version: String,
}

/// Closing of a trace: its end and totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceClosing {
    /// Ending of the program; absent if that was not seen.
    pub ending: Option<TracedEnding>,
    /// The ending in words.
    pub sentence: Option<String>,
    /// Instructions of all threads, recorded or not, if the tracer counted them.
    pub instructions: Option<u64>,
    /// Native run: the same command without a tracer, if it was run and ended alike.
    pub native: Option<NativeRun>,
    /// Recorded threads.
    pub threads: Vec<TracedThread>,
    /// Remarks for the reader, a sentence each.
    pub remarks: Vec<String>,
}

/// Ending of a traced program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TracedEnding {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal: its number.
    Killed(i32),
    /// The user stopped the tracing.
    Interrupted,
}

/// Native run: the same command without a tracer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NativeRun {
    /// Wall time in seconds.
    pub seconds: f64,
    /// Processor time in its own code, in seconds.
    pub user_s: f64,
    /// Processor time in the kernel, in seconds.
    pub system_s: f64,
    /// The frequency of the CPU just before and just after, in hertz, if it could be measured.
    pub hertz: Option<[f64; 2]>,
}

/// Recording of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedThread {
    /// Number of the thread in the kernel.
    pub tid: u32,
    /// Recorded instructions.
    pub instructions: u64,
}

/// Branches by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedBranches {
    /// Conditional ones.
    pub conditional: u64,
    /// Conditional ones that were taken.
    pub taken: u64,
    /// Jumps to a fixed target.
    pub jumps: u64,
    /// Jumps to a target from a register or from memory.
    pub indirect_jumps: u64,
    /// Calls of a fixed target.
    pub calls: u64,
    /// Calls of a target from a register or from memory.
    pub indirect_calls: u64,
    /// Returns.
    pub returns: u64,
}

/// Accesses by kind; one that loads and stores counts as both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedMemory {
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Prefetches.
    pub prefetches: u64,
    /// Loads and stores by their bytes; 0 where the state of the core decides.
    #[schemars(with = "BTreeMap<u16, u64>")]
    pub sizes: BTreeMap<u16, u64>,
}

/// Memory that was touched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFootprint {
    /// Distinct lines of 64 bytes.
    pub lines: u64,
    /// Distinct pages of 4 KiB.
    pub pages: u64,
    /// True if there may be more.
    pub at_least: bool,
}

/// A block that was executed often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotBlock {
    /// Address of the block.
    pub address: u64,
    /// Number of its executions.
    pub executions: u64,
    /// Share of all instructions.
    pub share: f64,
    /// Instructions of the block.
    pub instructions: Vec<DisassembledInstruction>,
}

/// An instruction in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisassembledInstruction {
    /// Address of the instruction.
    pub address: u64,
    /// As an assembler has it.
    pub text: String,
}

impl Body for TraceInfo {
    const FORMAT: &str = "corun-trace-info";
}
