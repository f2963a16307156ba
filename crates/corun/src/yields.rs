//! `--yield`: the SMT yields that a range of capacity holds for.

use corun_monitor::yields_of;
use corun_record::{YieldRange, YieldSource};

use crate::keeping;
use crate::problem::Problem;

/// The largest yield that can be meant: no core has more logical CPUs.
const LARGEST: f64 = 64.0;

/// Value of `--yield`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Yields {
    /// These.
    Range(YieldRange),
    /// Those of the newest `corun capacity` that is kept of this host.
    Measured,
}

impl Yields {
    /// Reads `1.1..1.35`, one value, or `measured`.
    ///
    /// # Errors
    /// A sentence on what was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "measured" {
            return Ok(Self::Measured);
        }
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|it| (1.0..=LARGEST).contains(it));
        match (number(low), number(high)) {
            (Some(low), Some(high)) if low <= high => {
                Ok(Self::Range(YieldRange { low, high, source: YieldSource::Given }))
            }
            _ => Err(format!(
                "expected SMT yields from 1 to {LARGEST}, the lower one first, such as 1.1..1.35, or \"measured\", \
                 found \"{text}\""
            )),
        }
    }

    /// The yields themselves.
    ///
    /// # Errors
    /// If the store cannot be read, or has no capacity of this host.
    pub(crate) fn range(self) -> Result<YieldRange, Problem> {
        match self {
            Self::Range(range) => Ok(range),
            Self::Measured => {
                keeping::newest_capacity()?.as_ref().and_then(yields_of).ok_or_else(|| {
                    Problem::usage(
                        "expected a kept `corun capacity` of this host that gives its SMT yield, found none",
                        "Run `corun capacity` with your program first, or give the yields: --yield 1.1..1.35.",
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_are_a_range_from_1_up() {
        let range = |low, high| Yields::Range(YieldRange { low, high, source: YieldSource::Given });
        assert_eq!(Yields::parse("1.1..1.35"), Ok(range(1.1, 1.35)));
        assert_eq!(Yields::parse("1.2"), Ok(range(1.2, 1.2)));
        assert_eq!(Yields::parse("measured"), Ok(Yields::Measured));
        for wrong in
            ["", "..", "1.1..", "0.9..1.2", "1.3..1.2", "1..nan", "1..inf", "1..65", "1...2"]
        {
            assert!(Yields::parse(wrong).is_err(), "{wrong}");
        }
    }
}
