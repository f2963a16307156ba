//! The command line as a user meets it: what is typed, what comes out, how it ends.

mod audit;
mod bench;
mod calibrate;
mod common;
mod counted_runs;
mod disturbed;
mod doctor;
mod exports;
mod failing_commands;
mod full_disk;
mod interruption;
mod left_behind;
mod models;
mod one_cpu;
mod placement;
mod predict;
mod schedule;
mod schema;
mod simulate;
mod smt;
mod study;
mod surroundings;
mod threads;
mod topo;
mod trace;
mod wrong_requests;
