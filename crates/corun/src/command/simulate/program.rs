//! A recorded program on another core.

use std::path::Path;
use std::process::ExitCode;

use corun_record::Exit;
use corun_report::{Destination, Simulation};
use corun_sim::model::CoreModel;
use corun_sim::timing::TimingTable;
use corun_sim::{Part, simulate};
use corun_trace::ThreadId;
use corun_trace::format::Trace;

use super::Arguments;
use crate::problem::{Problem, code};
use crate::terminal;

pub(super) fn run(
    arguments: &Arguments,
    model: &CoreModel,
    timings: &TimingTable,
    file: &Path,
) -> Result<ExitCode, Problem> {
    let json = arguments.json.as_deref().map(Destination::open).transpose()?;
    let of_file = |error| Problem::from(error).about(file);
    let trace = Trace::open(file).map_err(of_file)?;
    let part = Part {
        thread: ThreadId(arguments.thread),
        warm_up: arguments.warmup,
        length: arguments.length,
    };
    let simulated = simulate(model, timings, &trace, part).map_err(of_file)?;
    if simulated.instructions == 0 {
        return Err(Problem::failed(
            format!(
                "{}: expected instructions behind the first {}, found none",
                file.display(),
                arguments.warmup
            ),
            "Ask for a shorter --warmup, or record more.",
        ));
    }
    let simulation = Simulation {
        model,
        warning: super::warning(model)?,
        command: trace.opening().command.clone(),
        warm_up: arguments.warmup,
        simulated: &simulated,
    };
    match json {
        Some(json) => json.write(&simulation.to_json())?,
        None => terminal::show(&simulation.describe(terminal::width()))?,
    }
    Ok(code(Exit::Done))
}
