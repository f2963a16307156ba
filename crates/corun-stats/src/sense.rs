//! Which figures say something. Two or three blocks of noise give intervals over orders of magnitude, which no table
//! and no sentence should repeat as if they were results.

/// Text in place of a figure that says nothing.
pub const TOO_UNCERTAIN: &str = "too uncertain to say";

/// True if an interval `low` to `high` around a positive `value` says something: it reaches no further than the
/// value itself, ± 100 %.
pub fn says_something(value: f64, low: f64, high: f64) -> bool {
    (high - low) / 2.0 <= value.abs() && value.is_finite()
}

/// True if a noise floor or another difference from 1 says something: beyond 100 % it tells noise from noise.
pub fn is_difference(share: f64) -> bool {
    share.abs() <= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_wider_than_its_value_says_nothing() {
        assert!(says_something(1.2, 1.1, 1.3));
        assert!(says_something(1.0, 0.41, 2.41));
        assert!(!says_something(2.1, 0.5, 8.8));
        assert!(!says_something(1.0, 0.0, f64::INFINITY));
        assert!(!says_something(f64::NAN, 0.0, 1.0));
        assert!(says_something(0.0, 0.0, 0.0), "nothing was counted, each time");
        assert!(is_difference(0.31) && !is_difference(3.1) && !is_difference(f64::NAN));
    }
}
