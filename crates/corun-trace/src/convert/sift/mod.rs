//! SIFT, the traces of the simulator Sniper: instructions by length, address and accessed memory, with
//! the code beside them.
//!
//! Written after `sift/sift_format.h` and what `sift/sift_reader.cc` and the trace front end of Sniper
//! do with a file: no answers are asked of the simulator, since no simulator answers.

mod code;
mod export;
mod instruction;

pub(super) use export::Stream;
