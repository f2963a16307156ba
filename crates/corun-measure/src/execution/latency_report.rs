//! Report of a kernel's process on the latencies of its work: a line of its output for each worker,
//! since histograms have no fixed size.
#![expect(clippy::disallowed_methods, reason = "another corun reads it")]

use std::collections::BTreeMap;
use std::io::Write;

use corun_record::Latency;
use corun_workload::{Histogram, Latencies};

use super::output::Capture;

/// Prefix of such a line.
const MARK: &str = "corun latencies: ";

/// Writes a worker's latencies to standard output, if it has any.
pub(super) fn write(latencies: &Latencies) {
    if latencies.is_empty() {
        return;
    }
    let text = serde_json::to_string(latencies).unwrap_or_default();
    // At once, so that the lines of threads do not mix; it goes to a file, so that no reader can be gone.
    let _ = std::io::stdout().lock().write_all(format!("{MARK}{text}\n").as_bytes());
}

/// The histograms of all workers, added up.
pub(super) fn read(captures: &[Capture]) -> BTreeMap<String, Latency> {
    let mut sums = Latencies::new();
    for capture in captures {
        let text = capture.text();
        let reported = text.lines().filter_map(|line| line.strip_prefix(MARK));
        for latencies in reported.filter_map(|line| serde_json::from_str::<Latencies>(line).ok()) {
            for (kind, histogram) in latencies {
                sums.entry(kind).or_default().add(&histogram);
            }
        }
    }
    sums.into_iter().map(|(kind, histogram)| (kind, summary(&histogram))).collect()
}

/// Summary of a histogram for a record.
pub(super) fn summary(histogram: &Histogram) -> Latency {
    Latency {
        count: Some(histogram.count()),
        p50_s: Some(histogram.quantile(0.5)),
        p90_s: Some(histogram.quantile(0.9)),
        p99_s: Some(histogram.quantile(0.99)),
        max_s: Some(histogram.longest()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn workers_are_added_up() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::from_micros(3));
        let latencies = Latencies::from([("ReadX".to_owned(), histogram)]);
        let line = format!("{MARK}{}\n", serde_json::to_string(&latencies).unwrap());
        let captures = [Capture::new().unwrap(), Capture::new().unwrap()];
        let write = |capture: &Capture, text: &str| {
            use std::os::fd::AsFd;
            let copy = capture.as_fd().try_clone_to_owned().unwrap();
            std::fs::File::from(copy).write_all(text.as_bytes()).unwrap();
        };
        write(&captures[0], &format!("noise\n{line}{line}"));
        write(&captures[1], &line);
        let read = read(&captures);
        assert_eq!(read["ReadX"].count, Some(3));
        assert!((read["ReadX"].p50_s.unwrap() / 3e-6 - 1.0).abs() < 2e-3);
    }
}
