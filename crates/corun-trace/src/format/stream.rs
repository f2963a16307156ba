//! Reading a trace in order, from a pipe or from a file that still grows: all threads, frame by frame.

use std::io::Read;

use super::PREAMBLE_LENGTH;
use super::error::FormatError;
use super::events::EventReader;
use super::frame::{HEADER_LENGTH, Header, Kind};
use super::metadata::{Closing, Opening};
use super::scan::{Contents, check_preamble};
use crate::{Block, Event, ThreadId};

/// A trace that is read once, from front to back.
///
/// Threads come frame by frame, some million instructions of one, then some of another; the `order` of
/// their markers says how they go together.
#[derive(Debug)]
pub struct Stream<R> {
    input: R,
    /// Offset of what is read next.
    at: u64,
    contents: Contents,
    reader: EventReader,
    payload: Vec<u8>,
    /// The frame of events that is being read: where it begins, and its thread.
    current: Option<(u64, ThreadId)>,
    is_over: bool,
    has_end: bool,
}

impl<R: Read> Stream<R> {
    /// Reads the beginning of a trace.
    ///
    /// # Errors
    /// If it cannot be read, or is no trace.
    pub fn new(input: R) -> Result<Self, FormatError> {
        let mut stream = Self {
            input,
            at: 0,
            contents: Contents::default(),
            reader: EventReader::default(),
            payload: Vec::new(),
            current: None,
            is_over: false,
            has_end: false,
        };
        stream.fill(PREAMBLE_LENGTH)?;
        check_preamble(&stream.payload)?;
        if stream.next_frame()?.is_some() {
            return Ok(stream);
        }
        let expected = "the opening of the trace";
        Err(FormatError::damaged(PREAMBLE_LENGTH as u64, expected, "the end of the file"))
    }

    /// Opening: what is traced and how.
    pub fn opening(&self) -> &Opening {
        self.contents.opening.as_ref().expect("a stream begins with it")
    }

    /// Closing, once the last event was read; nothing if the trace has no end.
    pub fn closing(&self) -> Option<&Closing> {
        self.contents.closing.as_ref().filter(|_| self.has_end)
    }

    /// The blocks up to now, by identity; all that events named are among them.
    pub fn blocks(&self) -> &[Block] {
        &self.contents.blocks
    }

    /// The next event and its thread, or `None` after the last.
    ///
    /// # Errors
    /// If the trace is damaged here; nothing follows then.
    #[inline]
    pub fn next_event(&mut self) -> Result<Option<(ThreadId, Event<'_>)>, FormatError> {
        while !self.is_over {
            if let Some((at, thread)) = self.current {
                match self.reader.step(&self.contents.shapes) {
                    Ok(Some(step)) => return Ok(Some((thread, self.reader.event(step)))),
                    Ok(None) => self.current = None,
                    Err(defect) => {
                        self.is_over = true;
                        return Err(defect.in_frame(at));
                    }
                }
            } else {
                // Whatever is wrong, there is no way to what follows.
                self.is_over = true;
                self.is_over = self.next_frame()?.is_none_or(|kind| kind == Kind::End);
            }
        }
        Ok(None)
    }

    /// Takes the next frame in; nothing if the input ends before it does.
    fn next_frame(&mut self) -> Result<Option<Kind>, FormatError> {
        let at = self.at;
        self.fill(HEADER_LENGTH)?;
        let Ok(bytes) = self.payload[..].try_into() else { return Ok(None) };
        let header = Header::parse(&bytes, at)?;
        self.fill(header.stored as usize)?;
        if self.payload.len() < header.stored as usize {
            return Ok(None);
        }
        let content = self.reader.content();
        header.unpack(&bytes, &self.payload, at, content)?;
        self.contents.take(header.kind, content, at)?;
        match header.kind {
            Kind::Events => {
                self.reader.begin().map_err(|defect| defect.in_frame(at))?;
                self.current = Some((at, ThreadId(header.thread)));
            }
            Kind::End => self.has_end = true,
            _ => {}
        }
        Ok(Some(header.kind))
    }

    /// Reads so many bytes, or all that are left.
    fn fill(&mut self, length: usize) -> Result<(), FormatError> {
        self.payload.clear();
        let read = self.input.by_ref().take(length as u64).read_to_end(&mut self.payload);
        read.map_err(|source| FormatError::Unreadable { at: self.at, source })?;
        self.at += self.payload.len() as u64;
        Ok(())
    }
}
