//! Which of several sources do not belong to the rest, each of them measured with its own error.
//!
//! The most distant source is removed and compared with the model of those that are left, again and again; all are outlying
//! up to the last one that is improbable (the generalised extreme studentized deviate, Rosner 1983, with the random-effects
//! model in place of mean and deviation). Several outliers can therefore not hide each other, and sources that all differ
//! much are not called outlying for it.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::between_runs::RunValue;
use crate::random_effects::{Fit, moderated};

/// The share of sources that may be outlying at most; beyond it there is no "rest".
const MOST_OUTLYING: f64 = 0.2;
/// The fewest sources among which one can be outlying: two are the rest that it is compared with.
const FEWEST: usize = 3;

/// A source that does not belong to the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlying {
    /// Which of the values it is.
    pub index: usize,
    /// Distance of its value from the mean of the rest, on the log scale.
    pub distance: f64,
    /// Distance in deviations of such a distance: a studentized deleted residual.
    pub deviations: f64,
    /// The probability that the most distant one of so many sources that belong together lies this far off, at most
    /// (Bonferroni).
    pub probability: f64,
}

/// The sources that do not belong to the rest, the most distant first.
///
/// Where all belong together, one is named with a probability of `error_rate` at most. Never more than a fifth of the
/// sources, and none below three. Empty if a value is not finite.
pub fn outlying(values: &[RunValue], error_rate: f64) -> Vec<Outlying> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let most = ((values.len() as f64 * MOST_OUTLYING) as usize).max(1);
    let mut rest: Vec<(usize, RunValue)> = moderated(values).into_iter().enumerate().collect();
    let Some(mut fit) = fit_of(&rest) else { return Vec::new() };
    let (mut removed, mut named) = (Vec::new(), 0);
    for _ in 0..most {
        let score = |(_, it): &(usize, RunValue)| {
            let deviation = (fit.between_variance + it.variance()).sqrt();
            // Where nothing varies, nothing is far off.
            if deviation > 0.0 { (it.log - fit.mean).abs() / deviation } else { 0.0 }
        };
        let farthest = (0..rest.len()).max_by(|&a, &b| score(&rest[a]).total_cmp(&score(&rest[b])));
        let Some(farthest) = farthest else { break };
        let (index, value) = rest.swap_remove(farthest);
        let Some(next) = fit_of(&rest) else { break };
        fit = next;
        let Some(outlying) = compared(index, &value, &fit, rest.len()) else { break };
        removed.push(outlying);
        if outlying.probability <= error_rate {
            named = removed.len();
        }
    }
    removed.truncate(named);
    removed
}

fn fit_of(rest: &[(usize, RunValue)]) -> Option<Fit> {
    Fit::of(&rest.iter().map(|it| it.1).collect::<Vec<_>>())
}

/// A source beside the model of so many others.
fn compared(index: usize, value: &RunValue, fit: &Fit, others: usize) -> Option<Outlying> {
    let distance = value.log - fit.mean;
    let (between, within) = (fit.between_variance, value.variance());
    let deviation = (between + within + fit.standard_error.powi(2)).sqrt();
    let deviations = match distance {
        0.0 => 0.0,
        _ => distance / deviation,
    };
    // The errors of both variances count as Satterthwaite 1946 has them, and never less than those of the plain deviation
    // of the others: the estimated variance between them can be 0 although the true one is not.
    let of_others = (others - 1) as f64;
    let uncertainty = between.powi(2) / of_others + within.powi(2) / value.freedom();
    let freedom = match (between + within).powi(2) / uncertainty {
        freedom if freedom.is_finite() => freedom.min(of_others),
        _ => of_others,
    };
    let tail = match deviations.is_finite() {
        true => StudentsT::new(0.0, 1.0, freedom).ok()?.sf(deviations.abs()),
        false => 0.0,
    };
    let probability = (2.0 * tail * (others + 1) as f64).min(1.0);
    Some(Outlying { index, distance, deviations, probability })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(logs: &[f64], standard_error: f64) -> Vec<RunValue> {
        logs.iter().map(|&log| RunValue { log, standard_error, blocks: 10 }).collect()
    }

    fn indices(logs: &[f64], standard_error: f64) -> Vec<usize> {
        let found = outlying(&values(logs, standard_error), 0.05);
        let mut indices: Vec<usize> = found.iter().map(|it| it.index).collect();
        indices.sort_unstable();
        indices
    }

    const TEN: [f64; 10] = [0.19, 0.20, 0.21, 0.20, 0.18, 0.22, 0.20, 0.19, 0.21, 0.20];

    #[test]
    fn the_far_source_is_named_and_no_other() {
        assert_eq!(indices(&TEN, 0.001), [0; 0]);
        let mut logs = TEN;
        logs[3] = -0.1;
        assert_eq!(indices(&logs, 0.001), [3]);
        let found = outlying(&values(&logs, 0.001), 0.05)[0];
        assert!((found.distance + 0.3).abs() < 0.01 && found.deviations < -10.0, "{found:?}");
    }

    #[test]
    fn several_do_not_hide_each_other() {
        let mut logs: Vec<f64> = TEN.iter().chain(&TEN).copied().collect();
        logs[2] = -0.2;
        logs[9] = -0.2;
        logs[13] = -0.21;
        assert_eq!(indices(&logs, 0.001), [2, 9, 13]);
    }

    #[test]
    fn a_value_with_a_large_error_is_not_far_off() {
        let mut sources = values(&TEN, 0.001);
        sources[4] = RunValue { log: 0.6, standard_error: 0.4, blocks: 10 };
        assert_eq!(outlying(&sources, 0.05), []);
    }

    #[test]
    fn few_sources_have_no_rest() {
        assert_eq!(indices(&[0.2, -5.0], 0.001), [0; 0]);
        // Two that agree are too few to say that the third does not belong to them ...
        assert_eq!(indices(&[0.20, 0.21, 0.30], 0.001), [0; 0]);
        // ... unless it is very far off.
        assert_eq!(indices(&[0.20, 0.21, -1.0], 0.001), [2]);
        assert_eq!(indices(&[0.2, f64::NAN, 0.3, 0.2], 0.001), [0; 0]);
    }

    #[test]
    fn equal_values_without_errors_have_one_that_differs() {
        assert_eq!(indices(&[0.2; 6], 0.0), [0; 0]);
        assert_eq!(indices(&[0.2, 0.2, 0.3, 0.2, 0.2, 0.2], 0.0), [2]);
    }

    proptest! {
        #[test]
        fn at_most_a_fifth_and_each_once(
            logs in prop::collection::vec(prop_oneof![Just(0.0), -1.0..1.0], 3..40),
        ) {
            let found = outlying(&values(&logs, 0.01), 0.05);
            prop_assert!(found.len() <= (logs.len() / 5).max(1));
            let mut indices: Vec<usize> = found.iter().map(|it| it.index).collect();
            indices.sort_unstable();
            indices.dedup();
            prop_assert_eq!(indices.len(), found.len());
        }

        #[test]
        fn order_and_level_do_not_matter(
            logs in prop::collection::vec(-0.1..0.1, 5..20),
            by in -1.0..1.0,
        ) {
            let mut far = logs;
            far.push(3.0);
            let last = far.len() - 1;
            let found = outlying(&values(&far, 0.01), 0.05);
            prop_assert!(found.iter().any(|it| it.index == last));
            let turned: Vec<f64> = far.iter().rev().map(|log| log + by).collect();
            let turned = outlying(&values(&turned, 0.01), 0.05);
            prop_assert_eq!(found.len(), turned.len());
        }
    }
}
