//! Measurements of this host's core by timed code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;

/// Measurements of a core by `corun models calibrate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreCalibration {
    /// The core's name.
    pub core: String,
    /// The logical CPU that was measured on.
    pub cpu: u32,
    /// Model that supplies each field that could not be measured.
    pub base: String,
    /// Why that model.
    pub reason: String,
    /// Fields of the model that were measured.
    pub fields: Vec<CalibratedCoreField>,
    /// Measured figures without a field in the model.
    pub figures: Vec<CalibratedFigure>,
    /// Forms of instructions.
    pub forms: Vec<CalibratedForm>,
    /// Rows of the timing table made of the forms.
    pub timing_rows: usize,
    /// Number of them with ports that are changed until they give the measured throughput.
    pub adjusted_rows: usize,
    /// Paths of figures of the base that were not measured.
    pub not_measured: Vec<String>,
    /// Samples that were left out because something else ran.
    pub disturbed: DisturbedSamples,
}

/// Measurements by `corun models calibrate --forms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FormCalibration {
    /// The core's name.
    pub core: String,
    /// The logical CPU that was measured on.
    pub cpu: u32,
    /// The model whose slots and ports the table keeps.
    pub base: String,
    /// Forms of instructions.
    pub forms: Vec<CalibratedForm>,
    /// Rows of the timing table made of the forms.
    pub timing_rows: usize,
    /// Number of them with ports that are changed until they give the measured throughput.
    pub adjusted_rows: usize,
    /// Samples that were left out because something else ran.
    pub disturbed: DisturbedSamples,
}

/// A figure of repeated measurements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredSpread {
    /// The median.
    pub median: f64,
    /// A tenth of the measurements is below.
    pub p10: f64,
    /// A tenth of them is above.
    pub p90: f64,
    /// Measurements that count.
    pub samples: usize,
}

/// A field of the base that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibratedCoreField {
    /// Path of the field: `back.rob.entries`.
    pub field: String,
    /// Measured value.
    pub measured: MeasuredSpread,
    /// The value in the measured model: the measurement, rounded to a whole number where the field is a count.
    pub value: f64,
    /// The value in the base model.
    pub base: f64,
    /// Published value of the base's core, if anything was.
    pub published: Option<f64>,
}

/// A figure that the model has no field for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibratedFigure {
    /// Name of the figure.
    pub name: String,
    /// Measured value.
    pub measured: MeasuredSpread,
    /// The unit: cycles, entries, KiB, a cycle.
    pub unit: String,
}

/// Measurements of a form of instruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibratedForm {
    /// As timing tables name it.
    pub form: String,
    /// Cycles from an instruction to the next that waits for it; absent where no chain of the form exists.
    pub latency: Option<MeasuredSpread>,
    /// Cycles of one of many independent ones; absent where each waits for the flags of another.
    pub cycles: Option<MeasuredSpread>,
    /// Slots of renaming; absent where other things than slots decide how long it takes.
    pub slots: Option<MeasuredSpread>,
    /// Timing in the base, where the table that was made has another.
    #[serde(default)]
    pub differing_base: Option<BaseForm>,
}

/// Timing of a form in the base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaseForm {
    /// Latency in cycles.
    pub latency: u32,
    /// Cycles of one of many independent ones.
    pub cycles: f64,
}

/// The counts of samples that were left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedSamples {
    /// Samples taken.
    pub samples: usize,
    /// Left out since the clock changed.
    pub unsteady: usize,
    /// Left out since the kernel gave the CPU to another thread.
    pub switched: usize,
    /// Left out since a sibling took slots.
    pub shared: usize,
    /// Routines for which there were not enough moments with a core of one's own.
    pub never_alone: usize,
}

/// Measurements by `corun models calibrate --block-file`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockTimings {
    /// The core's name.
    pub core: String,
    /// The logical CPU that was measured on.
    pub cpu: u32,
    /// The blocks that were timed, in the order of the file.
    pub blocks: Vec<TimedBlock>,
    /// Blocks that could not be timed.
    pub not_possible: Vec<UntimedBlock>,
    /// Agreement with the file's own cycles, where it has any.
    pub agreement: Option<TimingAgreement>,
}

/// Core cycles of an iteration of a block in steady state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedBlock {
    /// The machine code in hexadecimal.
    pub block: String,
    /// The median.
    pub cycles: f64,
    /// A tenth of the measurements is below.
    pub p10: f64,
    /// A tenth of them is above.
    pub p90: f64,
    /// Possible source of its micro-ops.
    pub front_end: BlockFrontEnd,
    /// Groups of samples.
    pub groups: usize,
    /// Groups during which no sibling was busy.
    pub alone: usize,
    /// The cycles that the file says.
    pub expected: Option<f64>,
}

/// Source of the micro-ops of a timed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockFrontEnd {
    /// Short enough for several copies in an op cache.
    OpCache,
    /// Too long for that: decoders may have a part in the cycles.
    Decoders,
}

impl BlockFrontEnd {
    /// As JSON and CSV have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpCache => "op-cache",
            Self::Decoders => "decoders",
        }
    }
}

/// A block that could not be timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UntimedBlock {
    /// The machine code in hexadecimal.
    pub block: String,
    /// Why not.
    pub reason: String,
}

/// Agreement of two series of cycles of the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimingAgreement {
    /// Blocks that have both.
    pub blocks: usize,
    /// The mean of the absolute differences, as a fraction.
    pub mean: f64,
    /// The median of the absolute differences, as a fraction.
    pub median: f64,
    /// Kendall's tau-b; absent if one series is constant.
    pub tau: Option<f64>,
}

impl Body for CoreCalibration {
    const FORMAT: &str = "corun-calibration";
}

impl Body for FormCalibration {
    const FORMAT: &str = "corun-form-timings";
}

impl Body for BlockTimings {
    const FORMAT: &str = "corun-block-timings";
}
