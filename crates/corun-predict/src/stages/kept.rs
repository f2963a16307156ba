//! Kept traces: a run that was recorded before, on whatever machine, is predicted from its trace alone.

use std::sync::atomic::AtomicBool;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{Estimate, PageSize, Unwatched};
use corun_sim::{Recording, SampledRun, WindowSimulation};
use corun_trace::TracePlan;
use corun_trace::format::Trace;

use super::ExtrapolatedRun;
use super::simulate::simulate;
use super::trace::busiest;
use crate::PredictError;

/// A run as a trace predicts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedTrace {
    /// Instructions of all threads in the part that counts, recorded or not.
    pub instructions: u64,
    /// Cycles of the busiest thread's whole run.
    pub cycles: Estimate,
}

/// Predicts the whole run that a trace was recorded of, alone on a core: its windows are simulated and extrapolated as those of
/// [`predict`](crate::predict) are.
///
/// # Errors
/// If the trace has no windows or no end, or cannot be simulated.
pub fn predict_trace(
    trace: &Trace,
    (model, timings): (&CoreModel, &TimingTable),
    pages: PageSize,
) -> Result<PredictedTrace, PredictError> {
    let plan = &trace.opening().plan;
    let before = match plan {
        TracePlan::After { skip, .. } => *skip,
        _ => 0,
    };
    let total = trace.closing().and_then(|closing| closing.instructions).unwrap_or(0);
    let instructions = total.saturating_sub(before);
    let nothing = || PredictError::TooShort { total };
    let (thread, of_thread) = busiest(trace, plan, instructions).ok_or_else(nothing)?;
    let run = SampledRun::of(Recording { trace, thread, total: of_thread })?;
    let windows = WindowSimulation::new((model, timings), &run, Vec::new(), pages, 0)?;
    let simulated = simulate(1, &[&windows], &Unwatched, &AtomicBool::new(false))?;
    let windows = match &simulated.runs[..] {
        [Some(it)] => &it.windows.windows[..],
        _ => &[],
    };
    let ExtrapolatedRun { cycles, .. } = ExtrapolatedRun::from_windows(trace, of_thread, windows);
    Ok(PredictedTrace { instructions, cycles: cycles.ok_or_else(nothing)? })
}
