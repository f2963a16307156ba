//! Probe memory: the rings of loads that are timed between the measured runs.

use corun_calibrate::{InterferenceProbe, ProbeRings};
use corun_record::Caveat;

use crate::{Job, MemoryOf};

/// The probe of this host's memory, if the prediction uses it.
pub(crate) struct MemoryProbe {
    pub(super) probe: Option<InterferenceProbe>,
    /// The reason why the model's memory is used although this host's was asked for.
    pub(super) caveat: Option<Caveat>,
}

impl MemoryProbe {
    /// Allocates the probe's memory if native runs are measured and this host's memory is asked for.
    pub(crate) fn prepare(job: &Job<'_>) -> Self {
        let on_host = job.cores.iter().find(|core| core.memory == MemoryOf::Host);
        let Some(core) = on_host.filter(|_| job.measure_for.is_some()) else {
            return Self { probe: None, caveat: None };
        };
        let probe = match ProbeRings::of(core.model) {
            Some(rings) => InterferenceProbe::new(rings).map_err(|error| error.to_string()),
            None => Err("the model has no last level that cores share".to_owned()),
        };
        match probe {
            Ok(probe) => Self { probe: Some(probe), caveat: None },
            Err(reason) => {
                let sentence = format!(
                    "Memory is that of the model, since this machine's is not known: {reason}."
                );
                Self { probe: None, caveat: Some(Caveat::new("memory-of-model", sentence)) }
            }
        }
    }

    /// The rings that are timed.
    pub(super) fn rings(&self) -> Option<ProbeRings> {
        self.probe.as_ref().map(InterferenceProbe::rings)
    }
}
