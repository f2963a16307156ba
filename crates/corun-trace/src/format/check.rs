//! Checking a whole trace: every frame against the index, every event against the dictionary, and every
//! block against the branch before it.

use super::error::FormatError;
use super::scan::by_scan;
use super::trace::{Thread, Trace};
use crate::flow::Exit;
use crate::{Event, Marker};

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Sound instructions.
    pub instructions: u64,
    /// Frames that were read, without the index and the trailer.
    pub frames: u64,
    /// What is wrong with the file.
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
    /// How many instructions the thread had executed.
    pub instruction: u64,
    /// The address of the block before.
    pub from: u64,
    /// The address of the block that does not follow.
    pub to: u64,
}

/// Reads everything that a trace holds.
pub fn check(trace: &Trace) -> Checked {
    let mut checked = Checked::default();
    match by_scan(trace.source()) {
        Ok(scanned) => {
            checked.frames = scanned.entries.len() as u64;
            let listed = trace.entries().iter().zip(&scanned.entries);
            if let Some((listed, found)) = listed.clone().find(|(listed, found)| listed != found) {
                let (listed, found_text) = (format!("{listed:?}, as listed"), format!("{found:?}"));
                checked.problems.push(FormatError::damaged(found.offset, listed, found_text));
            } else if trace.entries().len() != scanned.entries.len() {
                let expected = format!("{} frames, as listed", trace.entries().len());
                let found = format!("{}", scanned.entries.len());
                checked.problems.push(FormatError::damaged(0, expected, found));
            }
            checked.problems.extend(scanned.damage);
        }
        Err(error) => checked.problems.push(error),
    }
    let exits: Vec<Exit> = trace.blocks().iter().map(Exit::of).collect();
    for thread in trace.threads() {
        let before = checked.instructions;
        if let Err(error) = check_thread(trace, thread, &exits, &mut checked) {
            checked.problems.push(error);
        }
        let counted = trace
            .closing()
            .and_then(|closing| closing.threads.get(thread.id.0 as usize))
            .map_or(thread.instructions, |closed| closed.instructions);
        let found = checked.instructions - before;
        if found != counted {
            let expected = format!("{counted} instructions of thread {}, as counted", thread.tid);
            checked.problems.push(FormatError::damaged(0, expected, found.to_string()));
        }
    }
    checked
}

fn check_thread(
    trace: &Trace,
    thread: &Thread,
    exits: &[Exit],
    checked: &mut Checked,
) -> Result<(), FormatError> {
    let mut events = trace.events(thread.id)?;
    let mut last = None;
    loop {
        let instruction = events.instruction();
        let Some(event) = events.next_event()? else { return Ok(()) };
        match event {
            Event::Block { block, executed, .. } => {
                checked.instructions += u64::from(executed);
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
