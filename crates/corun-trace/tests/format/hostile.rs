//! What the fuzzer once found interesting is read without a panic, and so is what comes near it.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use crate::fuzzed;
use crate::recordings::{read, stream};
use crate::specification::example;

fn corpus() -> PathBuf {
    corun_testing::repository().join("fuzz/corpus/reading")
}

#[test]
fn the_corpus_is_read_without_a_panic() {
    let entries: Vec<_> = fs::read_dir(corpus()).unwrap().collect();
    assert!(entries.len() >= 3);
    for entry in entries {
        fuzzed::read(&fs::read(entry.unwrap().path()).unwrap());
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
