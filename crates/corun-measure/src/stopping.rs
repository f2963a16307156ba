//! The stopping rule of a measurement: planned interim analyses at the width of the headline's interval.
//!
//! They never test its value: stopping on a wanted result would bias the estimate.

use corun_record::{Arm, Estimate, Metric, PlannedAnalysis, Sample};

use crate::comparison::{Comparison, comparisons, headline};
use crate::experiment::Stopping;
use crate::quantities::Quantities;
use crate::request::Request;
use corun_stats::AnalysisPlan;

/// The most blocks of an experiment without a fixed number.
const MAX_BLOCKS: u32 = 320;
/// The fewest blocks before the first of several interim analyses.
const FEWEST_BLOCKS: u32 = 10;

/// The planned interim analyses at one experiment.
#[derive(Debug, Clone)]
pub struct PlannedAnalyses {
    plan: AnalysisPlan,
    arms: Vec<Arm>,
    headline: Option<Comparison>,
    target: f64,
}

impl PlannedAnalyses {
    /// The interim analyses that a request plans for these arms.
    pub fn new(request: &Request, arms: &[Arm]) -> Self {
        Self {
            plan: match request.blocks {
                Some(blocks) => AnalysisPlan::fixed(blocks),
                None => AnalysisPlan::planned(FEWEST_BLOCKS, MAX_BLOCKS),
            },
            headline: headline(&comparisons(arms)).cloned(),
            arms: arms.to_vec(),
            target: request.target,
        }
    }

    /// The interim analyses as they are recorded.
    pub fn analyses(&self) -> Vec<PlannedAnalysis> {
        self.plan
            .analyses()
            .iter()
            .map(|analysis| PlannedAnalysis { blocks: analysis.blocks, level: analysis.level })
            .collect()
    }

    /// The level of intervals after so many blocks.
    pub fn level_at(&self, blocks: u32) -> f64 {
        self.plan.level_after(blocks)
    }

    /// The headline so far.
    pub fn headline(&self, samples: &[Sample], blocks: u32) -> Option<(Metric, Estimate)> {
        let comparison = self.headline.as_ref()?;
        let estimate = self.estimate(samples, self.level_at(blocks))?;
        Some((comparison.metric, crate::analysis::on_ratio_scale(&estimate)))
    }

    /// The blocks after which the experiment will probably stop.
    pub fn expected_blocks(&self, samples: &[Sample], blocks: u32) -> u32 {
        self.estimate(samples, self.level_at(blocks))
            .and_then(|pilot| self.plan.expected_end(&pilot, self.target.ln_1p()))
            .map_or(self.plan.maximum(), |analysis| analysis.blocks)
    }

    fn estimate(&self, samples: &[Sample], level: f64) -> Option<corun_stats::Estimate> {
        let comparison = self.headline.as_ref()?;
        let quantities = Quantities::of(&self.arms, samples);
        let quantity = quantities.chosen(comparison, level);
        let logs = quantities.series(quantity).comparison(comparison);
        let estimate = quantities.estimate(quantity, comparison, &logs, level)?;
        // What an allowance holds no further blocks make narrower.
        Some(estimate.allowing(-estimate.allowance))
    }
}

impl Stopping for PlannedAnalyses {
    fn maximum(&self) -> u32 {
        self.plan.maximum()
    }

    fn analyse(&mut self, blocks: u32, samples: &[Sample]) -> Option<String> {
        let analysis = self.plan.at(blocks)?;
        if blocks == self.plan.maximum() {
            return None;
        }
        let Some(comparison) = &self.headline else {
            return Some(format!("there is nothing to compare, and {blocks} blocks were done"));
        };
        let half_width = self.estimate(samples, analysis.level)?.half_width();
        (half_width <= self.target.ln_1p()).then(|| {
            format!(
                "the interval of the {} was narrower than ± {} % at the planned analysis after {blocks} blocks",
                comparison.metric.name(),
                self.target * 100.0
            )
        })
    }
}
