//! The data model of corun: observations, runs, and their versioned JSON.
//!
//! Everything that corun knows is an observation. Measuring, predicting and published studies write
//! this model; tables, exports and comparisons read it and nothing else.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod actionable;
mod audit;
mod bench;
mod json;
mod names;
mod observation;
mod placement;
mod placements;
mod plain;
mod prediction;
mod run;
mod sample;
mod schedule;
mod smt_state;
mod study;
mod upgrade;

pub use actionable::{Actionable, Exit};
pub use audit::{Audit, AuditBound, AuditReading, AuditRow, AuditVerdict, EvidenceSource};
pub use bench::{Bench, WorkloadNotPossible};
pub use json::{Document, ReadError, json_text};
pub use names::{may_mean, nearest_first, nearest_first_by, nearest_listed};
pub use observation::{Estimate, Metric, Observation, Source};
pub use placement::{Arm, Placement, PlacementNotPossible, UnknownPlacement, Variant};
pub use placements::{
    PlacedWorker, PlacementComparison, Placements, RefusedComparison, SimulatedPlacement,
    VariedResource,
};
pub use plain::{excerpt, on_lines, on_one_line, shortened, shown, steers};
pub use prediction::{
    CalibratedField, ClockSource, MeasuredRun, MeasuredRuns, PredictedCore, PredictedWindow,
    Prediction, SimulationCost, SkippedPart, StackShare, TracedPart,
};
pub use run::{
    Answer, Caveat, Design, EndReason, Ending, MachineSummary, Mode, PlannedAnalysis, Run, Verdict,
    Workload,
};
pub use sample::{
    ClockProbe, Displaced, Evidence, Latency, LeftRunning, Pinning, Sample, WorkerSample,
};
pub use schedule::{
    Schedule, ScheduledCore, ScheduledCost, ScheduledCpu, ScheduledMachine, ScheduledMigrations,
    ScheduledRun, ScheduledTimes,
};
pub use smt_state::{SmtState, UnknownSmtState};
pub use study::{FindingKind, ModelRole, Published, StudyFigure, StudyFinding, StudyResult};
