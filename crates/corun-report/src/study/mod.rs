//! Studies: what there are, one in full, and the outcome of running one.

mod catalogue;
mod csv;
mod page;
mod rows;
mod screen;
#[cfg(test)]
mod tests;

pub use catalogue::{describe_study, list_studies};
pub use csv::study_to_csv;
pub use page::{answers, caveats, course, heading, numbered, study_to_markdown, study_to_terminal};
pub use rows::{errors, figures, lettered, times};
pub use screen::study_on_screen;
