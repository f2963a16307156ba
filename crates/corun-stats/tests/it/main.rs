//! Tests that intervals, verdicts and comparisons are right as often as they say, on simulated and recorded runs.

mod comparing;
mod coverage;
mod nodes;
mod recorded;
mod simulation;
