//! From the words that a client leaves in a buffer to what a sink takes.
//!
//! The layout is that of `clients/channel.h`. Nothing in a buffer is trusted: a traced program may
//! have written there.

use std::io::Read;

use crate::{Marker, NotCode, OrderedMarker, Phase, Sink, SinkError, ThreadId};

pub(super) const MARKER: u64 = 1 << 63;
pub(super) const MARKER_WORDS: usize = 3;
/// The kind of marker of an atomic instruction.
pub(super) const ATOMIC: u64 = 8;

/// Why the words of a client make no sense.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EntryError {
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("a block's description cannot be read: {0}")]
    Description(#[from] std::io::Error),
    #[error(transparent)]
    Code(#[from] NotCode),
    #[cfg(feature = "dynamorio")]
    #[error(
        "expected {expected} memory operands in the instruction {code} at {address:#x}, the client \
         found {found}"
    )]
    Operands { address: u64, code: String, expected: u8, found: u8 },
    #[error("expected {expected}, found {found:#x}")]
    Unexpected { expected: &'static str, found: u64 },
}

pub(super) fn mark(
    words: &[u64],
    thread: ThreadId,
    sink: &mut dyn Sink,
) -> Result<usize, EntryError> {
    let &[kind, order, value, ..] = words else {
        return Err(EntryError::Unexpected { expected: "the rest of a marker", found: words[0] });
    };
    let marker = match kind & !MARKER {
        1 => Marker::SystemCall(value),
        2 => Marker::Signal(value as u32),
        3 => Marker::Forked(value as u32),
        4 => Marker::Replaced,
        5 => Marker::Ended,
        ATOMIC => Marker::Atomic,
        6 => Marker::Begin {
            phase: if value & 1 == 1 { Phase::Counted } else { Phase::WarmUp },
            skipped: value >> 1,
        },
        found => return Err(EntryError::Unexpected { expected: "a kind of marker", found }),
    };
    sink.mark(thread, OrderedMarker { order, marker })?;
    Ok(MARKER_WORDS)
}

pub(super) fn read_u64(from: &mut impl Read) -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

pub(super) fn read_u32(from: &mut impl Read) -> std::io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

pub(super) fn read_bytes(from: &mut impl Read, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if from.take(count as u64).read_to_end(&mut bytes)? < count {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
