//! The trace format: a dictionary of blocks, and what each thread executes, in frames with an index.
//!
//! `docs/trace-format.md` specifies it, so that a trace outlives this program. Prediction makes it
//! small and zstd makes it smaller, so that a window of a long run is reached, checked and read faster
//! than it was executed under a tracer.

mod check;
mod control;
mod dictionary;
mod early;
mod error;
mod events;
mod frame;
mod index;
mod lines;
mod markers;
mod metadata;
mod runs;
mod scan;
mod source;
mod stream;
mod trace;
mod values;
mod varint;
mod writer;

pub use check::{Break, Checked, check};
pub use early::end_early;
pub use error::FormatError;
pub(crate) use metadata::imported;
pub use metadata::{ClosedThread, Closing, NativeRun, Opening, TracerName};
pub use stream::Stream;
pub use trace::{Events, Thread, Trace};
pub use writer::{Options, Writer};

/// The first bytes of a trace: one that no text has, and two that a conversion of line ends destroys.
const MAGIC: [u8; 8] = *b"\x89corun\r\n";
/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;
/// Bytes before the first frame: the magic and the version.
const PREAMBLE_LENGTH: usize = 12;

/// Bytes of a frame's content: a full frame of the worst program is half of it, and a reader needs no
/// more memory for any frame.
const LARGEST_FRAME: usize = 32 << 20;
/// Limit of the compression of blocks; code packs some three times.
const LARGEST_BLOCK_RATIO: usize = 64;
/// Instructions, and executed blocks, of a frame: four times what a writer puts there by default, so
/// that hits without end cannot keep a reader busy forever.
const MAX_FRAME_INSTRUCTIONS: u64 = 16 << 20;
/// Instructions of a block: tracers end them after some hundred.
const MAX_INSTRUCTIONS: u64 = 1 << 14;
/// Memory operands of a block.
const MAX_OPERANDS: u64 = 1 << 15;
/// Lanes of a vector: bytes of 512 bits.
const MAX_LANES: u64 = 64;
/// Iterations of one repeated instruction: more is a damaged file, and would be simulated for hours.
const MAX_ITERATIONS: u64 = 1 << 32;
/// Values of an execution, so that one event never fills a frame.
const MAX_VALUES: usize = 1 << 16;
