//! Simulated instructions a second, by the processor time of the one thread that reads the trace,
//! decompression included, and simulates.

use std::time::Duration;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::thread_mapping::ThreadMapping;
use corun_sim::{
    PageSize, Part, Process, Setup, Simulated, Unwatched, simulate, simulate_together,
};
use corun_trace::format::Trace;
use rustix::time::{ClockId, clock_gettime};

use crate::programs::Program;

/// Simulations of each trace.
const ROUNDS: usize = 5;

/// Instructions at the end of a trace that are counted after all others were warmed with.
const COUNTED: u64 = 1 << 13;

/// Use of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All of it runs through the pipeline of a core.
    Alone,
    /// Simulation beside a copy of it on the same core.
    Siblings,
    /// An eighth of it on each hardware thread of eight cores: what cores cost beyond their number.
    Cores,
    /// Caches and predictors see all of it but the last instructions.
    Warming,
}

impl Mode {
    const ALL: [(&str, Self); 4] = [
        ("alone", Self::Alone),
        ("siblings", Self::Siblings),
        ("cores", Self::Cores),
        ("warming", Self::Warming),
    ];

    /// The mode of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, mode)| mode)
    }

    /// Counts, and the number of instructions gone through for them.
    fn run(self, model: &CoreModel, timings: &TimingTable, trace: &Trace) -> (Simulated, u64) {
        let all = trace.threads()[0].instructions;
        let part = match self {
            Self::Alone => Part::default(),
            Self::Warming => Part { warm_up: all.saturating_sub(COUNTED), ..Part::default() },
            Self::Siblings => return together(model, timings, trace, 1),
            Self::Cores => return together(model, timings, trace, 8),
        };
        (simulate(model, timings, trace, part, &Unwatched).expect("the trace is sound"), all)
    }
}

/// Two copies of a trace as siblings on each of so many cores, which divide its instructions among them; instructions
/// of all copies.
fn together(
    model: &CoreModel,
    timings: &TimingTable,
    trace: &Trace,
    cores: usize,
) -> (Simulated, u64) {
    let setup = Setup {
        model,
        timings,
        processes: &[Process::of(trace)],
        mapping: &ThreadMapping::from(vec![vec![vec![0], vec![0]]; cores]),
        warm_up: 0,
        length: Some(trace.threads()[0].instructions / cores as u64),
        slice_ms: 1.0,
        switch_us: 0.0,
        pages: PageSize::default(),
        seed: 1,
        offsets: &[],
        first_turn: 0,
        own_code: false,
    };
    let phase = simulate_together(setup, 0, 1, &Unwatched).expect("the trace is sound");
    let instructions = phase.workers.iter().map(|worker| worker.instructions).sum();
    (phase.workers[0].simulated.clone(), instructions)
}

/// Simulates each trace once.
pub(crate) fn once(model: &CoreModel, timings: &TimingTable, programs: &[Program], mode: Mode) {
    for program in programs {
        let (simulated, instructions) = mode.run(model, timings, &program.trace);
        println!("{}: {instructions} instructions, {} cycles", program.name, simulated.cycles);
    }
}

pub(crate) fn show(model: &CoreModel, timings: &TimingTable, programs: &[Program]) {
    println!(
        "{:<12} {:<9} {:>8} {:>8} {:>6} {:>14} {:>11} {:>7} {:>7}",
        "program", "", "M instr", "M cycles", "IPC", "mispredicts/k", "M instr/s", "least", "most"
    );
    for program in programs {
        for (name, mode) in Mode::ALL {
            show_mode(model, timings, program, (name, mode));
        }
    }
    println!();
}

fn show_mode(
    model: &CoreModel,
    timings: &TimingTable,
    program: &Program,
    (name, mode): (&str, Mode),
) {
    let mut rates = Vec::new();
    let mut known = None;
    for _ in 0..ROUNDS {
        let (time, found) = timed(|| mode.run(model, timings, &program.trace));
        rates.push(found.1 as f64 / 1e6 / time.as_secs_f64());
        let same = known.get_or_insert_with(|| found.clone());
        assert_eq!(*same, found, "the same input gives the same output");
    }
    rates.sort_by(f64::total_cmp);
    let (simulated, instructions) = known.expect("there is a round");
    let counted = simulated.instructions as f64;
    println!(
        "{:<12} {name:<9} {:>8.1} {:>8.2} {:>6.3} {:>14.2} {:>11.2} {:>7.2} {:>7.2}",
        program.name,
        instructions as f64 / 1e6,
        simulated.cycles as f64 / 1e6,
        simulated.ipc(),
        1000.0 * simulated.mispredicts as f64 / counted,
        rates[ROUNDS / 2],
        rates[0],
        rates[ROUNDS - 1],
    );
}

/// Duration of a call, and its result.
fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begin = clock_gettime(ClockId::ThreadCPUTime);
    let result = work();
    let took = clock_gettime(ClockId::ThreadCPUTime) - begin;
    (Duration::try_from(took).expect("the clock runs forwards"), result)
}
