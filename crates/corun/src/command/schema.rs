//! `corun schema`: the JSON Schema of each document that corun writes.
//!
//! A schema is made from the types that write the document, when it is asked for.

use std::process::ExitCode;

use clap::Args;
use corun_machine::doctor::Report;
use corun_machine::probe::Topology;
use corun_machine::sharing::CpuSharing;
use corun_machine::switch::SmtStatus;
use corun_record::{
    Activity, Audit, AuditPropertyList, Bench, BlockTimings, Blocks, CapacityCurve, CommandTimes,
    CoreCalibration, Document, Exit, FleetPlan, FleetReport, FleetStatus, FormCalibration,
    KeptRunList, ModelChecks, ModelDescription, ModelDifferences, ModelList, Placements,
    Prediction, PredictionSweep, PredictionTable, Record, Run, RunComparison, Schedule,
    SchedulingList, Simulation, StudyDescription, StudyList, StudyResult, ThreadSweep, TraceInfo,
    Trend, WorkloadDescription, WorkloadList, YieldRecord, excerpt, nearest_listed,
};

use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The `format` of the document, such as corun-run (default: list the formats)
    #[arg(value_name = "FORMAT")]
    format: Option<String>,
}

/// The format of a document, and its schema.
type Listed = (&'static str, fn() -> String);

/// Every document, by format.
const DOCUMENTS: [Listed; 40] = [
    of::<Record<Activity>>(),
    of::<Audit>(),
    of::<Record<AuditPropertyList>>(),
    of::<Bench>(),
    of::<Record<BlockTimings>>(),
    of::<Record<Blocks>>(),
    of::<Record<CoreCalibration>>(),
    of::<Record<CapacityCurve>>(),
    of::<Record<CommandTimes>>(),
    of::<Record<RunComparison>>(),
    of::<Record<CpuSharing>>(),
    of::<Record<Report>>(),
    of::<Record<FleetPlan>>(),
    of::<Record<FleetReport>>(),
    of::<Record<FleetStatus>>(),
    of::<Record<FormCalibration>>(),
    of::<Record<ModelDescription>>(),
    of::<Record<ModelChecks>>(),
    of::<Record<ModelDifferences>>(),
    of::<Record<ModelList>>(),
    of::<Record<Placements>>(),
    of::<Prediction>(),
    of::<PredictionTable>(),
    of::<Run>(),
    of::<Record<KeptRunList>>(),
    of::<Record<Schedule>>(),
    of::<Record<SchedulingList>>(),
    of::<Record<Simulation>>(),
    of::<Record<SmtStatus>>(),
    of::<Record<StudyList>>(),
    of::<Record<StudyDescription>>(),
    of::<StudyResult>(),
    of::<Record<PredictionSweep>>(),
    of::<Record<ThreadSweep>>(),
    of::<Record<Topology>>(),
    of::<Record<TraceInfo>>(),
    of::<Record<Trend>>(),
    of::<Record<WorkloadDescription>>(),
    of::<Record<WorkloadList>>(),
    of::<YieldRecord>(),
];

const fn of<D: Document>() -> Listed {
    (D::FORMAT, D::schema)
}

/// The formats that have a schema.
pub(super) fn formats() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().map(|(format, _)| *format)
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let Some(wanted) = &arguments.format else {
        let lines: String = formats().map(|format| format!("{format}\n")).collect();
        terminal::show(&lines)?;
        return Ok(code(Exit::Done));
    };
    let found = DOCUMENTS.iter().find(|(format, _)| format == wanted);
    let (_, schema) = found.ok_or_else(|| {
        let known = nearest_listed(wanted, formats().map(str::to_owned));
        Problem::usage(
            format!("expected the format of a document, as {known}, found \"{}\"", excerpt(wanted)),
            "List all of them with `corun schema`.",
        )
    })?;
    terminal::pass_on(&schema())?;
    Ok(code(Exit::Done))
}

#[cfg(test)]
mod tests {
    use super::DOCUMENTS;

    #[test]
    fn documents_are_listed_by_format_and_each_once() {
        assert!(DOCUMENTS.is_sorted_by(|(one, _), (other, _)| one < other));
    }
}
