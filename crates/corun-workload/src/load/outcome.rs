//! Outcome of a request, compared with the one of its line.

use std::fmt;
use std::io;

use rustix::io::Errno;

use super::{Action, Line, Load};
use crate::LoadMismatch;

/// Answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Bytes that were read or written.
    pub(crate) bytes: u64,
    /// A number that the request decides, the same every time.
    pub(crate) value: u64,
}

impl Answer {
    /// Of a request that moves nothing and succeeds.
    pub(crate) const DONE: Self = Self { bytes: 0, value: 1 };

    /// Of a request that should have moved `expected` bytes.
    pub(crate) fn moved(expected: u32, bytes: usize) -> Result<Self, Failure> {
        let moved = Self { bytes: bytes as u64, value: bytes as u64 };
        match bytes == expected as usize {
            true => Ok(moved),
            false => Err(Failure::Bytes { expected, found: bytes }),
        }
    }
}

/// Why a request has no [`Answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The system refuses it.
    Refused(Errno),
    /// It moves another number of bytes.
    Bytes { expected: u32, found: usize },
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno)
    }
}

impl Load {
    /// Verdict on a request on files: the failure that its line records counts as nothing.
    ///
    /// # Errors
    /// If it ended otherwise than its line says.
    pub(crate) fn judge(
        &self,
        line: &Line,
        ended: Result<Answer, Failure>,
    ) -> Result<Answer, LoadMismatch> {
        match ended {
            Ok(answer) if line.succeeds || !may_not_succeed(line.action) => Ok(answer),
            Err(_) if !line.succeeds => Ok(Answer { bytes: 0, value: 0 }),
            Ok(_) => Err(self.mismatch(line, "a failure", "success")),
            Err(Failure::Refused(errno)) => {
                Err(self.mismatch(line, "success", io::Error::from(errno)))
            }
            Err(Failure::Bytes { expected, found }) => {
                Err(self.mismatch(line, format_args!("{expected} bytes"), found))
            }
        }
    }

    pub(crate) fn mismatch(
        &self,
        line: &Line,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> LoadMismatch {
        LoadMismatch {
            load: self.name.clone(),
            line: line.number,
            request: line.action.kind().name(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

/// True if the success of a request is a mistake where its line records a failure; the original does
/// not check the others.
fn may_not_succeed(action: Action) -> bool {
    matches!(
        action,
        Action::Create { .. }
            | Action::Unlink { .. }
            | Action::Rename { .. }
            | Action::RemoveDirectory { .. }
    )
}
