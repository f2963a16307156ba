//! The values that a user gives to a load's parameters.

use std::collections::BTreeMap;

use super::Parameter;

/// Values by name; every parameter has one.
#[derive(Debug, Clone)]
pub struct Values(BTreeMap<&'static str, String>);

/// Counts beyond this are refused.
const MAX_COUNT: u64 = 1_000_000_000;
const MAX_TASKS: u64 = 1_000_000;

impl Values {
    /// `jobs=8,work=10s`, and the defaults of what is not named.
    ///
    /// # Errors
    /// Sentence of what was expected and found.
    pub fn parse(parameters: &'static [Parameter], text: &str) -> Result<Self, String> {
        let defaults = parameters.iter().map(|it| (it.name, it.default.to_owned()));
        let mut values: BTreeMap<&str, String> = defaults.collect();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(place) = values.get_mut(name.trim()) else {
                let known: Vec<&str> = parameters.iter().map(|it| it.name).collect();
                return Err(format!(
                    "expected NAME=VALUE with a name of {}, found \"{pair}\"",
                    known.join(", ")
                ));
            };
            value.trim().clone_into(place);
        }
        Ok(Self(values))
    }

    /// A whole number from 1.
    ///
    /// # Errors
    /// Sentence of what was expected and found.
    pub fn count(&self, name: &str) -> Result<u64, String> {
        match self.number(name)? {
            0 => Err(format!("{name}: expected a whole number from 1, found 0")),
            count => Ok(count),
        }
    }

    /// A number of tasks, from 1 to a million.
    ///
    /// # Errors
    /// Sentence of what was expected and found.
    pub fn tasks(&self, name: &str) -> Result<usize, String> {
        self.tasks_from(1, name)
    }

    /// A number of tasks, from 0 to a million.
    ///
    /// # Errors
    /// Sentence of what was expected and found.
    pub fn tasks_or_none(&self, name: &str) -> Result<usize, String> {
        self.tasks_from(0, name)
    }

    fn tasks_from(&self, least: u64, name: &str) -> Result<usize, String> {
        let count = self.number(name)?;
        match (least..=MAX_TASKS).contains(&count) {
            true => Ok(count as usize),
            false => Err(format!(
                "{name}: expected a whole number from {least} to {MAX_TASKS}, found {count}"
            )),
        }
    }

    /// A whole number, 0 included.
    ///
    /// # Errors
    /// Sentence of what was expected and found.
    pub fn number(&self, name: &str) -> Result<u64, String> {
        let found = self.text(name);
        let number = found.parse().ok().filter(|&number| number <= MAX_COUNT);
        number.ok_or_else(|| {
            format!("{name}: expected a whole number up to {MAX_COUNT}, found \"{found}\"")
        })
    }

    /// A number from 0 to 1.
    ///
    /// # Errors
    /// Sentence of what was expected and found.
    pub fn share(&self, name: &str) -> Result<f64, String> {
        let found = self.text(name);
        let share = found.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| format!("{name}: expected a number from 0 to 1, found \"{found}\""))
    }

    /// A time such as `10ms`, in nanoseconds; 0 is one too.
    ///
    /// # Errors
    /// Sentence of what was expected and found.
    pub fn time(&self, name: &str) -> Result<u64, String> {
        time(self.text(name)).map_err(|error| format!("{name}: {error}"))
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// A time such as `10ms`, `1.5s` or `0`, in nanoseconds.
///
/// # Errors
/// Sentence of what was expected and found.
pub(super) fn time(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let expected = || format!("expected a time such as 250us, 10ms or 1.5s, found \"{text}\"");
    if text.trim() == "0" {
        return Ok(0);
    }
    let with_unit = UNITS.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let (number, scale) = with_unit.ok_or_else(expected)?;
    let number: f64 = number.trim().parse().map_err(|_| expected())?;
    let nanoseconds = number * scale;
    if (0.0..=1e15).contains(&nanoseconds) {
        Ok(nanoseconds.round() as u64)
    } else {
        Err(expected())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("1.5s"), Ok(1_500_000_000));
        assert_eq!(time("250us"), Ok(250_000));
        assert_eq!(time("0"), Ok(0));
        for wrong in ["", "1", "-1s", "nans", "1h", "1e99s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
