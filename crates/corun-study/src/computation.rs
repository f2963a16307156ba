//! What corun computes from published figures: ratios that follow from two of them, and the few
//! kinds of sums that show what a conclusion rests on.

use corun_record::Published;
use serde::Deserialize;

use crate::study::{Study, Value};

/// A ratio of two figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatioOf {
    /// The figure above the line.
    pub of: String,
    /// The figure below it.
    pub over: String,
    /// A constant factor, for instance 2 where one side did twice the work.
    #[serde(default = "one")]
    pub factor: f64,
    /// What stands for a figure that has a time for each worker.
    #[serde(default)]
    pub by: By,
}

/// What stands for the times of several workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The largest: the time until the last worker ended.
    #[default]
    Makespan,
    /// Their mean.
    Mean,
}

/// A sum over published figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Computation {
    /// A ratio, with the range that the published digits leave.
    Ratio(RatioOf),
    /// The geometric mean of these.
    GeometricMean {
        /// The members.
        of: Vec<String>,
    },
    /// What `member` would have to be for `mean` to be the geometric mean of it and the others.
    MissingMember {
        /// The figure in doubt.
        member: String,
        /// The published mean.
        mean: String,
        /// The other members.
        others: Vec<String>,
    },
    /// How many calls are behind a rate: rate x seconds / operations credited for a call.
    Calls {
        /// The rate.
        of: String,
        /// The length of the test, in seconds.
        seconds: f64,
        /// Operations credited for one call.
        credit: f64,
    },
    /// How much of something is used.
    Share {
        /// What is used.
        part: f64,
        /// What there is.
        whole: f64,
        /// What is counted.
        unit: String,
    },
    /// 1 - `new`/`old`, the time saved, beside `old`/`new` - 1, the work gained.
    TimeSaved {
        /// The time after.
        new: String,
        /// The time before.
        old: String,
    },
}

impl RatioOf {
    /// The ratio, and the range that the published digits leave.
    pub(crate) fn published(&self, study: &Study) -> Published {
        let figure = |id: &str| study.figure(id).expect("references were checked on loading");
        let [of, over] = [&self.of, &self.over].map(|id| match &figure(id).value {
            Value::Computed(_) => study.published_of(id),
            typed => typed.published(self.by),
        });
        Published {
            value: self.factor * of.value / over.value,
            low: self.factor * of.low / over.high,
            high: self.factor * of.high / over.low,
            computed: true,
        }
    }
}

impl By {
    /// What stands for these.
    pub(crate) fn of(self, seconds: &[f64]) -> f64 {
        match self {
            Self::Makespan => seconds.iter().copied().fold(0.0, f64::max),
            Self::Mean => seconds.iter().sum::<f64>() / seconds.len() as f64,
        }
    }
}

impl Computation {
    /// The figures it refers to, each with the name of the field.
    pub(crate) fn references(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Ratio(ratio) => vec![("of", ratio.of.as_str()), ("over", &ratio.over)],
            Self::GeometricMean { of } => of.iter().map(|id| ("of", id.as_str())).collect(),
            Self::MissingMember { member, mean, others } => {
                let others = others.iter().map(|id| ("others", id.as_str()));
                [("member", member.as_str()), ("mean", mean)].into_iter().chain(others).collect()
            }
            Self::Calls { of, .. } => vec![("of", of)],
            Self::Share { .. } => Vec::new(),
            Self::TimeSaved { new, old } => vec![("new", new), ("old", old)],
        }
    }

    /// What is wrong with a number of it that something is divided by.
    pub(crate) fn wrong_number(&self) -> Option<&'static str> {
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        match self {
            Self::Ratio(ratio) if !is_positive(ratio.factor) => {
                Some("`factor`: expected a positive number")
            }
            Self::GeometricMean { of } if of.is_empty() => {
                Some("`of`: expected at least one figure")
            }
            Self::Calls { seconds, credit, .. }
                if !(is_positive(*seconds) && is_positive(*credit)) =>
            {
                Some("`seconds` and `credit`: expected positive numbers")
            }
            Self::Share { part, whole, .. } if !(is_positive(*part) && is_positive(*whole)) => {
                Some("`part` and `whole`: expected positive numbers")
            }
            _ => None,
        }
    }

    /// The result, smallest and largest where there is a range, in the order value, low, high: a
    /// ratio; of calls their number, of a share and of time saved a fraction.
    pub fn result(&self, study: &Study) -> [f64; 3] {
        let published = |id: &str| study.published_of(id);
        match self {
            Self::Ratio(ratio) => {
                let Published { value, low, high, .. } = ratio.published(study);
                [value, low, high]
            }
            Self::GeometricMean { of } => {
                [geometric_mean(of.iter().map(|id| published(id).value)); 3]
            }
            Self::MissingMember { mean, others, .. } => {
                let mean = published(mean);
                let product: f64 = others.iter().map(|id| published(id).value).product();
                let members = (others.len() + 1) as f64;
                [mean.value, mean.low, mean.high].map(|mean| mean.powf(members) / product)
            }
            Self::Calls { of, seconds, credit } => {
                let rate = published(of);
                [rate.value, rate.low, rate.high].map(|rate| rate * seconds / credit)
            }
            Self::Share { part, whole, .. } => [part / whole; 3],
            Self::TimeSaved { new, old } => [1.0 - published(new).value / published(old).value; 3],
        }
    }

    /// The computation with its result as one line.
    pub fn line(&self, study: &Study) -> String {
        let [value, low, high] = self.result(study);
        let figure = |id: &str| study.figure(id).expect("references were checked on loading");
        let published = |id: &str| study.published_of(id);
        match self {
            Self::Ratio(RatioOf { of, over, factor, by }) => {
                let [above, below] = [of, over].map(|id| match &figure(id).value {
                    Value::Computed(_) => published(id).value,
                    typed => typed.published(*by).value,
                });
                let times = if *factor == 1.0 { String::new() } else { format!("{factor} x ") };
                let mean = if *by == By::Mean { "mean " } else { "" };
                let range = match high / low - 1.0 {
                    wide if wide > 0.05 => format!(", anything from {low:.2} to {high:.2}"),
                    _ => String::new(),
                };
                format!(
                    "{times}{mean}{of} / {mean}{over} = {times}{} / {} = {value:.3} ({}){range}",
                    short(above),
                    short(below),
                    signed_percent(value - 1.0)
                )
            }
            Self::GeometricMean { of } => {
                format!(
                    "the geometric mean of {} is {value:.3} ({})",
                    of.join(", "),
                    signed_percent(value - 1.0)
                )
            }
            Self::MissingMember { member, mean, others } => {
                let [claimed, mean] = [member, mean].map(|id| published(id));
                format!(
                    "beside {} a mean of {:.3} to {:.3} needs {low:.3} to {high:.3}, and {member} is {:.3}",
                    others.join(", "),
                    mean.low,
                    mean.high,
                    claimed.value
                )
            }
            Self::Calls { of, seconds, credit } => {
                let figure = figure(of);
                let rate = published(of).value;
                let unit = figure.quantity.unit();
                format!(
                    "{of}: {} {unit} x {seconds} s / {credit} a call = {value:.2} calls, that is one of {:.1} s",
                    short(rate),
                    credit / rate
                )
            }
            Self::Share { part, whole, unit } => {
                format!("{part} of {whole} {unit} = {:.1} %", value * 100.0)
            }
            Self::TimeSaved { new, old } => {
                let [new_s, old_s] = [new, old].map(|id| published(id).value);
                format!(
                    "1 - {new} / {old} = {:.1} % of the time saved; {old} / {new} - 1 = {:.1} % more work in the same time",
                    value * 100.0,
                    (old_s / new_s - 1.0) * 100.0
                )
            }
        }
    }
}

/// The geometric mean of these.
pub(crate) fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

fn one() -> f64 {
    1.0
}

/// At most four decimals, none that are zero.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn signed_percent(fraction: f64) -> String {
    format!("{:+.1} %", fraction * 100.0)
}
