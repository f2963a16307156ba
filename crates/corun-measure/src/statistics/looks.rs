//! When the data may be looked at, and at which level, so that stopping early stays honest.
//!
//! Stopping once the interval is narrow prefers runs that look quieter than they are, so a plain
//! 95 % interval then covers less. A few looks at a slightly higher level make up for it; "until
//! significant" and "until narrow, looking after every block" cannot be made up for this way.

use super::estimate::Estimate;
use super::sizing::blocks_needed;

/// The level of an experiment with a single look.
const SINGLE: f64 = 0.95;
// Levels of several looks. `cargo bench --bench looks` computes the coverage they give for every
// ratio of target to noise: at least 94.5 % and at most 95.8 % for every plan.
/// The first look: the coverage where it is always narrow enough, so it bounds the coverage above.
const FIRST: f64 = 0.957;
/// Looks between, which have the most to make up for.
const BETWEEN: f64 = 0.96;
/// The last look: the coverage where the target is always out of reach.
const LAST: f64 = 0.956;

/// The fewest blocks before a first of several looks: below, the deviation is too uncertain.
const FEWEST_BEFORE_LOOK: u32 = 10;
/// The most looks of a plan.
const MOST_LOOKS: u32 = 6;
/// About how many times the blocks of a look the next look waits for.
const GROWTH: f64 = 1.6;
/// The most that one look may wait for, in blocks of the look before.
const GREATEST_GROWTH: u32 = 2;

/// A number of blocks after which the data are looked at, and the level of the intervals then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Finished blocks.
    pub blocks: u32,
    /// The nominal level at which an interval reported at this look is computed.
    pub level: f64,
}

/// The looks of an experiment, fixed before its first block.
///
/// At a look, the experiment stops if the headline interval at the look's level is narrow enough;
/// at the last look it stops anyway. Whatever the noise, the interval reported then covers normal
/// data 94.5 to 95.8 % of the time.
///
/// These are repeated confidence intervals (Jennison and Turnbull 1989, 2000) under a width rule
/// (Stein 1945; Anscombe 1953). For normal data the mean is independent of the deviations that the
/// rule looks at, so the coverage of a plan can be computed without simulating means.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    looks: Vec<Look>,
}

impl Plan {
    /// One look after `blocks` blocks, at 95 %.
    pub fn fixed(blocks: u32) -> Self {
        Self { looks: vec![Look { blocks, level: SINGLE }] }
    }

    /// At most six looks, the last after `maximum` blocks, the first after `minimum` or a little
    /// more: at least 10, and at least a 32nd of `maximum`, so that no look waits for more than
    /// twice the blocks of the one before. One look where `maximum` leaves no room for two.
    pub fn planned(minimum: u32, maximum: u32) -> Self {
        let doublings = MOST_LOOKS - 1;
        let first =
            minimum.max(FEWEST_BEFORE_LOOK).max(maximum.div_ceil(GREATEST_GROWTH.pow(doublings)));
        let ratio = f64::from(maximum) / f64::from(first);
        let steps = (ratio.ln() / GROWTH.ln()).round().min(f64::from(doublings));
        if steps < 1.0 {
            return Self::fixed(maximum);
        }
        let looks = (0..=steps as u32)
            .map(|step| {
                let share = f64::from(step) / steps;
                let blocks = (f64::from(first) * ratio.powf(share)).round() as u32;
                let level = match step {
                    0 => FIRST,
                    _ if share < 1.0 => BETWEEN,
                    _ => LAST,
                };
                Look { blocks, level }
            })
            .collect();
        Self { looks }
    }

    /// The looks in order; never empty.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// The most blocks that are ever run.
    pub fn maximum(&self) -> u32 {
        self.looks.last().map_or(0, |look| look.blocks)
    }

    /// The look that is due after `blocks` blocks, if one is.
    pub fn at(&self, blocks: u32) -> Option<Look> {
        self.looks.iter().copied().find(|look| look.blocks == blocks)
    }

    /// The level of intervals for `blocks` finished blocks, whether or not a look is due then.
    ///
    /// An experiment that the user or a time limit ends between two looks is reported at the level
    /// of the look it did not reach: what ended it did not depend on the noise, so it is a plan
    /// with its last look moved. Covers at least 94.5 %, at most the level given.
    pub fn level_after(&self, blocks: u32) -> f64 {
        let reached = self.looks.iter().find(|look| look.blocks >= blocks);
        reached.or(self.looks.last()).map_or(SINGLE, |look| look.level)
    }

    /// The look at which an interval of `half_width` on the log scale can be expected, judging by
    /// the deviation of `pilot`; the last look if none is narrow enough. For the progress display.
    pub fn expected_end(&self, pilot: &Estimate, half_width: f64) -> Option<Look> {
        let narrow = |look: &&Look| {
            look.blocks >= pilot.blocks
                && pilot
                    .at_level(look.level)
                    .and_then(|pilot| blocks_needed(&pilot, half_width))
                    .is_some_and(|needed| needed <= look.blocks)
        };
        self.looks.iter().find(narrow).or(self.looks.last()).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::paired;
    use super::*;

    fn blocks(plan: &Plan) -> Vec<u32> {
        plan.looks().iter().map(|look| look.blocks).collect()
    }

    #[test]
    fn plans_grow_geometrically() {
        assert_eq!(blocks(&Plan::planned(10, 100)), [10, 16, 25, 40, 63, 100]);
        assert_eq!(blocks(&Plan::planned(10, 30)), [10, 17, 30]);
        assert_eq!(blocks(&Plan::planned(2, 12)), [12]);
        assert_eq!(blocks(&Plan::planned(50, 20)), [20]);
        assert_eq!(blocks(&Plan::planned(10, 1000)), [32, 64, 127, 252, 502, 1000]);
        assert_eq!(Plan::fixed(7), Plan::planned(10, 7));
    }

    #[test]
    fn levels_follow_the_looks() {
        let plan = Plan::planned(10, 26);
        let levels: Vec<f64> = plan.looks().iter().map(|look| look.level).collect();
        assert_eq!(levels, [FIRST, BETWEEN, LAST]);
        assert_eq!(plan.at(16), Some(Look { blocks: 16, level: BETWEEN }));
        assert_eq!(plan.at(17), None);
        assert_eq!(plan.maximum(), 26);
    }

    #[test]
    fn an_interrupted_plan_takes_the_level_of_the_look_not_reached() {
        let plan = Plan::planned(10, 26);
        let levels = [3, 10, 11, 16, 17, 26, 27].map(|blocks| plan.level_after(blocks));
        assert_eq!(levels, [FIRST, FIRST, BETWEEN, BETWEEN, LAST, LAST, LAST]);
        assert_eq!(Plan::fixed(9).level_after(4), SINGLE);
    }

    #[test]
    fn the_end_is_foreseen_from_the_deviation() {
        let plan = Plan::planned(10, 100);
        let pilot = paired(&[-0.02, 0.02, -0.02, 0.02, -0.02, 0.02], 0.95).unwrap();
        assert_eq!(plan.expected_end(&pilot, 0.1).map(|look| look.blocks), Some(10));
        assert_eq!(plan.expected_end(&pilot, 0.01).map(|look| look.blocks), Some(25));
        assert_eq!(plan.expected_end(&pilot, 1e-6).map(|look| look.blocks), Some(100));
    }

    proptest! {
        #[test]
        fn every_plan_is_in_order_and_ends_at_its_maximum(minimum: u32, maximum in 1_u32..) {
            let plan = Plan::planned(minimum, maximum);
            let blocks = blocks(&plan);
            prop_assert!((1..=6).contains(&blocks.len()));
            prop_assert!(blocks.is_sorted_by(|earlier, later| earlier < later));
            prop_assert_eq!(plan.maximum(), maximum);
            prop_assert!(plan.looks().iter().all(|look| (0.95..=0.96).contains(&look.level)));
        }
    }
}
