//! The data model of corun: observations, runs, and their versioned JSON.
//!
//! Everything that corun knows is an observation. Measuring, predicting and published studies write
//! this model; tables, exports and comparisons read it and nothing else.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod actionable;
mod activity;
mod any_document;
mod audit;
mod bench;
mod beside;
mod blocks;
mod calibration;
mod capacity;
mod checked_json;
mod command_times;
mod csv_text;
mod fleet;
mod fleet_report;
mod issue;
mod json;
mod json_writer;
mod kept_runs;
mod mapping;
mod model;
mod moment;
mod names;
mod observation;
mod ordered;
mod page_size;
mod placement;
mod placements;
mod plain;
mod prediction;
mod prediction_sweep;
mod progress;
mod reader;
mod record;
mod run;
mod run_comparison;
mod sample;
mod schedule;
mod scheduling;
mod simulation;
mod smt_state;
mod study;
mod study_catalogue;
mod thread_sweep;
mod trace_info;
mod trace_plan;
mod tree;
mod trend;
mod whole_list;
mod workload;
mod yields;

pub use actionable::{Actionable, Exit};
pub use activity::{
    Activity, CapacityUse, CoBusyEvidence, CoBusyMethod, Companion, CoreActivity, CpuActivity,
    TaskActivity, YieldRange, YieldSource,
};
pub use any_document::AnyDocument;
pub use audit::{
    Audit, AuditBound, AuditPropertyList, AuditReading, AuditRow, AuditVerdict, EvidenceSource,
    ListedAuditProperty,
};
pub use bench::{Bench, WorkloadNotPossible};
pub use beside::{
    AttributedCode, Cause, Effect, MeasuredSiblings, MissRate, OtherProgram, PredictedPlacement,
    PredictedStacked, SiblingEvidence, TracedWorkload, WhatIf,
};
pub use blocks::{BlockAgreement, Blocks, SimulatedBlock};
pub use calibration::{
    BaseForm, BlockFrontEnd, BlockTimings, CalibratedCoreField, CalibratedFigure, CalibratedForm,
    CoreCalibration, DisturbedSamples, FormCalibration, MeasuredSpread, TimedBlock,
    TimingAgreement, UntimedBlock,
};
pub use capacity::{
    CapacityAnswer, CapacityCurve, CapacityDesign, CapacityLevel, CapacityPoint, Filling,
    FillingCurve,
};
pub use checked_json::CheckedJson;
pub use command_times::{CommandTimes, ProcessTimes};
pub use csv_text::CsvText;
pub use fleet::{
    FleetCollection, FleetCounts, FleetFate, FleetJob, FleetNode, FleetPlan, FleetStatus, FleetTask,
};
pub use fleet_report::{
    BestOverNodes, FigureOverNodes, FleetReport, HardwareType, NodeFinding, NodeFindingKind,
    NodeValue, OddNode, OutlyingValue, ProgramOverNodes, UnmeasuredNode,
};
pub use issue::IssueCycles;
pub use json::{Document, ReadError, json_text, read_json};
pub use kept_runs::{KeptRun, KeptRunList};
pub use mapping::{MappingError, Slot};
pub use model::{
    CheckedModel, DifferingFigure, ListedModel, ModelChecks, ModelDescription, ModelDifference,
    ModelDifferences, ModelList, PublishedFigures, UncheckedFigure,
};
pub use moment::moment;
pub use names::{may_mean, name_or_file, nearest_first, nearest_first_by, nearest_listed};
pub use observation::{Estimate, Metric, Observation, Source};
pub use page_size::PageSize;
pub use placement::{Arm, Placement, PlacementNotPossible, UnknownPlacement, Variant};
pub use placements::{
    PlacedWorker, PlacementComparison, Placements, RefusedComparison, SimulatedPlacement,
    VariedResource,
};
pub use plain::{excerpt, on_lines, on_one_line, shortened, shown, steers};
pub use prediction::{
    CalibratedField, ClockSource, DetailedCost, KnownBy, MeasuredRun, MeasuredRuns, PredictedCore,
    PredictedVerdict, PredictedWindow, Prediction, PredictionTable, SiblingClock, SimulationCost,
    SkippedPart, StackShare, TracedPart,
};
pub use prediction_sweep::{PredictionSweep, SweepCell};
pub use progress::{Counter, Portion, Progress, Stage, Unwatched};
pub use reader::FieldError;
pub use record::{Body, Record};
pub use run::{
    Answer, Caveat, Design, EndReason, Ending, FileContent, MachineSummary, Mode, PlannedAnalysis,
    Run, ServiceLoad, Verdict, Workload, common_caveats,
};
pub use run_comparison::{
    ChangeAnswer, ComparedObservation, ComparedRun, ComparisonGate, NotCompared, Pairing,
    RunComparison, RunDifference, Sense, VisibleChange,
};
pub use sample::{
    ClockProbe, Displaced, Evidence, Latency, LeftRunning, Pinning, Sample, Undisturbed,
    WorkerSample,
};
pub use schedule::{
    Schedule, ScheduledCore, ScheduledCost, ScheduledCpu, ScheduledMachine, ScheduledMigrations,
    ScheduledRun, ScheduledTimes,
};
pub use scheduling::{
    ListedCost, ListedLoad, ListedPolicy, LoadParameter, ScheduledInterval, ScheduledTimeline,
    SchedulingList,
};
pub use simulation::{MemoryRequests, SimulatedCore, Simulation, TimingRows};
pub use smt_state::{SmtState, UnknownSmtState};
pub use study::{
    ColumnError, ConclusionAnswer, CpuTime, FindingKind, ModelRole, Published, StudyColumn,
    StudyConclusion, StudyFigure, StudyFinding, StudyResult,
};
pub use study_catalogue::{
    DescribedFigure, ExperimentArm, ExperimentPlan, ExperimentSmt, ExperimentWork, ListedStudy,
    StudyDescription, StudyExperiment, StudyList,
};
pub use thread_sweep::{
    Advice, Candidate, Goal, ScreeningRun, Standing, SweepDesign, ThreadAnswer, ThreadSweep,
    ThreadVerdict,
};
pub use trace_info::{
    DisassembledInstruction, HotBlock, NativeRun, TraceClosing, TraceFootprint, TraceInfo,
    TraceOpening, TracedBranches, TracedEnding, TracedMemory, TracedThread, UsedTracer,
};
pub use trace_plan::{TracePlan, TracedPoint};
pub use tree::Tree;
pub use trend::{Trend, TrendChange, TrendPoint, TrendRun, TrendSeries};
pub use workload::{
    DefaultMode, DefaultPlacement, LineSharing, ParameterChoice, ParameterDomain, RowFigure,
    SuiteRow, WorkloadDescription, WorkloadList, WorkloadParameter, WorkloadTally,
};
pub use yields::{RecordedCore, RecordedProgram, YieldRecord};
