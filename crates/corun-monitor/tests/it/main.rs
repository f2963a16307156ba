//! Tests of what is watched, drawn and served: captured systems, capacity, the endpoint, the terminal.

mod capacity;
mod exporter;
mod terminal;
mod trees;
