//! Interval logs of HdrHistogram (version 2, compressed or not), as many load generators write them.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use corun_record::Latency;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::error::ServiceError;
use super::figures::{TimeUnit, text_of};

/// The latencies of all intervals of the log together.
pub(super) fn read(path: &Path, unit: TimeUnit) -> Result<Latency, ServiceError> {
    let text = text_of(path)?;
    sum(&text).map(|histogram| summary(&histogram, unit)).map_err(|found| ServiceError::NoFigure {
        what: "latencies".to_owned(),
        place: format!("an interval log of HdrHistogram in {}", corun_record::shown(path)),
        found,
        output: String::new(),
    })
}

fn sum(text: &str) -> Result<Histogram<u64>, String> {
    let mut sum = Histogram::<u64>::new(3).map_err(|error| error.to_string())?;
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        let LogEntry::Interval(interval) = entry.map_err(|error| format!("{error:?}"))? else {
            continue;
        };
        let bytes = BASE64_STANDARD
            .decode(interval.encoded_histogram())
            .map_err(|error| format!("an interval that is no base64 ({error})"))?;
        let histogram: Histogram<u64> = deserializer
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("an interval that cannot be read ({error})"))?;
        sum.add(&histogram).map_err(|error| error.to_string())?;
    }
    if sum.is_empty() { Err("no interval with a value".to_owned()) } else { Ok(sum) }
}

fn summary(histogram: &Histogram<u64>, unit: TimeUnit) -> Latency {
    let seconds = |value: u64| Some(value as f64 * unit.seconds());
    Latency {
        count: Some(histogram.len()),
        p50_s: seconds(histogram.value_at_quantile(0.5)),
        p90_s: seconds(histogram.value_at_quantile(0.9)),
        p99_s: seconds(histogram.value_at_quantile(0.99)),
        max_s: seconds(histogram.max()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hdrhistogram::serialization::V2DeflateSerializer;
    use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

    use super::*;

    /// A log of two intervals: 1 to 500 µs, and 501 to 1000 µs.
    fn log() -> String {
        let mut text = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut writer =
            IntervalLogWriterBuilder::new().begin_log_with(&mut text, &mut serializer).unwrap();
        for first in [1, 501] {
            let mut histogram = Histogram::<u64>::new(3).unwrap();
            (first..first + 500).for_each(|value| histogram.record(value).unwrap());
            let at = Duration::from_secs(first);
            writer.write_histogram(&histogram, at, Duration::from_secs(1), None).unwrap();
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn intervals_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.hlog");
        std::fs::write(&path, log()).unwrap();
        let latency = read(&path, TimeUnit::Microseconds).unwrap();
        assert_eq!(latency.count, Some(1000));
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() / wanted - 1.0).abs() < 2e-3;
        assert!(near(latency.p50_s, 500e-6) && near(latency.p99_s, 990e-6), "{latency:?}");
        assert!(near(latency.max_s, 1000e-6), "{latency:?}");
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for text in ["", "#only a comment\n", "1,2,3,####\n", "Tag=t,0.1,1.0,2.7,AAAA\n"] {
            assert!(sum(text).is_err(), "{text}");
        }
    }
}
