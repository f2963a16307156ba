//! Load generators that corun knows: what their reports look like, and what they must be asked for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use corun_record::Latency;
use corun_workload::Histogram;
use regex::Regex;

use super::figures::{Quantile, TimeUnit, number, text_of};
use crate::execution::latency_report::summary;

/// A load generator whose report corun reads by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// wrk, and wrk2 with its offered rate `-R`.
    Wrk,
    /// redis-benchmark; one test at a time.
    RedisBenchmark,
    /// pgbench, whose latencies stand in its log of transactions.
    Pgbench,
    /// memtier_benchmark.
    Memtier,
    /// ApacheBench, whose percentages stand in a file of their own with more digits.
    Ab,
}

/// Generators by their programs' names.
const NAMES: [(&str, Generator); 7] = [
    ("wrk", Generator::Wrk),
    ("wrk2", Generator::Wrk),
    ("redis-benchmark", Generator::RedisBenchmark),
    ("valkey-benchmark", Generator::RedisBenchmark),
    ("pgbench", Generator::Pgbench),
    ("memtier_benchmark", Generator::Memtier),
    ("ab", Generator::Ab),
];

/// The generator that a command starts, perhaps through another program such as `runuser`, and the
/// position of its name among the arguments.
pub fn recognised(argv: &[OsString]) -> Option<(Generator, usize)> {
    argv.iter().enumerate().find_map(|(position, argument)| {
        let name = Path::new(argument).file_name()?;
        let (_, generator) = NAMES.iter().find(|(known, _)| name == *known)?;
        Some((*generator, position))
    })
}

impl Generator {
    /// The names of all, for a sentence.
    pub fn names() -> String {
        NAMES.map(|(name, _)| name).join(", ")
    }

    /// Usual name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, generator)| *generator == self).map_or("", |(name, _)| name)
    }

    /// Noun for its requests.
    pub(super) fn requests(self) -> &'static str {
        match self {
            Self::Pgbench => "transactions",
            _ => "requests",
        }
    }

    /// The arguments that it needs to report latencies, unless the user has given others of the kind.
    pub(super) fn more_arguments(self, given: &[OsString], scratch: &Path) -> Vec<OsString> {
        let asks = |options: &[&str]| {
            given.iter().any(|argument| {
                options.iter().any(|option| argument.as_bytes().starts_with(option.as_bytes()))
            })
        };
        match self {
            Self::Wrk if !asks(&["--latency", "-L"]) => vec!["--latency".into()],
            Self::Pgbench if !asks(&["-l", "--log", "--aggregate-interval"]) => {
                let mut prefix = OsString::from("--log-prefix=");
                prefix.push(scratch.join(TRANSACTIONS));
                vec!["--log".into(), prefix]
            }
            Self::Ab if !asks(&["-e"]) => vec!["-e".into(), scratch.join(PERCENTAGES).into()],
            _ => Vec::new(),
        }
    }

    /// Requests per second, or what was found instead.
    pub(super) fn throughput(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Wrk => number(r"(?m)^Requests/sec:\s+([\d.]+)", text),
            Self::RedisBenchmark => {
                const RATE: &str = r"([\d.]+) requests per second";
                match matches(RATE, text) {
                    0 | 1 => number(RATE, text),
                    tests => {
                        Err(format!("{tests} tests, of which each needs a run of its own (-t get)"))
                    }
                }
            }
            Self::Pgbench => number(r"(?m)^tps = ([\d.]+)", text),
            Self::Memtier => number(r"(?m)^Totals\s+([\d.]+)", text),
            Self::Ab => number(r"(?m)^Requests per second:\s+([\d.]+)", text),
        }
    }

    /// Report on requests that got another answer than success.
    pub(super) fn failed_requests(text: &str) -> Option<String> {
        let failed = number(r"Non-2xx(?: or 3xx)? responses:\s+(\d+)", text).ok()?;
        Some(format!("{failed} answers that were none (another status than 2xx)"))
    }

    /// The latencies, of which a report may lack some.
    pub(super) fn latency(self, text: &str, scratch: &Path) -> Option<Latency> {
        let latency = match self {
            Self::Wrk => wrk(text),
            Self::RedisBenchmark => redis_benchmark(text),
            Self::Pgbench => pgbench(scratch),
            Self::Memtier => memtier(text),
            Self::Ab => ab(text, &text_of(&scratch.join(PERCENTAGES)).unwrap_or_default()),
        };
        (latency != Latency::default()).then_some(latency)
    }
}

/// pgbench's logs of transactions begin with this, one for each thread.
const TRANSACTIONS: &str = "transactions";
/// ab's file of percentages.
const PERCENTAGES: &str = "percentages.csv";

fn matches(pattern: &str, text: &str) -> usize {
    Regex::new(pattern).map_or(0, |pattern| pattern.find_iter(text).count())
}

/// A positive time in this unit, in seconds.
fn time(text: &str, unit: TimeUnit) -> Option<f64> {
    text.parse().ok().map(|number: f64| number * unit.seconds()).filter(|it| *it > 0.0)
}

fn count(pattern: &str, text: &str) -> Option<u64> {
    number(pattern, text).ok().map(|number| number as u64)
}

/// `50%  135.00us` and, of wrk2, `50.000%  135.00us`. wrk2 can print a second list, without the time
/// that requests waited to be sent: the first one counts.
fn wrk(text: &str) -> Latency {
    let first = |pattern: &str| {
        let groups = Regex::new(pattern).ok()?.captures(text)?;
        let (number, unit) = (groups.get(1)?.as_str(), groups.get(2)?.as_str());
        match unit {
            "m" => Some(time(number, TimeUnit::Seconds)? * 60.0),
            "h" => Some(time(number, TimeUnit::Seconds)? * 3600.0),
            unit => time(number, unit.parse().ok()?),
        }
    };
    let of =
        |percent: &str| first(&format!(r"(?m)^\s*{percent}(?:\.0+)?%\s+([\d.]+)(us|ms|s|m|h)\b"));
    Latency {
        count: count(r"(\d+) requests in", text),
        p50_s: of("50"),
        p90_s: of("90"),
        p99_s: of("99"),
        max_s: first(r"(?m)^\s+Latency\s+\S+\s+\S+\s+([\d.]+)(us|ms|s|m|h)\b"),
    }
}

/// A line of names and one of milliseconds below it; with `-q` the median alone.
fn redis_benchmark(text: &str) -> Latency {
    const SUMMARY: &str = r"avg\s+min\s+p50\s+p95\s+p99\s+max\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s+([\d.]+)\s+([\d.]+)";
    let groups = Regex::new(SUMMARY).ok().and_then(|pattern| pattern.captures(text));
    let of = |index: usize| time(groups.as_ref()?.get(index)?.as_str(), TimeUnit::Milliseconds);
    let quiet =
        || Some(number(r"p50=([\d.]+) msec", text).ok()? * TimeUnit::Milliseconds.seconds());
    Latency {
        count: count(r"(\d+) requests completed in", text),
        p50_s: of(1).or_else(quiet),
        p90_s: None,
        p99_s: of(2),
        max_s: of(3),
    }
}

/// Latencies by its logs, which have a line a transaction, the third number of which are
/// microseconds; under `--rate` they run from when the transaction was due.
fn pgbench(scratch: &Path) -> Latency {
    let mut histogram = Histogram::new();
    let files = std::fs::read_dir(scratch).into_iter().flatten().flatten();
    let is_log = |name: &OsString| name.as_bytes().starts_with(TRANSACTIONS.as_bytes());
    for file in files.filter(|file| is_log(&file.file_name())) {
        for line in text_of(&file.path()).unwrap_or_default().lines() {
            let third = line.split_ascii_whitespace().nth(2).and_then(|it| it.parse().ok());
            third.into_iter().for_each(|micros| histogram.record(Duration::from_micros(micros)));
        }
    }
    if histogram.count() == 0 { Latency::default() } else { summary(&histogram) }
}

/// A table with a column for each quantile, in milliseconds, and a row of totals.
fn memtier(text: &str) -> Latency {
    let columns = |line: &str| -> Vec<String> {
        line.trim()
            .split("  ")
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let line = |start: &str| text.lines().rfind(|line| line.starts_with(start)).map(columns);
    let (Some(names), Some(totals)) = (line("Type "), line("Totals ")) else {
        return Latency::default();
    };
    let of = |name: &str| {
        let column = names.iter().position(|it| it == name)?;
        time(totals.get(column)?, TimeUnit::Milliseconds)
    };
    Latency {
        count: None,
        p50_s: of("p50 Latency"),
        p90_s: of("p90 Latency"),
        p99_s: of("p99 Latency"),
        max_s: of("p100 Latency"),
    }
}

/// A line for each percentage, in milliseconds.
fn ab(text: &str, percentages: &str) -> Latency {
    let mut latency =
        Latency { count: count(r"Complete requests:\s+(\d+)", text), ..Latency::default() };
    for line in percentages.lines() {
        let Some((percentage, milliseconds)) = line.split_once(',') else { continue };
        let quantile = match percentage {
            "50" => Quantile::P50,
            "90" => Quantile::P90,
            "99" => Quantile::P99,
            "100" => Quantile::Max,
            _ => continue,
        };
        *quantile.of(&mut latency) = time(milliseconds.trim(), TimeUnit::Milliseconds);
    }
    latency
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_generator_is_found_behind_what_starts_it() {
        let started =
            recognised(&argv(&["runuser", "-u", "postgres", "--", "/usr/bin/pgbench", "-S"]));
        assert_eq!(started, Some((Generator::Pgbench, 4)));
        assert_eq!(recognised(&argv(&["bash", "load.sh"])), None);
    }

    #[test]
    fn what_reports_need_is_added_once() {
        let scratch = Path::new("/scratch");
        let more = |generator: Generator, given: &[&str]| {
            let more = generator.more_arguments(&argv(given), scratch);
            more.iter().map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(more(Generator::Wrk, &["wrk", "-d1", "URL"]), "--latency");
        assert_eq!(more(Generator::Wrk, &["wrk", "--latency", "URL"]), "");
        assert_eq!(
            more(Generator::Pgbench, &["pgbench"]),
            "--log --log-prefix=/scratch/transactions"
        );
        assert_eq!(more(Generator::Pgbench, &["pgbench", "-l"]), "");
        assert_eq!(more(Generator::Ab, &["ab", "URL"]), "-e /scratch/percentages.csv");
        assert_eq!(more(Generator::RedisBenchmark, &["redis-benchmark"]), "");
    }

    #[test]
    fn wrk_and_wrk2_print_percentages_with_units() {
        let text = "  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   154.78us  231.75us   4.39ms   98.47%
  Latency Distribution
     50%  135.00us
     90%  172.00us
     99%    1.12ms
  59916 requests in 1.10s, 13.71MB read
Requests/sec:  54459.78
";
        assert_eq!(Generator::Wrk.throughput(text), Ok(54_459.78));
        let latency = Generator::Wrk.latency(text, Path::new("")).unwrap();
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() / wanted - 1.0).abs() < 1e-9;
        assert!(near(latency.p50_s, 135e-6) && near(latency.p90_s, 172e-6), "{latency:?}");
        assert!(near(latency.p99_s, 1.12e-3) && near(latency.max_s, 4.39e-3), "{latency:?}");
        assert_eq!(latency.count, Some(59_916));
        let offered = " 50.000%    1.04ms\n 99.000%    1.21s \n 50.000%    1.00us\n";
        let latency = Generator::Wrk.latency(offered, Path::new("")).unwrap();
        assert!(near(latency.p50_s, 1.04e-3) && near(latency.p99_s, 1.21), "{latency:?}");
    }

    #[test]
    fn redis_benchmark_prints_milliseconds_of_one_test() {
        let text = "  20000 requests completed in 0.32 seconds
Summary:
  throughput summary: 62500.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.218     0.032     0.159     0.255     0.367    11.959
";
        assert_eq!(Generator::RedisBenchmark.throughput(text), Ok(62_500.0));
        let latency = Generator::RedisBenchmark.latency(text, Path::new("")).unwrap();
        assert_eq!(latency.p50_s, Some(0.159 * 1e-3));
        assert_eq!((latency.p99_s, latency.max_s), (Some(0.367 * 1e-3), Some(11.959 * 1e-3)));
        let quiet = "\rGET: 76628.35 requests per second, p50=0.159 msec\n";
        assert_eq!(Generator::RedisBenchmark.throughput(quiet), Ok(76_628.35));
        let two = format!("{quiet}{quiet}");
        assert!(Generator::RedisBenchmark.throughput(&two).unwrap_err().contains("2 tests"));
    }

    #[test]
    fn pgbench_logs_every_transaction_of_every_thread() {
        let folder = tempfile::tempdir().unwrap();
        let line = |micros: u32| format!("0 1 {micros} 0 1795677212 478077\n");
        let log =
            |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
        log("transactions.51", (1..=50).map(line).collect());
        log("transactions.51.1", (51..=100).map(line).collect::<String>() + "0 2 skipped 0 1 2\n");
        log("another", line(9_999_999));
        let text = "tps = 52101.144434 (without initial connection time)\n";
        assert_eq!(Generator::Pgbench.throughput(text), Ok(52_101.144_434));
        let latency = Generator::Pgbench.latency(text, folder.path()).unwrap();
        assert_eq!(latency.count, Some(100));
        assert!((latency.p99_s.unwrap() / 99e-6 - 1.0).abs() < 2e-3, "{latency:?}");
    }

    #[test]
    fn memtier_has_columns() {
        let text = "ALL STATS
==========
Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency       KB/sec
----------
Sets         4540.17          ---          ---         3.99943         3.00000        14.00000        16.00000       349.67
Totals      49934.48         0.00     45394.31         3.99910         3.10000        13.90000        15.90000      2117.61
";
        assert_eq!(Generator::Memtier.throughput(text), Ok(49_934.48));
        let latency = Generator::Memtier.latency(text, Path::new("")).unwrap();
        assert_eq!(latency.p50_s, Some(3.1 * 1e-3));
        assert_eq!(latency.p99_s, Some(13.9 * 1e-3));
    }

    #[test]
    fn ab_writes_percentages_and_counts_failures() {
        let folder = tempfile::tempdir().unwrap();
        let percentages = "Percentage served,Time in ms\n0,0.247\n50,0.498\n99,0.767\n100,0.868\n";
        std::fs::write(folder.path().join(PERCENTAGES), percentages).unwrap();
        let text =
            "Complete requests:      2000\nRequests per second:    16064.39 [#/sec] (mean)\n";
        assert_eq!(Generator::Ab.throughput(text), Ok(16_064.39));
        let latency = Generator::Ab.latency(text, folder.path()).unwrap();
        assert_eq!((latency.count, latency.p99_s), (Some(2000), Some(0.767 * 1e-3)));
        assert_eq!(Generator::failed_requests(text), None);
        assert!(Generator::failed_requests("Non-2xx responses:      7\n").is_some());
    }
}
