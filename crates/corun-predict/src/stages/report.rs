//! Report: the prediction as a document, with predicted and measured figures side by side.

use std::time::{Duration, SystemTime};

use corun_measure::machine_summary;
use corun_record::{
    ClockSource, Document, Ending, Estimate, MeasuredRun, MeasuredRuns, Metric, Observation,
    PredictedCore, PredictedWindow, Prediction, SkippedPart, Source, StackShare, TracedPart,
};

use super::{ExtrapolatedRun, FittedModel, MeasuredProgram, RecordedRun, SimulatedRun, caveats};
use crate::Job;
use crate::estimate::{LEVEL, over, repeated};

/// The arm of every observation here.
const ARM: &str = "single";

/// The outputs of all stages.
pub(crate) struct Report<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) recorded: &'a RecordedRun,
    pub(crate) measured: MeasuredProgram,
    pub(crate) fitted: FittedModel,
    pub(crate) simulated: SimulatedRun,
    pub(crate) extrapolated: ExtrapolatedRun,
}

impl Report<'_> {
    /// The document.
    pub(crate) fn document(self, started: SystemTime, elapsed: Duration) -> Prediction {
        let Self { job, recorded, .. } = self;
        let together = &self.simulated.windows.together;
        let (simulated, mispredicts) = (together.instructions, together.mispredicts);
        let not_predicted = self.kernel_share().and_then(why_not_predicted);
        let clock = self.of_runs(|run| run.ghz);
        let (ghz, clock) = match clock {
            Some(clock) => (clock.value, ClockSource::Measured),
            None => (job.model.gigahertz, ClockSource::Model),
        };
        Prediction {
            format: Prediction::FORMAT.to_owned(),
            version: Prediction::VERSION,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            elapsed_s: elapsed.as_secs_f64(),
            command: recorded.trace.opening().command.clone(),
            machine: machine_summary(job.machine),
            ending: Ending::completed(),
            traced: TracedPart {
                tracer: job.tracer.tracer.name().to_owned(),
                threads: recorded.trace.threads().len() as u32,
                thread: recorded.thread.0,
                instructions: self.extrapolated.instructions,
                simulated,
                skipped: job.from.map(|call| SkippedPart {
                    call: call.to_string(),
                    instructions: recorded.before,
                }),
                cost: self.simulated.cost,
                windows: self.windows(),
            },
            observations: self.observations(ghz, not_predicted.is_none()),
            not_predicted,
            stack: self.stack(),
            mispredicts_per_thousand: 1e3 * mispredicts as f64 / simulated as f64,
            caveats: caveats::of(&self),
            core: PredictedCore {
                model: job.model.name.clone(),
                title: job.model.title.clone(),
                reason: job.reason.clone(),
                ghz,
                clock,
                memory: self.fitted.memory,
            },
            measured: self.measured.runs,
        }
    }

    fn windows(&self) -> Vec<PredictedWindow> {
        let windows = self.simulated.windows.windows.iter();
        windows
            .map(|window| PredictedWindow {
                begin: window.begin,
                instructions: window.events.instructions,
                cycles: window.cycles,
                weight: window.weight.map(|it| it.all),
            })
            .collect()
    }

    /// The non-empty components of the CPI stack, the largest first.
    fn stack(&self) -> Vec<StackShare> {
        let all = self.simulated.windows.together.cycles.max(1) as f64;
        let components = self.simulated.windows.together.stack.cycles();
        let mut stack: Vec<StackShare> = components
            .map(|(name, cycles)| StackShare { component: name.to_owned(), share: cycles / all })
            .filter(|part| part.share > 0.0)
            .collect();
        stack.sort_by(|one, other| other.share.total_cmp(&one.share));
        stack
    }

    /// The estimate of a figure of the measured runs; none without runs.
    fn of_runs(&self, figure: fn(&MeasuredRun) -> f64) -> Option<Estimate> {
        let runs = self.measured.runs.as_ref().map_or(&[][..], |measured| &measured.runs);
        repeated(&runs.iter().map(figure).collect::<Vec<_>>())
    }

    fn kernel_share(&self) -> Option<Estimate> {
        self.of_runs(MeasuredRun::kernel_share)
    }

    /// The predicted and the measured figures.
    fn observations(&self, ghz: f64, is_predicted: bool) -> Vec<Observation> {
        let predicted = self.extrapolated.cycles.filter(|_| is_predicted);
        let exact = self.extrapolated.instructions as f64;
        let per_cycle = |cycles: Estimate| cycles.under(exact);
        let cycles = self.of_runs(MeasuredRun::cycles);
        let user_s = self.of_runs(|run| run.user_s);
        let instructions =
            Estimate { value: exact, low: exact, high: exact, level: LEVEL, blocks: 1 };
        let ratio = predicted.as_ref().zip(cycles.as_ref()).map(|(one, other)| over(one, other));
        let figures = [
            (Metric::Instructions, "instructions", Source::Measured, Some(instructions)),
            (Metric::Cycles, "cycles", Source::Predicted, predicted),
            (Metric::Cycles, "cycles", Source::Measured, cycles),
            (Metric::UserTime, "s", Source::Predicted, predicted.map(|it| it.scaled(1e-9 / ghz))),
            (Metric::UserTime, "s", Source::Measured, user_s),
            (Metric::InstructionsPerCycle, "1", Source::Predicted, predicted.map(per_cycle)),
            (Metric::InstructionsPerCycle, "1", Source::Measured, cycles.map(per_cycle)),
            (Metric::PredictedToMeasured, "1", Source::Predicted, ratio),
            (Metric::KernelShare, "1", Source::Measured, self.kernel_share()),
        ];
        let observations = figures.into_iter().filter_map(|(metric, unit, source, estimate)| {
            Some(Observation {
                metric,
                arm: ARM.to_owned(),
                against: None,
                of: None,
                unit: unit.to_owned(),
                estimate: estimate?,
                bootstrap: None,
                source,
            })
        });
        observations.collect()
    }
}

/// The reason why a program with this kernel share is not predicted.
fn why_not_predicted(kernel_share: Estimate) -> Option<String> {
    (kernel_share.value > MeasuredRuns::MAX_KERNEL_SHARE).then(|| {
        format!(
            "The program is in the kernel for {:.0} % of its time, which is not simulated; only \
             programs below {:.0} % are predicted.",
            100.0 * kernel_share.value,
            100.0 * MeasuredRuns::MAX_KERNEL_SHARE
        )
    })
}
