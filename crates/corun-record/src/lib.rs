//! The data model of corun: observations, runs, and their versioned JSON.
//!
//! Everything that corun knows is an observation. Measuring, predicting and published studies write
//! this model; tables, exports and comparisons read it and nothing else.

mod actionable;

pub use actionable::{Actionable, Exit};
