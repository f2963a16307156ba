//! Traces of what a program executes: every instruction's bytes, every branch, every memory address.
//!
//! A [`Tracer`] runs an unmodified program and hands what it does to a [`Sink`]: the code as [`Block`]s,
//! each defined once, and for each thread the blocks it executes with the addresses they touch. The words
//! are the same whatever the tracer, so traces of different tracers compare access by access.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod block;
mod branch;
mod champsim_instruction;
pub mod convert;
mod document;
mod doubts;
mod event;
mod flow;
pub mod format;
mod inherited;
mod modules;
mod native;
mod operands;
mod origin;
mod output;
mod plan;
mod pre_run;
mod process;
mod process_context;
mod profile;
mod quiet_run;
mod recording;
mod run;
mod sink;
mod slow_run;
mod source_place;
mod summary;
mod survey;
mod system_call;
mod thread_filter;
mod touched;
mod tracer;

pub use block::{Block, BlockId, Code, Direction, Form, Instruction, MemoryOperand};
pub use branch::BranchKind;
pub use champsim_instruction::ChampSimInstruction;
pub use corun_record::{TracePlan, TracedPoint};
pub use document::{caveats, info};
pub use event::{
    Access, Event, Marker, OrderedMarker, Phase, access_count, accesses, first_accesses,
};
pub use inherited::InheritedAttributes;
pub use modules::Module;
pub use native::Native;
pub use operands::{Atomic, NotCode, atomics, decode, is_atomic};
pub use plan::{Interval, intervals, recorded};
pub use pre_run::{FromCall, PreRun, PreRunResult, Samples};
pub use process::silence;
pub use process_context::ProcessContext;
pub use profile::Profile;
pub use quiet_run::{count_quietly, trace_quietly};
pub use recording::{RecordedThread, Recording};
pub use run::{Part, TraceOutcome, TraceRequest, Untraced, run_trace};
pub use sink::{Sink, SinkError, ThreadId};
pub use slow_run::SlowRunNotice;
pub use source_place::{SourcePlace, source_places};
pub use summary::{HotBlock, Summary, disassemble, summary};
pub use survey::{NotAlone, Survey, SurveyedProgram};
pub use system_call::SystemCall;
pub use touched::{TouchedLine, TouchedLines};
#[cfg(all(feature = "dynamorio", target_os = "linux", target_arch = "x86_64"))]
pub use tracer::DynamoRio;
pub(crate) use tracer::others;
pub use tracer::{
    Ending, Target, TraceError, Traced, Tracer, TracerSelection, Unavailable, all, choose,
    choose_for,
};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use tracer::{Ptrace, Qemu, Step};
