//! A figure with its spread.

/// A figure of repeated measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The middle one.
    pub median: f64,
    /// A tenth of the measurements is below.
    pub p10: f64,
    /// A tenth of them is above.
    pub p90: f64,
    /// Measurements that count.
    pub samples: usize,
}

impl Spread {
    /// Of these measurements; none of none.
    pub fn of(mut found: Vec<f64>) -> Option<Self> {
        found.sort_by(f64::total_cmp);
        let last = found.len().checked_sub(1)?;
        let quantile = |tenths: usize| found[(last * tenths + 5) / 10];
        let samples = found.len();
        Some(Self { median: quantile(5), p10: quantile(1), p90: quantile(9), samples })
    }

    /// A figure that has no spread.
    pub fn exact(value: f64) -> Self {
        Self { median: value, p10: value, p90: value, samples: 1 }
    }

    /// Each figure changed in the same rising or falling way.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        let (one, other) = (change(self.p10), change(self.p90));
        Self {
            median: change(self.median),
            p10: one.min(other),
            p90: one.max(other),
            samples: self.samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_lies_beyond_each_end() {
        let spread = Spread::of((0..=30).rev().map(f64::from).collect()).unwrap();
        assert_eq!((spread.p10, spread.median, spread.p90), (3.0, 15.0, 27.0));
        assert_eq!(Spread::of(Vec::new()), None);
        let turned = spread.map(|it| 1.0 / (1.0 + it));
        assert!(turned.p10 < turned.median && turned.median < turned.p90);
    }
}
