//! Simulated instructions a second, by the processor time of the one thread that reads the trace,
//! decompression included, and simulates.

use std::time::Duration;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::{Part, Simulated, Unwatched, simulate};
use rustix::time::{ClockId, clock_gettime};

use crate::programs::Program;

/// How often each trace is simulated.
const ROUNDS: usize = 5;

pub(crate) fn show(model: &CoreModel, timings: &TimingTable, programs: &[Program]) {
    println!(
        "{:<12} {:>8} {:>8} {:>6} {:>14} {:>11} {:>7} {:>7}",
        "program", "M instr", "M cycles", "IPC", "mispredicts/k", "M instr/s", "least", "most"
    );
    for program in programs {
        let mut rates = Vec::new();
        let mut known = None;
        for _ in 0..ROUNDS {
            let (time, simulated) = timed(|| run(model, timings, program));
            rates.push(simulated.instructions as f64 / 1e6 / time.as_secs_f64());
            let same = known.get_or_insert_with(|| simulated.clone());
            assert_eq!(*same, simulated, "the same input gives the same output");
        }
        rates.sort_by(f64::total_cmp);
        let simulated = known.expect("there is a round");
        let instructions = simulated.instructions as f64;
        println!(
            "{:<12} {:>8.1} {:>8.2} {:>6.3} {:>14.2} {:>11.2} {:>7.2} {:>7.2}",
            program.name,
            instructions / 1e6,
            simulated.cycles as f64 / 1e6,
            simulated.ipc(),
            1000.0 * simulated.mispredicts as f64 / instructions,
            rates[ROUNDS / 2],
            rates[0],
            rates[ROUNDS - 1],
        );
    }
    println!();
}

fn run(model: &CoreModel, timings: &TimingTable, program: &Program) -> Simulated {
    let part = Part::default();
    simulate(model, timings, &program.trace, part, &Unwatched).expect("the trace is sound")
}

/// How long something takes, and what it gives.
fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begin = clock_gettime(ClockId::ThreadCPUTime);
    let result = work();
    let took = clock_gettime(ClockId::ThreadCPUTime) - begin;
    (Duration::try_from(took).expect("the clock runs forwards"), result)
}
