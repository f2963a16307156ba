//! How many workers, and where: a sweep over numbers of workers and placements that ends when the answer
//! is known.
//!
//! A [`Search`](search::Search) says which points of the [`Grid`] run in the next block, [`experiment`] runs
//! them through an [`Executor`](crate::experiment::Executor), and [`answer`] puts the outcome into words.

mod advice;
mod answer;
mod contest;
mod experiment;
mod grid;
mod objective;
mod request;
mod search;

pub use advice::Surroundings;
pub use experiment::Tried;
pub use experiment::{SweepObserver, SweepOutcome, SweepSchedule, run_sweep};
pub use grid::{Family, Grid, Point};
pub use request::{SweepRequest, ThreadSearch};
pub use search::Conclusion;
