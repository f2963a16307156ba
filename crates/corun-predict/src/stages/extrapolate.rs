//! Extrapolate: from the simulated windows to the thread's whole run.

use corun_record::Estimate;
use corun_sim::SimulatedWindow;
use corun_trace::format::Trace;

use super::{RecordedRun, SimulatedRun};
use crate::estimate::with_missing;
use crate::extrapolation::{extrapolated, represented_instructions};

/// The estimate of the whole run.
pub(crate) struct ExtrapolatedRun {
    /// Instructions of the simulated thread's whole run.
    pub(super) instructions: u64,
    /// Cycles; none without windows.
    pub(super) cycles: Option<Estimate>,
}

impl ExtrapolatedRun {
    /// Extrapolates the windows, of which such a share is missing: what they take is between the quickest and the slowest of
    /// those that were simulated.
    pub(crate) fn of(recorded: &RecordedRun, simulated: &SimulatedRun, missing: f64) -> Self {
        let windows = &simulated.windows.windows;
        let own = Self::from_windows(&recorded.trace, recorded.thread_instructions, windows);
        let rate = |it: &SimulatedWindow| it.cycles as f64 / it.events.instructions.max(1) as f64;
        let limits = windows
            .iter()
            .map(rate)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)));
        let all = own.instructions as f64;
        let limits = [limits.0 * all, limits.1 * all];
        Self { cycles: own.cycles.map(|it| with_missing(&it, missing, limits)), ..own }
    }

    /// Extrapolates windows of a trace's busiest thread, which has about so many instructions in the whole run.
    pub(super) fn from_windows(trace: &Trace, total: u64, windows: &[SimulatedWindow]) -> Self {
        // Where windows were chosen, a thread's share of the recorded instructions is not its share of the run.
        let represented = represented_instructions(windows).filter(|_| trace.threads().len() > 1);
        let instructions = represented.map_or(total, |count| count.round() as u64);
        Self { instructions, cycles: extrapolated(windows, instructions) }
    }
}
