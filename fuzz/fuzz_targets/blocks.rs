//! Reads lists of blocks that nobody means well with.
//!
//! `cargo +nightly fuzz run blocks` in the root folder; its corpus is also a test of corun-blocks.

#![no_main]

use corun_blocks::read_list;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Err(error) = read_list(input) {
        // What is told may not steer a terminal.
        assert!(!error.to_string().contains(char::is_control));
    }
});
