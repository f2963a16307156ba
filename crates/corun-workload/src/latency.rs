//! Latencies of the parts of a run, counted by length: small enough to be sent from a worker to the
//! caller that adds up all workers, and exact to three digits.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A histogram of durations for each kind of part.
pub type Latencies = BTreeMap<String, Histogram>;

/// Histogram of latencies of parts of the work (HdrHistogram, Gil Tene; 3 significant digits, 1 ns to 18 minutes).
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

const LONGEST_NS: u64 = 1 << 40;

impl Histogram {
    /// Without any part.
    pub fn new() -> Self {
        let bounded = hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, 3);
        Self(bounded.expect("bounds that the crate allows"))
    }

    /// Counts a part.
    pub fn record(&mut self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(LONGEST_NS);
        self.0.saturating_record(nanoseconds);
    }

    /// Adds the parts of another.
    pub fn add(&mut self, other: &Self) {
        self.0 += &other.0;
    }

    /// Number of parts.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time within which this share of the parts ended, in seconds; 0 without parts.
    pub fn quantile(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 * 1e-9
    }

    /// The longest part, in seconds.
    pub fn longest(&self) -> f64 {
        self.0.max() as f64 * 1e-9
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// As pairs of a length in nanoseconds and how many parts had it.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let recorded = self.0.iter_recorded();
        serializer.collect_seq(recorded.map(|it| (it.value_iterated_to(), it.count_at_value())))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Self::new();
        for (nanoseconds, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            histogram.0.record_n(nanoseconds.min(LONGEST_NS), count).map_err(D::Error::custom)?;
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_its_journey() {
        let mut histogram = Histogram::new();
        for microseconds in 1..=1000 {
            histogram.record(Duration::from_micros(microseconds));
        }
        let mut other = Histogram::new();
        other.record(Duration::from_secs(1 << 20));
        histogram.add(&other);
        let sent = serde_json::to_string(&histogram).unwrap();
        let received: Histogram = serde_json::from_str(&sent).unwrap();
        assert_eq!(received.count(), 1001);
        assert!((received.quantile(0.5) / 501e-6 - 1.0).abs() < 2e-3, "{}", received.quantile(0.5));
        assert!(received.longest() > 1000.0);
        assert_eq!(serde_json::to_string(&received).unwrap(), sent);
    }
}
