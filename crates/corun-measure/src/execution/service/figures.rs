//! Figures that load generators report: quantiles, units of time, and the texts in which they stand.

use std::path::Path;
use std::str::FromStr;

use corun_files::InputKind;
use corun_record::Latency;
use regex::Regex;

use super::error::ServiceError;
use crate::execution::accounting::last_number;

/// A quantile that a record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    /// Half of the requests took no longer.
    P50,
    /// 90 % of them.
    P90,
    /// 99 % of them.
    P99,
    /// All of them.
    Max,
}

/// The unit of a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// s
    Seconds,
    /// ms
    Milliseconds,
    /// µs
    Microseconds,
    /// ns
    Nanoseconds,
}

/// The text of a file that the load writes.
pub(super) fn text_of(path: &Path) -> Result<String, ServiceError> {
    corun_files::text(path, InputKind::FIGURES)
        .map_err(|error| ServiceError::File { path: path.to_owned(), error })
}

impl Quantile {
    /// Every quantile, ascending.
    pub const ALL: [Self; 4] = [Self::P50, Self::P90, Self::P99, Self::Max];

    /// Name.
    pub fn name(self) -> &'static str {
        Latency::QUANTILES[self as usize]
    }

    /// Place in a record.
    pub(super) fn of(self, latency: &mut Latency) -> &mut Option<f64> {
        match self {
            Self::P50 => &mut latency.p50_s,
            Self::P90 => &mut latency.p90_s,
            Self::P99 => &mut latency.p99_s,
            Self::Max => &mut latency.max_s,
        }
    }
}

impl FromStr for Quantile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|quantile| quantile.name() == text).ok_or_else(|| {
            format!("expected one of {}, found \"{text}\"", Latency::QUANTILES.join(", "))
        })
    }
}

impl TimeUnit {
    /// Length in seconds.
    pub(super) fn seconds(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e-3,
            Self::Microseconds => 1e-6,
            Self::Nanoseconds => 1e-9,
        }
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "s" | "sec" => Ok(Self::Seconds),
            "ms" | "msec" => Ok(Self::Milliseconds),
            "us" | "usec" | "µs" | "μs" => Ok(Self::Microseconds),
            "ns" | "nsec" => Ok(Self::Nanoseconds),
            _ => Err(format!("expected a unit (s, ms, us, ns), found \"{text}\"")),
        }
    }
}

/// The last match's first group as a number, as throughput is read.
pub(super) fn number(pattern: &str, text: &str) -> Result<f64, String> {
    last_number(&Regex::new(pattern).map_err(|error| error.to_string())?, text)
}
