//! Numbers as a person reads them: as many digits as the interval supports, units that fit.

use corun_record::Estimate;
use corun_stats::{TOO_UNCERTAIN, is_difference, percent, says_something};

/// A ratio with as many decimals as its interval supports, two to four.
pub fn ratio(estimate: &Estimate) -> String {
    match is_sensible(estimate) {
        true => format!("{:.*}", decimals(estimate), estimate.value),
        false => "-".to_owned(),
    }
}

/// The interval of a ratio: `1.22 to 1.26`.
pub fn interval(estimate: &Estimate) -> String {
    let decimals = decimals(estimate);
    match is_sensible(estimate) {
        true => format!("{:.decimals$} to {:.decimals$}", estimate.low, estimate.high),
        false => TOO_UNCERTAIN.to_owned(),
    }
}

/// Half the width of an interval: `± 1.2 %`.
pub fn half_width(estimate: &Estimate) -> String {
    match is_sensible(estimate) {
        true => format!("± {}", percent(estimate.half_width())),
        false => TOO_UNCERTAIN.to_owned(),
    }
}

/// A value with half the width of its interval: `18.4 s ± 1.2 %`.
pub fn with_half_width(value: String, estimate: &Estimate) -> String {
    match is_sensible(estimate) {
        true => format!("{value} {}", half_width(estimate)),
        false => format!("{value}, {TOO_UNCERTAIN}"),
    }
}

/// The difference between identical arms: `1.3 %`.
pub fn difference(share: f64) -> String {
    if is_difference(share) { percent(share) } else { TOO_UNCERTAIN.to_owned() }
}

/// A share of a whole, of which there is no more than all.
pub fn share(share: f64) -> String {
    percent(share.min(1.0))
}

/// True if an interval says something.
pub fn is_sensible(estimate: &Estimate) -> bool {
    says_something(estimate.value, estimate.low, estimate.high)
}

fn decimals(estimate: &Estimate) -> usize {
    match (estimate.high - estimate.low) / 2.0 {
        half if half < 0.0005 => 4,
        half if half < 0.005 => 3,
        _ => 2,
    }
}

/// A count, its thousands set apart: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group));
    groups.collect::<Vec<_>>().join(",")
}

/// A time with the unit that suits it: `62.5 ps`, `1.83 ns`, `612 ms`, `18.4 s`.
pub fn seconds(seconds: f64) -> String {
    prefixed(seconds, "s")
}

/// An energy with the unit that suits it: `1.83 nJ`, `18.4 J`.
pub fn joules(joules: f64) -> String {
    prefixed(joules, "J")
}

/// A quantity with the prefix that suits it, from pico to none.
fn prefixed(quantity: f64, unit: &str) -> String {
    let (scale, prefix) = match quantity.abs() {
        0.0 => return format!("0 {unit}"),
        size if size < 0.999_5e-9 => (1e12, "p"),
        size if size < 0.999_5e-6 => (1e9, "n"),
        size if size < 0.999_5e-3 => (1e6, "µ"),
        size if size < 0.999_5 => (1e3, "m"),
        _ => (1.0, ""),
    };
    format!("{} {prefix}{unit}", three_digits(quantity * scale))
}

/// A unit as people write it, from the plain letters of a file.
pub fn unit(plain: &str) -> &str {
    match plain {
        "us" => "µs",
        other => other,
    }
}

/// Three digits, or all those before the point.
pub fn three_digits(value: f64) -> String {
    // No negative zero.
    let value = value + 0.0;
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        // A small figure keeps two digits that say something.
        size if size > 0.0 && size < 0.0995 => {
            let decimals = (1.0 - size.log10().floor()) as usize;
            if decimals > 6 { format!("{value:.1e}") } else { format!("{value:.decimals$}") }
        }
        _ => format!("{value:.2}"),
    }
}

/// A size in the largest unit that gives a whole number, or one decimal of it.
pub fn size_text(bytes: u64) -> String {
    let (shift, unit) = match bytes {
        0x4000_0000.. => (30, "GiB"),
        0x10_0000.. => (20, "MiB"),
        0x400.. => (10, "KiB"),
        _ => (0, "B"),
    };
    let whole = bytes >> shift;
    if whole << shift == bytes {
        return format!("{whole} {unit}");
    }
    format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate { value, low: value - half, high: value + half, level: 0.95, blocks: 10 }
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(ratio(&estimate(1.24361, 0.02)), "1.24");
        assert_eq!(ratio(&estimate(1.24361, 0.002)), "1.244");
        assert_eq!(interval(&estimate(1.24361, 0.0002)), "1.2434 to 1.2438");
    }

    #[test]
    fn an_interval_that_says_nothing_is_not_shown() {
        let wide = Estimate { value: 2.1, low: 0.2, high: 22.0, level: 0.95, blocks: 2 };
        assert_eq!(ratio(&wide), "-");
        assert_eq!(interval(&wide), "too uncertain to say");
        assert_eq!(half_width(&wide), "too uncertain to say");
        assert_eq!(with_half_width("342 ms".to_owned(), &wide), "342 ms, too uncertain to say");
        assert_eq!(half_width(&estimate(2.0, 0.1)), "± 5.0 %");
        assert_eq!(difference(384.593), "too uncertain to say");
        assert_eq!(share(1.004), "100 %");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn small_rates_keep_their_digits() {
        let shown = [0.0, 0.0031, 0.08, 0.12, 5.0, 1e-9].map(three_digits);
        assert_eq!(shown, ["0.00", "0.0031", "0.080", "0.12", "5.00", "1.0e-9"]);
        assert_eq!(three_digits(-0.0), "0.00");
    }

    #[test]
    fn units_follow_the_size() {
        assert_eq!(seconds(62.46e-12), "62.5 ps");
        assert_eq!(seconds(1.829e-9), "1.83 ns");
        assert_eq!(seconds(0.6123), "612 ms");
        assert_eq!(seconds(0.9999), "1.00 s");
        assert_eq!((seconds(0.0), seconds(-0.0)), ("0 s".to_owned(), "0 s".to_owned()));
        assert_eq!(joules(3.1e-9), "3.10 nJ");
        assert_eq!(joules(1234.0), "1234 J");
        assert_eq!(percent(0.0043), "0.43 %");
        assert_eq!(percent(0.123), "12 %");
    }

    #[test]
    fn sizes_are_reported_in_the_unit_that_fits() {
        let reported = [64, 1 << 10, 12_288, 3 << 19, 1 << 30].map(size_text);
        assert_eq!(reported, ["64 B", "1 KiB", "12 KiB", "1.5 MiB", "1 GiB"]);
    }
}
