//! When the data may be analysed, and at which level, so that stopping early keeps the error rate.
//!
//! Stopping once the interval is narrow prefers runs that analysis quieter than they are, so a plain
//! 95 % interval then covers less. A few analyses at a slightly higher level make up for it; "until
//! significant" and "until narrow, analysing after every block" cannot be made up for this way.

use super::estimate::{Estimate, student_t};

/// The confidence that every plan aims at, and the level of a single analysis.
const CONFIDENCE: f64 = 0.95;
// Several analyses add to the level what stopping early costs in coverage, which falls with the blocks
// (Anscombe 1953). The test `planned_looks_cover_for_every_target` computes what these constants
// give, for every ratio of target to noise.
/// The correction is so much divided by the blocks,
const CORRECTION: f64 = 0.35;
/// but not more than this at the analyses between,
const MAX_BETWEEN: f64 = 0.01;
/// nor than this at the first and the last, which are the only ones where the target is far off.
const MAX_AT_ENDS: f64 = 0.0075;

/// The fewest blocks before a first of several analyses: below, the deviation is too uncertain.
const FEWEST_BEFORE_LOOK: u32 = 10;
/// The most analyses of a plan.
const MAX_ANALYSES: u32 = 6;
/// About how many times the blocks of an analysis the next analysis waits for.
const GROWTH: f64 = 1.6;
/// The most that one analysis may wait for, in blocks of the analysis before.
const GREATEST_GROWTH: u32 = 2;

/// A number of blocks after which the data are analysed, and the level of the intervals then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterimAnalysis {
    /// Finished blocks.
    pub blocks: u32,
    /// The nominal level at which an interval reported at this analysis is computed.
    pub level: f64,
}

/// The analyses of an experiment, fixed before its first block.
///
/// At a analysis, the experiment stops if the headline interval at the analysis's level is narrow enough;
/// at the last analysis it stops anyway. Whatever the noise, the interval reported then covers normal
/// data 94.5 to 95.8 % of the time.
///
/// These are repeated confidence intervals (Jennison and Turnbull 1989, 2000) under a width rule
/// (Stein 1945; Anscombe 1953). For normal data the mean is independent of the deviations that the
/// rule analyses at, so the coverage of a plan can be computed without simulating means.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalysisPlan {
    analyses: Vec<InterimAnalysis>,
}

impl AnalysisPlan {
    /// One analysis after `blocks` blocks, at 95 %.
    pub fn fixed(blocks: u32) -> Self {
        Self { analyses: vec![InterimAnalysis { blocks, level: CONFIDENCE }] }
    }

    /// At most six analyses, the last after `maximum` blocks, the first after `minimum` or a little
    /// more: at least 10, and at least a 32nd of `maximum`, so that no analysis waits for more than
    /// twice the blocks of the one before. One analysis where `maximum` leaves no room for two.
    pub fn planned(minimum: u32, maximum: u32) -> Self {
        let most_steps = MAX_ANALYSES - 1;
        let first =
            minimum.max(FEWEST_BEFORE_LOOK).max(maximum.div_ceil(GREATEST_GROWTH.pow(most_steps)));
        if first >= maximum {
            return Self::fixed(maximum);
        }
        let ratio = f64::from(maximum) / f64::from(first);
        let steps = (1..most_steps).find(|&steps| GROWTH.powi(steps as i32) >= ratio);
        let steps = steps.unwrap_or(most_steps);
        let analyses = (0..=steps)
            .map(|step| {
                let share = f64::from(step) / f64::from(steps);
                let blocks = (f64::from(first) * ratio.powf(share)).round() as u32;
                let at_end = step == 0 || step == steps;
                InterimAnalysis {
                    blocks,
                    level: level(blocks, if at_end { MAX_AT_ENDS } else { MAX_BETWEEN }),
                }
            })
            .collect();
        Self { analyses }
    }

    /// The analyses in order; never empty.
    pub fn analyses(&self) -> &[InterimAnalysis] {
        &self.analyses
    }

    /// The most blocks that are ever run.
    pub fn maximum(&self) -> u32 {
        self.analyses.last().map_or(0, |analysis| analysis.blocks)
    }

    /// The analysis that is due after `blocks` blocks, if one is.
    pub fn at(&self, blocks: u32) -> Option<InterimAnalysis> {
        self.analyses.iter().copied().find(|analysis| analysis.blocks == blocks)
    }

    /// The level of intervals for `blocks` finished blocks, whether or not a analysis is due then.
    ///
    /// An experiment that the user or a time limit ends between two analyses is reported as what it
    /// is: a plan whose last analysis came now, for what ended it does not depend on the noise. Before
    /// the first analysis nothing was selected, and the plain level holds.
    pub fn level_after(&self, blocks: u32) -> f64 {
        match self.at(blocks) {
            Some(analysis) => analysis.level,
            None if self.analyses.iter().all(|analysis| blocks < analysis.blocks) => CONFIDENCE,
            None => level(blocks, MAX_AT_ENDS),
        }
    }

    /// The analysis at which an interval of `half_width` on the log scale can be expected, judging by
    /// the deviation of `pilot`; the last analysis if none is narrow enough. For the progress display.
    pub fn expected_end(&self, pilot: &Estimate, half_width: f64) -> Option<InterimAnalysis> {
        let narrow = |analysis: &&InterimAnalysis| {
            analysis.blocks >= pilot.blocks
                && student_t(analysis.level, analysis.blocks).is_some_and(|reach| {
                    reach * pilot.standard_deviation() / f64::from(analysis.blocks).sqrt()
                        <= half_width
                })
        };
        self.analyses.iter().find(narrow).or(self.analyses.last()).copied()
    }
}

fn level(blocks: u32, most: f64) -> f64 {
    CONFIDENCE + (CORRECTION / f64::from(blocks)).min(most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::paired;
    use super::*;

    fn blocks(plan: &AnalysisPlan) -> Vec<u32> {
        plan.analyses().iter().map(|analysis| analysis.blocks).collect()
    }

    #[test]
    fn plans_grow_geometrically() {
        assert_eq!(blocks(&AnalysisPlan::planned(10, 100)), [10, 16, 25, 40, 63, 100]);
        assert_eq!(blocks(&AnalysisPlan::planned(10, 320)), [10, 20, 40, 80, 160, 320]);
        assert_eq!(blocks(&AnalysisPlan::planned(20, 50)), [20, 32, 50]);
        assert_eq!(blocks(&AnalysisPlan::planned(2, 12)), [10, 12]);
        assert_eq!(blocks(&AnalysisPlan::planned(50, 20)), [20]);
        assert_eq!(blocks(&AnalysisPlan::planned(10, 1000)), [32, 64, 127, 252, 502, 1000]);
        assert_eq!(AnalysisPlan::planned(10, 7), AnalysisPlan::fixed(7));
    }

    #[test]
    fn levels_return_to_the_confidence_as_blocks_grow() {
        let plan = AnalysisPlan::planned(10, 320);
        let levels: Vec<String> =
            plan.analyses().iter().map(|analysis| format!("{:.4}", analysis.level)).collect();
        assert_eq!(levels, ["0.9575", "0.9600", "0.9587", "0.9544", "0.9522", "0.9511"]);
        assert_eq!(plan.at(20).map(|analysis| analysis.blocks), Some(20));
        assert_eq!(plan.at(21), None);
        assert_eq!(plan.maximum(), 320);
        assert_eq!(AnalysisPlan::fixed(9).at(9), Some(InterimAnalysis { blocks: 9, level: 0.95 }));
    }

    #[test]
    fn an_interrupted_plan_is_one_whose_last_analysis_came_early() {
        let plan = AnalysisPlan::planned(10, 320);
        assert_eq!(plan.level_after(9), 0.95);
        assert_eq!(plan.level_after(10), plan.analyses()[0].level);
        assert_eq!(plan.level_after(30), 0.95 + MAX_AT_ENDS);
        assert_eq!(plan.level_after(100), 0.95 + 0.0035);
        assert_eq!(AnalysisPlan::fixed(9).level_after(4), 0.95);
    }

    #[test]
    fn the_end_is_foreseen_from_the_deviation() {
        let plan = AnalysisPlan::planned(10, 100);
        let pilot = paired(&[-0.02, 0.02, -0.02, 0.02, -0.02, 0.02], 0.95).unwrap();
        assert_eq!(plan.expected_end(&pilot, 0.1).map(|analysis| analysis.blocks), Some(10));
        assert_eq!(plan.expected_end(&pilot, 0.01).map(|analysis| analysis.blocks), Some(25));
        assert_eq!(plan.expected_end(&pilot, 1e-6).map(|analysis| analysis.blocks), Some(100));
    }

    proptest! {
        #[test]
        fn every_plan_is_in_order_and_ends_at_its_maximum(minimum: u32, maximum in 1_u32..) {
            let plan = AnalysisPlan::planned(minimum, maximum);
            let blocks = blocks(&plan);
            prop_assert!((1..=6).contains(&blocks.len()));
            prop_assert!(blocks.is_sorted_by(|earlier, later| earlier < later));
            prop_assert_eq!(plan.maximum(), maximum);
            prop_assert!(plan.analyses().iter().all(|analysis| (0.95..=0.96).contains(&analysis.level)));
        }
    }
}
