//! The observation: one metric of one workload, on one machine, between named arms.
//!
//! Measured, predicted and published figures are the same kind of thing and differ in their
//! [`Source`] only, so that tables can show them side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Measured by corun on a machine.
    Measured,
    /// Predicted by the simulator from a trace and a core model.
    Predicted,
    /// Taken from a publication.
    Published,
}

impl Source {
    /// The word before a metric that was not measured, with a space: `predicted `.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Measured => "",
            Self::Predicted => "predicted ",
            Self::Published => "published ",
        }
    }
}

/// Metric of an observation; X is throughput, T makespan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// T of an arm, in seconds.
    Makespan,
    /// X of an arm, in operations per second.
    Throughput,
    /// X of an arm over X(spread).
    RelativeThroughput,
    /// X of an arm over X of the first arm of listed CPUs.
    RelativeToFirst,
    /// Goal of a sweep, over that of the chosen arm: above 1 is better.
    RelativeToChosen,
    /// X(full)/X(spread), same cores; X(full@k)/X(spread) for k workers a core.
    SmtYield,
    /// The same with the work of a cycle: what it is where siblings do not change the clock.
    YieldInCycles,
    /// Workers a core / yield: how much longer a worker takes because its siblings are busy.
    SiblingSlowdown,
    /// T(packed)/T(spread), same number of workers.
    CoreEquivalence,
    /// X(full)/X(stacked).
    MultitaskingGain,
    /// X(free, SMT on)/X(free, SMT off).
    SwitchGain,
    /// X(full)/X(spread, SMT off), same cores: the yield against cores that have no siblings at all.
    SwitchYield,
    /// X(spread)/(C * X(single)): 1.00 when cores do not disturb each other.
    Scaling,
    /// X(stacked)/X(spread): what time slicing on the same CPUs costs or gains.
    TimeSlicing,
    /// X(free) over X of the pinned arm with as many workers: the kernel's choice against pinning.
    FreePlacement,
    /// T(two workers' data in one cache line)/T(each in its own), same placement.
    SharingPenalty,
    /// Work of the slowest worker over an equal share, where all workers were counted over one window.
    LeastShare,
    /// The speed of a row of a published suite, as the suite's table gives it.
    Figure,
    /// Another count of the same work per second: bytes, messages delivered.
    Rate,
    /// A share of time, or of the events of one kind.
    TimeShare,
    /// Duration of parts of the work of one kind: a quantile, the mean over the samples.
    Latency,
    /// Processor time in the program's own code, in seconds.
    UserTime,
    /// Core cycles in the program's own code.
    Cycles,
    /// Executed instructions of the program's own code.
    Instructions,
    /// Instructions a cycle.
    InstructionsPerCycle,
    /// The kernel's part of a worker's processor time.
    KernelShare,
    /// A predicted figure over the measured one.
    PredictedToMeasured,
    /// Energy of all CPU packages for one operation of an arm, in joules: what they used during its runs, idle
    /// cores included, over the operations that its workers did.
    EnergyPerOperation,
    /// X of an arm over X of the arm with the fewest workers, in a sweep of numbers of workers.
    Speedup,
    /// The size of the largest effect that two identical arms can show by noise alone, as a fraction.
    NoiseFloor,
}

impl Metric {
    /// The metric's name in tables and sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Makespan => "time",
            Self::Throughput => "throughput",
            Self::RelativeThroughput => "relative to spread",
            Self::RelativeToFirst => "relative to first",
            Self::RelativeToChosen => "relative to chosen",
            Self::SmtYield => "SMT yield",
            Self::YieldInCycles => "SMT yield in cycles",
            Self::SiblingSlowdown => "sibling slowdown",
            Self::CoreEquivalence => "core equivalence",
            Self::MultitaskingGain => "multitasking gain",
            Self::SwitchGain => "switch gain",
            Self::SwitchYield => "yield by switching",
            Self::Scaling => "scaling",
            Self::TimeSlicing => "time slicing",
            Self::FreePlacement => "free placement",
            Self::SharingPenalty => "sharing penalty",
            Self::LeastShare => "least share",
            Self::Figure => "figure",
            Self::Rate => "rate",
            Self::TimeShare => "share",
            Self::Latency => "latency",
            Self::UserTime => "user time",
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::InstructionsPerCycle => "IPC",
            Self::KernelShare => "kernel time",
            Self::PredictedToMeasured => "predicted / measured",
            Self::EnergyPerOperation => "energy per operation",
            Self::Speedup => "speedup",
            Self::NoiseFloor => "noise floor",
        }
    }

    /// The two values of a ratio, in words; absent for a metric that is no ratio of two arms.
    pub fn definition(self) -> Option<&'static str> {
        Some(match self {
            Self::SmtYield => {
                "work done a second on all siblings of the cores, over that of one worker a core"
            }
            Self::YieldInCycles => {
                "work done a cycle on all siblings of the cores, over that of one worker a core"
            }
            Self::SiblingSlowdown => {
                "time of a worker beside busy siblings, over that on a core of its own"
            }
            Self::CoreEquivalence => {
                "time of the workers as siblings on fewer cores, over that on cores of their own"
            }
            Self::MultitaskingGain => {
                "work done a second by workers as siblings, over that of the same workers in turns on one CPU a core"
            }
            Self::SwitchGain => "work done a second with SMT on, over that with SMT off",
            Self::SwitchYield => {
                "work done a second on all siblings of the cores, over that of the cores with SMT off"
            }
            Self::Scaling => {
                "work done a second by all cores, over that of one core times their number"
            }
            Self::TimeSlicing => {
                "work done a second by workers in turns on one CPU a core, over that of one worker a core"
            }
            Self::FreePlacement => {
                "work done a second where the kernel places, over that of pinned workers"
            }
            Self::SharingPenalty => {
                "time with the data of two workers in one cache line, over that with a line for each"
            }
            Self::RelativeThroughput => "work done a second, over that of one worker a core",
            Self::RelativeToFirst => {
                "work done a second, over that of the first arm of listed CPUs"
            }
            Self::Speedup => "work done a second, over that of the fewest workers",
            _ => return None,
        })
    }
}

/// A value with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The confidence level of the interval, for instance 0.95.
    pub level: f64,
    /// Number of units of analysis: blocks, or cycles of a switched experiment.
    pub blocks: u32,
}

impl Estimate {
    /// The estimate of `numerator / self`, its interval turned round with it.
    pub fn under(self, numerator: f64) -> Self {
        Self {
            value: numerator / self.value,
            low: numerator / self.high,
            high: numerator / self.low,
            ..self
        }
    }

    /// The estimate in another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
            ..self
        }
    }

    /// Half the width of the interval relative to the value.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / (2.0 * self.value)
    }
}

/// One thing that corun knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// Metric of the observation.
    pub metric: Metric,
    /// The arm it is said of: the numerator of a ratio.
    pub arm: String,
    /// The arm it is compared with: the denominator of a ratio.
    pub against: Option<String>,
    /// Quantity counted or timed, where the metric alone does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// `s`, `operations/s` of the workload's operation, the unit of a suite's table, or `1` for ratios.
    pub unit: String,
    /// The value and its interval.
    pub estimate: Estimate,
    /// The bootstrap-t interval of the same data, a diagnostic from 20 blocks on.
    pub bootstrap: Option<Estimate>,
    /// Source of the observation.
    pub source: Source,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_a_ratio_round_turns_its_interval_round() {
        let yielded = Estimate { value: 1.25, low: 1.0, high: 1.6, level: 0.95, blocks: 9 };
        let slowdown = yielded.under(2.0);
        assert_eq!((slowdown.value, slowdown.low, slowdown.high), (1.6, 1.25, 2.0));
    }
}
