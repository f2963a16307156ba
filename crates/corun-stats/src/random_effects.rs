//! Values of one quantity from several sources that differ: the nodes of a cluster, each measured with its own error.
//!
//! The values are not pooled. Each is its source's own level plus its own error, and the levels vary around a mean by the
//! deviation between sources (the random-effects model; Hedges 1983, DerSimonian and Laird 1986).

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use crate::between_runs::RunValue;
use crate::estimate::{Estimate, Interval, student_t};
use crate::unusual::median;

/// Steps of Newton's method; convergence is monotone, and few are needed.
const MOST_STEPS: usize = 200;
/// A step that is this small a share of the variance ends the search.
const PRECISION: f64 = 1e-12;
/// The degrees of freedom that the usual error of all sources weighs beside a source's own.
const USUAL_FREEDOM: u32 = 20;
/// An error counts for the usual one as if its variance were at most this many times the median.
const MOST_VARIANCE: f64 = 4.0;
/// Quantiles of the variance between sources that the interval of a further one is made of.
const QUANTILES: usize = 40;
/// Halvings that find an end of that interval.
const HALVINGS: usize = 60;
/// The fewest sources for which anything is said of a further one.
const PREDICTED_FROM: usize = 3;

/// The mean over sources, and how much they differ; all on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomEffects {
    /// The mean level of all such sources, with the interval of Hartung and Knapp 2001, and Sidik and Jonkman 2002. It is
    /// never narrower than that of the plain model (Röver, Knapp and Friede 2015).
    pub mean: Estimate,
    /// The deviation between the sources' own levels, by the method of Paule and Mandel 1982; 0 if their errors explain all.
    pub between: f64,
    /// The interval of that deviation, by Q-profiles (Viechtbauer 2007).
    pub between_interval: Interval,
    /// The deviation of a source's value that its own error explains: the root of the mean variance.
    pub within: f64,
    /// Prediction interval of the level of one further source, with what is unknown of the deviation between sources
    /// (Nagashima, Noma and Furukawa 2019); absent below three sources.
    pub further: Option<Interval>,
}

/// The random-effects model of these values, with intervals at `level`.
///
/// `None` below two values, if one of them is not finite, or unless 0 < `level` < 1.
pub fn random_effects(values: &[RunValue], level: f64) -> Option<RandomEffects> {
    let values = &moderated(values)[..];
    let fit = Fit::of(values)?;
    let count = u32::try_from(values.len()).ok()?;
    let mean = Estimate::of(fit.mean, fit.standard_error, count, count).at_level(level)?;
    let freedom = f64::from(count - 1);
    let chi_squared = ChiSquared::new(freedom).ok()?;
    let [low, high] = [0.5 + level / 2.0, 0.5 - level / 2.0]
        .map(|share| between_variance(values, chi_squared.inverse_cdf(share)).sqrt());
    let further = (values.len() >= PREDICTED_FROM)
        .then(|| further(values, &chi_squared, mean.interval()))
        .flatten();
    Some(RandomEffects {
        mean,
        between: fit.between_variance.sqrt(),
        between_interval: Interval { low, high, level },
        within: fit.within_variance.sqrt(),
        further,
    })
}

/// Prediction interval of the level of a further source: the distribution of the variance between sources that Q-profiles
/// give (as for its interval), and for each of its quantiles a normal distribution of the level around the mean of that
/// variance. The error of the mean is drawn out as the t distribution asks for at this level. Never narrower than the
/// mean's interval.
fn further(values: &[RunValue], chi_squared: &ChiSquared, mean: Interval) -> Option<Interval> {
    let level = mean.level;
    let freedom = (values.len() - 1) as f64;
    let normal = Normal::standard();
    let drawn_out = student_t(level, u32::try_from(values.len() - 1).ok()?)?
        / normal.inverse_cdf(0.5 + level / 2.0);
    let parts: Vec<(f64, f64)> = (0..QUANTILES)
        .map(|quantile| {
            let target = chi_squared.inverse_cdf((quantile as f64 + 0.5) / QUANTILES as f64);
            let variance = between_variance(values, target);
            let at = Weighted::of(values, variance);
            let of_mean = at.standard_error(freedom) * drawn_out;
            (at.mean, (variance + of_mean.powi(2)).sqrt())
        })
        .collect();
    if !parts.iter().all(|(mean, deviation)| mean.is_finite() && deviation.is_finite()) {
        return None;
    }
    let below = |at: f64| {
        let share = |&(mean, deviation): &(f64, f64)| match deviation > 0.0 {
            true => normal.cdf((at - mean) / deviation),
            false => f64::from(u8::from(at >= mean)),
        };
        parts.iter().map(share).sum::<f64>() / parts.len() as f64
    };
    let widest = parts.iter().map(|it| it.1).fold(0.0, f64::max);
    let end = |share: f64| {
        // Eight deviations of the widest part hold all but a negligible share.
        let (mut low, mut high) = (mean.low - 8.0 * widest, mean.high + 8.0 * widest);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            *(if below(middle) < share { &mut low } else { &mut high }) = middle;
        }
        f64::midpoint(low, high)
    };
    Some(Interval {
        low: end(0.5 - level / 2.0).min(mean.low),
        high: end(0.5 + level / 2.0).max(mean.high),
        level,
    })
}

/// The values with errors that are drawn towards the usual one of all sources, as Smyth 2004 does with variances of few
/// values: a weight that follows the error of ten blocks is mostly chance, and the variance between sources comes out too
/// large with such weights. An error that is far from the usual one still counts.
pub(crate) fn moderated(values: &[RunValue]) -> Vec<RunValue> {
    let variances: Vec<f64> = values.iter().map(RunValue::variance).collect();
    let Some(median) = median(&variances) else { return values.to_vec() };
    let capped = variances.iter().map(|it| it.min(MOST_VARIANCE * median));
    let usual = capped.sum::<f64>() / variances.len() as f64;
    let prior = f64::from(USUAL_FREEDOM);
    let moderate = |it: &RunValue| RunValue {
        standard_error: ((prior * usual + it.freedom() * it.variance()) / (prior + it.freedom()))
            .sqrt(),
        blocks: it.blocks.saturating_add(USUAL_FREEDOM),
        ..*it
    };
    values.iter().map(moderate).collect()
}

/// Mean and variances of a set of sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
    pub(crate) between_variance: f64,
    within_variance: f64,
}

impl Fit {
    /// The fit of these values; `None` below two, or if one is not finite.
    pub(crate) fn of(values: &[RunValue]) -> Option<Self> {
        let count = values.len();
        let is_finite = |it: &RunValue| it.log.is_finite() && it.variance().is_finite();
        if count < 2 || !values.iter().all(is_finite) {
            return None;
        }
        let freedom = (count - 1) as f64;
        let between_variance = between_variance(values, freedom);
        let weighted = Weighted::of(values, between_variance);
        let (mean, standard_error) = (weighted.mean, weighted.standard_error(freedom));
        let within_variance = values.iter().map(RunValue::variance).sum::<f64>() / count as f64;
        let all = [mean, standard_error, between_variance, within_variance];
        all.iter().all(|it| it.is_finite()).then_some(Self {
            mean,
            standard_error,
            between_variance,
            within_variance,
        })
    }
}

/// Sums with a weight for each value: the inverse of its variance within and between.
struct Weighted {
    weight: f64,
    mean: f64,
    /// Cochran's Q with these weights.
    squares: f64,
    /// Derivative by the variance between sources, negated.
    slope: f64,
}

impl Weighted {
    fn of(values: &[RunValue], between: f64) -> Self {
        let weights = || values.iter().map(|it| (it.log, 1.0 / (it.variance() + between)));
        let (weight, sum) =
            weights().fold((0.0, 0.0), |(all, sum), (log, own)| (all + own, sum + own * log));
        // Without any variance all values are equal; their common value is the mean.
        let mean = if weight.is_finite() { sum / weight } else { values[0].log };
        let (squares, slope) = weights().fold((0.0, 0.0), |(squares, slope), (log, own)| {
            let square = match log - mean {
                0.0 => 0.0,
                distance => own * distance.powi(2),
            };
            let change = if square > 0.0 { own * square } else { 0.0 };
            (squares + square, slope + change)
        });
        Self { weight, mean, squares, slope }
    }

    /// The error of the mean by Hartung and Knapp.
    fn standard_error(&self, freedom: f64) -> f64 {
        // Below 1 the values happen to lie closer together than their errors explain.
        let scale = (self.squares / freedom).max(1.0);
        if self.weight.is_finite() { (scale / self.weight).sqrt() } else { 0.0 }
    }
}

/// The variance between sources at which Cochran's Q equals `target`, 0 if it is smaller everywhere.
///
/// Q falls with the variance and is convex, so that Newton's method from below (DerSimonian and Kacker 2007) never passes
/// the root. It begins where equal errors as large as the largest one would have it.
fn between_variance(values: &[RunValue], target: f64) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().map(|it| it.log).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|it| (it.log - mean).powi(2)).sum();
    let largest = values.iter().map(RunValue::variance).fold(0.0, f64::max);
    if squares == 0.0 {
        return 0.0;
    }
    let mut variance = (squares / target - largest).max(0.0);
    if variance == 0.0 && values.iter().any(|it| it.variance() == 0.0) {
        // Q is infinite at 0 where a value without error lies off the mean.
        variance = squares / target * PRECISION;
    }
    for _ in 0..MOST_STEPS {
        let at = Weighted::of(values, variance);
        let step = (at.squares - target) / at.slope;
        if step.is_nan() || step <= variance * PRECISION {
            break;
        }
        variance += step;
    }
    variance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(log: f64, standard_error: f64) -> RunValue {
        RunValue { log, standard_error, blocks: 10 }
    }

    /// Values with equal errors.
    fn equal(logs: &[f64], standard_error: f64) -> Vec<RunValue> {
        logs.iter().map(|&log| value(log, standard_error)).collect()
    }

    #[test]
    fn equal_errors_give_the_analysis_of_variance() {
        // Deviation 1.5811, variance 2.5, of which 0.25 is error.
        let found = random_effects(&equal(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.5), 0.95).unwrap();
        assert!((found.mean.log - 3.0).abs() < 1e-12);
        assert!((found.between.powi(2) - 2.25).abs() < 1e-9, "{}", found.between);
        assert!((found.within - 0.5).abs() < 1e-12);
        // The t interval of five plain values.
        assert!((found.mean.half_width() - 2.7764 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-3);
        // 4 * 2.5 / chi-squared quantiles of four degrees of freedom (11.1433, 0.48442), less the error.
        let Interval { low, high, .. } = found.between_interval;
        assert!((low.powi(2) - (10.0 / 11.1433 - 0.25)).abs() < 1e-3, "{low}");
        assert!((high.powi(2) - (10.0 / 0.48442 - 0.25)).abs() < 1e-2, "{high}");
    }

    #[test]
    fn unequal_errors_solve_the_equation_of_paule_and_mandel() {
        // Differences of eight sources with unequal variances.
        let sources = [
            (0.4448, 0.0138),
            (0.2308, 0.0003),
            (0.0561, 0.0079),
            (0.2154, 0.0082),
            (0.1157, 0.0075),
            (-0.0057, 0.0055),
            (0.1523, 0.0110),
            (0.1247, 0.0035),
        ];
        let values: Vec<RunValue> =
            sources.iter().map(|&(log, variance)| value(log, f64::sqrt(variance))).collect();
        let found = random_effects(&values, 0.95).unwrap();
        let q = Weighted::of(&moderated(&values), found.between.powi(2)).squares;
        assert!((q - 7.0).abs() < 1e-9, "{q}");
        assert!(found.mean.low > 0.0 && found.mean.high < 0.3, "{found:?}");
    }

    #[test]
    fn errors_that_explain_everything_leave_nothing_between() {
        let found = random_effects(&equal(&[1.00, 1.01, 0.99, 1.00], 0.5), 0.95).unwrap();
        assert_eq!((found.between, found.between_interval.low), (0.0, 0.0));
        // Not narrower than the errors themselves allow.
        assert!((found.mean.standard_error - 0.25).abs() < 1e-12);
    }

    #[test]
    fn few_sources_say_little_and_one_says_nothing() {
        let two = random_effects(&equal(&[0.18, 0.20], 0.001), 0.95).unwrap();
        assert!(two.mean.half_width() > 0.1 && two.further.is_none());
        let three = random_effects(&equal(&[0.18, 0.19, 0.20], 0.001), 0.95).unwrap();
        assert!(three.further.unwrap().half_width() > three.mean.half_width());
        assert_eq!(random_effects(&equal(&[0.18], 0.001), 0.95), None);
        assert_eq!(random_effects(&[], 0.95), None);
        assert_eq!(random_effects(&equal(&[0.1, f64::NAN], 0.001), 0.95), None);
        assert_eq!(random_effects(&equal(&[0.1, 0.2], 0.001), 1.0), None);
    }

    #[test]
    fn values_without_errors_are_plain_values() {
        let exact = random_effects(&equal(&[1.0, 2.0, 3.0], 0.0), 0.95).unwrap();
        assert!((exact.between - 1.0).abs() < 1e-6, "{exact:?}");
        let same = random_effects(&equal(&[1.0; 4], 0.0), 0.95).unwrap();
        assert_eq!((same.mean.low, same.mean.high, same.between), (1.0, 1.0, 0.0));
        let mixed = [value(1.0, 0.0), value(1.1, 0.01), value(0.9, 0.01)];
        let mixed = random_effects(&mixed, 0.95).unwrap();
        assert!(mixed.mean.log.is_finite() && mixed.between > 0.05, "{mixed:?}");
    }

    fn sources() -> impl Strategy<Value = Vec<RunValue>> {
        let source = (-1.0..1.0, 0.0001..0.5).prop_map(|(log, error)| value(log, error));
        prop::collection::vec(source, 2..30)
    }

    proptest! {
        #[test]
        fn the_variance_between_solves_its_equation(values in sources()) {
            let variance = random_effects(&values, 0.95).unwrap().between.powi(2);
            let q = Weighted::of(&moderated(&values), variance).squares;
            let freedom = (values.len() - 1) as f64;
            let is_root = (q - freedom).abs() < 1e-6 * freedom;
            prop_assert!(is_root || (variance == 0.0 && q < freedom), "Q = {q} at {variance}");
        }

        #[test]
        fn moving_all_moves_the_mean_and_nothing_else(values in sources(), by in -3.0..3.0_f64) {
            let one = random_effects(&values, 0.95).unwrap();
            let moved = values.iter().map(|it| RunValue { log: it.log + by, ..*it });
            let other = random_effects(&moved.collect::<Vec<_>>(), 0.95).unwrap();
            prop_assert!((one.mean.log + by - other.mean.log).abs() < 1e-6);
            prop_assert!((one.between - other.between).abs() < 1e-5);
        }

        #[test]
        fn intervals_hold_their_estimates(values in sources()) {
            let found = random_effects(&values, 0.95).unwrap();
            prop_assert!(found.mean.interval().holds(found.mean.log));
            prop_assert!(found.between_interval.low <= found.between + 1e-9);
            prop_assert!(found.between <= found.between_interval.high + 1e-9);
            if let Some(further) = found.further {
                prop_assert!(further.half_width() >= found.mean.half_width() - 1e-9);
            }
        }
    }
}
