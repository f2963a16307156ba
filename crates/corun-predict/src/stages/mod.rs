//! The stages of a prediction: each is a type that is made from the output of earlier stages.

mod caveats;
mod extrapolate;
mod fit;
mod measure;
mod probe_memory;
mod profile;
mod report;
mod simulate;
mod trace;

pub(crate) use extrapolate::ExtrapolatedRun;
pub(crate) use fit::FittedModel;
pub(crate) use measure::MeasuredProgram;
pub(crate) use probe_memory::MemoryProbe;
pub(crate) use profile::ProfiledRun;
pub(crate) use report::Report;
pub(crate) use simulate::SimulatedRun;
pub(crate) use trace::RecordedRun;
