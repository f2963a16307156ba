//! A recorded program on another core.

use std::path::Path;
use std::process::ExitCode;

use corun_model::timing::TimingTable;
use corun_model::{CoreModel, validation_caveat};
use corun_record::{Caveat, Document, Exit, Record, Simulation};
use corun_report::simulation_to_terminal;
use corun_sim::plausible::cold_start;
use corun_sim::{Part, Simulated, simulate};
use corun_trace::ThreadId;
use corun_trace::format::Trace;

use super::{Arguments, caveats, document};
use crate::answer::Head;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::terminal;

pub(super) fn run(
    arguments: &Arguments,
    model: &CoreModel,
    timings: &TimingTable,
    file: &Path,
) -> Result<ExitCode, Problem> {
    let json: Form<Record<Simulation>> = Document::to_json;
    let exports = Exports::open([(arguments.json.path(), json)])?;
    let head = Head::now();
    let trace = super::opened(file)?;
    let part = Part {
        thread: ThreadId(arguments.thread),
        warm_up: arguments.warmup,
        length: arguments.length,
        pages: arguments.pages.into(),
    };
    let line = StepProgress::new(arguments.progress.quiet);
    let simulated = simulate(model, timings, &trace, part, &line)
        .map_err(|error| Problem::from(error).in_file(file))?;
    line.finish();
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
    let unknown_forms = document::unknown_forms(&simulated.unknown);
    let caveats = [
        validation_caveat(model)?,
        caveats::of_damage(&trace, file),
        caveats::of_windows(&trace, file),
        caveats::of_quotients(&simulated.quotients),
        of_cold_start(&trace, part, &simulated),
        caveats::of_unknown_forms(&unknown_forms),
        caveats::of_timing_rows(timings.usage()),
    ];
    let simulation = Simulation {
        core: document::core(model, arguments),
        command: trace.opening().command.clone(),
        warmup: part.warm_up,
        pages: part.pages,
        instructions: simulated.instructions,
        cycles: simulated.cycles,
        ipc: simulated.ipc(),
        ghz: model.gigahertz,
        seconds: simulated.cycles as f64 / (model.gigahertz * 1e9),
        mispredicts: simulated.mispredicts,
        requests: simulated.requests,
        stack: simulated.stack.cycles().map(|(name, it)| (name.to_owned(), it)).collect(),
        occupancy: simulated.occupancy.means().map(|(name, it)| (name.to_owned(), it)).collect(),
        unknown_forms,
        assumed_quotients: simulated.quotients,
        timing_rows: document::timing_rows(timings.usage()),
    };
    let caveats = caveats.into_iter().flatten().collect();
    let simulation = Record { caveats, ..head.record(simulation) };
    let shown = |it: &Record<Simulation>| simulation_to_terminal(it, terminal::width());
    exports.write(&simulation, shown, json)?;
    Ok(code(Exit::Done))
}

/// Caveat that too little was executed before the counted instructions for caches to be warm.
fn of_cold_start(trace: &Trace, part: Part, simulated: &Simulated) -> Option<Caveat> {
    let of_thread = trace.threads().iter().find(|thread| thread.id == part.thread);
    let all = of_thread.map_or(simulated.instructions, |thread| thread.instructions);
    let sentence = cold_start(all, part.warm_up, simulated.instructions)?;
    Some(Caveat::new("cold-start", sentence))
}
