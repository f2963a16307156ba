//! Reading hostile traces, for the fuzzer and for the test that runs its corpus.
//!
//! An input that begins with 0 is a file as it is. Any other describes frames, which get checksums that
//! are right: what a checksum protects would hardly ever be reached otherwise.

use corun_trace::format::{Stream, Trace};
use corun_trace::{Event, ThreadId, access_count, accesses};

/// Events that are read of each thread: a frame of a few bytes may hold millions.
const MAX_EVENTS: usize = 20_000;
/// Accesses that are read of each event: a `rep` instruction may have 2^63.
const MAX_ACCESSES: usize = 100;

/// Reads an input in every way; errors are fine, panics are not.
pub(crate) fn read(input: &[u8]) {
    let file = match input.split_first() {
        None => return,
        Some((0, file)) => file.to_vec(),
        Some((_, frames)) => assembled(frames),
    };
    if let Ok(mut stream) = Stream::new(&file[..]) {
        for _ in 0..MAX_EVENTS {
            if !matches!(stream.next_event(), Ok(Some(_))) {
                break;
            }
        }
    }
    let Ok(trace) = Trace::from_bytes(file) else { return };
    for thread in trace.threads().iter().take(4) {
        read_from(&trace, thread.id, 0);
        read_from(&trace, thread.id, thread.instructions / 2);
        for number in 0..trace.touched_at(thread.id).count().min(4) {
            let _ = trace.touched(thread.id, number);
        }
    }
}

fn read_from(trace: &Trace, thread: ThreadId, instruction: u64) {
    // Skipping decodes, too, so that it is kept short.
    let Ok(mut events) = trace.events_at(thread, instruction.min(MAX_EVENTS as u64)) else {
        return;
    };
    for _ in 0..MAX_EVENTS {
        match events.next_event() {
            Ok(Some(Event::Block { block, executed, values })) => {
                let block = trace.block(block);
                let told = access_count(block, executed, values).min(MAX_ACCESSES as u64);
                let read = accesses(block, executed, values).take(MAX_ACCESSES).count();
                assert_eq!(read as u64, told);
            }
            Ok(Some(Event::Marker(_))) => {}
            Ok(None) | Err(_) => break,
        }
    }
}

/// A file of the frames that an input describes: kind and packing, thread, length, payload; the length
/// of the content follows where it is packed.
fn assembled(mut input: &[u8]) -> Vec<u8> {
    let mut file = b"\x89corun\r\n\x01\0\0\0".to_vec();
    let opening = br#"{"command":[],"environment":"","tracer":{"name":"","version":""},"cpu":"","#;
    let rest =
        br#""features":[],"kernel":"","started":"","plan":"whole","native":null,"remarks":[]}"#;
    push(&mut file, 1, 0, &[&opening[..], &rest[..]].concat(), None);
    while let [kind, thread, low, high, rest @ ..] = input {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (payload, rest) = rest.split_at(length);
        input = rest;
        let mut content = None;
        if let (0x80.., [low, high, rest @ ..]) = (*kind, rest) {
            content = Some(u32::from(u16::from_le_bytes([*low, *high])));
            input = rest;
        }
        push(&mut file, kind & 0x7f, *thread, payload, content);
    }
    file
}

fn push(file: &mut Vec<u8>, kind: u8, thread: u8, payload: &[u8], content: Option<u32>) {
    let mut header = [0; 16];
    header[0] = kind;
    header[1] = u8::from(content.is_some());
    header[4] = thread;
    let stored = payload.len() as u32;
    header[8..12].copy_from_slice(&content.unwrap_or(stored).to_le_bytes());
    header[12..].copy_from_slice(&stored.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&header);
    sum.update(payload);
    file.extend_from_slice(&header);
    file.extend_from_slice(&sum.finalize().to_le_bytes());
    file.extend_from_slice(payload);
}
