//! Statistics of the numbers of the blocks: intervals, analyses, verdicts, warnings.
//!
//! Everything here is pure and works on natural logarithms of ratios, one value a block: the log
//! turns "half as fast" and "twice as fast" into the same distance, and differences within a block
//! cancel what the machine did to all of its runs. [`Estimate::ratio`] leads back from logs.
//!
//! ```
//! use corun_stats::{Bounds, AnalysisPlan, Verdict, judge, noise_floor, paired};
//!
//! let plan = AnalysisPlan::planned(10, 60);
//! let analysis = plan.at(10).expect("the first analysis comes after 10 blocks");
//! // ln X(full) - ln X(spread) and ln X(spread) - ln X(its twin), a value a block.
//! let full = [0.21, 0.19, 0.20, 0.22, 0.18, 0.20, 0.21, 0.19, 0.20, 0.20];
//! let twin = [0.01, -0.01, 0.00, 0.01, -0.01, 0.00, 0.01, 0.00, -0.01, 0.00];
//!
//! let estimate = paired(&full, analysis.level).expect("ten finite values");
//! assert!(estimate.half_width() <= 0.01, "narrow enough: stop here");
//! let bounds = Bounds { practical: 1.02_f64.ln(), noise_floor: noise_floor(&twin).unwrap() };
//! assert_eq!(judge(&estimate, bounds), Verdict::Helps);
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod best_of_several;
mod between_runs;
mod bootstrap;
mod change_points;
mod estimate;
mod foreign_load;
mod interim_analyses;
mod outlying;
mod percent;
mod random_effects;
mod repeats;
mod seed;
mod sense;
mod unusual;
mod verdict;

pub use between_runs::{
    BetweenRuns, FLOOR_DEVIATION, RunValue, level_of_each, since_last_change, unpaired,
};
pub use bootstrap::{BOOTSTRAP_FROM_BLOCKS, bootstrap_t};
pub use change_points::{CHANGE_POINTS_FROM_VALUES, ChangePoint, change_points};
pub use estimate::{Estimate, Interval, paired, student_t};
pub use foreign_load::{ForeignLoad, WAITED, steady};
pub use interim_analyses::{AnalysisPlan, InterimAnalysis};
pub use outlying::{Outlying, outlying};
pub use percent::percent;
pub use random_effects::{RandomEffects, random_effects};
pub use repeats::{Repeats, repeats};
pub use seed::fresh_seed;
pub use sense::{TOO_UNCERTAIN, is_difference, says_something};
pub use unusual::{Drift, drift, median, outliers, quantile};
pub use verdict::{
    Bounds, Circumstances, Unsettled, Verdict, decide, decide_predicted, judge, lies_within,
    noise_floor,
};
