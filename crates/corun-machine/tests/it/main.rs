//! Machines as the crate is asked about them: made by hand, captured, simulated, and this one.

mod cpu_set;
mod doctor;
mod hwloc;
mod svg;
mod switch;
mod trees;
