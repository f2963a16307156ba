//! The capacity that was used: the formula, and the curve that `corun capacity` measures or predicts for it.
//!
//! The kernel counts busy logical CPUs. What they do depends on how many of a core are busy at a time, and on how much
//! a core does with all of them: its SMT yield.

mod answer;
mod curve;
mod design;
mod formula;
mod measured;
mod predicted;

pub use curve::{Curve, UsedCapacity, curve_of};
pub use design::CurveDesign;
pub use formula::{capacity_use, work_bounds, work_rate};
pub use measured::{AtHalf, CapacityMeasurement, CapacityRequest};
pub use predicted::{PredictedMachine, predicted_curve};

use corun_record::{CapacityCurve, Estimate, Record, YieldRange};

/// The yields that a capacity range may be narrowed to by a curve: those of its machine and its work. `None` where it says
/// nothing of siblings, or too little.
pub fn yields_of(curve: &Record<CapacityCurve>) -> Option<YieldRange> {
    sensible_yields(&curve.body)
}

fn sensible_yields(curve: &CapacityCurve) -> Option<YieldRange> {
    curve.yields().filter(|_| curve.smt_yield.as_ref().is_some_and(is_sensible))
}

/// True if an interval says something.
fn is_sensible(estimate: &Estimate) -> bool {
    corun_stats::says_something(estimate.value, estimate.low, estimate.high)
}
