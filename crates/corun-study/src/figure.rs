//! The figures of a study: what was published, and which of them follow from others.

use corun_record::Metric;
use serde::Deserialize;

use crate::arm::StudyArm;
use crate::quantity::Quantity;
use crate::range::Range;

/// A published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name, unique in the study.
    pub id: String,
    /// The experiment that measures it again, as an index.
    pub experiment: Option<usize>,
    /// Metric of the figure.
    pub metric: Metric,
    /// Of shares: which of the jobs, from 0 for the one with the largest.
    pub rank: Option<usize>,
    /// The arm it is said of.
    pub arm: Option<StudyArm>,
    /// The arm it is compared with.
    pub against: Option<StudyArm>,
    /// Quantity of the figure.
    pub quantity: Quantity,
    /// Published value.
    pub value: Value,
    /// Digits after the decimal point of the published value, in the unit of `quantity`.
    pub decimals: u32,
    /// The figures whose measured values make this one's as a ratio, where others than those that the
    /// published ratio follows from.
    pub measured_as: Option<RatioOf>,
    /// The figures whose measured values make this one's by their geometric mean.
    pub geometric_mean_of: Vec<String>,
    /// CPU time in user mode, in seconds, of each process or of all together.
    pub user_s: Vec<f64>,
    /// CPU time in the kernel, likewise.
    pub system_s: Vec<f64>,
    /// Notes for the reader.
    pub notes: Option<String>,
}

/// Published value of a figure, in the unit of its [`Quantity`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, and the range that its digits leave.
    Number(Range),
    /// The time of each worker, in seconds; the largest is the makespan.
    Workers(Vec<Range>),
    /// A ratio that follows from two other figures.
    Computed(RatioOf),
    /// Nothing: it is only measured.
    Unpublished,
}

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
    /// Representative of a figure that has a time for each worker.
    #[serde(default)]
    pub by: By,
}

/// Representative of the times of several workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The largest: the time until the last worker ended.
    #[default]
    Makespan,
    /// Their mean.
    Mean,
}

/// The figure of this id.
pub(crate) fn figure_of<'f>(figures: &'f [Figure], id: &str) -> Option<&'f Figure> {
    figures.iter().find(|figure| figure.id == id)
}

/// Published range of the figure of this id, which others refer to; where it has a time for each
/// worker, `by` says which stands for all.
pub(crate) fn range_of(figures: &[Figure], id: &str, by: By) -> Range {
    let range = figure_of(figures, id).and_then(|figure| figure.range(figures, by));
    range.expect("references were checked on loading")
}

impl Figure {
    /// The figures that it follows from.
    pub(crate) fn members(&self) -> Vec<&String> {
        match &self.value {
            Value::Computed(ratio) => vec![&ratio.of, &ratio.over],
            _ => self.geometric_mean_of.iter().collect(),
        }
    }

    /// Published range, or the one that follows from what was published of others.
    pub(crate) fn range(&self, figures: &[Self], by: By) -> Option<Range> {
        match &self.value {
            Value::Number(range) => Some(*range),
            Value::Workers(seconds) => Some(by.of(seconds)),
            Value::Computed(ratio) => Some(ratio.range(figures)),
            Value::Unpublished => None,
        }
    }
}

impl RatioOf {
    /// The ratio, and the range that the published digits leave.
    pub(crate) fn range(&self, figures: &[Figure]) -> Range {
        let [of, over] = self.sides(figures);
        of.over(over).map(|ratio| self.factor * ratio)
    }

    pub(crate) fn sides(&self, figures: &[Figure]) -> [Range; 2] {
        [&self.of, &self.over].map(|id| range_of(figures, id, self.by))
    }
}

impl By {
    /// Representative of these.
    pub(crate) fn of(self, seconds: &[Range]) -> Range {
        Range::of_all(seconds, |all| match self {
            Self::Makespan => all.fold(0.0, f64::max),
            Self::Mean => all.sum::<f64>() / seconds.len() as f64,
        })
    }
}

fn one() -> f64 {
    1.0
}
