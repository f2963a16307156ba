//! Quantity of a figure, and its conversion to the form that figures are compared in.

use corun_record::Metric;

/// The unit of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantity {
    /// A time: the unit's name, and its length in seconds.
    Time(&'static str, f64),
    /// Work in a second, in the publication's own unit.
    Rate(String),
    /// A ratio, published as it is.
    Ratio,
    /// A ratio, published as the percentage by which it exceeds one.
    Percent,
    /// A share of a CPU, in percent.
    Share,
}

const TIMES: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];

impl Quantity {
    /// The quantity of a metric in this unit.
    ///
    /// # Errors
    /// Units of the metric.
    pub(crate) fn of(metric: Metric, unit: &str) -> Result<Self, String> {
        let expected = |what: &str| {
            Err(format!("`unit`: expected {what} for {}, found \"{unit}\"", metric.name()))
        };
        match metric {
            Metric::Makespan => match TIMES.iter().find(|(name, _)| *name == unit) {
                Some(&(name, seconds)) => Ok(Self::Time(name, seconds)),
                None => expected("one of s, ms, us, ns"),
            },
            Metric::Throughput => match unit.strip_suffix("/s") {
                Some(counted) if !counted.trim().is_empty() => Ok(Self::Rate(unit.to_owned())),
                _ => expected("what is counted in a second, such as jobs/s,"),
            },
            Metric::Figure | Metric::Rate | Metric::TimeShare | Metric::Latency => {
                Err(format!("`metric`: expected another than {}, use throughput", metric.name()))
            }
            _ => match unit {
                "1" => Ok(Self::Ratio),
                "percent" => Ok(Self::Percent),
                _ => expected("1 or percent"),
            },
        }
    }

    /// The unit of what is compared: percentages have become ratios.
    pub fn unit(&self) -> &str {
        match self {
            Self::Time(name, _) => name,
            Self::Rate(unit) => unit,
            Self::Ratio | Self::Percent => "1",
            Self::Share => "%",
        }
    }

    /// A published number in the unit of [`unit`](Self::unit).
    pub(crate) fn normal(&self, published: f64) -> f64 {
        match self {
            Self::Percent => 1.0 + published / 100.0,
            _ => published,
        }
    }
}
