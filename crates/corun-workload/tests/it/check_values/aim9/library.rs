//! Strings by Rust's own formatting and classes; orders and answers in closed form.

use super::super::checksum::checksum;
use super::{assert_checks, assert_reset_forgets};

#[test]
fn tables_are_sorted_and_searched() {
    assert_checks("sort_rtns_1", &[1, 2, 3, 4, 5, 8, 14], |steps| {
        let ascending = 0..10_000;
        let table: Vec<u64> =
            if steps % 4 == 2 { ascending.rev().collect() } else { ascending.collect() };
        checksum(table.into_iter().chain([steps / 4 * 1000]))
    });
}

#[test]
fn a_process_answers_as_it_did_before() {
    assert_checks("misc_rtns_1", &[1, 2, 50], |bundles| bundles * 19);
}

#[test]
fn strings_are_written_read_classified_and_joined() {
    assert_checks("string_rtns", &[1, 2, 3, 99, 100, 101, 250], |bundles| {
        let (mut sum, mut number, mut rest) = (0_u64, 0_u64, vec![0; 1023]);
        for bundle in 0..bundles {
            if bundle % 100 == 0 {
                (number, rest) = (0, vec![0; 1023]);
            }
            let shown: f64 = format!("{:.5e}", number as f64 / 1000.0).parse().unwrap();
            let mut characters = CHARACTERS.to_vec();
            characters.push(0);
            characters.extend(&rest[characters.len()..]);
            // The text joined 99 times in part, all of which match; 18 characters; one more match.
            let matches = u64::from(99 + 18 + 1 > 100);
            number = (shown * 1000.0) as u64 + classes(&characters) + matches;
            rest = joined();
            sum += number;
        }
        sum
    });
}

const CHARACTERS: &[u8] = b" \t\n\r\x080123456789 abcde fghij klmno pqrst uvwxy z \
    ABCDE FGHIJ KLMNO PQRST UVWXY Z .,;:!@#$%^&*()_-+=|\\\"'`[]}{";

/// Content of the buffer after the joining: the parts, and behind them the end of the wholes.
fn joined() -> Vec<u8> {
    let text = b"What is your name?";
    let terminated = |mut text: Vec<u8>| {
        text.push(0);
        text
    };
    let whole = terminated(text.repeat(1024 / 18));
    let parts = terminated([text.as_slice(), &text[..10].repeat(99)].concat());
    let mut buffer = vec![0; 1024];
    buffer[..whole.len()].copy_from_slice(&whole);
    buffer[..parts.len()].copy_from_slice(&parts);
    buffer.truncate(1023);
    buffer
}

/// Number of the eleven classes that the characters are in.
fn classes(characters: &[u8]) -> u64 {
    let classes = |character: &u8| {
        let graphic = character.is_ascii_graphic();
        let is = [
            character.is_ascii_alphanumeric(),
            character.is_ascii_alphabetic(),
            character.is_ascii_control(),
            character.is_ascii_digit(),
            graphic,
            character.is_ascii_lowercase(),
            graphic || *character == b' ',
            character.is_ascii_punctuation(),
            character.is_ascii_whitespace(),
            character.is_ascii_uppercase(),
            character.is_ascii_hexdigit(),
        ];
        is.iter().filter(|&&is| is).count() as u64
    };
    characters.iter().map(classes).sum()
}

#[test]
fn a_reset_forgets_the_strings_before() {
    assert_reset_forgets("aim9/string_rtns", &[]);
}
