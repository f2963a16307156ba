//! Functions of the mathematical library, most of them given what another returned.

use std::hint::black_box;

use super::super::descriptor;
use super::rounded;
use super::values::Arguments;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static NUM_RTNS_1: Workload = Workload {
    descriptor: &descriptor(
        "aim9/num_rtns_1",
        "exp, log, pow, fmod, sqrt, rand and other functions of one or two numbers",
        &[Tag::FloatLatency],
        ["a bundle of sixteen functions", "bundles"],
        1.0,
        "bundles/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Bundles<Numeric>>,
};

pub(in super::super) static TRIG_RTNS: Workload = Workload {
    descriptor: &descriptor(
        "aim9/trig_rtns",
        "sin, cos, tan, their inverses, and the hyperbolic ones",
        &[Tag::FloatLatency],
        ["a bundle of ten functions", "bundles"],
        1.0,
        "bundles/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Bundles<Trigonometric>>,
};

// Those of the C library that Rust's own has under no name.
#[link(name = "m")]
unsafe extern "C" {
    safe fn ldexp(fraction: f64, exponent: i32) -> f64;
    fn frexp(number: f64, exponent: *mut i32) -> f64;
    fn modf(number: f64, whole: *mut f64) -> f64;
}

/// Functions that are called together.
trait Bundle: Send + 'static {
    /// Calls them with the next arguments, in bundle `place` of a hundred; returns what they add up to.
    fn call(arguments: &mut Arguments, place: i32) -> f64;
}

struct Numeric;

impl Bundle for Numeric {
    #[inline(always)]
    fn call(arguments: &mut Arguments, place: i32) -> f64 {
        let mut exponent = 0;
        let mut whole = 0.0;
        let mut sum = arguments.next().exp().floor() + positive(arguments).log10().ceil();
        // SAFETY: both write a number to where the pointer is.
        unsafe {
            sum += modf(positive(arguments).ln(), &raw mut whole) + whole;
            sum += frexp(arguments.next() - SHIFT, &raw mut exponent);
        }
        sum += ldexp(arguments.next(), exponent.abs());
        sum += (arguments.next() * 5.0 % positive(arguments)).abs();
        sum += positive(arguments).powf(arguments.next()).sqrt();
        // SAFETY: no memory of ours is touched. Other threads may draw from the same numbers, so the
        // one that comes is no part of the result.
        let drawn = unsafe {
            libc::srand(exponent as u32);
            libc::rand()
        };
        black_box(i64::from(place - drawn).abs());
        sum
    }
}

struct Trigonometric;

impl Bundle for Trigonometric {
    #[inline(always)]
    fn call(arguments: &mut Arguments, _: i32) -> f64 {
        let mut sum = arguments.next().sin().asin().cos().acos();
        sum += arguments.next().tan().atan().tanh();
        let sine = arguments.next().sinh();
        sum + sine.atan2(arguments.next().cosh())
    }
}

/// More than any argument.
const SHIFT: f64 = 10.0001;

/// The next argument, made positive.
#[inline(always)]
fn positive(arguments: &mut Arguments) -> f64 {
    arguments.next() + SHIFT
}

struct Bundles<B> {
    arguments: Arguments,
    sum: u64,
    bundle: std::marker::PhantomData<B>,
}

impl<B> Default for Bundles<B> {
    fn default() -> Self {
        Self { arguments: Arguments::arguments(), sum: 0, bundle: std::marker::PhantomData }
    }
}

impl<B: Bundle> Kernel for Bundles<B> {
    fn reset(&mut self) {
        self.arguments.rewind();
        self.sum = 0;
    }

    fn run(&mut self, operations: u64) {
        self.arguments.rewind();
        let results = (0..operations)
            .map(|operation| rounded(B::call(&mut self.arguments, (operation % 100) as i32)));
        self.sum = results.fold(0, u64::wrapping_add);
    }

    /// The sum of all results, each rounded.
    fn check(&self) -> u64 {
        self.sum
    }
}
