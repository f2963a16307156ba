//! A recorded program on another core.

use std::path::Path;
use std::process::ExitCode;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::Exit;
use corun_report::Simulation;
use corun_sim::plausible::cold_start;
use corun_sim::{Part, simulate};
use corun_trace::ThreadId;

use super::Arguments;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code};
use crate::terminal;

pub(super) fn run(
    arguments: &Arguments,
    model: &CoreModel,
    timings: &TimingTable,
    file: &Path,
) -> Result<ExitCode, Problem> {
    let json: Form<Simulation<'_>> = Simulation::to_json;
    let exports = Exports::open([(arguments.json.as_deref(), json)])?;
    let trace = super::opened(file)?;
    let part = Part {
        thread: ThreadId(arguments.thread),
        warm_up: arguments.warmup,
        length: arguments.length,
        pages: arguments.pages.into(),
    };
    let simulated = simulate(model, timings, &trace, part)
        .map_err(|error| Problem::from(error).in_file(file))?;
    if simulated.instructions == 0 {
        return Err(Problem::failed(
            format!(
                "{}: expected instructions after the first {}, found none",
                corun_record::shown(file),
                arguments.warmup
            ),
            "Ask for a shorter --warmup, or record more.",
        ));
    }
    let of_thread = trace.threads().iter().find(|thread| thread.id == part.thread);
    let all = of_thread.map_or(simulated.instructions, |thread| thread.instructions);
    let simulation = Simulation {
        model,
        warning: crate::core_model::validation_caveat(model)?,
        caveats: cold_start(all, arguments.warmup, simulated.instructions).into_iter().collect(),
        command: trace.opening().command.clone(),
        warmup: arguments.warmup,
        pages: part.pages,
        simulated: &simulated,
        usage: timings.usage(),
    };
    exports.write(&simulation, |simulation| simulation.describe(terminal::width()), json)?;
    Ok(code(Exit::Done))
}
