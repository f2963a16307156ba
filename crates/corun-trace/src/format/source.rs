//! Source of the bytes of a trace, read at any offset by several readers at once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::error::FormatError;
use super::frame::{HEADER_LENGTH, Header};

/// A file, or bytes in memory.
#[derive(Debug)]
pub(super) enum Source {
    File { file: File, length: u64 },
    Bytes(Vec<u8>),
}

impl Source {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::File { length, .. } => *length,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Fills the buffer from this offset on.
    pub(super) fn read(&self, buffer: &mut [u8], at: u64) -> Result<(), FormatError> {
        let read = match self {
            Self::File { file, .. } => file.read_exact_at(buffer, at),
            Self::Bytes(bytes) => usize::try_from(at)
                .ok()
                .and_then(|at| bytes.get(at..)?.get(..buffer.len()))
                .map(|part| buffer.copy_from_slice(part))
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
        };
        read.map_err(|source| FormatError::Unreadable { at, source })
    }

    /// The header of the frame at this offset and its content, put into `content`; nothing if the file
    /// ends before the frame does.
    pub(super) fn frame(
        &self,
        at: u64,
        payload: &mut Vec<u8>,
        content: &mut Vec<u8>,
    ) -> Result<Option<Header>, FormatError> {
        let left = self.length().saturating_sub(at);
        if left < HEADER_LENGTH as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER_LENGTH];
        self.read(&mut bytes, at)?;
        let header = Header::parse(&bytes, at)?;
        if header.length() > left {
            return Ok(None);
        }
        payload.resize(header.stored as usize, 0);
        self.read(payload, at + HEADER_LENGTH as u64)?;
        header.unpack(&bytes, payload, at, content)?;
        Ok(Some(header))
    }
}
