//! The screen of `corun top`: what a machine does, with its siblings side by side.
//!
//! [`View`] is the state, which keys and activities change; [`draw`] shows it in a buffer of any size; both are pure.
//! [`live`] is the loop around them, with the terminal, its keys and the signals.

mod draw;
mod formula;
mod live;
mod order;
mod pairs;
mod rows;
mod text;
mod view;

pub use draw::{Colours, draw};
pub use formula::FORMULA;
pub use live::{LiveError, live};
pub use order::{Order, SortBy};
pub use pairs::{Pair, pairs};
pub use rows::{Grouping, Row, RowKind, Selection, rows};
pub use text::text;
pub use view::{CoreDetail, Effect, Input, Key, View};

#[cfg(test)]
mod tests;
