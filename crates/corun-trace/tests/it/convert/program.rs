//! A small program and what a tracer would record of a run of it.

use std::collections::HashMap;
use std::io::Write;

use corun_trace::convert::champsim::{ImportError, import};
use corun_trace::convert::{Exported, Exporter};
use corun_trace::format::{Closing, Opening, Options, Trace, TracerName, Writer};
use corun_trace::{
    BlockId, Event, Marker, OrderedMarker, Recording, Sink, ThreadId, TracePlan, decode,
};

/// Addresses of the parts of the program, and their code.
pub(crate) const START: (u64, &[u8]) = (
    0x40_1000,
    &[
        0xb9, 3, 0, 0, 0, // mov ecx, 3
        0x31, 0xc0, // xor eax, eax
        0xe8, 0xf4, 0, 0, 0, // call FUNCTION
    ],
);
pub(crate) const AGAIN: (u64, &[u8]) = (0x40_1007, &[0xe8, 0xf4, 0, 0, 0]); // call FUNCTION
pub(crate) const FUNCTION: (u64, &[u8]) = (
    0x40_1100,
    &[
        0x48, 0x03, 0x04, 0xcf, // add rax, [rdi+rcx*8]
        0xc3, // ret
    ],
);
pub(crate) const CONDITION: (u64, &[u8]) = (
    0x40_100c,
    &[
        0xff, 0xc9, // dec ecx
        0x75, 0xf7, // jne AGAIN
    ],
);
pub(crate) const COPY: (u64, &[u8]) = (
    0x40_1010,
    &[
        0xf3, 0xa4, // rep movsb
        0xff, 0x25, 0, 0, 0, 0, // jmp [rip]
    ],
);
pub(crate) const ODDS: (u64, &[u8]) = (
    0x40_1200,
    &[
        0xf0, 0x48, 0x0f, 0xc7, 0x0f, // lock cmpxchg16b [rdi]
        0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x88, // vpgatherdd ymm0, [rax+ymm1*4], ymm2
        0x8f, 0x00, // pop [rax]
        0x0f, 0xae, 0x38, // clflush [rax]
        0x0f, 0x05, // syscall
    ],
);

pub(crate) const STACK: u64 = 0x7fff_0000;
pub(crate) const TABLE: u64 = 0x60_0000;

/// A run in one thread.
#[derive(Default)]
pub(crate) struct Run {
    pub recording: Recording,
    known: HashMap<(u64, Vec<u8>), BlockId>,
    markers: u64,
}

impl Run {
    pub(crate) fn new() -> Self {
        let mut run = Self::default();
        run.recording.thread(1000).unwrap();
        run
    }

    pub(crate) fn executes(&mut self, (address, code): (u64, &[u8]), values: &[u64]) {
        let block = decode(address, code).unwrap();
        let executed = block.instructions.len() as u32;
        self.executes_first(executed, (address, code), values);
    }

    pub(crate) fn executes_first(
        &mut self,
        executed: u32,
        (address, code): (u64, &[u8]),
        values: &[u64],
    ) {
        let recording = &mut self.recording;
        let define = || recording.define(decode(address, code).unwrap()).unwrap();
        let id = *self.known.entry((address, code.to_owned())).or_insert_with(define);
        self.recording.execute(ThreadId(0), id, executed, values).unwrap();
    }

    pub(crate) fn marks(&mut self, marker: Marker) {
        self.markers += 1;
        self.recording.mark(ThreadId(0), OrderedMarker { order: self.markers, marker }).unwrap();
    }

    pub(crate) fn exported(&self) -> (Vec<u8>, Exported) {
        let mut file = Vec::new();
        let exported = export(&self.recording, Exporter::new(&mut file));
        (file, exported)
    }
}

pub(crate) fn export(recording: &Recording, mut exporter: Exporter<impl Write>) -> Exported {
    for event in recording.events(ThreadId(0)) {
        exporter.event(&recording.blocks, event).unwrap();
    }
    exporter.finish(&recording.blocks).unwrap()
}

/// The whole program.
pub(crate) fn run(rounds: u64) -> Run {
    let mut run = Run::new();
    for round in (1..=rounds).rev() {
        run.executes(if round == rounds { START } else { AGAIN }, &[STACK - 8]);
        run.executes(FUNCTION, &[TABLE + 8 * round, STACK - 8]);
        run.executes(CONDITION, &[]);
    }
    // Three bytes; a jump through 0x401018.
    run.executes(COPY, &[6, 0x70_0000, 6, 0x70_1000, 0x40_1018]);
    run.executes(ODDS, &[TABLE, 5, 0x100, 0x200, 0x300, 0x400, 0x500, STACK, 0x70_2000, 0x70_2040]);
    run.marks(Marker::SystemCall(60));
    run.marks(Marker::Ended);
    run
}

/// The addresses of a recording's instructions, and the count of its markers.
pub(crate) fn path(recording: &Recording) -> (Vec<u64>, usize) {
    let markers = recording.events(ThreadId(0)).filter(|event| matches!(event, Event::Marker(_)));
    (recording.instructions(ThreadId(0)).collect(), markers.count())
}

/// A trace of what a file of ChampSim's holds.
pub(crate) fn trace_of(file: &[u8]) -> Result<Trace, ImportError> {
    let opening = Opening {
        command: Vec::new(),
        environment: String::new(),
        tracer: TracerName { name: "champsim".to_owned(), version: String::new() },
        cpu: String::new(),
        features: Vec::new(),
        kernel: String::new(),
        started: String::new(),
        plan: TracePlan::Whole,
        remarks: Vec::new(),
    };
    let mut writer = Writer::new(Vec::new(), &opening, Options::default())?;
    import(file, &mut writer)?;
    Ok(Trace::from_bytes(writer.finish(Closing::default())?).expect("what was written is sound"))
}
