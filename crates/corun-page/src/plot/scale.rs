//! From values to pixels, and the round values that an axis names.

/// An axis: the values from one end to the other, and the pixels that they lie at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    values: [f64; 2],
    pixels: [f64; 2],
    is_logarithmic: bool,
}

impl Scale {
    /// Equal differences are equally far apart.
    pub(crate) fn linear(values: [f64; 2], pixels: [f64; 2]) -> Self {
        Self { values, pixels, is_logarithmic: false }
    }

    /// Equal ratios are equally far apart; both ends are above 0.
    pub(crate) fn logarithmic(values: [f64; 2], pixels: [f64; 2]) -> Self {
        Self { values, pixels, is_logarithmic: true }
    }

    /// The pixel of a value; one beyond an end lies at the end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let [low, high] = self.values.map(|it| self.place(it));
        let span = high - low;
        let share = if span.abs() > 0.0 { (self.place(value) - low) / span } else { 0.5 };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }

    fn place(&self, value: f64) -> f64 {
        if self.is_logarithmic { value.max(f64::MIN_POSITIVE).ln() } else { value }
    }
}

/// About so many round values from one limit to the other: 1, 2 or 5 times a power of ten apart.
pub(crate) fn ticks([low, high]: [f64; 2], count: usize) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![low];
    }
    let step = round_step(span / count.max(1) as f64);
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    if last < first {
        return Vec::new();
    }
    (0..=(last - first).clamp(0.0, 100.0) as i64).map(|it| (first + it as f64) * step).collect()
}

/// 1, 2 and 5 times each power of ten between the limits; the powers alone where they are many.
pub(crate) fn decades([low, high]: [f64; 2]) -> Vec<f64> {
    let mut values = Vec::new();
    let powers = (low.log10().floor().max(-30.0) as i32)..=(high.log10().ceil().min(30.0) as i32);
    for power in powers {
        let digits: &[f64] = if high / low > 300.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        for digit in digits {
            let value = digit * 10_f64.powi(power);
            if (low..=high).contains(&value) {
                values.push(value);
            }
        }
    }
    values
}

fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= rough * 0.999);
    digit.unwrap_or(10.0) * power
}

/// Values as an axis names them, all with the decimals that tell them apart.
pub(crate) fn names(values: &[f64]) -> Vec<String> {
    let step = values.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let decimals = match step {
        step if step.is_finite() && step > 0.0 => (-step.log10() - 1e-9).ceil().clamp(0.0, 9.0),
        // A value alone has the digits that it needs.
        _ => {
            return values.iter().map(|value| format!("{}", (value * 1e4).round() / 1e4)).collect();
        }
    };
    values.iter().map(|value| format!("{value:.*}", decimals as usize)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round_and_named_alike() {
        let values = ticks([0.0, 1.3], 5);
        assert_eq!(names(&values), ["0.0", "0.5", "1.0"]);
        assert_eq!(names(&ticks([0.0, 92.0], 5)), ["0", "20", "40", "60", "80"]);
        assert_eq!(decades([3.0, 60.0]), [5.0, 10.0, 20.0, 50.0]);
    }

    proptest! {
        #[test]
        fn any_limits_have_few_ticks_within(low in -1e9..1e9, span in 1e-6..1e9, count in 1_usize..9) {
            let values = ticks([low, low + span], count);
            prop_assert!(values.len() <= 2 * count + 2, "{values:?}");
            for value in values {
                prop_assert!(value >= low - span * 1e-6 && value <= low + span * (1.0 + 1e-6));
            }
        }

        #[test]
        fn no_value_leaves_the_axis(value in proptest::num::f64::ANY) {
            let scale = Scale::linear([0.0, 10.0], [100.0, 200.0]);
            prop_assert!((100.0..=200.0).contains(&scale.at(value)));
            let scale = Scale::logarithmic([1.0, 10.0], [200.0, 100.0]);
            prop_assert!((100.0..=200.0).contains(&scale.at(value)));
        }
    }
}
