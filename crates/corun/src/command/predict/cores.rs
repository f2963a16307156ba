//! The cores to predict on: those that were asked for, or this host's own.

use corun_model::{CoreModel, HostCore, Suited, suited};
use corun_record::Caveat;

use crate::problem::Problem;

/// A core to simulate.
pub(super) struct ChosenCore {
    /// Its model.
    pub(super) model: CoreModel,
    /// Why this one.
    pub(super) reason: String,
    /// Whether it is this host's.
    pub(super) is_own: bool,
    /// What limits trust in it.
    pub(super) caveats: Vec<Caveat>,
}

impl ChosenCore {
    /// The core asked for, or this host's.
    pub(super) fn find(name: Option<&String>, host: Option<&HostCore>) -> Result<Self, Problem> {
        if let Some(name) = name {
            let caveats = another_core(name, host);
            let reason = "asked for".to_owned();
            let is_own = caveats.is_empty();
            return Ok(Self { model: corun_model::find(name)?, reason, is_own, caveats });
        }
        let found = host.map_or("none".to_owned(), ToString::to_string);
        let Some(Suited { model: name, instead_of }) = host.and_then(suited) else {
            return Err(Problem::not_possible(
                format!("expected a core by AMD or Intel that there is a model for, found {found}"),
                "Name the core with --model; `corun models list` has them.",
            ));
        };
        let model = corun_model::find(name)?;
        Ok(match instead_of {
            None => Self {
                model,
                reason: format!("this host's own design, {found}"),
                is_own: true,
                caveats: Vec::new(),
            },
            Some(design) => Self {
                model,
                reason: format!("the nearest model to this host's {found}"),
                is_own: false,
                caveats: vec![Caveat::new(
                    "nearest-model",
                    format!(
                        "There is no model of this host's core ({design}); that of {name} is the \
                         nearest, and another design."
                    ),
                )],
            },
        })
    }
}

/// What says that the model is not as it comes.
pub(super) fn set_otherwise(set: &[(String, String)]) -> Option<Caveat> {
    let settings: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!set.is_empty()).then(|| {
        Caveat::new("set", format!("Of the model was set otherwise: {}.", settings.join(", ")))
    })
}

/// What is measured on this host is compared with another core's prediction.
fn another_core(name: &str, host: Option<&HostCore>) -> Vec<Caveat> {
    let own = host.and_then(suited).filter(|suited| suited.instead_of.is_none());
    match own {
        Some(own) if own.model == name => Vec::new(),
        _ => vec![Caveat::new(
            "another-core",
            "The model is not known to be that of this host's core: what was measured here may differ \
             for that reason alone.",
        )],
    }
}
