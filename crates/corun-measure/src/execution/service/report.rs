//! Figures that a load generator measured, read from its output or from files that it writes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use corun_record::Latency;
use regex::Regex;
use serde_json::Value;

use super::error::ServiceError;
use super::figures::{Quantile, TimeUnit, text_of};
use super::generators::Generator;
use super::hdr_log;
use crate::execution::accounting::positive;

/// Report of a load on what it measured.
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// The generator, where corun knows how it reports; what is named below comes first.
    pub generator: Option<Generator>,
    /// Location of its throughput.
    pub throughput: Option<Location>,
    /// Source of its latencies.
    pub latency: LatencySource,
    /// The file that the figures are read from, instead of the load's output.
    pub file: Option<PathBuf>,
}

/// Location of a number.
#[derive(Debug, Clone)]
pub enum Location {
    /// In the first group of the last match; a second group is the unit.
    Text(Regex),
    /// At a JSON pointer (RFC 6901), whose keys may hold slashes here.
    Json(String),
}

/// Source of latencies.
#[derive(Debug, Clone, Default)]
pub enum LatencySource {
    /// Output of a known generator, if that has them.
    #[default]
    Generator,
    /// Each at a place of its own, in this unit where it names none.
    Quantiles(Vec<(Quantile, Location)>, TimeUnit),
    /// In an interval log of HdrHistogram whose values have this unit.
    HdrLog(PathBuf, TimeUnit),
}

/// Figures that a load measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    pub throughput: f64,
    pub latency: Option<Latency>,
}

impl LoadReport {
    /// Noun for requests.
    pub fn requests(&self) -> &'static str {
        self.generator.map_or("requests", Generator::requests)
    }

    /// The files that a load writes for its user, as they are now.
    pub(super) fn files(&self) -> Vec<LoadFile> {
        let log = match &self.latency {
            LatencySource::HdrLog(path, _) => Some(path),
            LatencySource::Generator | LatencySource::Quantiles(..) => None,
        };
        self.file.iter().chain(log).cloned().map(LoadFile::new).collect()
    }

    /// The figures of a load that wrote this, and its files into `scratch`.
    pub(super) fn read(&self, output: &str, scratch: &Path) -> Result<Figures, ServiceError> {
        let text = match &self.file {
            Some(path) => text_of(path)?,
            None => output.to_owned(),
        };
        let missing = |what: &str, place: String, found: String| ServiceError::NoFigure {
            what: what.to_owned(),
            place,
            found,
            output: text.clone(),
        };
        if let Some(failed) = self.generator.and_then(|_| Generator::failed_requests(&text)) {
            return Err(missing("successful requests", "in its own account".into(), failed));
        }
        let throughput = match (&self.throughput, self.generator) {
            (Some(location), _) => {
                location
                    .find(&text)
                    .and_then(|found| positive(&found.number))
                    .map_err(|found| missing("a throughput", location.to_string(), found))?
            }
            (None, Some(generator)) => generator.throughput(&text).map_err(|found| {
                missing("a throughput", format!("as {} reports it", generator.name()), found)
            })?,
            (None, None) => return Err(missing("a throughput", "nowhere".into(), "none".into())),
        };
        let latency = match &self.latency {
            LatencySource::Generator => {
                self.generator.and_then(|generator| generator.latency(&text, scratch))
            }
            LatencySource::HdrLog(path, unit) => Some(hdr_log::read(path, *unit)?),
            LatencySource::Quantiles(places, unit) => {
                let mut latency = Latency::default();
                for (quantile, location) in places {
                    let seconds = location.seconds(&text, *unit).map_err(|found| {
                        missing(
                            &format!("a {} latency", quantile.name()),
                            location.to_string(),
                            found,
                        )
                    })?;
                    *quantile.of(&mut latency) = Some(seconds);
                }
                Some(latency)
            }
        };
        Ok(Figures { throughput, latency })
    }
}

/// A file that a load writes, which may still hold what another run wrote.
pub(super) struct LoadFile {
    path: PathBuf,
    written: Option<SystemTime>,
}

impl LoadFile {
    fn new(path: PathBuf) -> Self {
        let written = path.metadata().and_then(|metadata| metadata.modified()).ok();
        Self { path, written }
    }

    /// Refuses a file that was not written since.
    pub(super) fn check_written(self) -> Result<(), ServiceError> {
        let before = self.written;
        let now = Self::new(self.path);
        if before.is_none() || now.written != before {
            return Ok(());
        }
        Err(ServiceError::NoFigure {
            what: "figures".to_owned(),
            place: format!("in {}", corun_record::shown(&now.path)),
            found: "a file that it did not write in this run".to_owned(),
            output: String::new(),
        })
    }
}

/// A number as it was found, with its unit where that stood beside it.
struct RawNumber {
    number: String,
    unit: Option<String>,
}

impl Location {
    fn find(&self, text: &str) -> Result<RawNumber, String> {
        match self {
            Self::Text(pattern) => {
                let groups = pattern.captures_iter(text).last().ok_or("no match")?;
                let group = |index| groups.get(index).map(|it| it.as_str().to_owned());
                Ok(RawNumber { number: group(1).ok_or("no match")?, unit: group(2) })
            }
            Self::Json(pointer) => {
                let json = json_in(text).ok_or("no JSON")?;
                let value = at(&json, pointer).ok_or("no such value")?;
                let number = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Ok(RawNumber { number, unit: None })
            }
        }
    }

    fn seconds(&self, text: &str, unit: TimeUnit) -> Result<f64, String> {
        let found = self.find(text)?;
        let unit = match &found.unit {
            Some(named) => named.parse()?,
            None => unit,
        };
        Ok(positive(&found.number)? * unit.seconds())
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(pattern) => {
                write!(formatter, "a positive number where \"{pattern}\" matches")
            }
            Self::Json(pointer) => {
                write!(formatter, "a positive number at \"{pointer}\" of its JSON")
            }
        }
    }
}

/// The JSON document in a text that may have other lines around it.
fn json_in(text: &str) -> Option<Value> {
    let (begin, end) = (text.find(['{', '['])?, text.rfind(['}', ']'])?);
    serde_json::from_str(text.get(begin..=end)?).ok()
}

/// The value at a pointer. A key may hold slashes, as `Ops/sec` does: the longest key that is there
/// counts.
fn at<'a>(json: &'a Value, pointer: &str) -> Option<&'a Value> {
    if let Some(value) = json.pointer(pointer) {
        return Some(value);
    }
    let path = pointer.strip_prefix('/')?;
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| {
        let value = json.get(&path[..end])?;
        if end == path.len() { Some(value) } else { at(value, &path[end..]) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pattern: &str) -> Location {
        Location::Text(Regex::new(pattern).unwrap())
    }

    fn read(report: &LoadReport, output: &str) -> Result<Figures, ServiceError> {
        report.read(output, Path::new("/nowhere"))
    }

    #[test]
    fn numbers_are_read_by_expression_with_their_units() {
        let latency = vec![
            (Quantile::P50, text(r"median ([\d.]+)")),
            (Quantile::P99, text(r"p99 ([\d.]+) (\S+)")),
        ];
        let report = LoadReport {
            throughput: Some(text(r"rate ([\d.,]+)")),
            latency: LatencySource::Quantiles(latency, TimeUnit::Milliseconds),
            ..LoadReport::default()
        };
        let figures = read(&report, "rate 1\nrate 12,000.5\nmedian 2\np99 300 us\n").unwrap();
        assert_eq!(figures.throughput, 12_000.5);
        let latency = figures.latency.unwrap();
        assert_eq!((latency.p50_s, latency.p99_s, latency.max_s), (Some(2e-3), Some(300e-6), None));
        let error = read(&report, "rate 5\nmedian 2\np99 3 weeks\n").unwrap_err().to_string();
        assert!(error.contains("p99 latency") && error.contains("weeks"), "{error}");
        let error = read(&report, "median 2\n").unwrap_err().to_string();
        assert!(error.contains("a throughput") && error.contains("no match"), "{error}");
    }

    #[test]
    fn what_another_run_wrote_is_no_figure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures");
        let report = LoadReport { file: Some(path.clone()), ..LoadReport::default() };
        let check = |files: Vec<LoadFile>| files.into_iter().try_for_each(LoadFile::check_written);
        assert!(check(report.files()).is_ok(), "reading it says that it is not there");
        std::fs::write(&path, "old").unwrap();
        let before = report.files();
        let error = check(before).unwrap_err().to_string();
        assert!(error.contains("did not write in this run"), "{error}");
        let before = report.files();
        let later = SystemTime::now() + std::time::Duration::from_secs(9);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(check(before).is_ok());
    }

    #[test]
    fn json_pointers_may_have_keys_with_slashes() {
        let report = LoadReport {
            throughput: Some(Location::Json("/ALL STATS/Totals/Ops/sec".into())),
            latency: LatencySource::Quantiles(
                vec![(Quantile::P99, Location::Json("/ALL STATS/Totals/p99.00".into()))],
                TimeUnit::Milliseconds,
            ),
            ..LoadReport::default()
        };
        let output = r#"starting
            {"ALL STATS": {"Totals": {"Ops/sec": 512.5, "p99.00": "1.5"}}}
            done"#;
        let figures = read(&report, output).unwrap();
        assert_eq!(figures.throughput, 512.5);
        assert_eq!(figures.latency.unwrap().p99_s, Some(1.5e-3));
        for output in
            ["no JSON", r#"{"ALL STATS": {}}"#, r#"{"ALL STATS": {"Totals": {"Ops/sec": 0}}}"#]
        {
            assert!(read(&report, output).is_err(), "{output}");
        }
    }
}
