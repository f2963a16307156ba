//! The same measurement on many nodes through Slurm.
//!
//! A campaign (a TOML file) becomes a plan of tasks; an engine runs them, each on a node of its own; each leaves
//! a result file in a shared directory, from which documents are collected into the store exactly once.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod layout;
