//! Report: the prediction as a document, with predicted and measured figures side by side.

use std::time::{Duration, SystemTime};

use corun_measure::machine_summary;
use corun_record::{
    ClockSource, Document, Ending, Estimate, MeasuredRun, MeasuredRuns, Metric, Observation,
    Placement, PredictedCore, PredictedPlacement, PredictedWindow, Prediction, SkippedPart, Source,
    TracedPart, WhatIf,
};
use corun_sim::{Spread, plausible};

use super::{
    BesideRun, ExtrapolatedRun, FittedModel, MeasuredProgram, RecordedRun, SimulatedRun, caveats,
};
use crate::estimate::{LEVEL, over, repeated};
use crate::siblings::{self, slowdown, with_model_error, work, work_of_two};
use crate::{Core, Job};

/// The arm of every observation here.
const ARM: &str = "single";

/// The outputs of all stages.
pub(crate) struct Report<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) core: &'a Core<'a>,
    pub(crate) recorded: &'a RecordedRun,
    pub(crate) other: Option<&'a RecordedRun>,
    pub(crate) measured: &'a MeasuredProgram,
    pub(crate) fitted: &'a FittedModel,
    pub(crate) simulated: &'a SimulatedRun,
    pub(crate) beside: &'a [BesideRun],
    pub(crate) extrapolated: ExtrapolatedRun,
}

impl Report<'_> {
    /// The document.
    pub(crate) fn document(self, started: SystemTime, elapsed: Duration) -> Prediction {
        let Self { job, core, recorded, .. } = self;
        let together = &self.simulated.windows.together;
        let (simulated, mispredicts) = (together.instructions, together.mispredicts);
        let not_predicted = self.kernel_share().and_then(why_not_predicted);
        let clock = self.of_runs(|run| run.ghz);
        let (ghz, clock) = match clock {
            Some(clock) => (clock.value, ClockSource::Measured),
            None => (core.model.gigahertz, ClockSource::Model),
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
            beside: if not_predicted.is_none() { self.placements() } else { Vec::new() },
            what_if: if not_predicted.is_none() { self.what_if() } else { Vec::new() },
            not_predicted,
            stack: siblings::stack(&self.simulated.windows),
            mispredicts_per_thousand: 1e3 * mispredicts as f64 / simulated as f64,
            caveats: caveats::of(&self),
            core: PredictedCore {
                model: core.model.name.clone(),
                title: core.model.title.clone(),
                reason: core.reason.clone(),
                is_own: core.is_own,
                ghz,
                clock,
                memory: self.fitted.memory.clone(),
            },
            measured: self.measured.runs.clone(),
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

    /// The program beside siblings, on the model as it is.
    fn placements(&self) -> Vec<PredictedPlacement> {
        let runs = self.beside.iter().filter(|run| run.setting.is_none() && self.can_be(run));
        runs.filter_map(|run| self.placement(run)).collect()
    }

    /// Whether the work of the core is a figure that a core can have; one that is not is in no answer.
    pub(super) fn can_be(&self, run: &BesideRun) -> bool {
        let Some(own) = self.slowdown(run, &run.windows.passes.iter().collect::<Vec<_>>()) else {
            return false;
        };
        let work = match self.slowdown_of_other(run) {
            Some(other) => work_of_two(&own, &other),
            None => work(run.threads, &own),
        };
        let work = Spread { mean: work.value, low: work.value, high: work.value };
        plausible::of_yield("an SMT yield of", work, f64::from(run.threads)).is_ok()
    }

    fn placement(&self, run: &BesideRun) -> Option<PredictedPlacement> {
        let passes = &run.windows.passes;
        let alone = &self.simulated.windows;
        let first = passes.first()?;
        let apart = run.windows.apart.as_ref();
        let apart = apart.and_then(|apart| self.slowdown(run, &[apart]));
        Some(PredictedPlacement {
            placement: run.placement,
            threads: run.threads,
            beside: self.other.iter().map(|it| it.trace.opening().command.clone()).collect(),
            slowdown: self.slowdown(run, &passes.iter().collect::<Vec<_>>())?,
            slowdown_of_other: self.slowdown_of_other(run),
            stack: siblings::stack(first),
            causes: siblings::causes(alone, first),
            misses: siblings::misses(alone, first),
            apart: apart.map(|apart| work(run.threads, &apart).value),
        })
    }

    fn slowdown(
        &self,
        run: &BesideRun,
        passes: &[&corun_sim::SimulatedWindows],
    ) -> Option<Estimate> {
        let alone = run.windows.alone.as_ref().unwrap_or(&self.simulated.windows);
        slowdown(alone, passes, self.extrapolated.instructions)
    }

    fn slowdown_of_other(&self, run: &BesideRun) -> Option<Estimate> {
        let alone = run.windows.other_alone.as_ref()?;
        let beside: Vec<_> = run.windows.other.iter().collect();
        slowdown(alone, &beside, self.other?.thread_instructions)
    }

    fn what_if(&self) -> Vec<WhatIf> {
        let changed = self.beside.iter().filter(|run| self.can_be(run)).filter_map(|run| {
            let setting = run.setting.clone()?;
            let own = self.slowdown(run, &run.windows.passes.iter().collect::<Vec<_>>())?;
            let estimate = ratio_of_work(run, &own, self.slowdown_of_other(run).as_ref());
            Some(WhatIf { setting, placement: run.placement, estimate })
        });
        changed.collect()
    }

    /// What siblings do, for each placement.
    fn beside_observations(&self) -> Vec<Observation> {
        let runs = self.beside.iter().filter(|run| run.setting.is_none() && self.can_be(run));
        let of_run = |run: &BesideRun| {
            let own = self.slowdown(run, &run.windows.passes.iter().collect::<Vec<_>>())?;
            let other = self.slowdown_of_other(run);
            let (metric, value) = match run.placement {
                Placement::Packed(_) => {
                    (Metric::CoreEquivalence, ratio_of_work(run, &own, other.as_ref()))
                }
                _ => (Metric::SmtYield, ratio_of_work(run, &own, other.as_ref())),
            };
            let observation = |metric, estimate| Observation {
                metric,
                arm: run.placement.to_string(),
                against: Some(Placement::Spread(None).to_string()),
                of: None,
                unit: "1".to_owned(),
                estimate,
                bootstrap: None,
                source: Source::Predicted,
            };
            Some([observation(metric, value), observation(Metric::SiblingSlowdown, own)])
        };
        runs.filter_map(of_run).flatten().collect()
    }

    /// The estimate of a figure of the measured runs; none without runs.
    fn of_runs(&self, figure: fn(&MeasuredRun) -> f64) -> Option<Estimate> {
        let runs = self.measured.runs.as_ref().map_or(&[][..], |measured| &measured.runs);
        repeated(&runs.iter().map(figure).collect::<Vec<_>>())
    }

    pub(super) fn kernel_share(&self) -> Option<Estimate> {
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
        let beside = if is_predicted { self.beside_observations() } else { Vec::new() };
        observations.chain(beside).collect()
    }
}

/// Work of the core over that of a core with one thread; of `packed` the time of its workers over that on cores of their
/// own.
fn ratio_of_work(run: &BesideRun, own: &Estimate, other: Option<&Estimate>) -> Estimate {
    let yielded = other.map_or_else(|| work(run.threads, own), |other| work_of_two(own, other));
    let yielded = with_model_error(&yielded);
    match (run.placement, other) {
        // The time of as many copies on fewer cores.
        (Placement::Packed(_), None) => work(run.threads, &yielded),
        _ => yielded,
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
