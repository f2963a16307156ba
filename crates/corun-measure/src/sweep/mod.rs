//! Number of workers and their placement: a sweep over numbers of workers and placements that ends when
//! the answer is known.
//!
//! A search (`search.rs`) says which points of the [`Grid`] run once, and which in the next block, [`run_sweep`] runs them through
//! an [`Executor`](crate::experiment::Executor), and `answer.rs` puts the outcome into words.

mod advice;
mod answer;
mod contest;
mod curve;
mod experiment;
mod grid;
mod objective;
mod outcome;
mod request;
mod screening;
mod search;

pub use advice::ProcessContext;
pub use experiment::{SweepObserver, SweepSchedule, WorkOfRun, run_sweep};
pub use grid::{Family, Grid, Point};
pub use outcome::{CandidateOutcome, SweepOutcome};
pub use request::{SweepRequest, ThreadSearch};
pub use search::Conclusion;
