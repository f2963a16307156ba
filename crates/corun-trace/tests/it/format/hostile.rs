//! What the fuzzer once found interesting is read without a panic, and so is what comes near it.

use std::fs;
use std::path::PathBuf;

use corun_record::Unwatched;
use corun_trace::convert::{ExportError, Exporter};
use corun_trace::format::{Options, Trace, Writer};
use corun_trace::{
    Block, ChampSimInstruction, Code, Direction, Form, Instruction, MemoryOperand, Recording, Sink,
    ThreadId, decode, summary,
};
use proptest::prelude::*;

use crate::format::fuzzed;
use crate::format::recordings::{read, stream, write};
use crate::format::specification::example;

fn corpus() -> PathBuf {
    corun_testing::repository().join("fuzz/corpus/reading")
}

#[test]
fn the_corpus_is_read_without_a_panic() {
    let entries: Vec<_> = fs::read_dir(corpus()).unwrap().collect();
    assert!(entries.len() >= 5);
    for entry in entries {
        fuzzed::read(&fs::read(entry.unwrap().path()).unwrap());
    }
}

/// Writes the corpus's first inputs: the example as it is, its frames unpacked, and those of blocks
/// without bytes and of a string instruction that repeats without end.
#[test]
#[ignore = "writes files into the repository"]
fn make_the_first_inputs() {
    let file = example();
    fs::write(corpus().join("frames"), frames(&file)).unwrap();
    fs::write(corpus().join("file"), [&[0], &file[..]].concat()).unwrap();
    fs::write(corpus().join("cut"), [&[0], &file[..file.len() / 2]].concat()).unwrap();
    fs::write(corpus().join("told"), frames(&write(&without_bytes(), 1_000))).unwrap();
    fs::write(corpus().join("endless"), frames(&write(&endless(), 1_000))).unwrap();
}

/// The frames of a file but for the opening, unpacked, as the fuzzer's harness takes them.
fn frames(file: &[u8]) -> Vec<u8> {
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
    frames
}

/// Three rounds of a load and a jump of which no bytes are known.
fn without_bytes() -> Recording {
    let mut recording = Recording::default();
    let thread = recording.thread(5).unwrap();
    let load =
        ChampSimInstruction { writes: [1, 0], places: 0b1, ..ChampSimInstruction::default() };
    let jump = ChampSimInstruction {
        writes: [ChampSimInstruction::INSTRUCTION_POINTER, 0],
        branch: true,
        taken: true,
        ..ChampSimInstruction::default()
    };
    let block = Block {
        address: 0x1000,
        code: Code::ChampSim(vec![load, jump]),
        instructions: vec![
            Instruction { length: 4, operands: 1 },
            Instruction { length: 0, operands: 0 },
        ],
        operands: vec![MemoryOperand { direction: Direction::Read, size: 0, form: Form::Single }],
    };
    let block = recording.define(block).unwrap();
    for round in 0..3 {
        recording.execute(thread, block, 2, &[0x7000 + 8 * round]).unwrap();
    }
    recording
}

/// The most iterations of an instruction.
const MOST: u64 = 1 << 32;

/// A `rep movsb` of 2^32 bytes downwards, twice: the most.
fn endless() -> Recording {
    let mut recording = Recording::default();
    let thread = recording.thread(5).unwrap();
    let copy = recording.define(decode(0x1000, &[0xf3, 0xa4]).unwrap()).unwrap();
    for _ in 0..2 {
        let values = [MOST << 1 | 1, 0x7000, MOST << 1 | 1, 0x8000];
        recording.execute(thread, copy, 1, &values).unwrap();
    }
    recording
}

#[test]
fn a_repetition_of_more_than_a_program_has_time_for_is_refused() {
    let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
    let thread = writer.thread(5).unwrap();
    let copy = writer.define(decode(0x1000, &[0xf3, 0xa4]).unwrap()).unwrap();
    let mut execute = |count: u64| writer.execute(thread, copy, 1, &[count, 1, count, 1]);
    assert!(execute(MOST << 1).is_ok());
    assert!(execute((MOST + 1) << 1).is_err());
}

#[test]
fn a_repetition_without_end_is_summed_up_and_not_exported() {
    let trace = Trace::from_bytes(write(&endless(), 1_000)).unwrap();
    assert_eq!(summary(&trace, 1, &Unwatched).0.instructions, 2);
    let mut file = Vec::new();
    let mut exporter = Exporter::new(&mut file);
    let mut events = trace.events(ThreadId(0)).unwrap();
    let refused = loop {
        let event = events.next_event().unwrap().expect("an error before the end");
        if let Err(error) = exporter.event(trace.blocks(), event) {
            break error;
        }
    };
    assert!(matches!(refused, ExportError::TooManyAccesses { address: 0x1000 }), "{refused}");
    drop(exporter);
    assert!(file.len() < 100);
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
        fuzzed::read(&input);
    }
}

#[test]
fn the_first_inputs_are_good_traces() {
    let file = fs::read(corpus().join("file")).unwrap();
    let (recording, error) = read(file[1..].to_vec());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(stream(&file[1..]).0.blocks, recording.blocks);
}
