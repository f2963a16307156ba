//! `corun doctor` on hand-made machines: one on which all is well, and one thing at a time that is
//! not; on arbitrary texts, on captured machines, and on this one.

mod captured;
mod clocks;
mod colours;
mod cpus;
mod drawing;
mod evidence;
mod healthy;
mod kernel;
mod live;
mod odd_texts;
mod other_work;
mod overview;
mod vulnerabilities;
