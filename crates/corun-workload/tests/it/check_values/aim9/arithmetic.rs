//! The three variables after each step of a round, as powers or multiples of one number.

use super::super::checksum::checksum;
use super::super::{OPERATIONS, kernels, run_at_once};

/// As many digits as the original has.
const PI: f64 = 314_159.0 / 100_000.0;

/// Multiples of x, or powers of it, before each step of the sums and products.
const IN_TURN: [[i32; 3]; 12] = [
    [0, 1, -1],
    [1, 1, -1],
    [1, 0, -1],
    [1, -1, -1],
    [1, -1, 0],
    [1, -1, 1],
    [0, -1, 1],
    [-1, -1, 1],
    [-1, 0, 1],
    [-1, 1, 1],
    [-1, 1, 0],
    [-1, 1, -1],
];

/// Powers of x before each step of the quotients.
const QUOTIENTS: [[i32; 3]; 6] =
    [[0, 1, -1], [-1, 1, -1], [-1, 1, 0], [-1, 1, 0], [-1, 1, -1], [0, 1, -1]];

const VARIANTS: [&str; 2] = ["variant=register", "variant=memory"];

/// Zeros come out positive.
#[test]
fn sums_return_to_where_they_began() {
    let places = |operations: u64| IN_TURN[(operations % 12) as usize];
    assert_values("add_double", &VARIANTS, |operations| {
        places(operations).map(|times| (PI * f64::from(times) + 0.0).to_bits())
    });
    assert_values("add_float", &VARIANTS, |operations| {
        places(operations).map(|times| bits(3.5 * times as f32 + 0.0))
    });
    assert_values("add_long", &[""], |operations| {
        places(operations).map(|times| i64::from(times * 3) as u64)
    });
    assert_values("add_int", &[""], |operations| {
        places(operations).map(|times| ((times * 3) as u32).into())
    });
    assert_values("add_short", &[""], |operations| {
        places(operations).map(|times| ((times * 3) as u16).into())
    });
}

#[test]
fn products_return_to_where_they_began() {
    let places = |operations: u64| IN_TURN[(operations % 12) as usize];
    assert_values("mul_double", &VARIANTS, |operations| {
        places(operations).map(|power| PI.powi(power).to_bits())
    });
    assert_values("mul_float", &VARIANTS, |operations| {
        places(operations).map(|power| bits(4_f32.powi(power)))
    });
    assert_values("mul_long", &[""], |_| [12_345_678, 1, 1]);
    assert_values("mul_int", &[""], |_| [12_345_678, 1, 1]);
    assert_values("mul_short", &[""], |_| [1234, 1, 1]);
}

#[test]
fn quotients_return_to_where_they_began() {
    let places = |operations: u64| QUOTIENTS[(operations % 6) as usize];
    assert_values("div_double", &VARIANTS, |operations| {
        places(operations).map(|power| 4_f64.powi(power).to_bits())
    });
    assert_values("div_float", &VARIANTS, |operations| {
        places(operations).map(|power| bits(4_f32.powi(power)))
    });
    assert_values("div_long", &[""], |_| [1_234_578, 1, 1]);
    assert_values("div_int", &[""], |_| [1_234_578, 1, 1]);
    assert_values("div_short", &[""], |_| [1234, 1, 1]);
}

fn assert_values(row: &str, variants: &[&str], expected: impl Fn(u64) -> [u64; 3]) {
    for variant in variants {
        let parameters: Vec<String> = variant.split_terminator(' ').map(str::to_owned).collect();
        let mut kernels = kernels(&format!("aim9/{row}"), &parameters, 2);
        for operations in (0..13).chain(OPERATIONS) {
            let found = run_at_once(&mut kernels, &[operations; 2]);
            let expected = checksum(expected(operations));
            assert_eq!(found, [expected; 2], "{row} {variant} {operations}");
        }
    }
}

fn bits(number: f32) -> u64 {
    number.to_bits().into()
}
