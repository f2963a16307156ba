//! `corun runs show`: a run's answer, in the form in which its command showed it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{
    Audit, Bench, Blocks, Body, CapacityCurve, Document, Exit, Placements, Prediction,
    PredictionTable, ReadError, Record, Run, Schedule, Simulation, StudyResult, ThreadSweep,
};
use corun_report::Destination;
use corun_store::Wanted;

use crate::command::bench::SWEEP;
use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run: an id of `corun runs list`, the beginning of one, a tag, `last`, `last~1`
    #[arg(value_name = "RUN")]
    run: String,
    /// Write its document as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let destination = arguments.json.as_deref().map(Destination::open).transpose()?;
    let store = super::store()?;
    let number = store.find(&arguments.run, Wanted::Finished)?;
    let document = store.document_of(&arguments.run)?;
    match destination {
        Some(destination) => destination.write(&document)?,
        None => {
            let run = store.listed(number)?;
            let text = rendered(&run.document, &run.command, &document)?;
            terminal::show_coloured(&text)?;
        }
    }
    Ok(code(Exit::Done))
}

/// A document of this format as the command shows it that made it.
fn rendered(format: &str, command: &str, text: &str) -> Result<String, ReadError> {
    let columns = terminal::width();
    Ok(match format {
        Bench::FORMAT if command == "bench memory-hierarchy" => {
            corun_report::memory_hierarchy(&Bench::from_json(text)?, &SWEEP, columns)
        }
        Bench::FORMAT => corun_report::bench_to_terminal(&Bench::from_json(text)?, columns),
        StudyResult::FORMAT => {
            corun_report::study_to_terminal(&StudyResult::from_json(text)?, columns)
        }
        Audit::FORMAT => corun_report::audit_to_terminal(&Audit::from_json(text)?, columns),
        Prediction::FORMAT => {
            corun_report::prediction_to_terminal(&Prediction::from_json(text)?, columns)
        }
        PredictionTable::FORMAT => {
            corun_report::predictions_to_terminal(&PredictionTable::from_json(text)?, columns)
        }
        <ThreadSweep as Body>::FORMAT => {
            corun_report::threads_to_terminal(&Record::from_json(text)?, columns, false)
        }
        <CapacityCurve as Body>::FORMAT => {
            corun_report::capacity_to_terminal(&Record::from_json(text)?, columns)
        }
        <Simulation as Body>::FORMAT => {
            corun_report::simulation_to_terminal(&Record::from_json(text)?, columns)
        }
        <Placements as Body>::FORMAT => {
            corun_report::placements_to_terminal(&Record::from_json(text)?, columns)
        }
        <Blocks as Body>::FORMAT => {
            corun_report::blocks_to_terminal(&Record::from_json(text)?, columns)
        }
        <Schedule as Body>::FORMAT => {
            let schedule: Record<Schedule> = Record::from_json(text)?;
            corun_report::schedule_to_terminal(&schedule.body, columns)
        }
        _ => corun_report::to_terminal(&Run::from_json(text)?, columns, terminal::has_colour()),
    })
}
