//! The operations: which of the three variables meets which, in what order, and where they start.

use std::marker::PhantomData;

use super::number::Number;

/// The variables a, b and c, as places in an array.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// The steps of a round: the variable that is changed, and the one that it is changed by.
pub(super) type Round = [(usize, usize); 12];

/// Sums and products of numbers that are each other's opposite.
const IN_TURN: Round = twice([(A, B), (B, C), (B, C), (C, A), (C, A), (A, B)]);

/// Integer products, all by 1.
const BY_ONE: Round = twice([(A, B), (B, C), (B, C), (C, B), (C, B), (A, C)]);

/// Quotients of x, 1 and 1/x.
const QUOTIENTS: Round = twice([(A, B), (C, A), (B, C), (C, B), (A, C), (C, A)]);

/// Integer quotients, all by 1.
const OVER_ONE: Round = [
    (A, B),
    (A, C),
    (B, C),
    (C, B),
    (A, B),
    (A, C),
    (B, C),
    (C, B),
    (A, B),
    (A, C),
    (B, C),
    (C, B),
];

/// Pi with as many digits as the original has.
const PI: f64 = 314_159.0 / 100_000.0;

/// An operation on numbers of one type.
pub(super) trait Operation: Send + 'static {
    /// The type.
    type Number: Number;
    /// The variables' values at the start of a round, and at its end.
    const START: [Self::Number; 3];
    /// The steps.
    const ROUND: Round;

    /// Result of a step on two values.
    fn apply(left: Self::Number, right: Self::Number) -> Self::Number;
}

/// Addition.
pub(super) struct Add<T>(PhantomData<T>);

/// Multiplication.
pub(super) struct Multiply<T>(PhantomData<T>);

/// Division.
pub(super) struct Divide<T>(PhantomData<T>);

macro_rules! operation {
    ($operation:ident, $apply:ident: $($type:ty, $round:ident, $start:expr;)*) => {$(
        impl Operation for $operation<$type> {
            type Number = $type;
            const START: [$type; 3] = $start;
            const ROUND: Round = $round;

            #[inline(always)]
            fn apply(left: $type, right: $type) -> $type {
                left.$apply(right)
            }
        }
    )*};
}

operation! { Add, plus:
    f64, IN_TURN, [0.0, PI, -PI];
    f32, IN_TURN, [0.0, 3.5, -3.5];
    i64, IN_TURN, [0, 3, -3];
    i32, IN_TURN, [0, 3, -3];
    i16, IN_TURN, [0, 3, -3];
}

operation! { Multiply, times:
    // The product of the two is exactly 1. The original prints 1/pi with six digits and reads it
    // again, so that its values drift away and most of its products are of infinities.
    f64, IN_TURN, [1.0, PI, 1.0 / PI];
    f32, IN_TURN, [1.0, 4.0, 0.25];
    i64, BY_ONE, [12_345_678, 1, 1];
    i32, BY_ONE, [12_345_678, 1, 1];
    i16, BY_ONE, [1234, 1, 1];
}

operation! { Divide, over:
    f64, QUOTIENTS, [1.0, 4.0, 0.25];
    f32, QUOTIENTS, [1.0, 4.0, 0.25];
    i64, OVER_ONE, [1_234_578, 1, 1];
    i32, OVER_ONE, [1_234_578, 1, 1];
    i16, OVER_ONE, [1234, 1, 1];
}

const fn twice([a, b, c, d, e, f]: [(usize, usize); 6]) -> Round {
    [a, b, c, d, e, f, a, b, c, d, e, f]
}
