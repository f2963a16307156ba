//! What is written comes back, whole or from any place; what is not sound is refused.

use crate::format::recordings::{closing, copy, opening, read, recording, stream, write};
use crate::format::synthetic::{MIXTURES, Program};
use corun_record::Unwatched;
use corun_trace::format::{
    Break, Closing, FormatError, Options, Stream, Trace, Writer, check, end_early,
};
use corun_trace::{Event, Instruction, Recording, Sink, ThreadId, decode};
use proptest::prelude::*;

/// A made-up program of so many instructions.
fn program(instructions: u64) -> Recording {
    let mut recording = Recording::default();
    Program::new(&MIXTURES[1].1, 3).walk(instructions, &mut recording);
    recording
}

/// The bytes of a recording whose writer died before it could finish.
fn without_end(recording: &Recording, frame_instructions: u64) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = Options { frame_instructions, ..Options::default() };
    let mut writer = Writer::new(file.reopen().unwrap(), &opening(), options).unwrap();
    copy(recording, &mut writer);
    drop(writer);
    std::fs::read(file.path()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_recording_comes_back(recording in recording(), frame in 1..300_u64) {
        let bytes = write(&recording, frame);
        let (found, error) = stream(&bytes);
        prop_assert!(error.is_none(), "{error:?}");
        for (id, thread) in (0..).map(ThreadId).zip(&found.threads) {
            prop_assert!(found.events(id).eq(recording.events(id)), "{thread:?}");
        }
        let (found, error) = read(bytes);
        prop_assert!(error.is_none(), "{error:?}");
        prop_assert_eq!(found, recording);
    }

    #[test]
    fn a_cut_trace_is_read_up_to_the_cut(recording in recording(), cut in any::<usize>()) {
        let bytes = write(&recording, 50);
        let bytes = bytes[..cut % bytes.len()].to_vec();
        let is_cut = |(found, error): (Recording, Option<FormatError>)| {
            (error.is_none() || found == Recording::default()) && is_beginning(&found, &recording)
        };
        prop_assert!(is_cut(stream(&bytes)));
        prop_assert!(is_cut(read(bytes)));
    }

    #[test]
    fn a_flipped_bit_is_found_or_only_cuts(recording in recording(), place in any::<usize>()) {
        let mut bytes = write(&recording, 50);
        let place = place % (8 * bytes.len());
        bytes[place / 8] ^= 1 << (place % 8);
        let (found, error) = stream(&bytes);
        prop_assert!(is_beginning(&found, &recording));
        prop_assert!(error.is_some() || found.blocks.len() <= recording.blocks.len());
        let (found, _) = read(bytes);
        prop_assert!(is_beginning(&found, &recording));
    }
}

/// True if every thread of `found` does what it does in `whole`, but perhaps less of it.
fn is_beginning(found: &Recording, whole: &Recording) -> bool {
    let threads = (0..found.threads.len().min(whole.threads.len()) as u32).map(ThreadId);
    found.threads.len() <= whole.threads.len()
        && whole.blocks.starts_with(&found.blocks)
        && threads.into_iter().all(|id| {
            let of = |recording: &Recording| recording.threads[id.0 as usize].touched.clone();
            let mut all_lines = of(whole).into_iter();
            let mut all = whole.events(id);
            of(found).into_iter().all(|lines| all_lines.any(|it| it == lines))
                && found.events(id).all(|event| all.next() == Some(event))
        })
}

#[test]
fn a_thread_is_read_from_any_instruction() {
    let recording = program(30_000);
    let trace = Trace::from_bytes(write(&recording, 1_000)).unwrap();
    let thread = ThreadId(0);
    assert!(trace.is_complete());
    assert_eq!(trace.closing().unwrap().ending, closing().ending);
    for wanted in [0, 1, 999, 1_000, 1_001, 12_345, 29_999] {
        let mut before = 0;
        let mut rest = recording.events(thread).skip_while(|event| {
            let Event::Block { executed, .. } = event else { return false };
            before += u64::from(*executed);
            before <= wanted
        });
        let mut events = trace.events_at(thread, wanted).unwrap();
        assert!(events.instruction() <= wanted);
        while let Some(event) = events.next_event().unwrap() {
            assert_eq!(Some(event), rest.next(), "from {wanted}");
        }
        assert_eq!(rest.next(), None, "from {wanted}");
    }
    let mut beyond = trace.events_at(thread, 1_000_000).unwrap();
    assert_eq!(beyond.next_event().unwrap(), None);
}

#[test]
fn reading_from_an_instruction_reads_nothing_before_it() {
    let recording = program(30_000);
    let mut bytes = write(&recording, 1_000);
    // Most of the frames are events, so this is one of them, and an early one.
    let damaged = bytes.len() / 4;
    bytes[damaged] ^= 1;
    let trace = Trace::from_bytes(bytes).unwrap();
    let mut all = trace.events(ThreadId(0)).unwrap();
    let error = std::iter::from_fn(|| all.next_event().map(|event| event.map(drop)).transpose())
        .find_map(Result::err);
    assert!(matches!(error, Some(FormatError::Damaged { .. })), "{error:?}");
    let mut late = trace.events_at(ThreadId(0), 25_000).unwrap();
    while late.next_event().unwrap().is_some() {}
}

#[test]
fn a_trace_whose_writer_died_is_read_up_to_its_last_frame() {
    let recording = program(30_000);
    let bytes = without_end(&recording, 1_000);
    let trace = Trace::from_bytes(bytes.clone()).unwrap();
    assert!(!trace.is_complete());
    assert!(trace.closing().is_none() && trace.damage().is_none());
    assert!(trace.threads()[0].instructions >= 29_000);
    let (found, error) = read(bytes);
    assert!(error.is_none());
    assert!(is_beginning(&found, &recording));
}

#[test]
fn a_cut_trace_is_given_an_end_and_keeps_its_whole_frames() {
    let whole = program(20_000);
    let bytes = without_end(&whole, 1_000);
    let remark = Closing::failed("no room".to_owned());
    let mut kept = Vec::new();
    for cut in [bytes.len() / 2, bytes.len() - 1, bytes.len()] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes[..cut]).unwrap();
        end_early(file.reopen().unwrap(), &remark).unwrap();
        let trace = Trace::open(file.path()).unwrap();
        assert!(trace.is_complete());
        assert_eq!(trace.closing(), Some(&remark));
        let checked = check(&trace, &Unwatched);
        assert!(checked.problems.is_empty(), "{:?}", checked.problems);
        kept.push(checked.instructions);
        let ended = std::fs::read(file.path()).unwrap();
        let (found, error) = read(ended.clone());
        assert!(error.is_none() && is_beginning(&found, &whole), "{error:?}");
        end_early(file.reopen().unwrap(), &Closing::default()).unwrap();
        assert!(ended == std::fs::read(file.path()).unwrap(), "an end stays as it is");
    }
    assert!(0 < kept[0] && kept[0] < kept[1] && kept[1] < kept[2], "{kept:?}");
}

#[test]
fn what_is_no_trace_is_given_no_end() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "text of someone").unwrap();
    assert!(end_early(file.reopen().unwrap(), &Closing::default()).is_err());
    assert_eq!(std::fs::read(file.path()).unwrap(), b"text of someone");
}

#[test]
fn what_no_trace_begins_with_is_refused() {
    for bytes in [&b""[..], b"corun", b"\x89corun\n\n\x01\0\0\0", b"\x89corun\r\n\0\0\0\0"] {
        let error = Trace::from_bytes(bytes.to_vec()).unwrap_err();
        assert!(matches!(error, FormatError::NotATrace { .. }), "{bytes:?}: {error}");
    }
}

#[test]
fn a_newer_version_is_named() {
    let mut bytes = write(&program(100), 1_000);
    bytes[8] = 9;
    for error in
        [Trace::from_bytes(bytes.clone()).unwrap_err(), Stream::new(&bytes[..]).unwrap_err()]
    {
        assert_eq!(error.to_string(), "expected a trace of a version up to 1, found version 9");
    }
}

#[test]
fn a_sink_refuses_what_was_not_defined() {
    let mut writer = Writer::new(Vec::new(), &opening(), Options::default()).unwrap();
    let thread = writer.thread(1).unwrap();
    // mov rax, [rbx]
    let block = writer.define(corun_trace::decode(0, &[0x48, 0x8b, 0x03]).unwrap()).unwrap();
    assert!(writer.execute(ThreadId(1), block, 1, &[8]).is_err());
    assert!(writer.execute(thread, corun_trace::BlockId(1), 1, &[8]).is_err());
    assert!(writer.execute(thread, block, 2, &[8]).is_err());
    assert!(writer.execute(thread, block, 1, &[]).is_err());
    writer.execute(thread, block, 1, &[8]).unwrap();
    let (found, error) = read(writer.finish(closing()).unwrap());
    assert!(error.is_none());
    assert_eq!(found.accesses(thread).count(), 1);
}

/// Takes so many bytes, then is full.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    let options = Options { frame_instructions: 1_000, ..Options::default() };
    let mut writer = Writer::new(Full(5_000), &opening(), options).unwrap();
    let recording = program(1_000);
    for block in &recording.blocks {
        writer.define(block.clone()).unwrap();
    }
    let thread = writer.thread(1).unwrap();
    let error = (0..100_000).find_map(|_| {
        recording.events(thread).find_map(|event| {
            let Event::Block { block, executed, values } = event else { unreachable!() };
            writer.execute(thread, block, executed, values).err()
        })
    });
    assert_eq!(error.unwrap().0.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn a_sound_trace_passes_the_check() {
    let recording = program(30_000);
    let checked = check(&Trace::from_bytes(write(&recording, 1_000)).unwrap(), &Unwatched);
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    assert!(checked.instructions >= 30_000 && checked.frames > 30);
}

#[test]
fn the_check_finds_a_flipped_bit_and_a_block_that_does_not_follow() {
    let mut bytes = write(&program(30_000), 1_000);
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    let checked = check(&Trace::from_bytes(bytes).unwrap(), &Unwatched);
    assert!(matches!(checked.problems[0], FormatError::Damaged { .. }), "{:?}", checked.problems);

    let mut recording = Recording::default();
    let thread = recording.thread(5).unwrap();
    // Two times nop; nop: the second does not follow from itself.
    let block = recording.define(corun_trace::decode(0x1000, &[0x90, 0x90]).unwrap()).unwrap();
    recording.execute(thread, block, 2, &[]).unwrap();
    recording.execute(thread, block, 2, &[]).unwrap();
    let checked = check(&Trace::from_bytes(write(&recording, 1_000)).unwrap(), &Unwatched);
    let first = Break { tid: 5, instruction: 2, from: 0x1000, to: 0x1000 };
    assert_eq!((checked.breaks, checked.first_break), (1, Some(first)));
}

/// Each instruction is as long as the bytes say, and what the check finds is what the document says.
#[test]
fn code_that_is_not_that_of_its_instructions_is_damage_to_check_and_document() {
    let mut recording = Recording::default();
    let thread = recording.thread(5).unwrap();
    let mut block = decode(0x1000, &[0xb8, 1, 0, 0, 0]).unwrap();
    let [whole] = block.instructions[..] else { panic!("one instruction") };
    block.instructions = [2, 3].map(|length| Instruction { length, ..whole }).to_vec();
    let block = recording.define(block).unwrap();
    recording.execute(thread, block, 2, &[]).unwrap();
    let trace = Trace::from_bytes(write(&recording, 1_000)).unwrap();
    let problems = check(&trace, &Unwatched).problems;
    let [FormatError::Code { address: 0x1000, expected: 2, found: 1 }] = problems[..] else {
        panic!("{problems:?}")
    };
    let info = corun_trace::info(&trace, 5, &Unwatched);
    assert_eq!(info.damage, Some(problems[0].to_string()));
    assert_eq!(corun_trace::caveats(&info)[0].kind, "damaged-trace");
}

#[test]
fn the_check_finds_a_wrong_count_where_it_stands() {
    let sound = write(&program(1_000), 10_000);
    let (mut file, mut at) = (sound[..12].to_vec(), 12);
    while sound[at] != 5 {
        let field =
            |from: usize| u32::from_le_bytes(sound[at + from..][..4].try_into().unwrap()) as usize;
        let end = at + 20 + field(12);
        if sound[at] != 4 {
            file.extend(&sound[at..end]);
        }
        at = end;
    }
    let closing = file.len();
    let content = br#"{"ending":null,"instructions":null,"native":null,"threads":[{"tid":0,"instructions":7}],"remarks":[]}"#;
    let length = (content.len() as u32).to_le_bytes();
    let header = [&[4, 0, 0, 0, 0, 0, 0, 0][..], &length, &length].concat();
    let mut sum = crc32fast::Hasher::new();
    sum.update(&header);
    sum.update(content);
    file.extend([&header[..], &sum.finalize().to_le_bytes(), content].concat());
    let checked = check(&Trace::from_bytes(file).unwrap(), &Unwatched);
    let [FormatError::Damaged { frame, found, .. }] = &checked.problems[..] else {
        panic!("{:?}", checked.problems)
    };
    assert_eq!((*frame, found.as_str()), (closing as u64, "7"));
}
