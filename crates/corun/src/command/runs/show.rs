//! `corun runs show`: all that a run says, as its command shows it with `--verbose`.

use std::process::ExitCode;

use clap::Args;
use corun_record::{AnyDocument, Exit, excerpt};
use corun_report::Destination;
use corun_store::RunKind;

use super::RunArgument;
use crate::command::bench::SWEEP;
use crate::options::JsonFile;
use crate::problem::{Problem, code};
use crate::{pager, terminal};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
    #[command(flatten)]
    json: JsonFile,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let destination = arguments.json.path().map(Destination::open).transpose()?;
    let store = super::store()?;
    let number = store.find(&arguments.run.run, RunKind::Finished)?;
    let document = store.document_of(&arguments.run.run)?;
    match destination {
        Some(destination) => destination.write(&document)?,
        None => {
            let run = store.listed(number)?;
            let text = rendered(&run.command, &document)?;
            pager::show(&text, terminal::show_coloured)?;
        }
    }
    Ok(code(Exit::Done))
}

/// A document as the command that made it shows all of it.
fn rendered(command: &str, text: &str) -> Result<String, Problem> {
    let view = terminal::view();
    let columns = view.columns;
    Ok(match AnyDocument::from_json(text)? {
        AnyDocument::Run(run) => corun_report::to_terminal(&run, &view),
        AnyDocument::Bench(bench) if command == "bench memory-hierarchy" => {
            corun_report::memory_hierarchy(&bench, &SWEEP, columns)
        }
        AnyDocument::Bench(bench) => corun_report::bench_to_terminal(&bench, columns),
        AnyDocument::Study(study) => corun_report::study_to_terminal(&study, &view),
        AnyDocument::Audit(audit) => corun_report::audit_to_terminal(&audit, columns),
        AnyDocument::Prediction(it) => corun_report::prediction_to_terminal(&it, &view),
        AnyDocument::Predictions(it) => corun_report::predictions_to_terminal(&it, &view),
        AnyDocument::Threads(it) => corun_report::threads_to_terminal(&it, columns, false),
        AnyDocument::Capacity(it) => corun_report::capacity_to_terminal(&it, columns),
        AnyDocument::Simulation(it) => corun_report::simulation_to_terminal(&it, columns),
        AnyDocument::Placements(it) => corun_report::placements_to_terminal(&it, columns),
        AnyDocument::Blocks(it) => corun_report::blocks_to_terminal(&it, columns),
        AnyDocument::Schedule(it) => corun_report::schedule_to_terminal(&it.body, columns),
        AnyDocument::Comparison(it) => corun_report::comparison_to_terminal(&it, columns, false),
        AnyDocument::Sweep(it) => corun_report::sweep_to_terminal(&it, columns),
        AnyDocument::Trend(it) => corun_report::trend_to_terminal(&it, columns),
        AnyDocument::FleetReport(it) => corun_report::fleet_report_to_terminal(&it, columns),
        AnyDocument::Other { format, .. } => {
            return Err(Problem::failed(
                format!("expected a document that this corun shows, found {}", excerpt(&format)),
                "Show it with the corun that kept it, or write it with --json FILE.",
            ));
        }
    })
}
