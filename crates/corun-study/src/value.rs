//! From what is typed for a figure to its value and the range that its digits leave.
//!
//! The digits count as they stand in the file: 2.60 is not 2.6, which may have been 2.56.

use toml::Spanned;

use crate::figure::Value;
use crate::file::FileFigure;
use crate::quantity::Quantity;
use crate::range::Range;

/// The value of a figure in the unit of its quantity, and its digits after the decimal point.
///
/// # Errors
/// The field, and what is allowed.
pub(crate) fn value(
    raw: &FileFigure,
    quantity: &Quantity,
    text: &str,
) -> Result<(Value, u32), String> {
    let given =
        [raw.value.is_some(), raw.range.is_some(), raw.workers_s.is_some(), raw.ratio.is_some()];
    let count = given.iter().filter(|&&given| given).count();
    match (raw.published, count) {
        (true, 1) => {}
        (false, 0) => return Ok((Value::Unpublished, 0)),
        (false, _) => {
            return Err("`published`: expected no value with false, found one".to_owned());
        }
        (true, count) => {
            return Err(format!(
                "expected one of `value`, `range`, `workers_s` and `ratio`, found {count} of them"
            ));
        }
    }
    if let Some(ratio) = &raw.ratio {
        return match is_positive(ratio.factor) {
            true => Ok((Value::Computed(ratio.clone()), 0)),
            false => Err("`ratio.factor`: expected a positive number".to_owned()),
        };
    }
    if raw.precision.is_some_and(|step| !(step.is_finite() && step >= 0.0)) {
        return Err("`precision`: expected a number from 0, the step of the last digit".to_owned());
    }
    let (field, numbers): (_, &[Spanned<f64>]) = match (&raw.value, &raw.range, &raw.workers_s) {
        (Some(value), ..) => ("value", std::slice::from_ref(value)),
        (_, Some(range), _) => ("range", range),
        (_, _, workers) => ("workers_s", workers.as_deref().unwrap_or_default()),
    };
    if numbers.is_empty() {
        return Err(format!("`{field}`: expected a positive number at least, found none"));
    }
    let digits = |number: &Spanned<f64>| Digits::of(&text[number.span()], raw.precision);
    let ranges = numbers.iter().map(|number| {
        let range = digits(number).range(*number.as_ref(), raw.is_truncated);
        range.map(|it| quantity.normal(it))
    });
    let ranges: Vec<Range> = ranges.collect();
    for (range, number) in ranges.iter().zip(numbers) {
        let found = number.as_ref();
        if !(range.value.is_finite() && range.value > 0.0) {
            let least = if *quantity == Quantity::Percent { "above -100" } else { "above 0" };
            return Err(format!("`{field}`: expected numbers {least}, found {found}"));
        }
        if range.low <= 0.0 {
            return Err(format!(
                "`precision`: expected less than leaves room for 0, found {found} with it"
            ));
        }
    }
    let typed = numbers.iter().map(|number| digits(number).decimals).max().unwrap_or_default();
    let decimals = if *quantity == Quantity::Percent { typed + 2 } else { typed };
    let value = match (field, &ranges[..]) {
        ("range", [low, high]) if low.value > high.value => {
            return Err("`range`: expected the smaller number first".to_owned());
        }
        // A published range is itself what is open; its own digits matter little.
        ("range", [low, high]) => Value::Number(Range {
            value: (low.value + high.value) / 2.0,
            low: low.value,
            high: high.value,
        }),
        ("workers_s", _) if !matches!(quantity, Quantity::Time("s", _)) => {
            return Err("`workers_s`: expected a time in s".to_owned());
        }
        ("workers_s", _) => Value::Workers(ranges),
        _ => Value::Number(ranges[0]),
    };
    Ok((value, decimals))
}

/// A published share in percent, and its digits after the decimal point.
///
/// # Errors
/// Allowed values.
pub(crate) fn share(
    typed: &Spanned<f64>,
    precision: Option<f64>,
    text: &str,
) -> Result<(Value, u32), String> {
    let number = *typed.as_ref();
    if !(number > 0.0 && number <= 100.0) {
        return Err(format!("`percent`: expected numbers above 0 up to 100, found {number}"));
    }
    let digits = Digits::of(&text[typed.span()], precision);
    Ok((Value::Number(digits.range(number, false)), digits.decimals))
}

pub(crate) fn is_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

/// Digits of a number as it was typed.
struct Digits {
    /// Digits after the decimal point.
    decimals: u32,
    /// Value of the last digit.
    step: f64,
}

impl Digits {
    /// As the number stands in the file, unless `precision` says what its last digit counts.
    fn of(typed: &str, precision: Option<f64>) -> Self {
        let (digits, exponent) = typed.split_once(['e', 'E']).unwrap_or((typed, "0"));
        let exponent: i32 = exponent.replace('_', "").parse().unwrap_or_default();
        let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
        let fraction = fraction.chars().filter(char::is_ascii_digit).count() as i32;
        let last = exponent.saturating_sub(fraction);
        let step = precision.unwrap_or_else(|| 10_f64.powi(last));
        // A precision of 0.01 says that 2.6 was published as 2.60.
        let finer = (1..=MAX_DECIMALS).find(|&count| step >= 10_f64.powi(-count) * (1.0 - 1e-9));
        let of_step = if step > 0.0 && step < 1.0 { finer.unwrap_or(MAX_DECIMALS) } else { 0 };
        let decimals = of_step.max(last.saturating_neg()).clamp(0, MAX_DECIMALS) as u32;
        Self { decimals, step }
    }

    /// Range of a number that was rounded, or cut, to these digits.
    fn range(&self, value: f64, is_truncated: bool) -> Range {
        match is_truncated {
            true => Range { value, low: value, high: value + self.step },
            false => Range { value, low: value - self.step / 2.0, high: value + self.step / 2.0 },
        }
    }
}

/// More than this a double cannot represent.
const MAX_DECIMALS: i32 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_count_as_they_are_typed() {
        let of = |typed, precision| {
            let Digits { decimals, step } = Digits::of(typed, precision);
            (decimals, step)
        };
        assert_eq!(of("2.60", None), (2, 0.01));
        assert_eq!(of("206", None), (0, 1.0));
        assert_eq!(of("2_048", None), (0, 1.0));
        assert_eq!(of("1.5e3", None), (0, 100.0));
        assert_eq!(of("1.5e-3", None), (4, 1e-4));
        assert_eq!(of("2.6", Some(0.01)), (2, 0.01));
        assert_eq!(of("2.60", Some(0.0)), (2, 0.0));
        assert_eq!(of("15", Some(1.0)), (0, 1.0));
        assert_eq!(of("nan", None), (0, 1.0));
        assert_eq!(of("1e99999999999", None), (0, 1.0));
        assert_eq!(of("1e-2147483648", None), (15, 0.0));
    }
}
