//! The cores to predict on: those that were asked for, or this host's own.

use corun_model::timing::TimingTable;
use corun_model::{CoreModel, Fit, HostCore, Suited, host_core, suited, validation_caveat};
use corun_record::{Caveat, Prediction};

use super::{PredictRequest, PredictRequestError};
use crate::{Core, MemoryOf, PredictError};

/// A core model with fields that are set otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreVariant {
    /// The model, by name or file.
    pub model: String,
    /// Settings of the variant.
    pub settings: Vec<(String, String)>,
}

/// A core that can be predicted on.
pub(super) struct ReadyCore {
    model: CoreModel,
    timings: TimingTable,
    settings: Vec<(String, String)>,
    memory: MemoryOf,
    /// The reason for choosing this one, and the machine that its figures are of.
    reason: String,
    pub(super) is_own: bool,
    caveats: Vec<Caveat>,
}

impl ReadyCore {
    /// The cores of a request.
    pub(super) fn all(request: &PredictRequest) -> Result<Vec<Self>, PredictError> {
        let host = host_core();
        let named = |model| Self::of(request, Some(model), &[], host.as_ref());
        match &request.models[..] {
            [] => Ok(vec![Self::of(request, None, &[], host.as_ref())?]),
            models => models.iter().map(|model| named(model)).collect(),
        }
    }

    /// A core with settings of its own.
    pub(super) fn variant(
        request: &PredictRequest,
        variant: &CoreVariant,
    ) -> Result<Self, PredictError> {
        Self::of(request, Some(&variant.model), &variant.settings, host_core().as_ref())
    }

    fn of(
        request: &PredictRequest,
        name: Option<&str>,
        own_settings: &[(String, String)],
        host: Option<&HostCore>,
    ) -> Result<Self, PredictError> {
        let SelectedModel { model, reason, is_own, mut caveats } = find(name, host)?;
        let settings = [&request.settings, own_settings].concat();
        let model = model.with(&settings).map_err(PredictError::Model)?;
        caveats.extend(set_otherwise(&settings));
        request.check_core(&model)?;
        let memory = request.memory_of(is_own)?;
        let timings = TimingTable::of(&model).map_err(PredictError::Timings)?;
        caveats.extend(validation_caveat(&model).map_err(PredictError::Published)?);
        Ok(Self { model, timings, settings, memory, reason, is_own, caveats })
    }

    /// The core as a job has it.
    pub(super) fn core(&self) -> Core<'_> {
        Core {
            model: &self.model,
            memory: self.memory,
            set: &self.settings,
            timings: &self.timings,
            reason: self.reason.clone(),
            is_own: self.is_own,
            caveats: self.caveats.clone(),
        }
    }

    /// The core and why it was chosen, as a line.
    pub(super) fn line(&self) -> String {
        format!("The core: {} ({}).", self.reason, self.model.title)
    }

    /// The prediction with what is known of the timings that it took.
    pub(super) fn with_timing_caveat(&self, mut prediction: Prediction) -> Prediction {
        let sentence = self.timings.usage().sentence();
        prediction.caveats.extend(sentence.map(|it| Caveat::new("timing-rows", it)));
        prediction
    }
}

/// A core model without the user's settings, and the reason for its selection.
struct SelectedModel {
    model: CoreModel,
    reason: String,
    is_own: bool,
    caveats: Vec<Caveat>,
}

/// The core of this name, or this host's.
fn find(name: Option<&str>, host: Option<&HostCore>) -> Result<SelectedModel, PredictError> {
    let model = |name: &str| corun_model::find(name).map_err(PredictError::Model);
    if let Some(name) = name {
        let caveats = another_core(name, host);
        let is_own = caveats.is_empty();
        return Ok(SelectedModel {
            model: model(name)?,
            reason: "asked for".to_owned(),
            is_own,
            caveats,
        });
    }
    let found = host.map_or("none".to_owned(), ToString::to_string);
    let Some(Suited { model: name, fit }) = host.and_then(suited) else {
        return Err(PredictRequestError::NoModel { found }.into());
    };
    let nearest = |sentence| Some(Caveat::new("nearest-model", sentence));
    let (reason, caveat) = match fit {
        Fit::Own => (format!("this host's own design, {found}"), None),
        Fit::PCores => (
            format!("that of this host's P cores, {found}"),
            nearest(format!(
                "This host has cores of two kinds: the model {name} is of its P cores, and there is none of its E cores."
            )),
        ),
        Fit::Nearest(design) => (
            format!("the nearest model to this host's {found}"),
            nearest(format!(
                "There is no model of this host's core ({design}); that of {name} is the nearest."
            )),
        ),
    };
    let (is_own, caveats) = (caveat.is_none(), caveat.into_iter().collect());
    Ok(SelectedModel { model: model(name)?, reason, is_own, caveats })
}

/// The caveat that the model is not as it comes.
fn set_otherwise(settings: &[(String, String)]) -> Option<Caveat> {
    let named: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let sentence = format!("Of the model was set otherwise: {}.", named.join(", "));
    (!settings.is_empty()).then(|| Caveat::new("set", sentence))
}

/// The caveat that what is measured on this host is compared with another core's prediction.
fn another_core(name: &str, host: Option<&HostCore>) -> Vec<Caveat> {
    let own = host.and_then(suited).filter(|suited| suited.fit == Fit::Own);
    match own {
        Some(own) if own.model == name => Vec::new(),
        _ => vec![Caveat::new(
            "another-core",
            "The model is not known to be that of this host's core: what was measured here may differ \
             for that reason alone.",
        )],
    }
}
