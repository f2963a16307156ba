//! First difference of two traces of one program.

use corun_trace::{Access, Direction, Event, Recording, ThreadId, accesses};
use iced_x86::{Decoder, DecoderOptions, FastFormatter, Instruction, Mnemonic};

/// Accesses that a tracer is known not to record.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Blind {
    /// The addresses of prefetches.
    pub prefetches: bool,
    /// True for the begin of a vector of which a mask leaves out the first lanes.
    pub masked: bool,
    /// True for the place of a signal's frame on the stack; its emulation has another place.
    pub frames: bool,
    /// Programs with AVX-512 do not run.
    pub avx512: bool,
    /// Programs that set the base of the segment GS, or add one to 32-bit addresses, do not run.
    pub segments: bool,
}

/// An executed instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    address: u64,
    bytes: Vec<u8>,
    accesses: Vec<(u64, u16, Direction)>,
}

/// # Errors
/// The first difference: the thread, how many instructions came before, and both sides disassembled.
pub(crate) fn compare(expected: &Recording, found: &Recording, blind: Blind) -> Result<(), String> {
    if expected.threads.len() != found.threads.len() {
        let (expected, found) = (expected.threads.len(), found.threads.len());
        return Err(format!("expected {expected} threads, found {found}"));
    }
    for thread in (0..expected.threads.len() as u32).map(ThreadId) {
        let (ours, theirs) = (steps(expected, thread, blind), steps(found, thread, blind));
        let length = ours.len().max(theirs.len());
        if let Some(at) = (0..length).find(|&at| ours.get(at) != theirs.get(at)) {
            let before = at.checked_sub(1).and_then(|before| ours.get(before));
            return Err(format!(
                "thread {}, after {at} instructions (of {}, {}), the last of them\n    {}\n\
                 expected\n    {}\nfound\n    {}",
                thread.0,
                ours.len(),
                theirs.len(),
                describe(before),
                describe(ours.get(at)),
                describe(theirs.get(at))
            ));
        }
    }
    Ok(())
}

/// Every access of a thread with the address of its instruction.
pub(crate) fn located(recording: &Recording, thread: ThreadId) -> Vec<(u64, Access)> {
    let steps = steps(recording, thread, Blind::default());
    let located = steps.into_iter().flat_map(|step| {
        step.accesses.into_iter().map(move |(address, size, direction)| {
            (step.address, Access { instruction: 0, address, size, direction })
        })
    });
    located.collect()
}

/// An instruction of a trace, disassembled.
pub(crate) fn disassemble(recording: &Recording, address: u64) -> String {
    let threads = (0..recording.threads.len() as u32).map(ThreadId);
    let mut steps = threads.flat_map(|thread| steps(recording, thread, Blind::default()));
    describe(steps.find(|step| step.address == address).as_ref())
}

fn steps(recording: &Recording, thread: ThreadId, blind: Blind) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for event in recording.events(thread) {
        let Event::Block { block, executed, values } = event else { continue };
        let block = &recording.blocks[block.0 as usize];
        let (first, mut at) = (steps.len(), 0);
        for instruction in block.instructions.iter().take(executed as usize) {
            let bytes = block.bytes().unwrap()[at..][..usize::from(instruction.length)].to_owned();
            let address = block.address + at as u64;
            at += bytes.len();
            steps.push(Step { address, bytes, accesses: Vec::new() });
        }
        for Access { instruction, address, size, direction } in accesses(block, executed, values) {
            let step = &mut steps[first + instruction as usize];
            let is_hidden = blind.frames
                || blind.prefetches && direction == Direction::Prefetch
                || blind.masked && step.is_masked();
            step.accesses.push((if is_hidden { 0 } else { address }, size, direction));
        }
    }
    steps
}

impl Step {
    fn decoded(&self) -> Instruction {
        Decoder::with_ip(64, &self.bytes, self.address, DecoderOptions::NONE).decode()
    }

    fn is_masked(&self) -> bool {
        use Mnemonic::{Vmaskmovpd, Vmaskmovps, Vpmaskmovd, Vpmaskmovq};
        matches!(self.decoded().mnemonic(), Vmaskmovpd | Vmaskmovps | Vpmaskmovd | Vpmaskmovq)
    }
}

fn describe(step: Option<&Step>) -> String {
    let Some(step) = step else { return "the end of the thread".to_owned() };
    let mut text = format!("{:#x}  ", step.address);
    FastFormatter::new().format(&step.decoded(), &mut text);
    for (address, size, direction) in &step.accesses {
        text += &format!("\n        {direction:?} {size} bytes at {address:#x}");
    }
    text
}
