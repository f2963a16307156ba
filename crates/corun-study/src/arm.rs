//! An arm as a study names it: a placement whose number of workers may follow the machine's size, so
//! that "twelve threads on six cores" is two a core anywhere.

use std::fmt;
use std::str::FromStr;

use corun_record::{Placement, SmtState};
use serde::{Deserialize, Deserializer};

/// A placement, perhaps with a number that follows the machine, perhaps with SMT off:
/// `spread`, `free@2C`, `free@L+1`, `free@20/smt-off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StudyArm {
    /// The placement, its number left out.
    shape: Placement,
    /// Number of cores or workers.
    amount: Option<Amount>,
    /// True if it runs with SMT switched off.
    pub is_smt_off: bool,
}

/// A number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// So many of `unit`.
    times: u32,
    unit: Unit,
    /// And so many more.
    more: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// A worker.
    One,
    /// C, the cores in use.
    Cores,
    /// L, their logical CPUs.
    LogicalCpus,
}

impl StudyArm {
    /// The placement on a machine with so many cores and logical CPUs in use.
    pub fn placement(&self, cores: u32, logical_cpus: u32) -> Placement {
        let Some(amount) = self.amount else { return self.shape };
        let number = Some(amount.count(cores, logical_cpus));
        match self.shape {
            Placement::Spread(_) => Placement::Spread(number),
            Placement::Full(_) => Placement::Full(number),
            Placement::Free(_) => Placement::Free(number),
            other => other,
        }
    }

    /// The placement, its number left out.
    pub(crate) fn shape(&self) -> Placement {
        self.shape
    }

    /// The state of SMT that the name asks for.
    pub fn smt(&self) -> SmtState {
        if self.is_smt_off { SmtState::Off } else { SmtState::On }
    }

    /// The placement in the other state of SMT.
    pub fn with_smt(self, state: SmtState) -> Self {
        Self { is_smt_off: state == SmtState::Off, ..self }
    }
}

impl Amount {
    fn count(self, cores: u32, logical_cpus: u32) -> u32 {
        let unit = match self.unit {
            Unit::One => 1,
            Unit::Cores => cores,
            Unit::LogicalCpus => logical_cpus,
        };
        self.times.saturating_mul(unit).saturating_add(self.more)
    }
}

/// A text that names no arm of a study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an arm (single, spread, spread@N, full, full@K, packed, stacked, free or free@N, where \
     N is a number such as 20, C or 2C for one or two a core, L for one a logical CPU, L+1; perhaps \
     with /smt-off), found \"{0}\""
)]
pub struct UnknownArm(pub String);

impl FromStr for StudyArm {
    type Err = UnknownArm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownArm(text.to_owned());
        let (name, is_smt_off) = match text.strip_suffix("/smt-off") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let (shape, amount) = match name.split_once('@') {
            None => (name, None),
            Some((shape, amount)) => (shape, Some(amount.parse().map_err(|()| unknown())?)),
        };
        let shape: Placement = shape.parse().map_err(|_| unknown())?;
        let takes_a_number =
            matches!(shape, Placement::Spread(_) | Placement::Full(_) | Placement::Free(_));
        if amount.is_some() && !takes_a_number {
            return Err(unknown());
        }
        Ok(Self { shape, amount, is_smt_off })
    }
}

impl FromStr for Amount {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (main, more) = match text.split_once('+') {
            None => (text, 0),
            Some((main, more)) => (main, more.parse().map_err(drop)?),
        };
        let (digits, unit) = match main.strip_suffix('C') {
            Some(digits) => (digits, Unit::Cores),
            None => match main.strip_suffix('L') {
                Some(digits) => (digits, Unit::LogicalCpus),
                None => (main, Unit::One),
            },
        };
        let times = match (digits, unit) {
            ("", Unit::Cores | Unit::LogicalCpus) => 1,
            _ => digits.parse().ok().filter(|&times| times > 0).ok_or(())?,
        };
        Ok(Self { times, unit, more })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.times, self.unit) {
            (times, Unit::One) => write!(out, "{times}")?,
            (1, Unit::Cores) => write!(out, "C")?,
            (1, Unit::LogicalCpus) => write!(out, "L")?,
            (times, Unit::Cores) => write!(out, "{times}C")?,
            (times, Unit::LogicalCpus) => write!(out, "{times}L")?,
        }
        match self.more {
            0 => Ok(()),
            more => write!(out, "+{more}"),
        }
    }
}

impl fmt::Display for StudyArm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.shape)?;
        if let Some(amount) = self.amount {
            write!(out, "@{amount}")?;
        }
        if self.is_smt_off { write!(out, "/smt-off") } else { Ok(()) }
    }
}

impl<'de> Deserialize<'de> for StudyArm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_follow_the_machine() {
        let on = |text: &str| text.parse::<StudyArm>().unwrap().placement(6, 12).to_string();
        assert_eq!(on("free@2C"), "free@12");
        assert_eq!(on("free@C"), "free@6");
        assert_eq!(on("free@L+1"), "free@13");
        assert_eq!(on("free@20/smt-off"), "free@20");
        assert_eq!(on("spread@2"), "spread@2");
        assert_eq!(on("packed"), "packed");
    }

    #[test]
    fn every_arm_survives_its_text() {
        for text in ["single", "spread@2", "full", "free@2C", "free@L+1", "free@20/smt-off"] {
            assert_eq!(text.parse::<StudyArm>().unwrap().to_string(), text);
        }
        for text in ["", "fast", "free@", "free@0", "free@0C", "single@2", "free@C+", "free@-1"] {
            let error = text.parse::<StudyArm>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("found \"{text}\"")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = text.parse::<StudyArm>().map(|arm| arm.placement(u32::MAX, u32::MAX));
        }
    }
}
