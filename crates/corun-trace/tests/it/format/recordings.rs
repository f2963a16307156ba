//! Recordings to be written, and what comes back when they are read.

use corun_trace::format::{
    Closing, FormatError, Opening, Options, Stream, Trace, TracerName, Writer,
};
use corun_trace::{
    Block, ChampSimInstruction, Code, Direction, Ending, Event, Form, Instruction, Marker,
    MemoryOperand, OrderedMarker, Phase, Recording, Sink, ThreadId, TouchedLine, TouchedLines,
    TracePlan,
};
use proptest::collection::vec;
use proptest::prelude::*;

pub(crate) fn opening() -> Opening {
    Opening {
        command: vec!["cat".to_owned(), "a file".to_owned()],
        environment: "0".to_owned(),
        tracer: TracerName { name: "none".to_owned(), version: "1".to_owned() },
        cpu: "a CPU".to_owned(),
        features: vec!["sse2".to_owned()],
        kernel: "Linux".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        plan: TracePlan::Window { skip: 0, length: None },
        remarks: Vec::new(),
    }
}

pub(crate) fn closing() -> Closing {
    Closing { ending: Some(Ending::Exited(0)), instructions: Some(7), ..Closing::default() }
}

/// Writes a recording with frames of so many instructions, its threads in turn.
pub(crate) fn write(recording: &Recording, frame_instructions: u64) -> Vec<u8> {
    let options = Options { frame_instructions, ..Options::default() };
    let mut writer = Writer::new(Vec::new(), &opening(), options).unwrap();
    copy(recording, &mut writer);
    writer.finish(closing()).unwrap()
}

pub(crate) fn copy(recording: &Recording, sink: &mut impl Sink) {
    for block in &recording.blocks {
        sink.define(block.clone()).unwrap();
    }
    for thread in &recording.threads {
        sink.thread(thread.tid).unwrap();
    }
    for id in (0..recording.threads.len() as u32).map(ThreadId) {
        recording.events(id).for_each(|event| emit(event, id, sink));
        for lines in &recording.threads[id.0 as usize].touched {
            sink.touched(id, lines.clone()).unwrap();
        }
    }
}

pub(crate) fn emit(event: Event<'_>, thread: ThreadId, sink: &mut impl Sink) {
    match event {
        Event::Block { block, executed, values } => sink.execute(thread, block, executed, values),
        Event::Marker(marker) => sink.mark(thread, marker),
    }
    .unwrap();
}

/// Everything that a trace holds, thread by thread, as far as it can be read.
pub(crate) fn read(bytes: Vec<u8>) -> (Recording, Option<FormatError>) {
    let mut recording = Recording::default();
    let trace = match Trace::from_bytes(bytes) {
        Ok(trace) => trace,
        Err(error) => return (recording, Some(error)),
    };
    recording.blocks = trace.blocks().to_vec();
    let mut damage = trace.damage().map(|damage| FormatError::Unreadable {
        at: 0,
        source: std::io::Error::other(damage.to_string()),
    });
    for thread in trace.threads() {
        while recording.threads.len() <= thread.id.0 as usize {
            recording.thread(thread.tid).unwrap();
        }
        for number in 0..trace.touched_at(thread.id).count() {
            match trace.touched(thread.id, number) {
                Ok(lines) => recording.touched(thread.id, lines).unwrap(),
                Err(error) => damage = Some(error),
            }
        }
        let mut events = trace.events(thread.id).unwrap();
        loop {
            match events.next_event() {
                Ok(Some(event)) => emit(event, thread.id, &mut recording),
                Ok(None) => break,
                Err(error) => {
                    damage = Some(error);
                    break;
                }
            }
        }
    }
    (recording, damage)
}

/// Everything that a trace holds, in its order, as far as it can be read.
pub(crate) fn stream(bytes: &[u8]) -> (Recording, Option<FormatError>) {
    let mut recording = Recording::default();
    let mut stream = match Stream::new(bytes) {
        Ok(stream) => stream,
        Err(error) => return (recording, Some(error)),
    };
    let damage = loop {
        match stream.next_event() {
            Ok(Some((thread, event))) => {
                while recording.threads.len() <= thread.0 as usize {
                    recording.thread(0).unwrap();
                }
                emit(event, thread, &mut recording);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    recording.blocks = stream.blocks().to_vec();
    (recording, damage)
}

/// Any block that the format can hold.
fn block() -> impl Strategy<Value = Block> {
    let operand = (0..4_usize, any::<u16>(), 0..5_usize).prop_map(|(direction, size, form)| {
        use Direction::{Prefetch, Read, ReadWrite, Write};
        let forms = [Form::Single, Form::Single, Form::Single, Form::Lanes, Form::Repeated];
        let direction = [Read, Write, ReadWrite, Prefetch][direction];
        MemoryOperand { direction, size, form: forms[form] }
    });
    let instruction = (vec(any::<u8>(), 1..=15), vec(operand, 0..4));
    (any::<u64>(), vec(instruction, 1..6), any::<bool>()).prop_map(|(address, parts, champsim)| {
        Block {
            address,
            code: if champsim {
                Code::ChampSim(
                    parts.iter().map(|(bytes, operands)| champsim_of(bytes, operands)).collect(),
                )
            } else {
                Code::Bytes(parts.iter().flat_map(|(bytes, _)| bytes).copied().collect())
            },
            instructions: parts
                .iter()
                .map(|(bytes, operands)| Instruction {
                    length: bytes.len() as u8,
                    operands: operands.len() as u8,
                })
                .collect(),
            operands: parts.into_iter().flat_map(|(_, operands)| operands).collect(),
        }
    })
}

/// A description of an instruction with these operands.
fn champsim_of(bytes: &[u8], operands: &[MemoryOperand]) -> ChampSimInstruction {
    let first = bytes[0];
    let (branch, taken) = (first & 1 == 1, first & 2 == 2);
    let places = [0, 0b10_0000, 0b01_0010, 0b11_1000][operands.len()];
    ChampSimInstruction { writes: [first, 0], reads: [0, 0, first, first], branch, taken, places }
}

fn marker() -> impl Strategy<Value = Marker> {
    let phase = prop_oneof![Just(Phase::WarmUp), Just(Phase::Counted)];
    prop_oneof![
        any::<u64>().prop_map(Marker::SystemCall),
        any::<u32>().prop_map(Marker::Signal),
        Just(Marker::Switch),
        Just(Marker::Atomic),
        any::<u32>().prop_map(Marker::Forked),
        Just(Marker::Replaced),
        (phase, 0..1_000_u64).prop_map(|(phase, skipped)| Marker::Begin { phase, skipped }),
        Just(Marker::Ended),
    ]
}

/// Next event: in which thread, which block, whether it is cut short, the values if they are not
/// like the last ones, and the marker before it.
type Draft = (usize, usize, Option<u32>, Option<Vec<u64>>, Option<(u64, Marker)>);

/// A list of touched lines, and of which thread.
fn touched() -> impl Strategy<Value = (usize, TouchedLines)> {
    let line = (prop_oneof![any::<u64>(), 0..99_999_u64], any::<bool>(), any::<bool>())
        .prop_map(|(address, is_written, is_code)| TouchedLine::new(address, is_written, is_code));
    (0..3_usize, 0..u64::MAX / 2, vec(line, 0..40))
        .prop_map(|(thread, position, lines)| (thread, TouchedLines { position, lines }))
}

/// Any recording of up to three threads.
pub(crate) fn recording() -> impl Strategy<Value = Recording> {
    let values = proptest::option::weighted(0.3, vec(prop_oneof![any::<u64>(), 0..9_u64], 40));
    let cut = proptest::option::weighted(0.1, any::<u32>());
    let mark = proptest::option::weighted(0.1, (any::<u64>(), marker()));
    let draft = (0..3_usize, any::<usize>(), cut, values, mark);
    (vec(block(), 1..12), vec(draft, 0..200), vec(touched(), 0..4)).prop_map(
        |(blocks, drafts, touched)| {
            let mut recording = made(blocks, drafts);
            for (thread, lines) in touched {
                recording.threads[thread].touched.push(lines);
            }
            recording
        },
    )
}

fn made(blocks: Vec<Block>, drafts: Vec<Draft>) -> Recording {
    let mut recording = Recording::default();
    for block in &blocks {
        recording.define(block.clone()).unwrap();
    }
    let threads = [7, 8, u32::MAX].map(|tid| recording.thread(tid).unwrap());
    let mut last = vec![0; 40];
    for (thread, block, cut, values, mark) in drafts {
        let thread = threads[thread];
        if let Some((order, marker)) = mark {
            recording.mark(thread, OrderedMarker { order, marker }).unwrap();
        }
        match values {
            Some(values) => last = values,
            None => last.iter_mut().for_each(|value| *value = value.wrapping_add(8)),
        }
        let index = block % blocks.len();
        let whole = blocks[index].instructions.len() as u32;
        let executed = cut.map_or(whole, |cut| cut % whole);
        let values = values_for(blocks[index].operands_of(executed as usize), &last);
        let block = corun_trace::BlockId(index as u32);
        recording.execute(thread, block, executed, &values).unwrap();
    }
    recording
}

/// As many values as the operands have.
fn values_for(operands: &[MemoryOperand], pool: &[u64]) -> Vec<u64> {
    let mut pool = pool.iter().copied().cycle();
    let mut next = || pool.next().expect("the pool is not empty");
    let mut values = Vec::new();
    for operand in operands {
        match operand.form {
            Form::Single => values.push(next()),
            Form::Repeated => values.extend([next() >> 31, next()]),
            Form::Lanes => {
                let lanes = next() % 17;
                values.push(lanes);
                values.extend((0..lanes).map(|_| next()));
            }
        }
    }
    values
}
