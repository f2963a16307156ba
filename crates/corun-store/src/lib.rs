//! The store: what corun answered, kept in a database, so that it can be found, compared and exported later.
//!
//! What is kept is the document of a run as it was written; samples and observations stand in tables beside it
//! for SQL. A run that takes long is kept step by step ([`Growing`]).
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod content;
mod error;
mod export;
mod grow;
mod keep;
mod list;
mod names;
mod place;
mod process;
mod run_id;
mod schema;
mod store;

pub use content::listed;
pub use error::StoreError;
pub use export::TidyTable;
pub use grow::{Growing, Unfinished, UnfinishedSweep};
pub use keep::{Added, FirstAnswer, Origin};
pub use list::Filter;
pub use names::{RunKind, check_tags};
pub use place::default_path;
pub use store::Store;
