//! Effects of other load on the workers' CPUs on a comparison: slow drift, and a part of the difference.
//!
//! Load that comes and goes over many blocks makes blocks alike, so that their spread says too little
//! about the next run. Batch means (Conway 1963; Schmeiser 1982) hold such drift; what load takes
//! from one arm and not from the other no interval holds, so it is added to the interval's reach.

use super::estimate::{Estimate, paired, student_t};

/// A worker that waits for this share of its time, or less, is not said to be disturbed.
pub const WAITED: f64 = 0.01;
/// A block is heavily disturbed if a worker waits for more than this share of its time.
const HEAVY: f64 = 0.05;
/// Batches are used from this share of disturbed blocks on.
const SEEN: f64 = 0.05;
/// The fewest batches that an interval is made from.
const FEWEST_BATCHES: usize = 3;
/// The largest quantile of an interval from batches, in quantiles of the normal distribution. At the levels that many
/// comparisons share, that of three batches says more of their number than of the samples.
const LARGEST_QUANTILE: f64 = 2.2;
/// Neighbouring blocks are alike if their correlation is so many of its standard errors above zero;
/// at a false-positive rate of about once in a hundred experiments.
const ALIKE: f64 = 2.33;
/// The fewest blocks for which that can be estimated.
const ALIKE_FROM_BLOCKS: usize = 10;
/// A worker gets a twentieth of its CPU at least: what is lost has a finite logarithm.
const MAX_LOST: f64 = 0.95;

/// The share of their time that the workers of two compared arms waited, a pair a block; `None` where
/// it is not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignLoad {
    blocks: Vec<[Option<f64>; 2]>,
}

impl ForeignLoad {
    /// The load that was seen, a pair of shares a block.
    pub fn new(blocks: Vec<[Option<f64>; 2]>) -> Self {
        Self { blocks }
    }

    /// True if load was seen often enough that blocks may be alike because of it.
    pub fn is_seen(&self) -> bool {
        self.share_above(WAITED) > SEEN
    }

    /// True if it was so heavy and so frequent that nothing can be said of the arms themselves.
    pub fn decides(&self) -> bool {
        self.share_above(HEAVY) >= 0.5
    }

    /// True if load was seen in half of the blocks or more: what is said of the arms then holds beside such load.
    pub fn is_in_most_blocks(&self) -> bool {
        self.share_above(WAITED) >= 0.5
    }

    /// Allowance for what load may have added to the mean log ratio of throughputs, either way: the
    /// difference of what it took from the arms, in the blocks where both are known. What is known of one arm alone says
    /// nothing of a difference: the other may have lost as much.
    pub fn allowance(&self) -> f64 {
        let lost = |share: f64| (1.0 - share.clamp(0.0, MAX_LOST)).ln();
        let differences = self.blocks.iter().filter_map(|pair| match pair {
            [Some(one), Some(other)] => Some(lost(*one) - lost(*other)),
            _ => None,
        });
        let (sum, count) =
            differences.fold((0.0, 0_u32), |(sum, count), each| (sum + each, count + 1));
        if count == 0 { 0.0 } else { f64::abs(sum / f64::from(count)) }
    }

    fn share_above(&self, limit: f64) -> f64 {
        let above = |pair: &&[Option<f64>; 2]| pair.iter().flatten().any(|share| *share > limit);
        self.blocks.iter().filter(above).count() as f64 / self.blocks.len().max(1) as f64
    }
}

/// The mean of one log ratio a block, as [`paired`] has it, unless blocks may be alike because of
/// what else the machine did: then with the widest of the intervals from batches of 1, 2, 4 and so on
/// neighbouring blocks, as long as there are three batches, and at high levels more.
///
/// Blocks may be alike if `load_seen`, or if the values themselves show it.
pub fn steady(log_ratios: &[f64], level: f64, load_seen: bool) -> Option<Estimate> {
    let plain = paired(log_ratios, level)?;
    if !load_seen && !are_alike(log_ratios) {
        return Some(plain);
    }
    let mut widest = plain;
    let mut batches = log_ratios.len() / 2;
    while batches >= FEWEST_BATCHES && has_moderate_quantile(batches, level) {
        let of_batches = batch_means(log_ratios, batches, plain.log, level)?;
        if of_batches.half_width() > widest.half_width() {
            widest = of_batches;
        }
        batches /= 2;
    }
    Some(widest)
}

fn has_moderate_quantile(batches: usize, level: f64) -> bool {
    let [of_batches, of_normal] = [batches as u32, u32::MAX].map(|count| student_t(level, count));
    of_batches.zip(of_normal).is_some_and(|(own, normal)| own <= LARGEST_QUANTILE * normal)
}

/// The interval from means of `batches` runs of neighbouring blocks, about as long as each other.
fn batch_means(values: &[f64], batches: usize, mean: f64, level: f64) -> Option<Estimate> {
    let border = |batch: usize| batch * values.len() / batches;
    let squares: f64 = (0..batches)
        .map(|batch| {
            let own = &values[border(batch)..border(batch + 1)];
            (own.iter().sum::<f64>() / own.len() as f64 - mean).powi(2)
        })
        .sum();
    let count = batches as f64;
    let standard_error = (squares / (count - 1.0) / count).sqrt();
    let blocks = values.len() as u32;
    Estimate::of(mean, standard_error, blocks, batches as u32).at_level(level)
}

/// True if neighbours are more alike than chance makes them: their correlation (Anderson 1942).
fn are_alike(values: &[f64]) -> bool {
    let count = values.len();
    if count < ALIKE_FROM_BLOCKS {
        return false;
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let product = |one: &f64, other: &f64| (one - mean) * (other - mean);
    let all: f64 = values.iter().map(|value| product(value, value)).sum();
    let neighbours: f64 = values.windows(2).map(|pair| product(&pair[0], &pair[1])).sum();
    // By chance the correlation is -1/n in the mean, with a standard error of about 1/sqrt(n).
    all > 0.0 && neighbours / all + 1.0 / count as f64 > ALIKE / (count as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn load(blocks: &[[f64; 2]]) -> ForeignLoad {
        ForeignLoad::new(blocks.iter().map(|pair| pair.map(Some)).collect())
    }

    #[test]
    fn a_quiet_machine_has_the_plain_interval() {
        let values = [0.1, 0.12, 0.11, 0.09, 0.1, 0.12, 0.08, 0.1, 0.11, 0.1, 0.09, 0.12];
        assert_eq!(steady(&values, 0.95, false), paired(&values, 0.95));
        let quiet = load(&[[0.0, 0.0]; 12]);
        assert!(!quiet.is_seen() && !quiet.decides());
        assert_eq!(quiet.allowance(), 0.0);
        assert_eq!(ForeignLoad::default().allowance(), 0.0);
        assert!(!ForeignLoad::new(vec![[None, None]; 9]).is_seen());
    }

    #[test]
    fn a_step_in_the_middle_is_no_precision() {
        let step: Vec<f64> = (0..24)
            .map(|block| if block < 12 { 0.0 } else { -0.4 } + 0.001 * f64::from(block % 3))
            .collect();
        let plain = paired(&step, 0.95).unwrap();
        assert!(!plain.interval().holds(0.0));
        for seen in [false, true] {
            let estimate = steady(&step, 0.95, seen).unwrap();
            assert!(estimate.interval().holds(0.0) && estimate.log == plain.log, "{estimate:?}");
        }
    }

    #[test]
    fn what_load_takes_from_one_arm_only_is_allowed_for() {
        let lost = load(&[[0.5, 0.0], [0.5, 0.0]]);
        assert!((lost.allowance() - 2_f64.ln()).abs() < 1e-12);
        assert!(lost.is_seen() && lost.decides());
        assert_eq!(load(&[[0.3, 0.3], [0.2, 0.2]]).allowance(), 0.0);
        let unknown = ForeignLoad::new(vec![[None, Some(0.5)], [Some(0.3), None]]);
        assert_eq!(unknown.allowance(), 0.0);
        assert!(load(&[[1.0, 0.0]]).allowance().is_finite());
    }

    proptest! {
        /// An interval of samples without drift is about as wide as they are apart, at any level and whatever waited in one arm.
        #[test]
        fn an_interval_agrees_with_its_samples(
            noise in prop::collection::vec(-1.0..1.0, 10..120),
            waited in 0.0..0.5,
            which in 0_usize..2,
            mean in -0.5..0.5,
            error in 0.0005..0.05,
        ) {
            let values: Vec<f64> = noise.iter().map(|it| mean + 0.02 * it).collect();
            let level = 1.0 - error;
            let mut pair = [None, None];
            pair[which] = Some(waited);
            let load = ForeignLoad::new(vec![pair; values.len()]);
            let interval = steady(&values, level, load.is_seen()).unwrap().allowing(load.allowance());
            let plain = paired(&values, level).unwrap();
            prop_assert!(interval.half_width() >= plain.half_width());
            // Means of batches deviate by chance, and there are few of them.
            prop_assert!(interval.half_width() <= 6.0 * plain.half_width(), "{interval:?} {plain:?}");
        }
    }

    #[test]
    fn load_decides_from_half_of_the_blocks_on() {
        let with = |disturbed: usize| {
            let pair = |block| if block < disturbed { [0.06, 0.0] } else { [0.0, 0.0] };
            load(&(0..10).map(pair).collect::<Vec<_>>())
        };
        assert!(!with(4).decides() && with(5).decides());
        assert!(!with(0).is_seen() && with(1).is_seen());
    }
}
