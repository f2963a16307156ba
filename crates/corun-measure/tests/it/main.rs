//! Measurements from the request to the figures: layout, experiment, commands run for real, sweeps.

mod disturbed;
mod execution;
mod experiment;
mod layout;
mod sweep;
