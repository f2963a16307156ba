//! The predictions of a study: those that come with corun, or simulated again.

use clap::Args;
use corun_record::{Caveat, Progress, Stage};
use corun_study::{SimulatedCycles, Simulator, Study};

use crate::problem::Problem;
use crate::progress::StepProgress;

#[derive(Debug, Args)]
pub(super) struct PredictionArguments {
    /// Trace the study's programs here and simulate them again, in place of the predictions that come with corun
    #[arg(long)]
    predict: bool,
}

impl PredictionArguments {
    /// Cycles of the study's programs on the core of the publication, and those that could not be simulated.
    ///
    /// # Errors
    /// If corun does not find its own executable, which runs built-in workloads.
    pub(super) fn cycles(&self, study: &Study) -> Result<(SimulatedCycles, Vec<Caveat>), Problem> {
        let mut cycles = SimulatedCycles::kept();
        let Some(prediction) = study.prediction.as_ref().filter(|_| self.predict) else {
            return Ok((cycles, Vec::new()));
        };
        let corun = std::env::current_exe().map_err(|error| {
            Problem::failed(
                format!("could not find corun's own executable: {error}"),
                "Start corun by its path.",
            )
        })?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let engine = Simulator { corun, jobs };
        let line = StepProgress::new(false);
        let (simulated, failed) =
            SimulatedCycles::simulated(prediction, &engine, |number, count, program| {
                line.begin(Stage::new(
                    format!("simulating {program} ({number} of {count})"),
                    "",
                    None,
                ));
            });
        line.finish();
        cycles.update(simulated);
        let caveat = |reason| Caveat::new("not-simulated", format!("Not simulated: {reason}."));
        Ok((cycles, failed.into_iter().map(caveat).collect()))
    }
}
