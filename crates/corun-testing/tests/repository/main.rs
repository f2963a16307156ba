//! Checks of the repository itself: its documents, who imports whom, what is linked.

mod architecture;
mod dependencies;
