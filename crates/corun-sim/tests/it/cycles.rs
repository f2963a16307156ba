//! Cycles to the last one: what is rebuilt inside of the simulator changes none of them. A change that is meant to
//! (a model's figure, a rule of the core) shows here which cores and placements it reaches: read the difference,
//! then accept it with `INSTA_UPDATE=always`.

use std::fmt::Write as _;
use std::path::Path;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::thread_mapping::{MappingRequest, map_threads};
use corun_sim::{PageSize, Phase, Process, Setup, Unwatched, in_parallel, simulate_together};
use corun_trace::format::Trace;

use crate::blocks;

const PLACEMENTS: [&str; 4] = ["spread", "full", "stacked", "free@3"];

/// One placement of copies of the committed trace's program, in the middle of its start-up.
fn phase(model: &CoreModel, timings: &TimingTable, trace: &Trace, placement: &str) -> Phase {
    let processes = [Process::of(trace)];
    let wanted = MappingRequest {
        cores: None,
        smt_width: model.smt_width as usize,
        workers: 1,
        repeats: true,
    };
    let mapping = map_threads(placement.parse().unwrap(), wanted).unwrap();
    let setup = Setup {
        model,
        timings,
        processes: &processes,
        mapping: &mapping,
        warm_up: 20_000,
        length: Some(30_000),
        slice_ms: 0.002,
        switch_us: 0.2,
        pages: PageSize::Small,
        seed: 1,
        offsets: &[],
        first_turn: 0,
        own_code: false,
    };
    simulate_together(setup, 1, 4, &Unwatched).unwrap()
}

/// Of a model, a line for each worker of each placement: instructions, cycles, mispredicted
/// branches, and requests by what served them.
fn of_program(model: &CoreModel, trace: &Trace) -> String {
    let timings = TimingTable::of(model).unwrap();
    let mut lines = String::new();
    for placement in PLACEMENTS {
        for one in phase(model, &timings, trace, placement).workers {
            let (cycles, requests) = (one.cycles, one.simulated.requests.by_name());
            writeln!(
                lines,
                "{} {placement}: {} instructions, {cycles} cycles, {} mispredicted, {:?}",
                model.name,
                one.instructions,
                one.simulated.mispredicts,
                requests.map(|(_, count)| count)
            )
            .unwrap();
        }
    }
    lines
}

#[test]
fn a_program_takes_the_same_cycles() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/program-start.trace");
    let trace = Trace::open(&file).unwrap();
    let models = corun_model::designs().unwrap();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let lines = in_parallel(jobs, models.len(), |place| of_program(&models[place], &trace));
    insta::assert_snapshot!(lines.concat());
}

/// A chain of divisions, a copy of 64 bytes, a store that is loaded again, and a loop's usual work.
const BLOCKS: [&[u8]; 4] = [
    &[0x48, 0x31, 0xd2, 0x48, 0xf7, 0xf3],
    &[0xf3, 0x48, 0xa5],
    &[0x48, 0x89, 0x03, 0x48, 0x8b, 0x0b, 0x48, 0x01, 0xc8],
    &[0x48, 0x83, 0xc0, 0x01, 0x48, 0x0f, 0xaf, 0xc8, 0x66, 0x0f, 0xfe, 0xc1, 0x0f, 0x18, 0x03],
];

#[test]
fn a_block_takes_the_same_cycles() {
    let mut lines = String::new();
    for model in corun_model::designs().unwrap() {
        let name = &model.name;
        let cycles = BLOCKS.map(|code| blocks::cycles(name, code));
        writeln!(lines, "{name}: {cycles:?}").unwrap();
    }
    insta::assert_snapshot!(lines);
}
