//! Fit: the model's memory parameters are set so that the probe rings take as long as on this host.

use corun_calibrate::{ImplausibleFit, fit_memory};
use corun_model::{CoreModel, is_setting_of};
use corun_record::{CalibratedField, Caveat};

use super::MeasuredProgram;
use crate::{Core, Job, MemoryOf, PredictError};

/// The core model that is simulated.
pub(crate) struct FittedModel {
    pub(super) model: CoreModel,
    /// The fields that were fitted; empty without readings.
    pub(super) memory: Vec<CalibratedField>,
    /// The reason why the readings were not used.
    pub(super) caveat: Option<Caveat>,
}

impl FittedModel {
    /// Fits the model to the readings; fields that the user set stay as they are.
    pub(crate) fn of(
        job: &Job<'_>,
        core: &Core<'_>,
        measured: &MeasuredProgram,
    ) -> Result<Self, PredictError> {
        let is_virtual = job.machine.hypervisor.is_some();
        let fit =
            |(rings, readings): &(_, Vec<_>)| fit_memory(core.model, *rings, readings, is_virtual);
        let readings = measured.readings.as_ref().filter(|_| core.memory == MemoryOf::Host);
        let (mut memory, caveat) = match readings.map(fit) {
            None => (Vec::new(), None),
            Some(Ok(memory)) => (memory, None),
            Some(Err(implausible)) => (Vec::new(), Some(not_used(&implausible))),
        };
        memory.retain(|found| !core.set.iter().any(|(name, _)| is_setting_of(name, &found.field)));
        let settings: Vec<_> = memory.iter().map(CalibratedField::setting).collect();
        let model = core.model.clone().with(&settings).map_err(PredictError::Memory)?;
        Ok(Self { model, memory, caveat })
    }
}

fn not_used(implausible: &ImplausibleFit) -> Caveat {
    Caveat::new(
        "memory-of-model",
        format!(
            "Memory is that of the model, since other programs used this machine's while it was probed: \
             {implausible}. Run it again when the machine is quiet."
        ),
    )
}
