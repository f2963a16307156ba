//! Errors of predictions beside what was measured and published, of programs that no model was tuned with.
//!
//! The accuracy gate writes the figures from what the models predict now, so that printed intervals follow the models.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../../../models/measured/prediction-errors.toml");

/// Errors of predictions by what is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictionErrors {
    /// Of cycles of whole programs on a core, by its model.
    pub cycles: BTreeMap<String, PredictionError>,
    /// Of SMT yields, over all models.
    pub yields: PredictionError,
}

/// Error of predictions of so many programs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictionError {
    /// Number of programs.
    pub programs: u32,
    /// Root mean square of the natural logarithm of predicted over true.
    pub log_error: f64,
}

impl PredictionErrors {
    /// The committed errors.
    ///
    /// # Panics
    /// If the file that comes with corun is not as it should be.
    pub fn committed() -> &'static Self {
        static COMMITTED: LazyLock<PredictionErrors> =
            LazyLock::new(|| toml::from_str(TEXT).expect("the gate has written it"));
        &COMMITTED
    }

    /// Error of cycles on a core, and the model it was found with: where no program was measured on such a core, the one
    /// with the largest error.
    pub fn of_cycles(&self, model: &str) -> (&str, PredictionError) {
        let own = self.cycles.get_key_value(model);
        let worst = || {
            self.cycles.iter().max_by(|one, other| one.1.log_error.total_cmp(&other.1.log_error))
        };
        let (of, error) = own.or_else(worst).expect("programs were measured on a core");
        (of, *error)
    }
}

impl PredictionError {
    /// Of the logarithms of predicted over true, of each program one; none without any.
    pub fn of(logs: &[f64]) -> Option<Self> {
        let squares: f64 = logs.iter().map(|log| log * log).sum();
        let programs = u32::try_from(logs.len()).ok().filter(|it| *it > 0)?;
        Some(Self { programs, log_error: (squares / f64::from(programs)).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_without_programs_has_the_error_of_the_worst() {
        let known = PredictionErrors::committed();
        let worst = known.cycles.values().map(|it| it.log_error).fold(0.0, f64::max);
        for (model, error) in &known.cycles {
            assert_eq!(known.of_cycles(model), (model.as_str(), *error));
            assert!(error.programs >= 8 && error.log_error > 0.0, "{model}: {error:?}");
        }
        assert_eq!(known.of_cycles("netburst-xeon-mp").1.log_error, worst);
    }

    #[test]
    fn an_error_is_a_root_mean_square() {
        assert_eq!(PredictionError::of(&[]), None);
        let both = PredictionError::of(&[0.3, -0.4]).unwrap();
        assert!(both.programs == 2 && (both.log_error - 0.125_f64.sqrt()).abs() < 1e-12);
    }
}
