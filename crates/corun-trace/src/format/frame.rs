//! Frames: pieces of a trace file that stand for themselves, each with its length and its checksum.

use std::io;

use super::error::FormatError;
use super::{LARGEST_BLOCK_RATIO, LARGEST_FRAME};

/// Bytes before a frame's payload.
pub(super) const HEADER_LENGTH: usize = 20;

/// Kind of a frame's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Opening = 1,
    Blocks = 2,
    Events = 3,
    Closing = 4,
    Index = 5,
    End = 6,
    Lines = 7,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Opening,
        Self::Blocks,
        Self::Events,
        Self::Closing,
        Self::Index,
        Self::End,
        Self::Lines,
    ];

    /// Limit of a content's length, as a multiple of its payload. Blocks stay in memory, so that a
    /// small file of them must not grow without bounds; everything else is used and forgotten.
    fn largest_ratio(self) -> usize {
        if self == Self::Blocks { LARGEST_BLOCK_RATIO } else { usize::MAX }
    }
}

/// Compresses frames.
pub(super) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    packed: Vec<u8>,
}

impl Packer {
    pub(super) fn new(level: i32) -> io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(level)?;
        compressor.include_checksum(false)?;
        Ok(Self { compressor, packed: Vec::new() })
    }

    /// The bytes of a frame, header and payload.
    pub(super) fn pack(&mut self, kind: Kind, thread: u32, content: &[u8]) -> io::Result<&[u8]> {
        if content.len() > LARGEST_FRAME {
            let error = format!(
                "expected a frame of at most {LARGEST_FRAME} bytes, found {}",
                content.len()
            );
            return Err(io::Error::other(error));
        }
        self.packed.clear();
        self.packed.resize(HEADER_LENGTH + zstd::zstd_safe::compress_bound(content.len()), 0);
        let payload = &mut self.packed[HEADER_LENGTH..];
        let mut length = self.compressor.compress_to_buffer(content, payload)?;
        let is_packed = length < content.len() && content.len() / length <= kind.largest_ratio();
        if !is_packed {
            length = content.len();
            payload[..length].copy_from_slice(content);
        }
        self.packed.truncate(HEADER_LENGTH + length);
        let header = Header {
            kind,
            is_packed,
            thread,
            content: content.len() as u32,
            stored: length as u32,
        };
        let (head, payload) = self.packed.split_at_mut(HEADER_LENGTH);
        head.copy_from_slice(&header.to_bytes(payload));
        Ok(&self.packed)
    }
}

/// Header before a frame's payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub kind: Kind,
    pub is_packed: bool,
    pub thread: u32,
    /// Bytes of the content.
    pub content: u32,
    /// Bytes of the payload, as it lies in the file.
    pub stored: u32,
}

impl Header {
    /// Bytes of the whole frame in the file.
    pub(super) fn length(&self) -> u64 {
        HEADER_LENGTH as u64 + u64::from(self.stored)
    }

    fn to_bytes(self, payload: &[u8]) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        bytes[0] = self.kind as u8;
        bytes[1] = u8::from(self.is_packed);
        bytes[4..8].copy_from_slice(&self.thread.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.content.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.stored.to_le_bytes());
        let sum = checksum(&bytes, payload);
        bytes[16..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The header of the frame at this offset of the file, within the bounds of the format.
    pub(super) fn parse(bytes: &[u8; HEADER_LENGTH], at: u64) -> Result<Self, FormatError> {
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u8 == bytes[0]).ok_or_else(|| {
            FormatError::damaged(at, "a kind of frame (1 to 7)", bytes[0].to_string())
        })?;
        if bytes[1] > 1 || bytes[2..4] != [0, 0] {
            let found = format!("{:02x?}", &bytes[1..4]);
            return Err(FormatError::damaged(at, "packing 0 or 1, then two zeros", found));
        }
        let field =
            |from: usize| u32::from_le_bytes(bytes[from..from + 4].try_into().expect("four bytes"));
        let header = Self {
            kind,
            is_packed: bytes[1] == 1,
            thread: field(4),
            content: field(8),
            stored: field(12),
        };
        let (content, stored) = (header.content as usize, header.stored as usize);
        let lengths = format!("{content} bytes stored in {stored}");
        if content > LARGEST_FRAME {
            let expected = format!("a content of at most {LARGEST_FRAME} bytes");
            return Err(FormatError::damaged(at, expected, lengths));
        }
        let fits = if header.is_packed {
            stored < content && content / stored.max(1) <= kind.largest_ratio()
        } else {
            stored == content
        };
        if !fits {
            let expected = format!(
                "a content as long as what is stored, or packed, {} times at most",
                kind.largest_ratio()
            );
            return Err(FormatError::damaged(at, expected, lengths));
        }
        Ok(header)
    }

    /// Puts the content of the frame at this offset into `content`.
    pub(super) fn unpack(
        &self,
        bytes: &[u8; HEADER_LENGTH],
        payload: &[u8],
        at: u64,
        content: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        let stated = u32::from_le_bytes(bytes[16..].try_into().expect("four bytes"));
        let sum = checksum(bytes, payload);
        if sum != stated {
            let [expected, found] = [stated, sum].map(|sum| format!("the checksum {sum:08x}"));
            return Err(FormatError::damaged(at, expected, found));
        }
        content.clear();
        if !self.is_packed {
            content.extend_from_slice(payload);
            return Ok(());
        }
        content.reserve(self.content as usize);
        let expected = || format!("{} bytes packed with zstd", self.content);
        let length = zstd::bulk::Decompressor::new()
            .and_then(|mut decompressor| decompressor.decompress_to_buffer(payload, content))
            .map_err(|error| FormatError::damaged(at, expected(), error.to_string()))?;
        if length != self.content as usize {
            return Err(FormatError::damaged(at, expected(), format!("{length} bytes")));
        }
        Ok(())
    }
}

/// CRC-32 of the header before the checksum, then the payload.
fn checksum(header: &[u8; HEADER_LENGTH], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..16]);
    hasher.update(payload);
    hasher.finalize()
}
