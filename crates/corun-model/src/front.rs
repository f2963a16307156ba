//! The front end: prediction, fetch, decoding, and what spares decoding.

use serde::{Deserialize, Serialize};

use super::memory::{Cache, Tlb};
use super::sharing::Sharing;

/// From addresses to micro-ops in program order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontEnd {
    /// Bytes from the first-level instruction cache.
    pub fetch: Fetch,
    /// First-level instruction cache.
    pub l1i: Cache,
    /// First-level translations of code.
    pub itlb: Tlb,
    /// Which way branches go.
    pub prediction: BranchPrediction,
    /// From bytes to instructions, ahead of the decoders; none: that takes no time.
    pub predecoder: Option<Predecoder>,
    /// Instructions to micro-ops.
    pub decoder: Decoder,
    /// Decoded micro-ops by address; the trace cache of NetBurst is one that keeps taken branches.
    pub op_cache: Option<OpCache>,
    /// A loop that is held in the queue.
    pub loop_buffer: Option<LoopBuffer>,
    /// Micro-ops of microcoded instructions.
    pub microcode: MicrocodeSequencer,
    /// Fusion: pairs of instructions that become fewer micro-ops.
    pub fusion: Fusion,
    /// Micro-ops that wait for renaming.
    pub queue: Queue,
}

/// Bytes a cycle towards the decoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Bytes of one fetch.
    pub bytes: u32,
    /// True if a fetch begins at a multiple of `bytes`, so that a jump into its middle wastes the rest.
    pub aligned: bool,
    /// Bytes that may have been fetched and not been decoded.
    #[serde(default)]
    pub ahead: u32,
    /// Extra cycles for an instruction whose prefixes change its length (`66` before an immediate).
    #[serde(default)]
    pub length_changing_prefix: u32,
    /// Which thread's turn it is where they alternate.
    #[serde(default)]
    pub choice: Choice,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Which of several threads that could fetch does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The one whose last turn is longest ago.
    #[default]
    RoundRobin,
    /// The one with the fewest micro-ops between fetch and execution (ICOUNT, Tullsen et al. 1996).
    InstructionCount,
}

/// Predecoder, which finds where instructions begin and end (Intel): one aligned block of fetched bytes at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predecoder {
    /// Instructions a cycle; a block with more takes further cycles.
    pub instructions: u32,
    /// Instructions that wait for the decoders.
    pub queue: u32,
    /// Cycles until the decoders can take one.
    pub delay: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Instructions to micro-ops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decoder {
    /// Instructions a cycle.
    pub width: u32,
    /// Micro-ops that the first decoder makes of one instruction.
    pub first: u32,
    /// Micro-ops that each other decoder makes of one instruction.
    pub others: u32,
    /// Micro-ops a cycle.
    pub uops: u32,
    /// Instructions that only the first decoder takes, as `pop r12`.
    #[serde(default)]
    pub first_only: Vec<String>,
    /// Of these, the ones after which no other is decoded in the same cycle.
    #[serde(default)]
    pub alone: Vec<String>,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Decoded micro-ops by address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpCache {
    /// Sets.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Micro-ops of a line.
    pub line: u32,
    /// Room for constants; none: as much as they need.
    pub constants: Option<Constants>,
    /// Bytes of aligned code that the micro-ops of a line come from.
    pub window: u32,
    /// The most lines of one window; code that needs more is decoded each time.
    pub lines_of_window: Option<u32>,
    /// Micro-ops a cycle.
    pub width: u32,
    /// Lines a cycle.
    pub lines: u32,
    /// True if these lie in one window.
    #[serde(default)]
    pub one_window: bool,
    /// Cycles of each further read of a window that has more lines than `lines`; none: they are read like the first ones.
    pub further_read: Option<u32>,
    /// True if a line continues after a taken branch (a trace cache), so that `window` bounds nothing.
    #[serde(default)]
    pub trace_cache: bool,
    /// Cycles lost on the way from the decoder to the op cache, and back.
    pub switch: u32,
    /// True if copies of a block one after the other are found in it too, as code is that is executed often.
    #[serde(default = "is_so")]
    pub unrolled: bool,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

fn one() -> u32 {
    1
}

fn is_so() -> bool {
    true
}

/// Immediates and displacements that a line of the op cache holds, each of up to 32 bits; one of 64 is two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    /// Constants that a line holds beside its full number of micro-ops. Two more take the space of one micro-op.
    pub free: u32,
    /// Limit of the constants of a line.
    pub most: u32,
}

/// A loop that is held in the queue and needs no fetch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopBuffer {
    /// Micro-ops of the longest loop.
    pub uops: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Micro-ops of microcoded instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MicrocodeSequencer {
    /// Micro-ops of an instruction from which on it comes from here.
    pub from: u32,
    /// Micro-ops a cycle.
    pub width: u32,
    /// Cycles lost on the way there and back.
    pub switch: u32,
    /// Cycles lost on the way from the decoders and back; none: its micro-ops come as those of any
    /// other instruction.
    pub from_decoders: Option<u32>,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Fusion: instructions or micro-ops that become fewer micro-ops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fusion {
    /// First halves of macro-fusion, mnemonics: each with a conditional jump after it is one micro-op.
    pub with_branch: Vec<String>,
    /// Of these, the ones that fuse only with jumps that do not ask for sign, parity or overflow.
    #[serde(default)]
    pub without_sign: Vec<String>,
    /// Of these, the ones that fuse only with jumps that do not ask for the carry either.
    #[serde(default)]
    pub without_carry: Vec<String>,
    /// Ports that start the two as one micro-op: those of the jump, if empty.
    #[serde(default)]
    pub ports: Vec<String>,
    /// Instructions that become one micro-op with a copy of a register into their target just before them, mnemonics:
    /// the copy takes no slot.
    #[serde(default)]
    pub with_copy: Vec<String>,
    /// True if the last decoder takes none of them, since the jump after it is not seen yet.
    #[serde(default)]
    pub not_last: bool,
    /// True if an instruction with both an immediate and an address relative to itself fuses.
    #[serde(default)]
    pub relative_immediate: bool,
    /// True if a NOP shares the slot of the instruction before it, which has one slot and no
    /// other NOP with it. Decoders and op cache have a place for each all the same.
    #[serde(default)]
    pub nop: bool,
    /// True if an instruction that loads or stores and computes is one micro-op until it is issued.
    pub micro: bool,
    /// True if that holds for an address of base and index too up to the reorder buffer (Intel:
    /// otherwise it is *unlaminated*, two micro-ops from renaming on).
    pub micro_indexed: bool,
    /// True if it holds for such an address at least where nothing computes or the first operand is a
    /// source too (Haswell and later).
    #[serde(default)]
    pub micro_indexed_updating: bool,
    /// Source of the figures.
    pub source: String,
}

/// Micro-ops that wait for renaming.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Micro-ops.
    pub entries: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Which way branches go, and what it costs to be wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchPrediction {
    /// Conditional branches.
    pub direction: Tage,
    /// Branches of each level of the branch target buffer, the nearest first.
    pub targets: Vec<u32>,
    /// Cycles without fetch after a taken branch that the level of the same place knows.
    pub taken: Vec<u32>,
    /// Cycles without fetch after a call or a return, beside those of a taken branch.
    #[serde(default)]
    pub linking: u32,
    /// Jumps and calls through registers and memory.
    pub indirect: Indirect,
    /// Return addresses.
    pub return_stack: u32,
    /// Runs of code, each up to a branch, that prediction may be ahead of fetch; it asks for their lines.
    #[serde(default)]
    pub ahead: u32,
    /// Cycles from the execution of a wrongly predicted branch to the renaming of what comes next.
    pub mispredict: u32,
    /// Penalty in cycles of a direct jump or call that only decoding finds.
    pub resteer: u32,
    /// True if the wrong side of a mispredicted branch takes slots, entries and ports from siblings until the branch is
    /// executed.
    #[serde(default = "is_so")]
    pub wrong_paths: bool,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// A predictor of the TAGE class (Seznec and Michaud 2006).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tage {
    /// Two-bit counters of the base predictor, a power of two.
    pub base: u32,
    /// Entries of each tagged table, a power of two.
    pub table: u32,
    /// Lengths of the global history, one a table, rising; none: the base predictor alone with its
    /// counters chosen by the history too (gshare).
    pub histories: Vec<u32>,
    /// True if the history is of taken branches of every kind, by their addresses and targets; else it is of the outcomes of
    /// conditional branches.
    #[serde(default)]
    pub of_taken: bool,
    /// Tables in which a misprediction takes an entry, at most.
    #[serde(default = "one")]
    pub allocations: u32,
    /// Bits of a tag.
    pub tag: u32,
}

/// A predictor of indirect targets of the ITTAGE class (Seznec 2011).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indirect {
    /// Targets.
    pub entries: u32,
    /// Of these, the ones that one branch can have; none: all.
    pub of_branch: Option<u32>,
    /// Cycles without fetch after a target from here, beside those of a taken branch.
    #[serde(default)]
    pub bubble: u32,
    /// Bits of history that choose one, of each length, rising; 0: the branch alone chooses. None: each branch is
    /// predicted to go where it went last.
    pub histories: Vec<u32>,
}
