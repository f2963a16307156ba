//! Range of a published figure before it was rounded, and how that carries over to what is computed
//! from it: interval arithmetic of positive numbers.

/// A number and what its digits leave open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// As published, or as it follows from published values.
    pub value: f64,
    /// The smallest that would be published so.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Range {
    /// A number that nothing is open about.
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// Each of the three by a function that grows with its argument.
    pub(crate) fn map(self, grows: impl Fn(f64) -> f64) -> Self {
        Self { value: grows(self.value), low: grows(self.low), high: grows(self.high) }
    }

    /// The ratio of two.
    pub(crate) fn over(self, under: Self) -> Self {
        Self {
            value: self.value / under.value,
            low: self.low / under.high,
            high: self.high / under.low,
        }
    }

    /// 1 minus this.
    pub(crate) fn complement(self) -> Self {
        Self { value: 1.0 - self.value, low: 1.0 - self.high, high: 1.0 - self.low }
    }

    /// One of many, each of the three from those of all, by a function that grows with each.
    pub(crate) fn of_all(
        all: &[Self],
        grows: impl Fn(&mut dyn Iterator<Item = f64>) -> f64,
    ) -> Self {
        Self {
            value: grows(&mut all.iter().map(|it| it.value)),
            low: grows(&mut all.iter().map(|it| it.low)),
            high: grows(&mut all.iter().map(|it| it.high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_divided_by_counts_the_other_way() {
        let [two, four] =
            [[2.0, 1.5, 2.5], [4.0, 3.5, 4.5]].map(|[value, low, high]| Range { value, low, high });
        assert_eq!(two.over(four), Range { value: 0.5, low: 1.5 / 4.5, high: 2.5 / 3.5 });
        assert_eq!(two.complement(), Range { value: -1.0, low: -1.5, high: -0.5 });
        let sum = Range::of_all(&[two, four], |all| all.sum());
        assert_eq!(sum, Range { value: 6.0, low: 5.0, high: 7.0 });
    }
}
