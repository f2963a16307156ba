//! Size and speed of the trace format: bytes an instruction, instructions a second.
//!
//! Without arguments made-up programs are encoded; with trace files, what they hold, again. Speeds are
//! by the processor time of all threads, so that packing beside the tracer is paid for, and the best of
//! several rounds: what else runs on the machine takes caches and the core's other half away.
//!
//! `cargo bench -p corun-trace --bench format -- [--level N] [FILE...]`

mod synthetic;

use std::path::{Path, PathBuf};
use std::time::Duration;

use corun_trace::format::{Closing, Opening, Options, Trace, Writer};
use corun_trace::{Event, Recording, Sink, ThreadId};
use rustix::time::{ClockId, clock_gettime};
use synthetic::{MIXTURES, Program};

/// Instructions of a made-up program, and of each thread of a file.
const INSTRUCTIONS: u64 = 40_000_000;

/// Rounds in which each program is written and read.
const ROUNDS: u32 = 10;

fn main() {
    let mut level = Options::default().level;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--level" => level = arguments.next().expect("a level").parse().expect("a number"),
            _ => files.push(PathBuf::from(argument)),
        }
    }
    println!("Bytes an instruction, and million instructions a second, zstd level {level}.\n");
    println!(
        "{:<38}{:>7}{:>8}{:>9}{:>9}{:>9}",
        "program", "Minstr", "values", "bytes", "written", "read"
    );
    for file in &files {
        measure(&file.display().to_string(), &recorded(file), level);
    }
    for (name, mixture) in MIXTURES.iter().filter(|_| files.is_empty()) {
        let mut recording = Recording::default();
        Program::new(mixture, 1).walk(INSTRUCTIONS, &mut recording);
        measure(name, &recording, level);
    }
}

fn measure(name: &str, recording: &Recording, level: i32) {
    let (written, bytes) = best(|| encode(recording, level));
    let size = bytes.len();
    let trace = Trace::from_bytes(bytes).unwrap();
    let (read, (instructions, values)) = best(|| decode(&trace));
    let count = instructions as f64;
    println!(
        "{name:<38}{:>7.0}{:>8.2}{:>9.3}{:>9.0}{:>9.0}",
        count / 1e6,
        values as f64 / count,
        size as f64 / count,
        count / 1e6 / written.as_secs_f64(),
        count / 1e6 / read.as_secs_f64(),
    );
}

/// The shortest of several rounds, and what it gave.
fn best<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let round = |_| {
        let start = processor_time();
        let result = work();
        (processor_time() - start, result)
    };
    (0..ROUNDS).map(round).min_by_key(|(time, _)| *time).expect("at least one round")
}

/// The instructions and values of all threads.
fn decode(trace: &Trace) -> (u64, u64) {
    let (mut instructions, mut values_read) = (0, 0);
    for thread in trace.threads() {
        let mut events = trace.events(thread.id).unwrap();
        while let Some(event) = events.next_event().unwrap() {
            if let Event::Block { executed, values, .. } = event {
                instructions += u64::from(executed);
                values_read += values.len() as u64;
            }
        }
    }
    (instructions, values_read)
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("the clock counts from 0")
}

fn encode(recording: &Recording, level: i32) -> Vec<u8> {
    let options = Options { level, ..Options::default() };
    let mut writer = Writer::new(Vec::new(), &Opening::default(), options).unwrap();
    copy(recording, &mut writer);
    writer.finish(Closing::default()).unwrap()
}

fn copy(recording: &Recording, sink: &mut impl Sink) {
    for block in &recording.blocks {
        sink.define(block.clone()).unwrap();
    }
    for (thread, id) in recording.threads.iter().zip(0..) {
        sink.thread(thread.tid).unwrap();
        for event in recording.events(ThreadId(id)) {
            emit(event, ThreadId(id), sink);
        }
    }
}

fn emit(event: Event<'_>, thread: ThreadId, sink: &mut impl Sink) {
    match event {
        Event::Block { block, executed, values } => sink.execute(thread, block, executed, values),
        Event::Marker(marker) => sink.mark(thread, marker),
    }
    .unwrap();
}

/// The beginning of each thread of a trace.
fn recorded(file: &Path) -> Recording {
    let trace = Trace::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut recording = Recording::default();
    for block in trace.blocks() {
        recording.define(block.clone()).unwrap();
    }
    for thread in trace.threads() {
        let id = recording.thread(thread.tid).unwrap();
        let mut events = trace.events(thread.id).unwrap();
        let mut left = INSTRUCTIONS;
        while let Some(event) = events.next_event().unwrap() {
            emit(event, id, &mut recording);
            if let Event::Block { executed, .. } = event {
                left = left.saturating_sub(u64::from(executed));
            }
            if left == 0 {
                break;
            }
        }
    }
    recording
}
