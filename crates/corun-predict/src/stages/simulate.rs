//! Simulate: the recorded windows of the busiest thread, on the fitted model.

use std::sync::atomic::{AtomicBool, Ordering};

use corun_record::{Progress, SimulationCost, Stage};
use corun_sim::{SimulatedWindows, simulate_windows};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

use super::{FittedModel, RecordedRun};
use crate::{Core, Job, PredictError};

/// The simulated windows, and what the simulation cost.
pub(crate) struct SimulatedRun {
    pub(super) windows: SimulatedWindows,
    pub(super) cost: SimulationCost,
}

impl SimulatedRun {
    /// Simulates the recorded windows.
    pub(crate) fn of(
        job: &Job<'_>,
        core: &Core<'_>,
        recorded: &RecordedRun,
        fitted: &FittedModel,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        let mut told = None;
        let goes_on = |done: u64, all: u64| {
            if told.is_none() {
                progress.begin(Stage::new("simulating", "instructions", all));
            }
            progress.advance(done - told.replace(done).unwrap_or(0));
            !stop.load(Ordering::Relaxed)
        };
        let RecordedRun { trace, thread, .. } = recorded;
        let before = Usage::now();
        let windows =
            simulate_windows(&fitted.model, core.timings, trace, *thread, job.pages, goes_on)?
                .ok_or(PredictError::Interrupted { during: "simulated" })?;
        let cost = Usage::now().since(before, trace.threads()[thread.0 as usize].instructions);
        if windows.together.instructions == 0 {
            return Err(PredictError::TooShort { total: recorded.instructions });
        }
        Ok(Self { windows, cost })
    }
}

/// The CPU time of this thread, and the peak memory of the process.
struct Usage {
    processor_s: f64,
    peak_bytes: u64,
}

impl Usage {
    fn now() -> Self {
        let usage =
            getrusage(UsageWho::RUSAGE_THREAD).expect("every process may read its own usage");
        let seconds = |time: TimeVal| time.num_microseconds() as f64 * 1e-6;
        Self {
            processor_s: seconds(usage.user_time()) + seconds(usage.system_time()),
            peak_bytes: usage.max_rss() as u64 * 1024,
        }
    }

    fn since(&self, before: Self, instructions: u64) -> SimulationCost {
        let processor_s = self.processor_s - before.processor_s;
        SimulationCost { instructions, cpu_s: processor_s, peak_rss_bytes: self.peak_bytes }
    }
}
