//! Functions by another mathematical library, zeros by another formula, matrices by rows.

use super::super::checksum::checksum;
use super::super::generated::Random;
use super::{assert_checks, assert_reset_forgets};

/// Around the lengths of the tables and of the original's calls.
const SOME: [u64; 8] = [1, 2, 24, 25, 26, 199, 201, 3000];

#[test]
fn sieves_find_every_prime() {
    // The primes below a million, and 0 and 1.
    assert_checks("sieve", &[1, 4, 5, 6], |sieves| (sieves / 5 + 1) * (78_498 + 2));
}

#[test]
fn functions_agree_with_another_library() {
    let arguments = arguments();
    assert_checks("num_rtns_1", &SOME, |bundles| {
        let mut next = in_turn(&arguments);
        let bundle = |_| {
            let mut sum = libm::floor(libm::exp(next()));
            sum += libm::ceil(libm::log10(next() + 10.0001));
            let logarithm = libm::log(next() + 10.0001);
            // Fraction and whole are added up again.
            sum += logarithm.fract() + logarithm.trunc();
            let (fraction, exponent) = libm::frexp(next() - 10.0001);
            sum += fraction;
            sum += libm::scalbn(next(), exponent.abs());
            sum += libm::fmod(next() * 5.0, next() + 10.0001).abs();
            sum + libm::sqrt(libm::pow(next() + 10.0001, next()))
        };
        (0..bundles).map(bundle).map(rounded).fold(0, u64::wrapping_add)
    });
    assert_checks("trig_rtns", &SOME, |bundles| {
        let mut next = in_turn(&arguments);
        let bundle = |_| {
            let mut sum = libm::acos(libm::cos(libm::asin(libm::sin(next()))));
            sum += libm::tanh(libm::atan(libm::tan(next())));
            let sine = libm::sinh(next());
            sum + libm::atan2(sine, libm::cosh(next()))
        };
        (0..bundles).map(bundle).map(rounded).fold(0, u64::wrapping_add)
    });
}

#[test]
fn series_are_sines() {
    let fractions = fractions();
    assert_checks("series_1", &SOME, |sines| {
        let mut next = in_turn(&fractions);
        let sum: f64 = (0..sines).map(|_| libm::sin(next())).sum();
        checksum([rounded(sum), sines])
    });
}

/// 1000 sin x cos x is 500 sin 2x, and a step of Newton's half the tangent of 2x.
#[test]
fn zeros_are_those_of_the_double_angle() {
    assert_checks("new_raph", &SOME, |searches| {
        let zero = |search: u64| {
            let mut place = 0.05 * (search % 200) as f64;
            for _ in 0..100 {
                place -= libm::tan(2.0 * place) / 2.0;
            }
            assert!((2.0 * place / std::f64::consts::PI).fract().abs() < 1e-9, "{place}");
            place
        };
        (0..searches).map(zero).map(rounded).fold(0, u64::wrapping_add)
    });
}

#[test]
fn points_are_transformed() {
    let fractions = fractions();
    assert_checks("matrix_rtns", &SOME, |points| {
        let (mut volume, mut check) = (0.0, 0_u64);
        for point in 0..points as usize {
            let number = |place: usize| fractions[(point * 20 + place) % 500];
            let row = |row: usize| {
                (0..4).fold(0.0, |sum, column| sum + number(column) * number(4 + row * 4 + column))
            };
            let [x, y, z] = [0, 1, 2].map(row);
            volume += x * y * z;
            let place = (x * 1280.0).trunc() + (y * 1024.0).trunc() + (z * 8192.0).trunc();
            check = check.wrapping_mul(3).wrapping_add((place + volume).to_bits());
        }
        check
    });
}

#[test]
fn systems_are_solved() {
    assert_checks("array_rtns", &[1, 2, 20, 23], |systems| {
        let (mut right, mut check, mut next) = (0, 0_u64, 1.0);
        for system in 0..systems {
            if system % 20 == 0 {
                next = 1.0;
            }
            let order = (system % 20 + 1) * 5;
            let mut coefficient = || {
                let coefficient = next;
                next = next * 1.00001 + 1.0;
                coefficient
            };
            let mut row = || (0..=order).map(|_| coefficient()).collect::<Vec<f64>>();
            let sum = solution((0..order).map(|_| row()).collect()).iter().sum();
            right += order;
            check = check.wrapping_mul(3).wrapping_add(rounded(sum));
        }
        checksum([right, check])
    });
}

/// Gauss and Jordan's, on rows that are taken out and put back.
fn solution(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let order = rows.len();
    let minus = |row: &mut Vec<f64>, pivot: &[f64], column: usize| {
        let factor = row[column];
        row.iter_mut().zip(pivot).for_each(|(place, pivot)| *place -= factor * pivot);
    };
    for column in 0..order {
        let mut pivot = std::mem::take(&mut rows[column]);
        let scale = pivot[column];
        pivot[column..].iter_mut().for_each(|place| *place /= scale);
        rows[column + 1..].iter_mut().for_each(|row| minus(row, &pivot, column));
        rows[column] = pivot;
    }
    for column in (1..order).rev() {
        let pivot = rows[column].clone();
        rows[..column].iter_mut().for_each(|row| minus(row, &pivot, column));
    }
    rows.iter().map(|row| row[order]).collect()
}

#[test]
fn a_reset_forgets_the_numbers_before() {
    for row in ["num_rtns_1", "trig_rtns", "series_1", "new_raph", "matrix_rtns"] {
        assert_reset_forgets(&format!("aim9/{row}"), &[]);
    }
}

/// 0, 1, the smallest positive number, then half the distance between the two before.
fn fractions() -> Vec<f64> {
    let first = [0.0, 1.0, f64::from_bits(1)];
    let rest = std::iter::successors(Some((first[1], first[2])), |(before, last)| {
        Some((*last, (before - last).abs() / 2.0))
    });
    first.into_iter().chain(rest.skip(1).map(|(_, last)| last)).take(500).collect()
}

/// Numbers from -10 to 10, and the smallest positive one.
fn arguments() -> Vec<f64> {
    let mut random = Random::new(9);
    let mut number = || random.below((1 << 31) + 1) as f64 / (1_u64 << 31) as f64 * 20.0 - 10.0;
    let hundred = |_| {
        let rest: Vec<f64> = (1..100).map(|_| number()).collect();
        [vec![f64::from_bits(1)], rest].concat()
    };
    (0..100).flat_map(hundred).collect()
}

fn in_turn(table: &[f64]) -> impl FnMut() -> f64 {
    let mut turns = table.iter().cycle();
    move || *turns.next().expect("a table is not empty")
}

/// In units of 2^-20.
fn rounded(result: f64) -> u64 {
    libm::rint(libm::scalbn(result, 20)) as i64 as u64
}
