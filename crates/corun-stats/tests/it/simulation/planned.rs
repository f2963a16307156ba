//! The coverage after planned interim analyses at normal data, for any ratio of target to noise.
//!
//! The analyses depend on the running variances alone, and of these the mean is independent. So only
//! variances are drawn (sums of chi-squared increments); given the variance at the stop, the
//! coverage is a value of the normal distribution, which leaves hardly any simulation error.

use corun_stats::InterimAnalysis;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// State at one analysis of one replication; the noise's deviation is 1.
#[derive(Debug, Clone, Copy)]
struct AtAnalysis {
    half_width: f64,
    coverage: f64,
}

/// Draws of the running variances at some analyses.
#[derive(Debug)]
pub(crate) struct Variances {
    draws: Vec<Vec<AtAnalysis>>,
    blocks: Vec<u32>,
}

impl Variances {
    /// `replications` draws for these analyses, of which there is at least one.
    pub(crate) fn draw(analyses: &[InterimAnalysis], replications: u64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let normal = Normal::standard();
        let mut before = 1;
        let quantiles: Vec<_> = analyses
            .iter()
            .map(|analysis| {
                let fresh =
                    ChiSquared::new(f64::from(analysis.blocks - before)).expect("more blocks");
                before = analysis.blocks;
                let freedom = f64::from(analysis.blocks - 1);
                let student = StudentsT::new(0.0, 1.0, freedom).expect("some freedom");
                (fresh, freedom, student.inverse_cdf(0.5 + analysis.level / 2.0))
            })
            .collect();
        let draw = |_| {
            let mut squares = 0.0;
            quantiles
                .iter()
                .map(|(fresh, freedom, reach)| {
                    squares += fresh.sample(&mut random);
                    let deviation = f64::sqrt(squares / freedom);
                    AtAnalysis {
                        half_width: reach * deviation / (freedom + 1.0).sqrt(),
                        coverage: 2.0 * normal.cdf(reach * deviation) - 1.0,
                    }
                })
                .collect()
        };
        let draws = (0..replications).map(draw).collect();
        Self { draws, blocks: analyses.iter().map(|analysis| analysis.blocks).collect() }
    }

    /// The coverage if the target is `target` deviations of one block's log ratio.
    pub(crate) fn coverage(&self, target: f64) -> f64 {
        let stop = |analyses: &Vec<AtAnalysis>| {
            let reached = analyses.iter().find(|analysis| analysis.half_width <= target);
            reached.or(analyses.last()).map_or(0.0, |analysis| analysis.coverage)
        };
        self.draws.iter().map(stop).sum::<f64>() / self.draws.len() as f64
    }

    /// The targets with the lowest and the highest coverage: `[(target, coverage); 2]`.
    pub(crate) fn extremes(&self) -> [(f64, f64); 2] {
        // From "the last analysis is always reached" to "the first is always narrow enough".
        let hardest = 0.5 / f64::from(*self.blocks.last().expect("a plan has analyses")).sqrt();
        let easiest = 8.0 / f64::from(self.blocks[0]).sqrt();
        let steps = 80;
        let targets = (0..=steps)
            .map(|step| hardest * (easiest / hardest).powf(f64::from(step) / f64::from(steps)));
        let mut ordered: Vec<(f64, f64)> =
            targets.map(|target| (target, self.coverage(target))).collect();
        ordered.sort_by(|one, other| one.1.total_cmp(&other.1));
        [ordered[0], ordered[ordered.len() - 1]]
    }
}
