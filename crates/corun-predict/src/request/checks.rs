//! Checks of a request: combinations without a meaning are refused before anything is traced.

use corun_model::CoreModel;
use corun_record::Placement;
use corun_trace::Target;

use super::cores::ReadyCore;
use super::{
    Measuring, PredictRequest, PredictRequestError, ProgramRequest, StandardInput, is_alone,
};
use crate::{Beside, HostSiblings, MemoryOf, PredictError, Sampling, SiblingSource, Workers};

impl PredictRequest {
    /// Load beside the program.
    pub(super) fn beside(&self) -> Result<Beside, PredictError> {
        use PredictRequestError::{BesideElsewhere, NoWorkers, NothingToChange, ThreadsBeside};
        let mut placements = Vec::new();
        for &placement in &self.placements {
            match placement {
                Placement::Stacked => {}
                alone if is_alone(&alone) => {}
                known if placements.contains(&known) => {}
                Placement::Full(_) | Placement::Packed(None) => placements.push(placement),
                other => return Err(PredictRequestError::Placement(other).into()),
            }
        }
        let other = match self.beside.as_deref() {
            Some([program, rest @ ..]) => {
                Some(Target::find(program, rest).map_err(PredictError::Trace)?)
            }
            _ => None,
        };
        let stacked = self.placements.contains(&Placement::Stacked);
        if other.is_some() && (stacked || !matches!(placements[..], [Placement::Full(None)])) {
            return Err(BesideElsewhere.into());
        }
        let workers = match &self.program {
            ProgramRequest::Command { argv, context } if self.program.names_workers() => {
                let (argv, context) = (argv.clone(), context.clone());
                Some(Workers { argv, context, per_worker: self.per_worker })
            }
            _ => None,
        };
        if workers.is_some() && (other.is_some() || stacked) {
            return Err(ThreadsBeside.into());
        }
        if workers.is_none() && self.per_worker {
            return Err(NoWorkers.into());
        }
        if placements.is_empty() && !self.what_if.is_empty() {
            return Err(NothingToChange.into());
        }
        let (what_if, seed) = (self.what_if.clone(), self.seed);
        Ok(Beside { placements, stacked, workers, other, what_if, seed })
    }

    /// A core without the siblings that are asked for, and a change that no model takes, are found before anything is traced.
    pub(super) fn check_core(&self, model: &CoreModel) -> Result<(), PredictError> {
        for setting in &self.what_if {
            model.clone().with(std::slice::from_ref(setting)).map_err(PredictError::Model)?;
        }
        if !self.has_siblings() {
            return Ok(());
        }
        let most = model.smt_width;
        if most < 2 {
            return Err(PredictRequestError::OneThread { model: model.name.clone() }.into());
        }
        let count = |it: &Placement| {
            if let Placement::Full(Some(count)) = it { Some(*count) } else { None }
        };
        match self.placements.iter().filter_map(count).find(|count| !(2..=most).contains(count)) {
            Some(found) => {
                let model = model.name.clone();
                Err(PredictRequestError::Threads { model, most, found }.into())
            }
            None => Ok(()),
        }
    }

    /// The memory parameters to predict with, on this host's own core or on another.
    pub(super) fn memory_of(&self, is_own: bool) -> Result<MemoryOf, PredictRequestError> {
        let is_measured = self.measuring != Measuring::Nothing;
        match self.memory {
            Some(MemoryOf::Host) if !is_measured => Err(PredictRequestError::MemoryNotMeasured),
            Some(memory) => Ok(memory),
            None if is_own && is_measured => Ok(MemoryOf::Host),
            None => Ok(MemoryOf::Model),
        }
    }

    /// Checks that what is measured on siblings is predicted beside them; a record says how good the model of that
    /// core is.
    pub(super) fn check_measured(
        &self,
        cores: &[ReadyCore],
        siblings: &HostSiblings<'_>,
    ) -> Result<(), PredictError> {
        let is_record = self.measuring == Measuring::RecordedSiblings;
        if !self.measuring.measures_siblings() {
            return Ok(());
        }
        if !self.has_siblings() {
            return Err(PredictRequestError::NothingToMeasure.into());
        }
        if is_record && !self.settings.is_empty() {
            return Err(PredictRequestError::RecordOfChanged.into());
        }
        if is_record && !cores.iter().any(|core| core.is_own) {
            return Err(match self.models.is_empty() {
                true => PredictRequestError::NothingToRecord,
                false => PredictRequestError::RecordOfOther,
            }
            .into());
        }
        match siblings.cores().map_err(PredictError::Probe)?.is_empty() {
            false => Ok(()),
            true => {
                let (why, evidence) = (siblings.why_none(), siblings.evidence());
                Err(PredictRequestError::NoSiblings { why, evidence }.into())
            }
        }
    }

    /// A pipe on standard input can be read once.
    pub(super) fn check_standard_input(
        &self,
        sampling: Sampling,
    ) -> Result<(), PredictRequestError> {
        let runs_again = sampling.pre_run(self.from).is_needed()
            || self.measuring != Measuring::Nothing
            || self.beside.is_some();
        let is_pipe =
            self.standard_input == StandardInput::Pipe && self.program.reads_standard_input();
        if !(is_pipe && runs_again) {
            return Ok(());
        }
        Err(match self.from {
            Some(_) => PredictRequestError::PipeBeforeCall,
            None => PredictRequestError::Pipe,
        })
    }
}
