//! What sharing a core does to a program.
fn main() {}
