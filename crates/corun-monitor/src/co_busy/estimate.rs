//! Time in which 0, 1, ... S siblings were busy at once, estimated from samples of which of them were busy.
//!
//! How long each sibling was busy alone is known far better than samples tell. The table of samples is therefore
//! fitted to these shares by iterative proportional fitting (Deming and Stephan 1940), which leaves the samples to
//! say only what the shares do not: how the siblings' busy times depend on each other.

use super::bounds;
use crate::proc::Range;

/// The widest core that samples are tabulated for.
pub(super) const WIDEST: usize = 8;

/// Rounds of fitting; two siblings need a few.
const ROUNDS: usize = 40;
/// A sample's worth of siblings that know nothing of each other: what no sample showed is not impossible.
const PRIOR: f64 = 1.0;
/// The quantile of the normal distribution for 95 %.
const Z95: f64 = 1.96;

/// Number of samples by set of busy siblings: bit i of the index is sibling i.
pub(super) type BusyCounts = [u32];

/// Shares of time with 0 to S siblings busy, and the largest error of one of them at 95 %.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Estimate {
    pub(super) busy_siblings: Vec<f64>,
    pub(super) error: f64,
}

impl Estimate {
    /// From the busy shares alone.
    pub(super) fn from_bounds(busy: &[Range]) -> Self {
        let busy_siblings = bounds::middle(busy);
        let error = bounds::error(&busy_siblings, &bounds::bounds(busy));
        Self { busy_siblings, error }
    }

    /// From samples and the busy shares.
    pub(super) fn from_samples(seen: &BusyCounts, busy: &[Range]) -> Self {
        let samples: u32 = seen.iter().sum();
        let from_bounds = Self::from_bounds(busy);
        if samples == 0 || busy.len() < 2 || seen.len() != 1 << busy.len() {
            return from_bounds;
        }
        let busy_siblings = by_number(&fitted(seen, samples, busy), busy.len());
        let rounding: f64 = busy.iter().map(|it| it.error()).sum();
        let error =
            Z95 * deviation(seen, samples, busy.len()) + rounding + unseen(seen, samples, busy);
        let at_most = bounds::error(&busy_siblings, &bounds::bounds(busy));
        Self { busy_siblings, error: error.min(at_most) }
    }
}

/// The table of samples as shares, such that each sibling is busy for its share.
fn fitted(seen: &BusyCounts, samples: u32, busy: &[Range]) -> Vec<f64> {
    let all = f64::from(samples) + PRIOR;
    let mut table: Vec<f64> = seen
        .iter()
        .enumerate()
        .map(|(which, &count)| {
            let independent = |(sibling, it): (usize, &Range)| {
                if which >> sibling & 1 == 1 { it.value } else { 1.0 - it.value }
            };
            let prior: f64 = busy.iter().enumerate().map(independent).product();
            (f64::from(count) + PRIOR * prior) / all
        })
        .collect();
    for _ in 0..ROUNDS {
        for (sibling, share) in busy.iter().enumerate() {
            let is_busy = |which: usize| which >> sibling & 1 == 1;
            let of = |table: &[f64]| -> f64 {
                table
                    .iter()
                    .enumerate()
                    .filter(|(which, _)| is_busy(*which))
                    .map(|(_, it)| it)
                    .sum()
            };
            let (now, total) = (of(&table), table.iter().sum::<f64>());
            let scale = |wanted: f64, found: f64| if found > 0.0 { wanted / found } else { 0.0 };
            let (busier, idler) = (scale(share.value, now), scale(1.0 - share.value, total - now));
            for (which, cell) in table.iter_mut().enumerate() {
                *cell *= if is_busy(which) { busier } else { idler };
            }
        }
    }
    table
}

/// The table summed by the number of busy siblings.
fn by_number(table: &[f64], width: usize) -> Vec<f64> {
    let mut busy_siblings = vec![0.0; width + 1];
    for (which, share) in table.iter().enumerate() {
        busy_siblings[which.count_ones() as usize] += share;
    }
    busy_siblings
}

/// The standard deviation of the share that has the largest.
///
/// Samples are taken at random times, one in each of as many equal parts of the interval: they vary no more than
/// samples at any random times. Where both shares are known, the share of two busy siblings varies by
/// 1 / (n sum of 1/p) over the four cells of the table, and that of one busy sibling twice as much. Every cell gets
/// one sample more than it has, so that what was not seen has a deviation, too.
fn deviation(seen: &BusyCounts, samples: u32, width: usize) -> f64 {
    let samples = f64::from(samples);
    let all = samples + seen.len() as f64;
    if width == 2 {
        let inverse: f64 = seen.iter().map(|&count| all / (f64::from(count) + 1.0)).sum();
        return 2.0 / (samples * inverse).sqrt();
    }
    let counts: Vec<f64> = seen.iter().map(|&count| f64::from(count)).collect();
    let of = |share: f64| {
        let share = (share + 1.0) / (samples + width as f64 + 1.0);
        (share * (1.0 - share) / samples).sqrt()
    };
    by_number(&counts, width).into_iter().map(of).fold(0.0, f64::max)
}

/// Busy time that no sample showed, beyond what chance explains: of tasks that were not watched.
fn unseen(seen: &BusyCounts, samples: u32, busy: &[Range]) -> f64 {
    let samples = f64::from(samples);
    let of = |(sibling, share): (usize, &Range)| {
        let busy = seen.iter().enumerate().filter(|(which, _)| which >> sibling & 1 == 1);
        let found = busy.map(|(_, &count)| f64::from(count)).sum::<f64>() / samples;
        let chance = Z95 * (share.value * (1.0 - share.value) / samples).sqrt();
        ((share.low - found).abs() - chance).max(0.0)
    };
    busy.iter().enumerate().map(of).sum()
}
