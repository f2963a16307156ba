//! Siblings of this machine: whether there are any to measure on, and records of what was measured there.

use std::io::Write;
use std::path::{Path, PathBuf};

use corun_files::Output;
use corun_machine::Machine;
use corun_predict::{HostSiblings, SiblingSource, recorded_core};
use corun_record::{
    Document, Metric, Observation, Placement, Prediction, PredictionTable, RecordedProgram,
    SiblingEvidence, Source, YieldRecord, shown,
};

use crate::problem::{Problem, say};

/// Fails where no CPUs of this machine are siblings at the moment, before anything long begins.
pub(super) fn check(siblings: &HostSiblings<'_>) -> Result<(), Problem> {
    if !siblings.cores()?.is_empty() {
        return Ok(());
    }
    let next_step = match siblings.evidence() {
        SiblingEvidence::Topology => {
            "Run it on a machine with SMT on (`corun smt status` shows it), or leave --measure and --record out: a \
             prediction needs no siblings."
        }
        SiblingEvidence::Probe => {
            "Run it on hardware with SMT on; or again later, since a hypervisor moves CPUs (`corun topo --probe` shows \
             what they share); or leave --measure and --record out: a prediction needs no siblings."
        }
    };
    Err(Problem::not_possible(
        format!("expected siblings to measure on, found none: {}", siblings.why_none()),
        next_step,
    ))
}

/// Writes records into a folder that was found writable before the work began.
pub(super) struct Recorder {
    folder: PathBuf,
}

impl Recorder {
    /// A recorder for this folder.
    pub(super) fn open(folder: &Path) -> Result<Self, Problem> {
        let own = Self { folder: folder.to_owned() };
        own.begin().map(|_| own)
    }

    /// A file without a name.
    fn begin(&self) -> Result<Output, Problem> {
        Output::create(&self.folder.join("yield.json")).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Problem {
        Problem::failed(
            format!("could not write a record into {}: {error}", shown(&self.folder)),
            "Make the folder first, or name one that you may write to.",
        )
    }

    /// Writes a record of each placement of the host's own core that was measured.
    pub(super) fn write(&self, table: &PredictionTable, machine: &Machine) -> Result<(), Problem> {
        let own = table.predictions.iter().find(|it| it.core.is_own);
        let records = own.map(|it| records(it, machine)).unwrap_or_default();
        if records.is_empty() {
            return Err(Problem::failed(
                "expected a yield to record, found that none was measured",
                "What limits trust says why; with more time (--max-time) slow programs are measured, too.",
            ));
        }
        for record in records {
            let (name, text) = (record.file_name(), record.to_json());
            let mut output = self.begin()?;
            let path = self.folder.join(name);
            output
                .write_all(text.as_bytes())
                .and_then(|()| output.finish_as(&path))
                .map_err(|error| self.failed(&error))?;
            say(&format!("Recorded in {}.", shown(&path)));
        }
        Ok(())
    }
}

/// A record of each placement that was measured.
fn records(prediction: &Prediction, machine: &Machine) -> Vec<YieldRecord> {
    let Some(siblings) = &prediction.measured_siblings else { return Vec::new() };
    let Some(core) = recorded_core(machine, siblings.cpus.len() as u32) else { return Vec::new() };
    let program = match &prediction.workload {
        Some(workload) => RecordedProgram::of_workload(&workload.name, &workload.parameters),
        None => RecordedProgram::of_command(prediction.command.first().map_or("", String::as_str)),
    };
    let yields = |source| {
        let is_it = move |it: &&Observation| it.metric == Metric::SmtYield && it.source == source;
        prediction.observations.iter().filter(is_it)
    };
    let record = |measured: &Observation| {
        let placement: Placement = measured.arm.parse().ok()?;
        let threads = match placement {
            Placement::Full(Some(threads)) => threads,
            _ => core.smt_width,
        };
        let predicted = yields(Source::Predicted).find(|it| it.arm == measured.arm);
        Some(YieldRecord {
            format: YieldRecord::FORMAT.to_owned(),
            version: YieldRecord::VERSION,
            corun_version: prediction.corun_version.clone(),
            core: core.clone(),
            siblings: siblings.evidence,
            program: program.clone(),
            beside: None,
            placement,
            threads,
            measured: measured.estimate,
            predicted: predicted.map(|it| it.estimate),
            model: Some(prediction.core.model.clone()),
        })
    };
    yields(Source::Measured).filter_map(record).collect()
}
