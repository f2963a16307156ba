//! The measured counterpart of every published figure.

use std::collections::BTreeSet;

use corun_measure::analysis::{Workers, on_ratio_scale};
use corun_measure::attainable::most_work;
use corun_measure::comparison::Comparison;
use corun_measure::series::Series;
use corun_record::{Arm, Caveat, CpuTime, Estimate, Evidence, Metric, Mode, Run, StudyFigure};

use crate::arm::StudyArm;
use crate::computation::geometric_mean;
use crate::experiment::Rerun;
use crate::figure::{Figure, Value};
use crate::plan::{PlannedArm, UNKNOWN_WORK};
use crate::prediction::SimulatedCycles;
use crate::quantity::Quantity;
use crate::study::Study;

/// Outcome of an experiment.
#[derive(Debug, Clone)]
pub(crate) enum StepOutcome {
    /// It was run.
    Ran {
        /// The run, as an index.
        run: usize,
        /// Arms of the experiment.
        arms: Vec<PlannedArm>,
    },
    /// Shares of jobs were measured, largest first.
    Shares(Vec<Estimate>),
    /// It was not, for this reason.
    NotRun(String),
}

/// A measured value with the run it comes from, if it is one, or why there is none.
type Measured = Result<(Estimate, Option<usize>), String>;

/// Every figure of the study with its counterpart, and what was measured of them and cannot be.
pub(crate) fn figures(
    study: &Study,
    outcomes: &[StepOutcome],
    runs: &[Run],
    cycles: &SimulatedCycles,
) -> (Vec<StudyFigure>, Vec<Caveat>) {
    let mut caveats = Vec::new();
    let counterparts = Counterparts { study, outcomes, runs };
    let predicted = study.predicted(cycles);
    let figure = |figure: &Figure| {
        let published = study.published(figure);
        let measured = counterparts.of(figure);
        let estimate = measured.as_ref().ok().map(|(estimate, _)| *estimate);
        let cpu_time = counterparts.cpu_time(figure, estimate);
        let impossible = cpu_time.as_ref().and_then(|time| time.as_ref().err()).cloned();
        caveats.extend(impossible.map(|sentence| Caveat::new("impossible-cpu-time", sentence)));
        StudyFigure {
            id: figure.id.clone(),
            experiment: figure.experiment.map(|index| study.experiments[index].id.clone()),
            metric: figure.metric,
            arm: figure.arm.map(|arm| arm.to_string()),
            against: figure.against.map(|arm| arm.to_string()),
            unit: figure.quantity.unit().to_owned(),
            measured: estimate,
            ratio: estimate.zip(published.as_ref()).map(|(it, by)| it.scaled(1.0 / by.value)),
            published,
            predicted: predicted.get(&figure.id).map(|it| it.estimate),
            model_role: predicted.get(&figure.id).map(|it| it.role),
            not_predicted: study.not_predicted(figure),
            measured_cpu: cpu_time.and_then(Result::ok),
            run: measured.as_ref().ok().and_then(|(_, run)| run.map(|run| run as u32)),
            not_possible: measured.err(),
        }
    };
    let figures = study.figures.iter().map(figure).collect();
    (figures, caveats)
}

/// Tolerance of accounts of CPU time over the time of the CPUs: they hold the end of a process, too.
const MOST_CPU_TIME: f64 = 1.05;

/// The logical CPUs that the workers of an arm use at most.
fn cpus(arm: &Arm) -> u32 {
    let distinct: BTreeSet<u32> = arm.cpus.iter().copied().collect();
    if distinct.is_empty() { arm.workers } else { distinct.len() as u32 }
}

fn impossible_time(figure: &Figure) -> String {
    format!(
        "{}: no CPU time is shown, since its workers used more than their CPUs have in the time measured: the runs were so \
         short that most of it was their start and end. Give more time with --max-time.",
        figure.id
    )
}

struct Counterparts<'a> {
    study: &'a Study,
    outcomes: &'a [StepOutcome],
    runs: &'a [Run],
}

impl Counterparts<'_> {
    fn of(&self, figure: &Figure) -> Measured {
        if !figure.geometric_mean_of.is_empty() {
            let parts = figure.geometric_mean_of.iter().map(|id| self.named(id));
            return Ok((mean_of(&parts.collect::<Result<Vec<_>, _>>()?), None));
        }
        if let Some(ratio) = &figure.measured_as {
            let [of, over] = [self.named(&ratio.of)?, self.named(&ratio.over)?];
            return Ok((apart(&of, &over).scaled(ratio.factor), None));
        }
        if let (Some(rank), Some(index)) = (figure.rank, figure.experiment) {
            return match &self.outcomes[index] {
                StepOutcome::Shares(all) => {
                    all.get(rank).map(|it| (*it, None)).ok_or_else(|| "it did not run".to_owned())
                }
                StepOutcome::NotRun(reason) => Err(reason.clone()),
                StepOutcome::Ran { .. } => Err("its jobs were not counted".to_owned()),
            };
        }
        match (figure.experiment, &figure.value) {
            (Some(index), _) => self.within(figure, index),
            (None, Value::Computed(ratio)) => {
                let [of, over] = [self.named(&ratio.of)?, self.named(&ratio.over)?];
                Ok((apart(&of, &over).scaled(ratio.factor), None))
            }
            (None, _) => Err("no experiment of the study measures it".to_owned()),
        }
    }

    /// CPU time of all workers within a measured time.
    fn cpu_time(
        &self,
        figure: &Figure,
        measured: Option<Estimate>,
    ) -> Option<Result<CpuTime, String>> {
        let (StepOutcome::Ran { run, arms }, Quantity::Time(..), Some(measured)) =
            (&self.outcomes[figure.experiment?], &figure.quantity, measured)
        else {
            return None;
        };
        let run = &self.runs[*run];
        let arm = found(run, arms, figure.arm).ok()?;
        let twins = run.arms.iter().filter(|it| it.twin_of.as_ref() == Some(&arm.id));
        let ids: Vec<&String> = twins.map(|it| &it.id).chain([&arm.id]).collect();
        let samples = || run.samples.iter().filter(|sample| ids.contains(&&sample.arm));
        let elapsed: f64 = samples().map(|it| it.makespan_s).sum();
        let part = |of: fn(&Evidence) -> f64| {
            samples().map(|it| of(&it.evidence)).sum::<f64>() / elapsed * measured.value
        };
        let time = CpuTime { user: part(|it| it.user_s), system: part(|it| it.system_s) };
        let used = time.user + time.system;
        let most = f64::from(cpus(arm)) * measured.value * MOST_CPU_TIME;
        used.is_finite().then(|| if used <= most { Ok(time) } else { Err(impossible_time(figure)) })
    }

    fn named(&self, id: &str) -> Result<Estimate, String> {
        let figure = self.study.figure(id).expect("references were checked on loading");
        self.of(figure).map(|(estimate, _)| estimate)
    }

    /// The counterpart of a figure of one experiment.
    fn within(&self, figure: &Figure, index: usize) -> Measured {
        let rerun = self.study.experiments[index].rerun.as_ref().map_err(Clone::clone)?;
        if figure.metric == Metric::Makespan && rerun.work_per_worker.is_none() {
            return Err(UNKNOWN_WORK.to_owned());
        }
        let (run, arms) = match &self.outcomes[index] {
            StepOutcome::Ran { run, arms } => (*run, arms),
            StepOutcome::NotRun(reason) => return Err(reason.clone()),
            StepOutcome::Shares(_) => return Err(UNKNOWN_WORK.to_owned()),
        };
        let seen = &self.runs[run];
        if seen.is_without_interval() {
            return Err(format!("too few blocks to say: {}", seen.ending.sentence));
        }
        let arm = found(seen, arms, figure.arm)?;
        let estimate = match (&figure.quantity, figure.against) {
            (Quantity::Time(_, unit), _) => time(seen, arm, rerun)?.scaled(1.0 / unit),
            (Quantity::Rate(_), _) => rate(seen, arm, rerun)?,
            (_, against) => compared(seen, figure.metric, arm, found(seen, arms, against)?)?,
        };
        let numbers = [estimate.value, estimate.low, estimate.high];
        match numbers.iter().all(|number| number.is_finite()) {
            true => Ok((estimate, Some(run))),
            false => Err("its few runs differed too much to say".to_owned()),
        }
    }
}

fn found<'a>(
    run: &'a Run,
    arms: &[PlannedArm],
    wanted: Option<StudyArm>,
) -> Result<&'a Arm, String> {
    let planned = arms.iter().find(|planned| Some(planned.arm) == wanted);
    let planned = planned.ok_or("the study does not say in which arm")?;
    let id = planned.id.as_ref().map_err(Clone::clone)?;
    run.arm(id).ok_or_else(|| format!("the run has no arm {id}"))
}

fn throughput(run: &Run, arm: &Arm) -> Result<Estimate, String> {
    let seen = run.observation(Metric::Throughput, &arm.id);
    seen.map(|seen| seen.estimate).ok_or_else(|| "its few runs differed too much to say".to_owned())
}

/// The time of the published work, in seconds.
fn time(run: &Run, arm: &Arm, rerun: &Rerun) -> Result<Estimate, String> {
    let work = rerun.work_per_worker.ok_or(UNKNOWN_WORK)?;
    let workers = match run.workload.mode {
        Mode::WorkersTotal | Mode::Service => 1.0,
        Mode::Copies | Mode::WorkersPerWorker => f64::from(arm.workers),
    };
    Ok(throughput(run, arm)?.under(work * workers))
}

/// Work in a second, counted as the published table counts it.
fn rate(run: &Run, arm: &Arm, rerun: &Rerun) -> Result<Estimate, String> {
    Ok(throughput(run, arm)?.scaled(rerun.credit()))
}

/// A metric between two arms of one run, block by block.
fn compared(run: &Run, metric: Metric, arm: &Arm, against: &Arm) -> Result<Estimate, String> {
    let is_it = |seen: &&corun_record::Observation| {
        seen.metric == metric && seen.arm == arm.id && seen.against.as_ref() == Some(&against.id)
    };
    if let Some(seen) = run.observations.iter().find(is_it) {
        return Ok(seen.estimate);
    }
    let is_of_times = matches!(
        metric,
        Metric::SiblingSlowdown | Metric::CoreEquivalence | Metric::SharingPenalty
    );
    let comparison = Comparison {
        metric,
        arm: arm.id.clone(),
        against: against.id.clone(),
        sign: if is_of_times { -1.0 } else { 1.0 },
        factor: factor(metric, arm, against),
    };
    let series = Series::of_throughput(&run.arms, &run.samples);
    let all_work = series.comparison(&Comparison { sign: 1.0, ..comparison.of_all_work() });
    let mean = all_work.iter().sum::<f64>() / all_work.len() as f64;
    if most_work(metric, [arm, against], Workers::Alike, None).is_some_and(|most| mean.exp() > most)
    {
        return Err(format!(
            "{} did more than its workers can: something held up the runs of {}",
            arm.id, against.id
        ));
    }
    let logs = series.comparison(&comparison);
    let level = throughput(run, arm)?.level;
    corun_stats::paired(&logs, level)
        .map(|estimate| on_ratio_scale(&estimate))
        .ok_or_else(|| "its few runs differed too much to say".to_owned())
}

/// Factor of a ratio of throughputs: arms of unlike size are compared by worker.
fn factor(metric: Metric, arm: &Arm, against: &Arm) -> f64 {
    let [workers, others] = [arm.workers, against.workers].map(f64::from);
    match metric {
        Metric::Scaling => others / workers,
        // Where cores are odd in number, fewer workers are packed than spread.
        Metric::CoreEquivalence => workers / others,
        Metric::SiblingSlowdown => workers / f64::from(arm.cores.max(1)),
        _ => 1.0,
    }
}

/// The ratio of two estimates of separate runs: their half-widths add as the sides of a triangle
/// with a right angle, on the log scale.
fn apart(of: &Estimate, over: &Estimate) -> Estimate {
    around(of.value / over.value, half(of).hypot(half(over)), of.blocks.min(over.blocks), of.level)
}

fn mean_of(parts: &[Estimate]) -> Estimate {
    let squares: f64 = parts.iter().map(|part| half(part).powi(2)).sum();
    around(
        geometric_mean(parts.iter().map(|part| part.value)),
        squares.sqrt() / parts.len() as f64,
        parts.iter().map(|part| part.blocks).min().unwrap_or_default(),
        parts.first().map_or(f64::NAN, |part| part.level),
    )
}

/// Half the width of the interval on the log scale.
fn half(estimate: &Estimate) -> f64 {
    (estimate.high / estimate.low).ln() / 2.0
}

fn around(value: f64, half: f64, blocks: u32, level: f64) -> Estimate {
    Estimate { value, low: value * (-half).exp(), high: value * half.exp(), level, blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_workers_are_compared_one_by_one() {
        let arm = |workers: u32, cores: u32| -> Arm {
            serde_json::from_value(serde_json::json!({
                "id": "it", "placement": "packed", "workers": workers, "cores": cores,
                "cpus": [], "idle_siblings": [], "core_type": null, "variant": null, "smt": null, "twin_of": null
            }))
            .expect("an arm")
        };
        // Three cores: two workers on the siblings of one, against three on a core each.
        let times = factor(Metric::CoreEquivalence, &arm(2, 1), &arm(3, 3));
        assert!((times - 2.0 / 3.0).abs() < 1e-12);
        assert!((factor(Metric::SiblingSlowdown, &arm(6, 3), &arm(3, 3)) - 2.0).abs() < 1e-12);
        assert!((factor(Metric::SmtYield, &arm(6, 3), &arm(3, 3)) - 1.0).abs() < 1e-12);
    }
}
