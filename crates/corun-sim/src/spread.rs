//! A figure over the phases of a placement.

/// A figure of several phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean over phases.
    pub mean: f64,
    /// The smallest of all phases.
    pub low: f64,
    /// The largest of all phases.
    pub high: f64,
}

impl Spread {
    /// Of one figure a phase.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut low, mut high) = (0, 0.0, f64::MAX, f64::MIN);
        for value in values {
            (count, sum) = (count + 1, sum + value);
            (low, high) = (f64::min(low, value), f64::max(high, value));
        }
        Self { mean: sum / f64::from(count.max(1)), low, high }
    }
}
