//! Numbers as people type them: counts and sizes. Only whole numbers, so that what is recorded is
//! exactly what was run.

/// Reads a count: decimal digits, optionally grouped by `_`, optionally with a power of ten.
pub(crate) fn parse_count(text: &str) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<u8>().ok()?),
        None => (text, 0),
    };
    parse_digits(mantissa)?.checked_mul(10_u64.checked_pow(exponent.into())?)
}

/// Reads a size in bytes: digits, optionally with `K`, `M`, `G` or `T` (or `KiB` and so on), always
/// powers of 1024. `KB` is refused, since it means 1000 to some and 1024 to others.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return None,
    };
    parse_digits(digits)?.checked_mul(1 << shift)
}

/// Writes a size in the largest unit that gives a whole number; [`parse_size`] reads it back.
pub(crate) fn format_size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    units
        .iter()
        .find(|(shift, _)| bytes != 0 && bytes.is_multiple_of(1 << shift))
        .map_or_else(|| format!("{bytes} B"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

fn parse_digits(text: &str) -> Option<u64> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.ends_with('_') {
        return None;
    }
    text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_are_read_as_people_write_them() {
        for (text, expected) in [
            ("0", Some(0)),
            ("300000", Some(300_000)),
            ("300_000", Some(300_000)),
            ("1e9", Some(1_000_000_000)),
            ("3E5", Some(300_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1e20", None),
            ("1e255", None),
            ("1e256", None),
            ("0e19", Some(0)),
            ("", None),
            ("e9", None),
            ("1e", None),
            ("1e-1", None),
            ("-1", None),
            ("+1", None),
            ("_1", None),
            ("1_", None),
            ("1.5", None),
            ("4K", None),
        ] {
            assert_eq!(parse_count(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("4096B", Some(4096)),
            ("4K", Some(4096)),
            ("4KiB", Some(4096)),
            ("4 kib", Some(4096)),
            ("1M", Some(1 << 20)),
            ("1_024M", Some(1 << 30)),
            ("2GiB", Some(2 << 30)),
            ("16777215T", Some(16_777_215 << 40)),
            ("16777216T", None),
            ("4KB", None),
            ("K", None),
            ("4 K B", None),
            ("1e6", None),
            ("4µB", None),
            ("٤", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_number_is_read_back(number: u64) {
            prop_assert_eq!(parse_count(&number.to_string()), Some(number));
            prop_assert_eq!(parse_size(&number.to_string()), Some(number));
            prop_assert_eq!(parse_size(&format_size(number)), Some(number));
        }

        #[test]
        fn round_sizes_are_read_back(number in 0_u64..1 << 24, shift in 0..40_u32) {
            prop_assert_eq!(parse_size(&format_size(number << shift)), Some(number << shift));
        }

        #[test]
        fn powers_of_ten_multiply(mantissa in 0..10_u64, exponent in 0..19_u32) {
            let text = format!("{mantissa}e{exponent}");
            prop_assert_eq!(parse_count(&text), Some(mantissa * 10_u64.pow(exponent)));
        }

        #[test]
        fn no_text_panics(text: String, digits in "[0-9_eEkKmMiIbB ]{0,24}") {
            for text in [text, digits] {
                let _ = (parse_count(&text), parse_size(&text));
            }
        }
    }
}
