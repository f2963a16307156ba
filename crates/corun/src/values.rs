//! Values on the command line that are neither plain numbers nor plain text.

use std::ffi::OsString;
use std::time::Duration;

use clap::ValueEnum;
use corun_machine::CpuSet;
use corun_record::PageSize;
use regex::Regex;

/// Size of the pages of a simulated program's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pages {
    /// 4 KiB
    Small,
    /// 2 MiB
    Huge,
}

impl From<Pages> for PageSize {
    fn from(pages: Pages) -> Self {
        match pages {
            Pages::Small => Self::Small,
            Pages::Huge => Self::Huge,
        }
    }
}

/// `1%`, `0.5 %` or `0`, as a fraction.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn percentage(text: &str) -> Result<f64, String> {
    let expected = || format!("expected a percentage such as 1% or 0.5%, found \"{text}\"");
    let (number, has_sign) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text.trim(), false),
    };
    let value: f64 = number.parse().map_err(|_| expected())?;
    if !(0.0..1000.0).contains(&value) || (!has_sign && value != 0.0) {
        return Err(expected());
    }
    Ok(value / 100.0)
}

/// A number of instructions: `1000`, `10k`, `5M`, `2G`, and more than nothing.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    const FACTORS: [(char, u64); 3] = [('k', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    let expected = || format!("expected a count such as 1000, 500k, 10M or 2G, found \"{text}\"");
    let factor =
        FACTORS.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (digits, factor) = factor.unwrap_or((text, 1));
    let number: u64 = digits.parse().map_err(|_| expected())?;
    number.checked_mul(factor).filter(|&number| number > 0).ok_or_else(expected)
}

/// A number of copies, which is optional: the command that follows may have been taken for it.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn copies(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        format!(
            "expected a number of copies, or `--copies --` before the command, found \"{text}\""
        )
    })
}

/// As [`count`], or none at all.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn count_or_zero(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { count(text) }
}

/// `K:N`, a number of intervals, a million at most, and the length of each.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn samples(text: &str) -> Result<(u32, u64), String> {
    const MAX: u32 = 1_000_000;
    let expected = || {
        format!(
            "expected a number of intervals from 1 to {MAX} and their length, such as 10:5M, found \
             \"{text}\""
        )
    };
    let (count, length) = text.split_once(':').ok_or_else(expected)?;
    let count = count.parse().ok().filter(|count| (1..=MAX).contains(count));
    let count = count.ok_or_else(expected)?;
    Ok((count, self::count(length)?))
}

/// A command, split as a shell splits it.
#[derive(Debug, Clone)]
pub(crate) struct Words(pub(crate) Vec<OsString>);

/// A command in one argument; no shell runs it.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn words(text: &str) -> Result<Words, String> {
    let words = shell_words::split(text).map_err(|error| format!("{error} in \"{text}\""))?;
    match words.is_empty() {
        true => Err("expected a command, found nothing".to_owned()),
        false => Ok(Words(words.into_iter().map(OsString::from).collect())),
    }
}

/// A command in one argument, which a shell may have to read.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn line(text: &str) -> Result<String, String> {
    words(text).map(|_| text.to_owned())
}

/// Logical CPUs, one at least.
pub(crate) fn cpus(text: &str) -> Result<CpuSet, String> {
    let cpus = CpuSet::from_list(text).map_err(|error| error.to_string())?;
    match cpus.is_empty() {
        false => Ok(cpus),
        true => Err("expected a list of logical CPUs such as 1,4 or 0-3, found none".to_owned()),
    }
}

/// `90s`, `5m`, `1h 30m`, or a plain number of seconds, and more than nothing.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::try_from_secs_f64);
    match seconds.and_then(Result::ok).or_else(|| humantime::parse_duration(text).ok()) {
        Some(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(format!("expected a time such as 500ms, 90s or 5m, found \"{text}\"")),
    }
}

/// A regular expression with exactly one group.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn one_group(text: &str) -> Result<Regex, String> {
    let pattern = Regex::new(text).map_err(|error| error.to_string())?;
    match pattern.captures_len() - 1 {
        1 => Ok(pattern),
        groups => Err(format!(
            "expected one group around the number, as in 'score: ([0-9.]+)', found {groups} groups"
        )),
    }
}

/// More than that, in any unit, no simulation comes to the end of.
const LONGEST: f64 = 1e6;

/// A time that is simulated, in a unit that the option names.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn simulated_time(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= LONGEST => Ok(number),
        _ => Err(format!("expected a number above 0 and up to {LONGEST}, found \"{text}\"")),
    }
}

/// `NAME=VALUE`.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("expected NAME=VALUE, found \"{text}\"")),
    }
}

/// Load of other cores: a number from 0 to 1.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn load(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(load) if (0.0..=1.0).contains(&load) => Ok(load),
        _ => Err(format!("expected a number from 0 (idle) to 1 (as busy), found \"{text}\"")),
    }
}

/// The field of a model that such a load sets.
pub(crate) fn load_of_others(load: f64) -> (String, String) {
    ("hierarchy.load_of_others".to_owned(), load.to_string())
}

/// A size in bytes: `4096`, `4K`, `4KiB`, or in caches of this machine, `8xL3`.
///
/// # Errors
/// A sentence on what was expected.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    corun_workload::size(text)
        .filter(|&size| size > 0)
        .ok_or_else(|| format!("expected a size such as 4096, 4K, 4KiB or 8xL3, found \"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_need_their_sign() {
        assert_eq!(percentage("1%"), Ok(0.01));
        assert_eq!(percentage("0.5 %"), Ok(0.005));
        assert_eq!(percentage("0"), Ok(0.0));
        for wrong in ["", "%", "2", "-1%", "nan%", "inf%", "1%%"] {
            assert!(percentage(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds_and_is_not_nothing() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "0s", "0", "-5", "-1s", "inf", "nan", "1e300", "soon"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_have_units_and_stretches_a_length() {
        assert_eq!(count("500k"), Ok(500_000));
        for wrong in ["", "0", "0M", "-1", "1.5M", "1m", "18446744073709551616", "99999999999G"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
        assert_eq!(samples("1000000:2G"), Ok((1_000_000, 2_000_000_000)));
        for wrong in ["", "10", ":", "10:", ":5M", "0:5M", "10:0", "1000001:1", "1:2:3"] {
            assert!(samples(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_number_needs_a_group_of_its_own() {
        assert!(one_group("rate: ([0-9.]+)").is_ok());
        for wrong in ["rate", "(a)(b)", "(", "(?:x)"] {
            assert!(one_group(wrong).is_err(), "{wrong}");
        }
    }
}
