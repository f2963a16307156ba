//! The trace format: what is written comes back, and what corun did not write does no harm.

#[path = "../../../../../fuzz/hostile.rs"]
mod fuzzed;
mod hostile;
mod reading;
mod recordings;
mod specification;
#[path = "../../../benches/synthetic/mod.rs"]
mod synthetic;
