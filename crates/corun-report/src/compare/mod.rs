//! Runs beside each other, and over time: for the terminal, and as Markdown for a pull request.
//!
//! What differs between the runs comes before the figures, since it may be the reason for a change.

pub(crate) mod answers;
pub(crate) mod comparison;
pub(crate) mod trend;

pub use comparison::{comparison_in_brief, comparison_to_markdown, comparison_to_terminal};
pub use trend::trend_to_terminal;

#[cfg(test)]
mod tests;
