//! What the fuzzer once found interesting stays readable without a panic; the specification's example
//! is what is written.

mod common;
#[path = "../../../fuzz/hostile.rs"]
mod hostile;

use std::fs;
use std::path::PathBuf;

use common::{closing, opening, read, stream};
use corun_trace::format::{Options, Writer};
use corun_trace::{Marker, OrderedMarker, Sink, decode};
use proptest::prelude::*;

fn corpus() -> PathBuf {
    corun_testing::repository().join("fuzz/corpus/reading")
}

/// The trace of the example in `docs/trace-format.md`.
fn example() -> Vec<u8> {
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
fn the_corpus_is_read_without_a_panic() {
    let entries: Vec<_> = fs::read_dir(corpus()).unwrap().collect();
    assert!(entries.len() >= 3);
    for entry in entries {
        hostile::read(&fs::read(entry.unwrap().path()).unwrap());
    }
}

/// Writes the corpus's first inputs: the example as it is, and its frames unpacked.
#[test]
#[ignore = "writes files into the repository"]
fn make_the_first_inputs() {
    let file = example();
    let mut frames = vec![1];
    let mut rest = &file[12..];
    while let Some((header, payload)) = rest.split_at_checked(20) {
        let field = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap()) as usize;
        let (payload, following) = payload.split_at(field(12));
        rest = following;
        let content = match header[1] {
            0 => payload.to_vec(),
            _ => zstd::bulk::decompress(payload, field(8)).unwrap(),
        };
        if header[0] != 1 {
            frames.extend([header[0], 0]);
            frames.extend((content.len() as u16).to_le_bytes());
            frames.extend(content);
        }
    }
    fs::write(corpus().join("frames"), frames).unwrap();
    fs::write(corpus().join("file"), [&[0], &file[..]].concat()).unwrap();
    fs::write(corpus().join("cut"), [&[0], &file[..file.len() / 2]].concat()).unwrap();
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn frames_of_anything_do_no_harm(place in any::<usize>(), bytes in any::<[u8; 3]>()) {
        let mut input = fs::read(corpus().join("frames")).unwrap();
        for (offset, byte) in bytes.into_iter().enumerate() {
            let place = 1 + (place.wrapping_mul(offset + 1)) % (input.len() - 1);
            input[place] = byte;
        }
        hostile::read(&input);
    }
}

#[test]
fn the_first_inputs_are_good_traces() {
    let file = fs::read(corpus().join("file")).unwrap();
    let (recording, error) = read(file[1..].to_vec());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(stream(&file[1..]).0.blocks, recording.blocks);
}
