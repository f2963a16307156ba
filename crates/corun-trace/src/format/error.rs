//! Errors of a trace file, with the place, what was expected and what was found.

use std::fmt;

use corun_record::{Actionable, Exit};

use super::VERSION;

/// Why a trace cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The system does not give the bytes.
    #[error("the trace cannot be read at byte {at}: {source}")]
    Unreadable {
        /// Offset in the file.
        at: u64,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Something else than a trace.
    #[error(
        "expected a trace of corun, which begins with {:02x?}, found {found:02x?}",
        super::MAGIC
    )]
    NotATrace {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// Written by a newer corun.
    #[error("expected a trace of a version up to {VERSION}, found version {found}")]
    Newer {
        /// The version found.
        found: u32,
    },
    /// Bytes that no writer wrote in this place.
    #[error(
        "the trace is damaged in the frame at byte {frame}: expected {expected}, found {found}"
    )]
    Damaged {
        /// Offset in the file at which the frame begins.
        frame: u64,
        /// Expected value.
        expected: String,
        /// Value found.
        found: String,
    },
    /// The code of a block is not that of its instructions.
    #[error(
        "the trace is damaged: expected {expected} instructions in the block at {address:#x}, found code of {found}"
    )]
    Code {
        /// The address of the block.
        address: u64,
        /// The instructions that it has.
        expected: usize,
        /// The instructions that its bytes are.
        found: usize,
    },
    /// The trace holds no such thread.
    #[error(
        "expected the number of a thread that the trace holds ({}), found {found}",
        listed(threads)
    )]
    NoThread {
        /// The numbers of those that it holds.
        threads: Vec<u32>,
        /// The number asked for.
        found: u32,
    },
    /// The reader of the trace needs code, and the trace has none.
    #[error(
        "expected the bytes of every instruction, found none of the block at {address:#x}: this trace was \
         imported from records that hold no code"
    )]
    NoCode {
        /// Address of the first block without bytes.
        address: u64,
    },
}

impl FormatError {
    pub(super) fn damaged(
        frame: u64,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Damaged { frame, expected: expected.into(), found: found.into() }
    }
}

impl Actionable for FormatError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoThread { .. } => Exit::Usage,
            Self::Unreadable { source, .. } => Exit::of_file(source),
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Unreadable { .. } => "Name a file that exists, is no pipe, and may be read.",
            Self::NotATrace { .. } => "Name a file that `corun trace -o FILE` wrote.",
            Self::Newer { .. } => "Read it with the corun that wrote it, or a newer one.",
            Self::Damaged { .. } | Self::Code { .. } => {
                "Copy the file again, or record it again; `corun trace check` says how much of it \
                 is good."
            }
            Self::NoThread { .. } => "Name one of these; threads are numbered from 0 in the order in which they began.",
            Self::NoCode { .. } => {
                "Record the program itself with `corun trace -o FILE -- COMMAND`; a trace without code can only be \
                 shown (`corun trace info`), checked, and written for ChampSim (`corun trace convert --to champsim`)."
            }
        }
        .to_owned()
    }
}

/// Something wrong within the content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Defect {
    /// Offset in the content.
    pub at: usize,
    pub expected: &'static str,
    pub found: FoundValue,
}

/// Value that is there instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundValue {
    End,
    TooLarge,
    Number(u64),
    Left(u64),
}

impl Defect {
    /// The error of a frame that begins at this offset of the file.
    pub(super) fn in_frame(self, frame: u64) -> FormatError {
        let Self { at, expected, found } = self;
        FormatError::damaged(
            frame,
            format!("{expected} at byte {at} of its content"),
            found.to_string(),
        )
    }
}

impl fmt::Display for FoundValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => write!(out, "its end"),
            Self::TooLarge => write!(out, "a number above 64 bits"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Left(bytes) => write!(out, "{bytes} bytes more"),
        }
    }
}

/// The first few of some numbers.
fn listed(numbers: &[u32]) -> String {
    const FEW: usize = 8;
    let first: Vec<String> = numbers.iter().take(FEW).map(u32::to_string).collect();
    match numbers.len() {
        0 => "none".to_owned(),
        1..=FEW => first.join(", "),
        count => format!("{}, ... of {count}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_threads_the_first_are_listed() {
        assert_eq!(listed(&[]), "none");
        assert_eq!(listed(&[1]), "1");
        assert_eq!(listed(&[0, 2, 3, 4, 5, 6, 7, 8]), "0, 2, 3, 4, 5, 6, 7, 8");
        let many: Vec<u32> = (0..9).collect();
        assert_eq!(listed(&many), "0, 1, 2, 3, 4, 5, 6, 7, ... of 9");
    }
}
