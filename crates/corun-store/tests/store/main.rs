//! The store as its users meet it: kept once, found by name, never lost, never overwritten.

mod damage;
mod exports;
mod growing;
mod memory;
mod names;
mod processes;
mod runs;
