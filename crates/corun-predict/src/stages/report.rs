//! Report: the prediction as a document, with predicted and measured figures side by side.

use std::path::Path;
use std::time::{Duration, SystemTime};

use corun_measure::machine_summary;
use corun_model::PredictionErrors;
use corun_record::{
    Answer, ClockSource, Document, Ending, Estimate, KnownBy, MeasuredRun, MeasuredRuns, Metric,
    Observation, OtherProgram, Placement, PredictedCore, PredictedPlacement, PredictedVerdict,
    PredictedWindow, Prediction, SiblingClock, SkippedPart, Source, TracedPart, WhatIf,
};
use corun_sim::{Spread, plausible};
use corun_stats::decide_predicted;

use super::{
    BesideRun, ExtrapolatedRun, FittedModel, MeasuredOther, MeasuredProgram, RecordedRun,
    SiblingRuns, SimulatedRun, StackedRun, ThreadsRun, caveats,
};
use crate::estimate::{LEVEL, over, repeated, with_error, with_missing};
use crate::siblings::{
    self, Threads, sibling_clock, slowdown, with_model_error, work, work_of_two,
};
use crate::{Core, Job, attribution};

/// A change of the core's work below this share is none: a model does not know it better.
const PRACTICAL: f64 = 0.05;
/// The arm of every observation here.
const ARM: &str = "single";

/// The outputs of all stages.
pub(crate) struct Report<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) core: &'a Core<'a>,
    pub(crate) recorded: &'a RecordedRun,
    pub(crate) other: Option<&'a MeasuredOther>,
    pub(crate) measured: &'a MeasuredProgram,
    pub(crate) siblings: &'a SiblingRuns,
    pub(crate) fitted: &'a FittedModel,
    pub(crate) simulated: &'a SimulatedRun,
    pub(crate) beside: &'a [BesideRun],
    pub(crate) threads: &'a [ThreadsRun],
    pub(crate) stacked: StackedRun,
    pub(crate) extrapolated: ExtrapolatedRun,
    /// The share of the windows that was not simulated, ...
    pub(crate) missing: f64,
    /// ... whether anything was not, ...
    pub(crate) is_cut: bool,
    /// ... and whether the user ended it.
    pub(crate) was_interrupted: bool,
}

impl Report<'_> {
    /// The document.
    pub(crate) fn document(self, started: SystemTime, elapsed: Duration) -> Prediction {
        let Self { job, core, recorded, .. } = self;
        let simulated = self.simulated.windows.together.instructions;
        let mispredicts = siblings::per_thousand(&self.simulated.windows, |it| it.mispredicts);
        let not_predicted = self.why_not_predicted();
        // What was measured is of this host's core, and says nothing of another one.
        let clock = self.of_runs(|run| run.ghz).filter(|_| core.is_own);
        let (ghz, clock) = match clock {
            Some(clock) => (clock.value, ClockSource::Measured),
            None => (core.model.gigahertz, ClockSource::Model),
        };
        let placements =
            if not_predicted.is_none() { self.placements() } else { Vec::new() }.into_iter();
        let (beside, too_large): (Vec<_>, Vec<_>) = placements.unzip();
        let mut caveats = caveats::of(&self);
        caveats.extend(caveats::of_assumptions(&beside, core.model));
        caveats.extend(caveats::without_lines(too_large.concat()));
        Prediction {
            format: Prediction::FORMAT.to_owned(),
            version: Prediction::VERSION,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            elapsed_s: elapsed.as_secs_f64(),
            command: recorded.trace.opening().command.clone(),
            workload: job.workload.clone(),
            seed: Some(job.beside.seed),
            machine: machine_summary(job.machine, Path::new("/")),
            ending: self.ending(),
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
            simulated_cycles: self.simulated_cycles(not_predicted.is_none()),
            observations: self.observations(ghz, not_predicted.is_none()),
            beside,
            stacked: self.stacked.predicted.clone().filter(|_| not_predicted.is_none()),
            verdicts: if not_predicted.is_none() { self.verdicts() } else { Vec::new() },
            what_if: if not_predicted.is_none() { self.what_if() } else { Vec::new() },
            not_predicted,
            stack: siblings::stack(&self.simulated.windows),
            mispredicts_per_thousand: mispredicts.unwrap_or_default(),
            other: self.other.map(other_program),
            measured_siblings: self.siblings.measured.clone(),
            caveats,
            core: PredictedCore {
                model: core.model.name.clone(),
                title: core.model.title.clone(),
                reason: core.reason.clone(),
                is_own: core.is_own,
                ghz,
                clock,
                sibling_clock: Some(self.sibling_clock()),
                memory: self.fitted.memory.clone(),
            },
            measured: self.measured.runs.clone(),
        }
    }

    /// Clock beside busy siblings: as measured on this core, else as the model has it.
    pub(super) fn sibling_clock(&self) -> SiblingClock {
        let measured = self.siblings.measured.as_ref().filter(|_| self.core.is_own);
        if let Some(ratio) = measured.and_then(|it| it.clock) {
            let source = "clocks of this machine, spread and full".to_owned();
            return SiblingClock {
                ratio,
                low: ratio,
                high: ratio,
                known: KnownBy::Measured,
                source,
            };
        }
        sibling_clock(self.core.model)
    }

    /// Cycles of the run with the interval of the choice of windows.
    fn simulated_cycles(&self, is_predicted: bool) -> Option<Estimate> {
        self.extrapolated.cycles.filter(|_| is_predicted)
    }

    fn ending(&self) -> Ending {
        match (self.was_interrupted, self.is_cut || self.recorded.cut.is_some()) {
            (true, _) => Ending::interrupted(),
            (false, true) => Ending::time_up(self.job.limit.max_time()),
            (false, false) => Ending::completed(),
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
    /// With each the files with more debug information than is read.
    fn placements(&self) -> Vec<(PredictedPlacement, Vec<String>)> {
        let known = self.assessed().into_iter().filter(|it| it.setting.is_none() && it.can_be());
        known.filter_map(|it| self.placement(&it)).collect()
    }

    /// Verdict on sharing the core, of each placement that has a yield.
    fn verdicts(&self) -> Vec<PredictedVerdict> {
        let (all, clock) = (self.assessed(), self.sibling_clock());
        let known = all.iter().filter(|it| it.setting.is_none() && it.can_be());
        known.filter_map(|it| it.verdict(&clock)).collect()
    }

    /// Every placement on every model.
    pub(super) fn assessed(&self) -> Vec<Assessed<'_>> {
        let copies = self.beside.iter().map(|run| Assessed {
            placement: run.placement,
            threads: run.threads,
            setting: run.setting.as_deref(),
            slowdown: self.slowdown(run, &run.windows.passes.iter().collect::<Vec<_>>()),
            of_other: self.slowdown_of_other(run),
            workers: Simulation::Copies(run),
        });
        let threads = self.threads.iter().map(|run| Assessed {
            placement: run.placement,
            threads: run.threads,
            setting: run.setting.as_deref(),
            slowdown: Some(run.slowdown),
            of_other: None,
            workers: Simulation::Threads(run),
        });
        copies.chain(threads).collect()
    }

    fn placement(&self, of: &Assessed<'_>) -> Option<(PredictedPlacement, Vec<String>)> {
        let mut too_large = Vec::new();
        let alone = &self.simulated.windows;
        let apart = |run: &BesideRun| self.slowdown(run, &[run.windows.apart.as_ref()?]);
        let (is_one_process, stack, causes, misses, apart) = match of.workers {
            Simulation::Copies(run) => {
                let first = run.windows.passes.first()?;
                let (mut causes, misses) =
                    (siblings::causes(alone, first), siblings::misses(alone, first));
                too_large = attribution::name(&mut causes, &self.recorded.trace, (alone, first));
                (false, siblings::stack(first), causes, misses, apart(run))
            }
            Simulation::Threads(run) => {
                let [alone, beside] = [&run.alone, &run.beside].map(|it| Threads::of(it));
                (true, beside.stack(), beside.causes(&alone), beside.misses(&alone), None)
            }
        };
        let predicted = PredictedPlacement {
            placement: of.placement,
            threads: of.threads,
            is_one_process,
            beside: self.other.iter().map(|it| it.run.trace.opening().command.clone()).collect(),
            slowdown: of.slowdown?,
            slowdown_of_other: of.of_other,
            stack,
            causes,
            misses,
            apart: apart.map(|apart| work(of.threads, &apart).value),
        };
        Some((predicted, too_large))
    }

    fn slowdown(
        &self,
        run: &BesideRun,
        passes: &[&corun_sim::SimulatedWindows],
    ) -> Option<Estimate> {
        let alone = run.windows.alone.as_ref().unwrap_or(&self.simulated.windows);
        let found = slowdown(alone, passes, self.extrapolated.instructions)?;
        let is_known = !run.windows.is_cut || found.low < found.high;
        is_known.then(|| with_missing_of(&found, self.missing, run.threads))
    }

    fn slowdown_of_other(&self, run: &BesideRun) -> Option<Estimate> {
        let alone = run.windows.other_alone.as_ref()?;
        let beside: Vec<_> = run.windows.other.iter().collect();
        let found = slowdown(alone, &beside, self.other?.run.thread_instructions)?;
        Some(with_missing_of(&found, run.windows.missing_of_other, run.threads))
    }

    fn what_if(&self) -> Vec<WhatIf> {
        let (all, clock) = (self.assessed(), self.sibling_clock());
        let changed = all.iter().filter(|it| it.can_be()).filter_map(|it| {
            let setting = it.setting?.to_owned();
            Some(WhatIf { setting, placement: it.placement, estimate: it.ratio(&clock)? })
        });
        changed.collect()
    }

    /// Observations beside siblings, for each placement.
    fn beside_observations(&self) -> Vec<Observation> {
        let (all, clock) = (self.assessed(), self.sibling_clock());
        let spread = Placement::Spread(None);
        let of_placement = |it: &Assessed<'_>| {
            let (value, own) = (it.ratio(&clock)?, clock.time(&it.slowdown?));
            let metric = it.metric();
            let a_cycle = (metric == Metric::SmtYield).then(|| it.work_a_cycle()).flatten();
            let a_cycle =
                a_cycle.map(|work| predicted(Metric::YieldInCycles, it.placement, spread, work));
            let stacked = self.stacked.predicted.as_ref().filter(|_| metric == Metric::SmtYield);
            let gain = stacked.map(|stacked| over(&value, &stacked.work));
            let gain = gain.map(|gain| {
                predicted(Metric::MultitaskingGain, it.placement, Placement::Stacked, gain)
            });
            let own = predicted(Metric::SiblingSlowdown, it.placement, spread, own);
            let seconds = [predicted(metric, it.placement, spread, value), own];
            Some(seconds.into_iter().chain(a_cycle).chain(gain))
        };
        let known = all.iter().filter(|it| it.setting.is_none() && it.can_be());
        let of_turns = self
            .stacked
            .predicted
            .as_ref()
            .map(|it| predicted(Metric::TimeSlicing, Placement::Stacked, spread, it.work));
        known.filter_map(of_placement).flatten().chain(of_turns).collect()
    }

    /// The estimate of a figure of the measured runs; none without runs.
    fn of_runs(&self, figure: fn(&MeasuredRun) -> f64) -> Option<Estimate> {
        let runs = self.measured.runs.as_ref().map_or(&[][..], |measured| &measured.runs);
        repeated(&runs.iter().map(figure).collect::<Vec<_>>())
    }

    pub(super) fn kernel_share(&self) -> Option<Estimate> {
        self.of_runs(MeasuredRun::kernel_share)
    }

    /// The reason why nothing is predicted, of either program.
    fn why_not_predicted(&self) -> Option<String> {
        let of_runs = |which, runs: Option<&MeasuredRuns>| {
            runs.and_then(|runs| others_do_its_work(which, runs.children_share()))
        };
        let [own, other] = ["The program", "The other program"];
        of_runs(own, self.measured.runs.as_ref())
            .or_else(|| why_not_predicted(own, self.kernel_share()?))
            .or_else(|| of_runs(other, self.other?.runs.as_ref()))
            .or_else(|| why_not_predicted(other, kernel_share_of(self.other?)?))
    }

    /// The predicted and the measured figures.
    fn observations(&self, ghz: f64, is_predicted: bool) -> Vec<Observation> {
        let (_, error) = PredictionErrors::committed().of_cycles(&self.core.model.name);
        let predicted = self.simulated_cycles(is_predicted).map(|it| with_error(&it, error));
        let exact = self.extrapolated.instructions as f64;
        let per_cycle = |cycles: Estimate| cycles.under(exact);
        let cycles = self.of_runs(MeasuredRun::cycles);
        let user_s = self.of_runs(|run| run.user_s);
        let instructions =
            Estimate { value: exact, low: exact, high: exact, level: LEVEL, blocks: 1 };
        // A program that works for a time did other work where it was traced.
        let is_same_work = !self.job.is_timed && self.recorded.cut.is_none();
        let is_comparable = self.core.is_own && is_same_work;
        let both = predicted.as_ref().zip(cycles.as_ref()).filter(|_| is_comparable);
        let ratio = both.map(|(one, other)| over(one, other));
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
        let on_siblings = self.siblings.observations.iter().cloned();
        observations.chain(beside).chain(on_siblings).collect()
    }
}

/// A slowdown by so many threads, where such a share of the windows is missing: these run between as alone and as in turns.
fn with_missing_of(found: &Estimate, missing: f64, threads: u32) -> Estimate {
    with_missing(found, missing, [1.0, f64::from(threads)])
}

/// A placement on a model, and what it does to the program.
pub(super) struct Assessed<'a> {
    pub(super) placement: Placement,
    threads: u32,
    /// The changed field of the model.
    pub(super) setting: Option<&'a str>,
    slowdown: Option<Estimate>,
    of_other: Option<Estimate>,
    workers: Simulation<'a>,
}

/// Simulation of a placement.
#[derive(Clone, Copy)]
enum Simulation<'a> {
    Copies(&'a BesideRun),
    Threads(&'a ThreadsRun),
}

impl Assessed<'_> {
    /// The work of the core over that of one worker, as it was simulated.
    pub(super) fn work(&self) -> Option<Estimate> {
        let own = self.slowdown?;
        Some(match self.of_other {
            Some(other) => work_of_two(&own, &other),
            None => work(self.threads, &own),
        })
    }

    /// True if the work of the core is a figure that a core can have; one that is not is in no answer.
    pub(super) fn can_be(&self) -> bool {
        self.work().is_some_and(|it| {
            let work = Spread { mean: it.value, low: it.value, high: it.value };
            plausible::of_yield("an SMT yield of", work, f64::from(self.threads)).is_ok()
        })
    }

    /// The metric that its ratio is.
    fn metric(&self) -> Metric {
        match self.placement {
            Placement::Packed(_) => Metric::CoreEquivalence,
            _ => Metric::SmtYield,
        }
    }

    /// Verdict on the siblings; none for `packed`, which has a ratio of times.
    fn verdict(&self, clock: &SiblingClock) -> Option<PredictedVerdict> {
        let metric = Some(self.metric()).filter(|it| *it == Metric::SmtYield)?;
        let ratio = self.ratio(clock)?;
        let own = self.slowdown?;
        let simulated = match self.of_other {
            // The furthest that the two together can be.
            Some(other) => {
                let (one, other) = (work(1, &own), work(1, &other));
                [one.low + other.low, one.high + other.high]
            }
            None => {
                let all = work(self.threads, &own);
                [all.low, all.high]
            }
        };
        let limits = [ratio.low, ratio.high];
        Some(PredictedVerdict {
            metric,
            arm: self.placement.to_string(),
            against: Placement::Spread(None).to_string(),
            answer: decide_predicted(limits, PRACTICAL).answer(Answer::ALL),
            practical: PRACTICAL,
            simulated,
        })
    }

    /// Work of the core a cycle over that of a core with one thread, with the model's error.
    fn work_a_cycle(&self) -> Option<Estimate> {
        Some(with_model_error(self.threads, &self.work()?))
    }

    /// The same a second; of `packed` the time of its workers over that on cores of their own.
    fn ratio(&self, clock: &SiblingClock) -> Option<Estimate> {
        let yielded = clock.work_a_second(&self.work_a_cycle()?);
        Some(match (self.placement, self.of_other) {
            // The time of as many copies on fewer cores.
            (Placement::Packed(_), None) => work(self.threads, &yielded),
            _ => yielded,
        })
    }
}

/// A predicted ratio of two placements.
fn predicted(
    metric: Metric,
    arm: Placement,
    against: Placement,
    estimate: Estimate,
) -> Observation {
    Observation {
        metric,
        arm: arm.to_string(),
        against: Some(against.to_string()),
        of: None,
        unit: "1".to_owned(),
        estimate,
        bootstrap: None,
        source: Source::Predicted,
    }
}

/// The kernel's part of the other program's time, if it was measured.
pub(super) fn kernel_share_of(other: &MeasuredOther) -> Option<Estimate> {
    let runs = other.runs.as_ref()?.runs.iter();
    repeated(&runs.map(MeasuredRun::kernel_share).collect::<Vec<_>>())
}

fn other_program(other: &MeasuredOther) -> OtherProgram {
    OtherProgram {
        command: other.run.trace.opening().command.clone(),
        threads: other.run.trace.threads().len() as u32,
        instructions: other.run.thread_instructions,
        kernel_share: kernel_share_of(other),
    }
}

/// The reason why a program is not predicted whose processes have this share of its processor time.
fn others_do_its_work(which: &str, children_share: f64) -> Option<String> {
    (children_share > MeasuredRuns::MAX_CHILDREN_SHARE).then(|| {
        format!(
            "{which} starts processes that take {:.0} % of its processor time, and they are not simulated. Predict what \
             does the work, without the program that starts it.",
            100.0 * children_share
        )
    })
}

/// The reason why a program with this kernel share is not predicted.
fn why_not_predicted(which: &str, kernel_share: Estimate) -> Option<String> {
    (kernel_share.value > MeasuredRuns::MAX_KERNEL_SHARE).then(|| {
        format!(
            "{which} is in the kernel for {:.0} % of its time, which is not simulated; only \
             programs below {:.0} % are predicted.",
            100.0 * kernel_share.value,
            100.0 * MeasuredRuns::MAX_KERNEL_SHARE
        )
    })
}
