//! Reads what no writer wrote.
//!
//! `cargo +nightly fuzz run reading` in the root folder; its corpus is also a test of corun-trace.

#![no_main]

#[path = "../hostile.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|input: &[u8]| hostile::read(input));
