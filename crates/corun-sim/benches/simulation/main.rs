//! Speed and accuracy of the simulator: one binary, one model, so that neither is had without the other.
//!
//! `cargo bench -p corun-sim --bench simulation -- [MODEL] [MODE] [TRACE...]`; without traces, what gzip and xz
//! do with made-up text is traced first. With a mode (`alone`, `siblings`, `cores`, `warming`) each trace is simulated once in
//! that mode and nothing else is done, for a profiler.

mod accuracy;
mod programs;
mod speed;

use std::path::PathBuf;

use corun_model::timing::TimingTable;
use speed::Mode;

fn main() {
    let mut model = "zen4".to_owned();
    let mut traces = Vec::new();
    let mut mode = None;
    for argument in std::env::args().skip(1).filter(|word| word != "--bench") {
        if corun_model::names().any(|name| name == argument) {
            model = argument;
        } else if let Some(known) = Mode::of(&argument) {
            mode = Some(known);
        } else {
            traces.push(PathBuf::from(argument));
        }
    }
    let model = corun_model::find(&model).expect("it is one of the names");
    let timings = TimingTable::of(&model).expect("its tables come with corun");
    println!("{}\n", model.title);
    let traces = if traces.is_empty() { programs::trace_all() } else { programs::open(&traces) };
    if let Some(mode) = mode {
        return speed::once(&model, &timings, &traces, mode);
    }
    speed::show(&model, &timings, &traces);
    accuracy::show(&model, &timings);
}
