//! Published experiments as data, and rerunning them here.
//!
//! A study file holds what a publication measured and how to measure it again ([`Study`]); it is laid
//! out on this machine as steps, with a reason for each that is not possible ([`Study::plans`]); running
//! them gives every published figure its counterpart ([`run_study`]).
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod arm;
mod column_error;
mod computation;
mod conclusion;
mod confinement;
mod counterpart;
mod document;
mod error;
mod experiment;
mod figure;
mod file;
mod following;
mod library;
mod modelled;
mod plain_text;
mod plan;
mod prediction;
mod quantity;
mod range;
mod roles;
mod run;
mod selection;
mod shares;
mod sizes;
mod study;
mod table;
mod validation;
mod value;

pub use arm::{Amount, StudyArm, UnknownArm};
pub use computation::Computation;
pub use conclusion::Conclusion;
pub use confinement::{Fraction, UnknownFraction};
pub use error::StudyError;
pub use experiment::{Experiment, Rerun, SmtNeed};
pub use figure::{By, Figure, RatioOf, Value};
pub use library::{all, find, names};
pub use modelled::Model;
pub use plan::{Host, PlannedArm, Setting, StudyStep};
pub use prediction::{
    CoreEngine, Cycles, Prediction, SimulatedCycles, SimulatedProgram, Simulator, Work,
    WorkerLayout,
};
pub use quantity::Quantity;
pub use range::Range;
pub use run::{RunError, Settings, StudyObserver, StudyOutcome, run_study};
pub use selection::Selection;
pub use shares::Shares;
pub use study::{Citation, Finding, PredictedValue, PublishedMachine, Study};
