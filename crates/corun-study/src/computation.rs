//! Computations from published figures: ratios that follow from two of them, and the few kinds of
//! sums that show what a conclusion rests on.

use serde::Deserialize;

use crate::figure::{By, Figure, RatioOf, figure_of, range_of};
use crate::range::Range;

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
    /// Value that `member` would need for `mean` to be the geometric mean of it and the others.
    MissingMember {
        /// The figure in doubt.
        member: String,
        /// The published mean.
        mean: String,
        /// The other members.
        others: Vec<String>,
    },
    /// Number of calls that a rate represents: rate x seconds / operations credited for a call.
    Calls {
        /// The rate.
        of: String,
        /// The length of the test, in seconds.
        seconds: f64,
        /// Operations credited for one call.
        credit: f64,
    },
    /// Share of something that is used.
    Share {
        /// Used part.
        part: f64,
        /// Whole.
        whole: f64,
        /// Unit.
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

    /// Mistake in a number of it that something is divided by.
    pub(crate) fn invalid_number(&self) -> Option<&'static str> {
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        match self {
            Self::Ratio(ratio) if !is_positive(ratio.factor) => {
                Some("`factor`: expected a positive number")
            }
            Self::GeometricMean { of } if of.is_empty() => {
                Some("`of`: expected at least one figure")
            }
            Self::MissingMember { others, .. } if others.is_empty() => {
                Some("`others`: expected at least one figure")
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

    /// The result with the range that the digits of its members leave: a ratio; of calls their
    /// number, of a share and of time saved a fraction.
    pub fn result(&self, figures: &[Figure]) -> Range {
        let published = |id: &str| range_of(figures, id, By::Makespan);
        let all = |ids: &[String]| ids.iter().map(|id| published(id)).collect::<Vec<_>>();
        match self {
            Self::Ratio(ratio) => ratio.range(figures),
            Self::GeometricMean { of } => {
                Range::of_all(&all(of), |members| geometric_mean(members))
            }
            Self::MissingMember { mean, others, .. } => {
                let members = (others.len() + 1) as f64;
                let product = Range::of_all(&all(others), |members| members.product());
                published(mean).map(|mean| mean.powf(members)).over(product)
            }
            Self::Calls { of, seconds, credit } => {
                published(of).map(|rate| rate * seconds / credit)
            }
            Self::Share { part, whole, .. } => Range::exact(part / whole),
            Self::TimeSaved { new, old } => published(new).over(published(old)).complement(),
        }
    }

    /// The computation with its result as one line.
    pub fn line(&self, figures: &[Figure]) -> String {
        let result = self.result(figures);
        let published = |id: &str| range_of(figures, id, By::Makespan);
        match self {
            Self::Ratio(ratio) => {
                let RatioOf { of, over, factor, by } = ratio;
                let [above, below] = ratio.sides(figures).map(|side| short(side.value));
                let times = if *factor == 1.0 { String::new() } else { format!("{factor} x ") };
                let mean = if *by == By::Mean { "mean " } else { "" };
                format!(
                    "{times}{mean}{of} / {mean}{over} = {times}{above} / {below} = {}",
                    gain(result)
                )
            }
            Self::GeometricMean { of } => {
                format!("the geometric mean of {} is {}", of.join(", "), gain(result))
            }
            Self::MissingMember { member, mean, others } => {
                let [claimed, mean] = [member, mean].map(|id| published(id));
                format!(
                    "beside {} a mean of {:.3} to {:.3} needs {:.3} to {:.3}, and {member} is {:.3}",
                    others.join(", "),
                    mean.low,
                    mean.high,
                    result.low,
                    result.high,
                    claimed.value
                )
            }
            Self::Calls { of, seconds, credit } => {
                let figure = figure_of(figures, of).expect("references were checked on loading");
                let rate = published(of).value;
                let unit = figure.quantity.unit();
                format!(
                    "{of}: {} {unit} x {seconds} s / {credit} a call = {:.2} calls, that is one of {:.1} s",
                    short(rate),
                    result.value,
                    credit / rate
                )
            }
            Self::Share { part, whole, unit } => {
                format!("{part} of {whole} {unit} = {}", percent(result))
            }
            Self::TimeSaved { new, old } => {
                let gained = published(old).over(published(new)).map(|ratio| ratio - 1.0);
                format!(
                    "1 - {new} / {old} = {} of the time saved; {old} / {new} - 1 = {} more work in the same time",
                    percent(result),
                    percent(gained)
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

/// At most four decimals, none that are zero.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A range is shown from this width on.
const WIDE: f64 = 1.005;

/// A ratio, what it gains, and what rounding leaves open of it.
fn gain(ratio: Range) -> String {
    let Range { value, low, high } = ratio;
    let open = match high / low {
        WIDE.. => format!(", anything from {low:.3} to {high:.3}"),
        _ => String::new(),
    };
    format!("{value:.3} ({:+.1} %){open}", (value - 1.0) * 100.0)
}

/// A fraction as percent, with what rounding leaves open of it.
fn percent(fraction: Range) -> String {
    let Range { value, low, high } = fraction.map(|fraction| fraction * 100.0);
    let [value, low, high] = [value, low, high].map(|number| format!("{number:.1}"));
    if low == high { format!("{value} %") } else { format!("{value} % ({low} to {high} %)") }
}
