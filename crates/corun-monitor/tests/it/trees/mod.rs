//! Activities of captured systems: trees of `/proc` and `/sys` in which everything is known.

mod builder;
mod cpus;
mod recordings;
mod tasks;
