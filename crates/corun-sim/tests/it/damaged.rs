//! Traces that are damaged in any place, also where checksums do not tell: they are simulated or refused as damaged, and nothing
//! else; and what a check finds, a listing says.

use std::path::Path;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::thread_mapping::{MappingRequest, map_threads};
use corun_sim::{
    PageSize, Part, Process, Setup, SimulationError, Unwatched, simulate, simulate_together,
};
use corun_trace::format::{FormatError, Options, Trace, Writer};
use corun_trace::{Marker, OrderedMarker, Phase, Sink, TouchedLine, TouchedLines, decode};
use proptest::prelude::*;

/// Bytes before the first frame, of a frame's header, and of that without its checksum.
const PREAMBLE: usize = 12;
const HEADER: usize = 20;
const SUMMED: usize = 16;
/// Kinds of frames that say where the others lie: without them a reader looks for itself.
const INDEX: [u8; 2] = [5, 6];
/// Kinds of frames that are damaged: blocks; events and lists of touched lines.
const BLOCKS: &[u8] = &[2];
const EVENTS: &[u8] = &[3, 7];
/// Instructions that are simulated, after a fifth of them.
const LENGTH: u64 = 500;

/// A frame, unpacked.
#[derive(Debug, Clone)]
struct Frame {
    kind: u8,
    thread: [u8; 4],
    content: Vec<u8>,
}

fn frames(file: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut rest = &file[PREAMBLE..];
    while let Some((header, following)) = rest.split_at_checked(HEADER) {
        let number =
            |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap()) as usize;
        let (payload, following) = following.split_at(number(12));
        rest = following;
        let content = match header[1] {
            0 => payload.to_vec(),
            _ => zstd::bulk::decompress(payload, number(8)).unwrap(),
        };
        let thread = header[4..8].try_into().unwrap();
        frames.push(Frame { kind: header[0], thread, content });
    }
    frames.retain(|frame| !INDEX.contains(&frame.kind));
    frames
}

/// A file of these frames, whose checksums are right.
fn file(frames: &[Frame]) -> Vec<u8> {
    let mut file = b"\x89corun\r\n\x01\0\0\0".to_vec();
    for Frame { kind, thread, content } in frames {
        let mut header = [0; SUMMED];
        header[0] = *kind;
        header[4..8].copy_from_slice(thread);
        let length = (content.len() as u32).to_le_bytes();
        header[8..12].copy_from_slice(&length);
        header[12..].copy_from_slice(&length);
        let mut sum = crc32fast::Hasher::new();
        sum.update(&header);
        sum.update(content);
        file.extend_from_slice(&header);
        file.extend_from_slice(&sum.finalize().to_le_bytes());
        file.extend_from_slice(content);
    }
    file
}

/// Damage of a frame: what is done, and to which byte.
#[derive(Debug, Clone)]
struct Damage {
    frame: usize,
    place: usize,
    bytes: Vec<u8>,
    /// True if bytes are inserted, false if they are written over others.
    is_longer: bool,
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..4),
        Just(vec![0]),
        // The largest number of a field of variable length.
        Just([&[0xff; 9][..], &[1]].concat()),
    ];
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), bytes, any::<bool>()).prop_map(
        |(frame, place, bytes, is_longer)| Damage {
            frame: frame.index(1 << 20),
            place: place.index(1 << 20),
            bytes,
            is_longer,
        },
    )
}

/// The file with damages in frames of these kinds.
fn damaged(mut frames: Vec<Frame>, kinds: &[u8], damages: &[Damage]) -> Vec<u8> {
    for Damage { frame, place, bytes, is_longer } in damages {
        let mut those: Vec<_> =
            frames.iter_mut().filter(|frame| kinds.contains(&frame.kind)).collect();
        let count = those.len();
        let content = &mut those[frame % count].content;
        let place = place % (content.len() + 1);
        let end = if *is_longer { place } else { (place + bytes.len()).min(content.len()) };
        content.splice(place..end, bytes.iter().copied());
    }
    file(&frames)
}

/// Loads, stores, vectors, a string instruction, branches and calls in two threads, in intervals with gaps before them.
fn made() -> Vec<u8> {
    let options = Options { frame_instructions: 200, ..Options::default() };
    let mut writer = Writer::new(Vec::new(), &Default::default(), options).unwrap();
    let blocks = [
        // mov rax, [rbx]; add rax, 1; mov [rbx + 8], rax; dec rcx; jnz to the first
        &[
            0x48, 0x8b, 0x03, 0x48, 0x83, 0xc0, 0x01, 0x48, 0x89, 0x43, 0x08, 0x48, 0xff, 0xc9,
            0x75, 0xf0,
        ][..],
        // rep movsb
        &[0xf3, 0xa4],
        // vpaddd ymm0, ymm0, [rsi]; lock add [rdi], eax; call
        &[0xc5, 0xfd, 0xfe, 0x06, 0xf0, 0x01, 0x07, 0xe8, 0, 0x10, 0, 0],
        // imul rax, rbx; div rbx; ret
        &[0x48, 0x0f, 0xaf, 0xc3, 0x48, 0xf7, 0xf3, 0xc3],
    ];
    let counts = [5, 1, 3, 3];
    let ids: Vec<_> = (1..)
        .zip(blocks)
        .map(|(number, code)| writer.define(decode(0x1000 * number, code).unwrap()).unwrap())
        .collect();
    let mut order = 0;
    for tid in [7, 8] {
        let thread = writer.thread(tid).unwrap();
        for (phase, skipped) in [(Phase::WarmUp, 0), (Phase::Counted, 500), (Phase::Counted, 0)] {
            order += 1;
            let marker = Marker::Begin { phase, skipped };
            writer.mark(thread, OrderedMarker { order, marker }).unwrap();
            for round in 0..60 {
                let address = 0x7000 + 64 * round;
                let values: [&[u64]; 4] = [
                    &[address, address + 8],
                    &[2 * 100, 0x9000, 2 * 100, 0xa000],
                    &[address, address, 0x8000],
                    &[0x8000],
                ];
                for at in 0..4 {
                    writer.execute(thread, ids[at], counts[at], values[at]).unwrap();
                }
            }
        }
        let lines = (0..20).map(|line| TouchedLine::new(64 * line, line % 3 == 0, false)).collect();
        writer.touched(thread, TouchedLines { position: 1220, lines }).unwrap();
    }
    writer.finish(Default::default()).unwrap()
}

fn committed() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/program-start.trace");
    std::fs::read(path).unwrap()
}

/// Simulates so many instructions of a file alone and in placements.
fn simulated(
    file: Vec<u8>,
    length: u64,
    model: &CoreModel,
    timings: &TimingTable,
) -> Vec<SimulationError> {
    let (warm_up, length) = (length / 5, Some(length));
    let trace = match Trace::from_bytes(file) {
        Ok(trace) => trace,
        Err(error) => return vec![error.into()],
    };
    let mut errors = Vec::new();
    for thread in trace.threads().iter().take(2) {
        let part = Part { thread: thread.id, warm_up, length, pages: PageSize::Small };
        errors.extend(simulate(model, timings, &trace, part, &Unwatched).err());
    }
    let processes = [Process::of(&trace)];
    let workers = processes[0].workers.len();
    for placement in ["spread", "full", "stacked"] {
        let wanted = MappingRequest {
            cores: None,
            smt_width: model.smt_width as usize,
            workers,
            repeats: true,
        };
        let Ok(mapping) = map_threads(placement.parse().unwrap(), wanted) else { continue };
        let setup = Setup {
            model,
            timings,
            processes: &processes,
            mapping: &mapping,
            warm_up,
            length,
            slice_ms: 0.002,
            switch_us: 0.2,
            pages: PageSize::Small,
            seed: 1,
            offsets: &[],
            first_turn: 0,
            own_code: false,
        };
        errors.extend(simulate_together(setup, 0, 1, &Unwatched).err());
    }
    errors
}

/// Refused for what is wrong with the trace, not for a fault of the simulator. Returns the damage that is found.
fn check(file: Vec<u8>) -> Option<String> {
    let model = corun_model::find("zen4").unwrap();
    let timings = TimingTable::of(&model).unwrap();
    let trace = match Trace::from_bytes(file.clone()) {
        Ok(trace) => trace,
        Err(error) => return Some(error.to_string()),
    };
    for error in simulated(file, LENGTH, &model, &timings) {
        let SimulationError::Trace(error) = error else { panic!("{error}") };
        assert!(!matches!(error, FormatError::NoThread { .. }), "{error}");
    }
    if trace.threads().is_empty() {
        let error = simulate(&model, &timings, &trace, Part::default(), &Unwatched).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
    }
    let problems = corun_trace::format::check(&trace, &Unwatched).problems;
    let info = corun_trace::info(&trace, 3, &Unwatched);
    assert_eq!(info.damage.is_some(), !problems.is_empty(), "{:?}: {problems:?}", info.damage);
    info.damage
}

#[test]
fn what_is_not_damaged_is_simulated() {
    for file in [made(), committed()] {
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let errors = simulated(damaged(frames(&file), EVENTS, &[]), LENGTH, &model, &timings);
        assert!(errors.is_empty(), "{errors:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_made_trace_does_no_harm_however_damaged(damages in proptest::collection::vec(damage(), 1..4)) {
        check(damaged(frames(&made()), EVENTS, &damages));
    }

    #[test]
    fn damaged_blocks_of_a_made_trace_do_no_harm(damages in proptest::collection::vec(damage(), 1..4)) {
        check(damaged(frames(&made()), BLOCKS, &damages));
    }

    #[test]
    fn a_flipped_byte_of_a_made_trace_is_found(
        place in any::<prop::sample::Index>(),
        bits in 1_u8..,
    ) {
        let mut file = made();
        let place = place.index(file.len());
        file[place] ^= bits;
        prop_assert!(check(file).is_some(), "byte {place}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_recorded_trace_does_no_harm_however_damaged(damages in proptest::collection::vec(damage(), 1..4)) {
        check(damaged(frames(&committed()), EVENTS, &damages));
    }

    #[test]
    fn damaged_blocks_of_a_recorded_trace_do_no_harm(damages in proptest::collection::vec(damage(), 1..4)) {
        check(damaged(frames(&committed()), BLOCKS, &damages));
    }

    #[test]
    fn a_flipped_byte_of_a_recorded_trace_is_found(
        place in any::<prop::sample::Index>(),
        bits in 1_u8..,
    ) {
        let mut file = committed();
        let place = place.index(file.len());
        file[place] ^= bits;
        prop_assert!(check(file).is_some(), "byte {place}");
    }
}
