//! The bootstrap-t interval: a second opinion where the noise is far from normal.
//!
//! A diagnostic only: where it disagrees with the t interval, the noise is skewed or has outliers,
//! and the reader should know. It decides nothing. (Efron 1982; Hall 1988 on why to studentise.)

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::statistics::Statistics;

use super::estimate::Interval;

/// The fewest blocks that a bootstrap is given for.
pub const BOOTSTRAP_FROM_BLOCKS: usize = 20;

/// The bootstrap-t interval of the mean log ratio at `level`, from `resamples` seeded resamples.
///
/// A resample of equal values has no spread to studentise with: it counts as infinitely far from
/// the mean. `None` if that reaches a limit, below [`BOOTSTRAP_FROM_BLOCKS`] values, if a value is
/// not finite, below two resamples, or unless 0 < `level` < 1. Values that are all equal give an
/// interval of width zero.
pub fn bootstrap_t(
    log_ratios: &[f64],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Interval> {
    let blocks = log_ratios.len();
    let finite = log_ratios.iter().all(|value| value.is_finite());
    if blocks < BOOTSTRAP_FROM_BLOCKS || !finite || resamples < 2 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let mean = log_ratios.mean();
    let standard_error = |values: &[f64]| values.std_dev() / (values.len() as f64).sqrt();
    let own_error = standard_error(log_ratios);
    if own_error == 0.0 {
        return Some(Interval { low: mean, high: mean, level });
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut resample = vec![0.0; blocks];
    let mut distances: Vec<f64> = (0..resamples)
        .map(|_| {
            resample.fill_with(|| log_ratios[random.random_range(0..blocks)]);
            studentised(resample.as_slice().mean() - mean, standard_error(&resample))
        })
        .collect();
    distances.sort_by(f64::total_cmp);
    // Order statistics number (B + 1) * q, as Davison and Hinkley (1997) count them.
    let tail = ((resamples + 1) as f64 * (1.0 - level) / 2.0).floor().max(1.0) as usize;
    let (lower, upper) = (distances[tail - 1], distances[resamples - tail]);
    let (low, high) = (mean - upper * own_error, mean - lower * own_error);
    (low.is_finite() && high.is_finite()).then_some(Interval { low, high, level })
}

fn studentised(distance: f64, standard_error: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { distance / standard_error }
}

#[cfg(test)]
mod tests {
    use super::super::paired;
    use super::*;

    fn wave(blocks: usize) -> Vec<f64> {
        (0..blocks).map(|block| (block as f64 * 2.4).sin() * 0.01).collect()
    }

    #[test]
    fn on_tame_data_it_agrees_with_the_t_interval() {
        let data = wave(60);
        let bootstrap = bootstrap_t(&data, 0.95, 4000, 1).unwrap();
        let student = paired(&data, 0.95).unwrap();
        let ratio = bootstrap.half_width() / student.half_width();
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        assert!(bootstrap.holds(student.log));
    }

    #[test]
    fn on_skewed_data_it_reaches_further_to_the_tail() {
        let skewed: Vec<f64> = (1..=40).map(|rank| -(f64::from(rank) / 41.0).ln()).collect();
        let student = paired(&skewed, 0.95).unwrap();
        let bootstrap = bootstrap_t(&skewed, 0.95, 4000, 1).unwrap();
        assert!(bootstrap.high - student.log > student.log - bootstrap.low);
        assert!(bootstrap.high > student.high);
    }

    #[test]
    fn the_seed_decides() {
        let data = wave(30);
        assert_eq!(bootstrap_t(&data, 0.95, 200, 7), bootstrap_t(&data, 0.95, 200, 7));
        assert_ne!(bootstrap_t(&data, 0.95, 200, 7), bootstrap_t(&data, 0.95, 200, 8));
    }

    #[test]
    fn degenerate_data_give_a_point_or_nothing() {
        let point = bootstrap_t(&[0.1; 25], 0.95, 200, 1).unwrap();
        assert_eq!((point.low, point.high), (0.1, 0.1));
        let mut lonely = [0.0; 25];
        lonely[3] = 1.0;
        assert_eq!(bootstrap_t(&lonely, 0.95, 200, 1), None, "a third of the resamples is flat");
    }

    #[test]
    fn what_cannot_be_resampled_is_none() {
        assert_eq!(bootstrap_t(&wave(19), 0.95, 200, 1), None);
        assert_eq!(bootstrap_t(&wave(20), 0.95, 1, 1), None);
        assert_eq!(bootstrap_t(&wave(20), 1.0, 200, 1), None);
        assert_eq!(bootstrap_t(&[f64::NAN; 20], 0.95, 200, 1), None);
        assert!(bootstrap_t(&wave(20), 0.95, 2, 1).is_some());
    }
}
