//! Sines by their series, and zeros by Newton's method.

use super::super::arithmetic::Number;
use super::super::descriptor;
use super::rounded;
use super::values::Fractions;
use crate::checksum::checksum;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static SERIES_1: Workload = Workload {
    descriptor: &descriptor(
        "aim9/series_1",
        "sines as sums of a series, and held against the library's",
        &[Tag::FloatLatency],
        ["a sine", "series"],
        1.0,
        "evaluations/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Series>,
};

pub(in super::super) static NEW_RAPH: Workload = Workload {
    descriptor: &descriptor(
        "aim9/new_raph",
        "zeros of a function by Newton's method",
        &[Tag::FloatLatency],
        ["a zero", "zeros"],
        1.0,
        "zeros/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Zeros>,
};

struct Series {
    arguments: Fractions,
    agreeing: u64,
    sum: f64,
}

impl Default for Series {
    fn default() -> Self {
        Self { arguments: Fractions::fractions(), agreeing: 0, sum: 0.0 }
    }
}

impl Kernel for Series {
    fn reset(&mut self) {
        self.arguments.rewind();
        (self.agreeing, self.sum) = (0, 0.0);
    }

    fn run(&mut self, operations: u64) {
        self.arguments.rewind();
        (self.agreeing, self.sum) = (0, 0.0);
        for _ in 0..operations {
            let argument = self.arguments.call_next();
            let sine = sine(argument);
            self.agreeing += u64::from((sine - argument.sin()).abs() <= 1e-4);
            self.sum += sine;
        }
    }

    /// Of the sum of all sines, rounded, and of how many of them are right.
    fn check(&self) -> u64 {
        checksum([rounded(self.sum), self.agreeing])
    }
}

/// The sum of the series, taken until it no longer changes.
#[inline(always)]
fn sine(argument: f64) -> f64 {
    let square = argument * argument;
    // The first term is a quotient too.
    let (mut power, mut factorial, mut index) = (argument, 1.0_f64.opaque(), 1.0);
    let (mut sum, mut before) = (0.0, 100.0);
    while sum != before {
        before = sum;
        sum += power / factorial;
        factorial *= (index + 1.0) * (index + 2.0);
        index += 2.0;
        power *= -square;
    }
    sum
}

/// Searches in a call of the original, each beginning a little further to the right.
const SEARCHES: u64 = 200;

/// The distance between their beginnings.
const DISTANCE: f64 = 0.05;

/// A search ends where a step is smaller, or after so many steps.
const TOLERANCE: f64 = 1e-12;
const MAX_STEPS: u32 = 100;

#[derive(Default)]
struct Zeros {
    sum: u64,
}

impl Kernel for Zeros {
    fn reset(&mut self) {
        self.sum = 0;
    }

    fn run(&mut self, operations: u64) {
        let starts = (0..operations).map(|search| DISTANCE * (search % SEARCHES) as f64);
        self.sum = starts.map(|start| rounded(zero(start))).fold(0, u64::wrapping_add);
    }

    /// The sum of the zeros, each rounded.
    fn check(&self) -> u64 {
        self.sum
    }
}

/// Zero of 1000 sin x cos x, searched from `start` on.
#[inline(always)]
fn zero(start: f64) -> f64 {
    let mut place = start;
    for _ in 1..MAX_STEPS {
        let next = place - value(place) / slope(place);
        if (next - place).abs() < TOLERANCE {
            return next;
        }
        place = next;
    }
    place
}

#[inline(always)]
fn value(place: f64) -> f64 {
    1000.0 * place.sin() * place.cos()
}

#[inline(always)]
fn slope(place: f64) -> f64 {
    let (sine, cosine) = place.sin_cos();
    -(sine * sine * 1000.0) + cosine * cosine * 1000.0
}
