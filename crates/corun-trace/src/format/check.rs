//! Checking a whole trace: every frame against the index, every event against the dictionary, and every
//! block against the branch before it.

use corun_record::{Counter, Progress};
use iced_x86::{Decoder, DecoderOptions};

use super::error::FormatError;
use super::index::{Entry, EntryContent};
use super::scan::by_scan;
use super::trace::{Thread, Trace};
use crate::flow::Exit;
use crate::{Block, Event, Marker};

/// Result of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Sound instructions.
    pub instructions: u64,
    /// Frames that were read, without the index and the trailer.
    pub frames: u64,
    /// Problems of the file.
    pub problems: Vec<FormatError>,
    /// Blocks that do not follow from the one before, by a branch or by falling through, with nothing
    /// recorded that explains it. A few are possible in a sound trace: the kernel moves a thread out of
    /// a restartable sequence without a signal.
    pub breaks: u64,
    /// The first of them.
    pub first_break: Option<Break>,
}

/// A block that does not follow from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// The thread's number in the kernel.
    pub tid: u32,
    /// Number of instructions the thread had executed.
    pub instruction: u64,
    /// The address of the block before.
    pub from: u64,
    /// The address of the block that does not follow.
    pub to: u64,
}

/// Reads everything that a trace holds; `progress` hears of its instructions.
pub fn check(trace: &Trace, progress: &dyn Progress) -> Checked {
    progress.begin(trace.stage("checking the trace", None));
    let mut checked = Checked::default();
    match by_scan(trace.source()) {
        Ok(scanned) => {
            checked.frames = scanned.entries.len() as u64;
            let listed = trace.entries().iter().zip(&scanned.entries);
            if let Some((listed, found)) = listed.clone().find(|(listed, found)| listed != found) {
                let (listed, found_text) = (format!("{listed:?}, as listed"), format!("{found:?}"));
                checked.problems.push(FormatError::damaged(found.offset, listed, found_text));
            } else if trace.entries().len() != scanned.entries.len() {
                let (listed, found) = (trace.entries(), &scanned.entries[..]);
                let (longer, common) =
                    if listed.len() > found.len() { (listed, found) } else { (found, listed) };
                let expected = format!("{} frames, as listed", listed.len());
                let place = longer[common.len()].offset;
                let found = found.len().to_string();
                checked.problems.push(FormatError::damaged(place, expected, found));
            }
            checked.problems.extend(scanned.rest());
            checked.problems.extend(scanned.damage);
        }
        Err(error) => checked.problems.push(error),
    }
    checked.problems.extend(trace.blocks().iter().filter_map(miscoded));
    let exits: Vec<Exit> = trace.blocks().iter().map(Exit::of).collect();
    for thread in trace.threads() {
        let before = checked.instructions;
        if let Err(error) = check_thread(trace, thread, &exits, &mut checked, progress) {
            checked.problems.push(error);
            // That some are missing then follows.
            continue;
        }
        let lists = trace.touched_at(thread.id).count();
        checked.problems.extend((0..lists).filter_map(|at| trace.touched(thread.id, at).err()));
        let found = checked.instructions - before;
        checked.problems.extend(miscount(trace, thread, found));
    }
    checked
}

/// Error of a block whose bytes are not those of its instructions.
fn miscoded(block: &Block) -> Option<FormatError> {
    let bytes = block.bytes().filter(|bytes| !bytes.is_empty())?;
    let mut decoder = Decoder::with_ip(64, bytes, block.address, DecoderOptions::NONE);
    let expected = block.instructions.len();
    let decodes = |_: &usize| {
        let is_there = decoder.can_decode();
        if is_there {
            let _ = decoder.decode();
        }
        is_there
    };
    let found = (0..expected).take_while(decodes).count();
    (found < expected).then_some(FormatError::Code { address: block.address, expected, found })
}

/// Error of the closing, if it counts other instructions of a thread than its events hold.
fn miscount(trace: &Trace, thread: &Thread, found: u64) -> Option<FormatError> {
    let is_closing = |entry: &&Entry| matches!(entry.content, EntryContent::Closing);
    let closing = trace.entries().iter().rfind(is_closing)?;
    let counted = trace.closing()?.threads.get(thread.id.0 as usize)?.instructions;
    (counted != found).then(|| {
        let expected = format!("{found} instructions of thread {}, as its events hold", thread.tid);
        FormatError::damaged(closing.offset, expected, format!("{counted}"))
    })
}

fn check_thread(
    trace: &Trace,
    thread: &Thread,
    exits: &[Exit],
    checked: &mut Checked,
    progress: &dyn Progress,
) -> Result<(), FormatError> {
    let mut read = Counter::new(progress);
    let mut events = trace.events(thread.id)?;
    let mut last = None;
    loop {
        let instruction = events.instruction();
        let Some(event) = events.next_event()? else { return Ok(()) };
        match event {
            Event::Block { block, executed, .. } => {
                checked.instructions += u64::from(executed);
                read.add(u64::from(executed));
                let to = trace.block(block).address;
                if let Some(from) = last.filter(|&from: &usize| !exits[from].allows(to)) {
                    let from = trace.blocks()[from].address;
                    let found = Break { tid: thread.tid, instruction, from, to };
                    checked.breaks += 1;
                    checked.first_break.get_or_insert(found);
                }
                let is_whole = executed as usize == trace.block(block).instructions.len();
                last = is_whole.then_some(block.0 as usize);
            }
            Event::Marker(marker) => match marker.marker {
                Marker::Signal(_) | Marker::Begin { .. } | Marker::Replaced => last = None,
                _ => {}
            },
        }
    }
}
