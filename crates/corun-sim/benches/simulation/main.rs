//! How fast the simulator is and how good: one binary, one model, so that neither is had without the
//! other.
//!
//! `cargo bench -p corun-sim --bench simulation -- [MODEL] [TRACE...]`; without traces, what gzip and xz
//! do with made-up text is traced first.

mod accuracy;
mod programs;
mod speed;

use std::path::PathBuf;

use corun_model::timing::TimingTable;

fn main() {
    let mut model = "zen4".to_owned();
    let mut traces = Vec::new();
    for argument in std::env::args().skip(1).filter(|word| word != "--bench") {
        if corun_model::names().any(|name| name == argument) {
            model = argument;
        } else {
            traces.push(PathBuf::from(argument));
        }
    }
    let model = corun_model::find(&model).expect("it is one of the names");
    let timings = TimingTable::of(&model).expect("its tables come with corun");
    println!("{}\n", model.title);
    let traces = if traces.is_empty() { programs::trace_all() } else { programs::open(&traces) };
    speed::show(&model, &timings, &traces);
    accuracy::show(&model, &timings);
}
