//! Single blocks of code, simulated: cycles of each in steady state, beside what was measured of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;
use crate::simulation::{SimulatedCore, TimingRows};

/// Document that `corun simulate --block-file FILE --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blocks {
    /// The core that was simulated.
    pub core: SimulatedCore,
    /// Agreement of predicted and measured cycles; absent where nothing was measured.
    pub agreement: Option<BlockAgreement>,
    /// The blocks, in the order of the file.
    pub blocks: Vec<SimulatedBlock>,
    /// Forms of instruction that the timing table has no row for, with the number of places in the code.
    #[serde(default)]
    pub unknown_forms: BTreeMap<String, u64>,
    /// For each width of a division in the code, the bits of its quotient that were assumed.
    #[serde(default)]
    #[schemars(with = "BTreeMap<u32, u32>")]
    pub assumed_quotients: BTreeMap<u32, u32>,
    /// Provenance of the timings of the simulated instructions.
    pub timing_rows: TimingRows,
}

/// Agreement of predicted with measured cycles. A block without a prediction counts as one of 0 cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockAgreement {
    /// Blocks that were measured.
    pub blocks: usize,
    /// The mean error, each as a fraction of the measured cycles.
    pub mean_error: f64,
    /// The median error.
    pub median_error: f64,
    /// Kendall's rank correlation (tau-b); absent where all cycles of one side are equal.
    pub tau_b: Option<f64>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedBlock {
    /// Machine code in hexadecimal.
    pub block: String,
    /// Predicted cycles of a copy.
    pub predicted: Option<f64>,
    /// Measured cycles of a copy.
    pub measured: Option<f64>,
    /// Why nothing is predicted.
    pub reason: Option<String>,
}

impl SimulatedBlock {
    /// The error of the prediction as a fraction of the measured cycles, if there are both.
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured?;
        Some((self.predicted? - measured) / measured)
    }
}

impl Body for Blocks {
    const FORMAT: &str = "corun-blocks";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_a_share_of_the_measured_cycles() {
        let block = |measured| SimulatedBlock {
            block: "90".to_owned(),
            predicted: Some(0.5),
            measured,
            reason: None,
        };
        assert_eq!((block(Some(1.0)).error(), block(None).error()), (Some(-0.5), None));
    }
}
