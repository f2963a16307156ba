//! The specification's example is what is written, byte for byte.

use std::fs;

use corun_trace::format::{Options, Writer};
use corun_trace::{Marker, OrderedMarker, Sink, decode};

use crate::format::recordings::{closing, opening};

/// The trace of the example in `docs/trace-format.md`.
pub(crate) fn example() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &opening(), Options::default()).unwrap();
    let thread = writer.thread(100).unwrap();
    // mov rax, [rbx]; add rbx, 8; jne to the start
    let code = [0x48, 0x8b, 0x03, 0x48, 0x83, 0xc3, 0x08, 0x75, 0xf7];
    let body = writer.define(decode(0x40_1000, &code).unwrap()).unwrap();
    // rep movsb; syscall
    let copy = writer.define(decode(0x40_1009, &[0xf3, 0xa4, 0x0f, 0x05]).unwrap()).unwrap();
    for round in 0..5 {
        writer.execute(thread, body, 3, &[0x7000 + 8 * round]).unwrap();
    }
    writer.execute(thread, copy, 2, &[200, 0x8000, 200, 0x9000]).unwrap();
    let marker = Marker::SystemCall(60);
    writer.mark(thread, OrderedMarker { order: 1, marker }).unwrap();
    writer.execute(thread, body, 1, &[0x7028]).unwrap();
    writer.finish(closing()).unwrap()
}

#[test]
fn the_example_of_the_specification_is_what_is_written() {
    let document = corun_testing::repository().join("docs/trace-format.md");
    let document = fs::read_to_string(document).unwrap();
    let example_bytes: Vec<u8> = document
        .lines()
        .filter_map(|line| line.strip_prefix("    | "))
        .flat_map(|line| line.split('|').next().unwrap().split_whitespace())
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    let file = example();
    let frames: Vec<u8> = {
        let mut rest = &file[12..];
        let mut found = Vec::new();
        while !rest.is_empty() {
            let stored = u32::from_le_bytes(rest[12..16].try_into().unwrap()) as usize;
            let (frame, following) = rest.split_at(20 + stored);
            if [2, 3].contains(&frame[0]) {
                found.extend_from_slice(frame);
            }
            rest = following;
        }
        found
    };
    assert_eq!(example_bytes, frames, "{frames:02x?}");
}
