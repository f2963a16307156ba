//! The same places, by looking at words.

use super::generated::log;
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn regex_finds_every_match() {
    let log = String::from_utf8(log(512 << 10)).unwrap();
    for (pattern, is_match) in [("address", is_address as fn(&str) -> bool), ("literal", is_post)] {
        let mut kernels = kernels("regex", &[format!("pattern={pattern}")], 2);
        let whole = log.len() as u64;
        for operations in OPERATIONS.into_iter().chain([27, 28, 29, whole, 2 * whole + 100]) {
            let rest = &log[..(operations % whole) as usize];
            let expected = found(&log, is_match)
                .wrapping_mul(operations / whole)
                .wrapping_add(found(rest, is_match));
            let case = format!("{pattern}, {operations} bytes");
            assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
        }
        assert!(found(&log, is_match) > 0);
    }
}

/// The sum of the places of all words that match, and of their number.
fn found(text: &str, is_match: fn(&str) -> bool) -> u64 {
    let mut sum = 0;
    let mut place = 0;
    for word in text.split([' ', '\n', '"']) {
        if is_match(word) {
            sum += place + 1;
        }
        place += word.len() as u64 + 1;
    }
    sum
}

fn is_address(word: &str) -> bool {
    word.split('.').count() == 4 && word.split('.').all(|part| part.parse::<u8>().is_ok())
}

fn is_post(word: &str) -> bool {
    word == "POST"
}
