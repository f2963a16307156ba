//! Extrapolate: from the simulated windows to the thread's whole run.

use corun_record::Estimate;
use corun_sim::SimulatedWindow;
use corun_trace::format::Trace;

use super::{RecordedRun, SimulatedRun};
use crate::extrapolation::{extrapolated, represented_instructions};

/// The estimate of the whole run.
pub(crate) struct ExtrapolatedRun {
    /// Instructions of the simulated thread's whole run.
    pub(super) instructions: u64,
    /// Cycles; none without windows.
    pub(super) cycles: Option<Estimate>,
}

impl ExtrapolatedRun {
    /// Extrapolates the windows.
    pub(crate) fn of(recorded: &RecordedRun, simulated: &SimulatedRun) -> Self {
        Self::from_windows(
            &recorded.trace,
            recorded.thread_instructions,
            &simulated.windows.windows,
        )
    }

    /// Extrapolates windows of a trace's busiest thread, which has about so many instructions in the whole run.
    pub(super) fn from_windows(trace: &Trace, total: u64, windows: &[SimulatedWindow]) -> Self {
        // Where windows were chosen, a thread's share of the recorded instructions is not its share of the run.
        let represented = represented_instructions(windows).filter(|_| trace.threads().len() > 1);
        let instructions = represented.map_or(total, |count| count.round() as u64);
        Self { instructions, cycles: extrapolated(windows, instructions) }
    }
}
