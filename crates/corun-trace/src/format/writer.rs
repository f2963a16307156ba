//! Writing a trace while the program runs: events are encoded as they come, finished frames are compressed by threads of
//! their own and written by another, so that a tracer waits only if these are slower than it.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::dictionary::{BlockWriter, Shapes, is_sound};
use super::events::EventWriter;
use super::frame::{Kind, Packer};
use super::index::{Entry, EntryContent, write_index};
use super::lines::write_lines;
use super::metadata::{ClosedThread, Closing, Opening};
use super::{MAGIC, MAX_FRAME_INSTRUCTIONS, PREAMBLE_LENGTH, VERSION};
use crate::{Block, BlockId, Marker, OrderedMarker, Sink, SinkError, ThreadId, TouchedLines};

/// Bytes of blocks after which they are written, though no events need them yet.
const FULL_BLOCKS: usize = 1 << 20;
/// Finished frames that may wait for each thread: enough to bridge a slow write, and no more memory.
const WAITING_FRAMES: usize = 2;
/// Threads that compress, at most: as many as keep up with any tracer.
const MOST_PACKERS: usize = 4;

/// Options of writing a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// zstd's level, 1 to 22.
    pub level: i32,
    /// Instructions of a frame, at most 16 Mi: fewer make seeking finer, more make the trace smaller.
    pub frame_instructions: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { level: 1, frame_instructions: 4 << 20 }
    }
}

/// Writes a trace to a file or a pipe, in order and without seeking.
///
/// Without [`Writer::finish`] the trace has no end, but what was written of it can be read.
pub struct Writer<W> {
    shapes: Shapes,
    blocks: BlockWriter,
    threads: Vec<WrittenThread>,
    frame_instructions: u64,
    output: Output<W>,
}

struct WrittenThread {
    events: EventWriter,
    closed: ClosedThread,
}

impl<W: Write + Send + 'static> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// If nothing can be written.
    pub fn new(mut output: W, opening: &Opening, options: Options) -> Result<Self, SinkError> {
        let mut preamble = [0; PREAMBLE_LENGTH];
        preamble[..8].copy_from_slice(&MAGIC);
        preamble[8..].copy_from_slice(&VERSION.to_le_bytes());
        output.write_all(&preamble)?;
        let mut writer = Self {
            shapes: Shapes::default(),
            blocks: BlockWriter::default(),
            threads: Vec::new(),
            frame_instructions: options.frame_instructions.clamp(1, MAX_FRAME_INSTRUCTIONS / 2),
            output: Output::start(output, options.level)?,
        };
        let content = serde_json::to_vec(opening).map_err(io::Error::from)?;
        writer.output.send(Job { content, entry: EntryContent::Opening })?;
        Ok(writer)
    }

    /// Ends the trace with what was counted, and gives the output back. The threads of `closing` are
    /// filled in.
    ///
    /// # Errors
    /// If it cannot be written to its end; what is there can be read.
    pub fn finish(mut self, closing: Closing) -> Result<W, SinkError> {
        for thread in 0..self.threads.len() {
            self.flush(thread)?;
        }
        self.flush_blocks()?;
        let threads = self.threads.iter().map(|thread| thread.closed).collect();
        let closing = Closing { threads, ..closing };
        let content = serde_json::to_vec(&closing).map_err(io::Error::from)?;
        self.output.send(Job { content, entry: EntryContent::Closing })?;
        Ok(self.output.finish()?)
    }

    fn flush(&mut self, thread: usize) -> Result<(), SinkError> {
        let WrittenThread { events, closed } = &mut self.threads[thread];
        if events.is_empty() {
            return Ok(());
        }
        let (head, content) = events.take();
        closed.instructions += head.instructions;
        self.flush_blocks()?;
        let entry = EntryContent::Events { thread: thread as u32, head };
        Ok(self.output.send(Job { content, entry })?)
    }

    fn flush_blocks(&mut self) -> Result<(), SinkError> {
        if let Some(content) = self.blocks.take() {
            self.output.send(Job { content, entry: EntryContent::Blocks })?;
        }
        Ok(())
    }
}

impl<W: Write + Send + 'static> Sink for Writer<W> {
    fn thread(&mut self, tid: u32) -> Result<ThreadId, SinkError> {
        let closed = ClosedThread { tid, instructions: 0 };
        self.threads.push(WrittenThread { events: EventWriter::new(tid), closed });
        Ok(ThreadId(self.threads.len() as u32 - 1))
    }

    fn define(&mut self, block: Block) -> Result<BlockId, SinkError> {
        if !is_sound(&block) {
            let address = block.address;
            return Err(refused(format!("a block whose parts agree, found one at {address:#x}")));
        }
        self.shapes.push(&block);
        self.blocks.push(&block);
        if self.blocks.len() >= FULL_BLOCKS {
            self.flush_blocks()?;
        }
        Ok(BlockId(self.shapes.len() - 1))
    }

    #[inline]
    fn execute(
        &mut self,
        thread: ThreadId,
        block: BlockId,
        executed: u32,
        values: &[u64],
    ) -> Result<(), SinkError> {
        let Some(WrittenThread { events, .. }) = self.threads.get_mut(thread.0 as usize) else {
            return Err(unknown(thread));
        };
        if events.execute(&self.shapes, block.0, executed, values).is_none() {
            let found = format!("{executed} instructions, {} values", values.len());
            return Err(refused(format!(
                "an execution of block {} as defined, found {found}",
                block.0
            )));
        }
        if events.is_full(self.frame_instructions) {
            self.flush(thread.0 as usize)?;
        }
        Ok(())
    }

    fn mark(&mut self, thread: ThreadId, marker: OrderedMarker) -> Result<(), SinkError> {
        let index = thread.0 as usize;
        if index >= self.threads.len() {
            return Err(unknown(thread));
        }
        if matches!(marker.marker, Marker::Begin { .. }) {
            self.flush(index)?;
        }
        self.threads[index].events.mark(marker);
        if self.threads[index].events.is_full(self.frame_instructions) {
            self.flush(index)?;
        }
        Ok(())
    }

    fn touched(&mut self, thread: ThreadId, lines: TouchedLines) -> Result<(), SinkError> {
        if thread.0 as usize >= self.threads.len() {
            return Err(unknown(thread));
        }
        let entry = EntryContent::Lines { thread: thread.0, position: lines.position };
        Ok(self.output.send(Job { content: write_lines(&lines), entry })?)
    }
}

fn unknown(thread: ThreadId) -> SinkError {
    refused(format!("a thread that was announced before, found {}", thread.0))
}

fn refused(expected: String) -> SinkError {
    io::Error::new(io::ErrorKind::InvalidInput, format!("expected {expected}")).into()
}

/// A frame to be packed and written.
struct Job {
    content: Vec<u8>,
    entry: EntryContent,
}

/// A compressed frame.
struct PackedJob {
    frame: Vec<u8>,
    entry: EntryContent,
}

/// The threads that compress and the one that writes. Frames go to those that compress in turn, and come back in turn, so
/// that they keep their order.
struct Output<W> {
    jobs: Vec<SyncSender<Job>>,
    /// Which thread compresses the next frame.
    next: usize,
    thread: Option<JoinHandle<io::Result<W>>>,
}

impl<W: Write + Send + 'static> Output<W> {
    fn start(output: W, level: i32) -> io::Result<Self> {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        // The program and its tracer have a CPU.
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let packers = cpus.saturating_sub(1).clamp(1, MOST_PACKERS);
        let (mut jobs, mut packed) = (Vec::new(), Vec::new());
        for _ in 0..packers {
            let (sender, waiting) = sync_channel(WAITING_FRAMES);
            let (done, frames) = sync_channel(WAITING_FRAMES);
            let packer = Packer::new(level)?;
            thread("trace packer").spawn(move || pack_frames(packer, &waiting, &done))?;
            jobs.push(sender);
            packed.push(frames);
        }
        let packer = Packer::new(level)?;
        let thread = thread("trace writer").spawn(move || write_frames(output, packer, &packed))?;
        Ok(Self { jobs, next: 0, thread: Some(thread) })
    }

    fn send(&mut self, job: Job) -> io::Result<()> {
        if self.jobs.get(self.next).is_some_and(|jobs| jobs.send(job).is_ok()) {
            self.next = (self.next + 1) % self.jobs.len();
            return Ok(());
        }
        // The other side ended, which it does early only with an error.
        match self.join() {
            Some(Err(error)) => Err(error),
            _ => Err(io::Error::other("an earlier part of the trace could not be written")),
        }
    }

    fn finish(mut self) -> io::Result<W> {
        let ended = || io::Error::other("an earlier part of the trace could not be written");
        self.join().unwrap_or_else(|| Err(ended()))
    }
}

impl<W> Output<W> {
    /// Waits until everything is written; nothing if that was done before.
    fn join(&mut self) -> Option<io::Result<W>> {
        self.jobs.clear();
        let panicked = |_| Err(io::Error::other("the thread that writes the trace failed"));
        self.thread.take().map(|thread| thread.join().unwrap_or_else(panicked))
    }
}

impl<W> Drop for Output<W> {
    fn drop(&mut self) {
        self.join();
    }
}

/// Compresses frames until there are no more, or nobody writes them.
fn pack_frames(mut packer: Packer, jobs: &Receiver<Job>, done: &SyncSender<io::Result<PackedJob>>) {
    for Job { content, entry } in jobs {
        let (kind, thread) = entry.kind();
        let frame = packer.pack(kind, thread, &content).map(<[u8]>::to_vec);
        if done.send(frame.map(|frame| PackedJob { frame, entry })).is_err() {
            return;
        }
    }
}

fn write_frames<W: Write>(
    output: W,
    packer: Packer,
    packed: &[Receiver<io::Result<PackedJob>>],
) -> io::Result<W> {
    let mut frames = Frames { output, packer, entries: Vec::new(), offset: PREAMBLE_LENGTH as u64 };
    let mut is_closed = false;
    // Frames came in turn: where the next one is missing, there is none after it.
    for next in packed.iter().cycle() {
        let Ok(job) = next.recv() else { break };
        let PackedJob { frame, entry } = job?;
        is_closed = entry == EntryContent::Closing;
        frames.put_packed(&frame, entry)?;
    }
    if !is_closed {
        return Err(io::Error::other("the trace ends before its closing frame"));
    }
    frames.end()?;
    Ok(frames.output)
}

/// Frames one after the other, and where they lie.
pub(super) struct Frames<W> {
    pub output: W,
    pub packer: Packer,
    pub entries: Vec<Entry>,
    /// Offset of the next one.
    pub offset: u64,
}

impl<W: Write> Frames<W> {
    pub(super) fn put(&mut self, content: &[u8], entry: EntryContent) -> io::Result<()> {
        let (kind, thread) = entry.kind();
        let offset = self.write(kind, thread, content)?;
        self.entries.push(Entry { offset, content: entry });
        Ok(())
    }

    fn put_packed(&mut self, frame: &[u8], entry: EntryContent) -> io::Result<()> {
        let offset = self.write_packed(frame)?;
        self.entries.push(Entry { offset, content: entry });
        Ok(())
    }

    /// The index and what finds it.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let index = self.write(Kind::Index, 0, &write_index(&self.entries))?;
        self.write(Kind::End, 0, &index.to_le_bytes())?;
        self.output.flush()
    }

    /// The offset of a frame that is written.
    fn write(&mut self, kind: Kind, thread: u32, content: &[u8]) -> io::Result<u64> {
        let frame = self.packer.pack(kind, thread, content)?.to_vec();
        self.write_packed(&frame)
    }

    fn write_packed(&mut self, frame: &[u8]) -> io::Result<u64> {
        self.output.write_all(frame)?;
        let at = self.offset;
        self.offset += frame.len() as u64;
        Ok(at)
    }
}
