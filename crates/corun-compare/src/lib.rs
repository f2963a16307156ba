//! Runs compared with each other and over time, from their documents alone.
//!
//! A document becomes [`Subject`]s, one for each workload that was run; [`compare`] sets those of several documents
//! side by side, and [`trend`] puts those of one workload in the order of time.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod facts;
mod gate;
mod history;
mod metrics;
mod pairs;
mod rows;
mod sentences;
mod subject;
mod trend;

pub use gate::{Blind, FailOn, gate};
pub use rows::{ComparisonRequest, compare};
pub use subject::{Named, Subject, SubjectError, subjects};
pub use trend::{TrendError, TrendRequest, trend};
