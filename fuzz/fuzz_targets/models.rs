//! Reads core models that nobody means well with.
//!
//! `cargo +nightly fuzz run models` in the root folder; its corpus is also a test of corun-model.

#![no_main]

use corun_model::CoreModel;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(error) = CoreModel::from_toml("fuzzed.toml", text) {
        // What is told may not steer a terminal.
        assert!(error.to_string().lines().all(|line| !line.contains(char::is_control)));
    }
});
