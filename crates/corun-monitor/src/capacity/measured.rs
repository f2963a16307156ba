//! A curve from request to document: resolve what to run, lay the arms out, run them in random blocks, analyse.

use std::path::Path;
use std::time::SystemTime;

use corun_machine::Machine;
use corun_measure::cores::why_no_siblings;
use corun_measure::execution::{ExecutionError, Interrupt};
use corun_measure::experiment::{
    BlockSchedule, Executor, FEWEST_BLOCKS, Observer, Stopping, run_experiment,
};
use corun_measure::{MeasureError, PreparedWork, Request, caveats, machine_summary};
use corun_record::{
    CapacityCurve, CapacityDesign, Caveat, Estimate, Filling, FillingCurve, PlannedAnalysis,
    Record, Sample, Source, Workload,
};
use corun_stats::{AnalysisPlan, percent};

use super::answer::{self, HALF};
use super::curve::{ORDERS, UsedCapacity, curve_of};
use super::design::CurveDesign;

/// The fewest blocks before the first of several interim analyses, and the most of all.
const BLOCKS: [u32; 2] = [10, 160];
/// A reported utilisation that is further from the share of busy CPUs is worth a remark.
const MISREPORTED: f64 = 0.05;

/// Request of a curve.
#[derive(Debug, Clone)]
pub struct CapacityRequest {
    /// The run; its placements are not used.
    pub run: Request,
    /// Built-in workloads to run together in place of the request's work; empty where it is that.
    pub mix: Vec<String>,
}

/// Everything that is ready to be measured.
pub struct CapacityMeasurement<'a> {
    request: &'a CapacityRequest,
    machine: &'a Machine,
    design: CurveDesign,
    work: PreparedWork,
    started: SystemTime,
}

impl<'a> CapacityMeasurement<'a> {
    /// Resolves the request on this machine. Nothing is run yet, but for the programs of a mix, to find how long they take.
    ///
    /// # Errors
    /// If the request is not valid, or there is no CPU to use.
    pub fn prepare(
        request: &'a CapacityRequest,
        machine: &'a Machine,
        interrupt: Interrupt,
    ) -> Result<Self, MeasureError> {
        let started = SystemTime::now();
        let work = match request.mix.is_empty() {
            true => PreparedWork::new(&request.run, machine, interrupt)?,
            false => PreparedWork::of_mix(&request.mix, &request.run, machine, &interrupt)?,
        };
        let design = CurveDesign::new(work.cores.clone());
        Ok(Self { request, machine, design, work, started })
    }

    /// The arms, for who shows the course.
    pub fn design(&self) -> &CurveDesign {
        &self.design
    }

    /// When it began, as RFC 3339.
    pub fn started(&self) -> String {
        humantime::format_rfc3339_seconds(self.started).to_string()
    }

    /// The work.
    pub fn workload(&self) -> &Workload {
        &self.work.workload
    }

    /// Measures. A failure after the first block comes beside what was finished before it.
    ///
    /// # Errors
    /// If an arm fails, or the user interrupts, before the first block is finished.
    pub fn run(
        mut self,
        observer: &mut dyn Observer,
    ) -> Result<(Record<CapacityCurve>, Option<ExecutionError>), MeasureError> {
        let run = &self.request.run;
        let schedule = BlockSchedule {
            seed: run.seed.unwrap_or_else(|| corun_stats::fresh_seed(self.started)),
            warmup: run.warmup,
            fewest: FEWEST_BLOCKS,
            share: run.max_time,
            max_time: run.max_time,
        };
        let mut stopping = AtHalf::new(&self.design, run.blocks, run.target);
        self.work.executor.limit_runs(run.max_time);
        if let Some(first) = self.design.arms().first() {
            self.work.calibrate(first, run.max_time / 4)?;
        }
        let arms = self.design.arms();
        let outcome =
            run_experiment(arms, &schedule, &mut stopping, &mut self.work.executor, observer)?;
        let level = stopping.plan.level_after(outcome.blocks);
        let interim_analyses = stopping.analyses();
        let curve = curve_of(&self.design, &outcome.samples, level);
        let mode = self.work.workload.mode;
        let started = self.started();
        let hypervisor = self.machine.hypervisor.as_deref();
        let mut limits = std::mem::take(&mut self.work.caveats);
        limits.extend(caveats::of(arms, &outcome.samples, &curve.observations, hypervisor));
        limits.extend(caveats::waiting(arms, &outcome.samples, mode));
        let cores = self.design.cores();
        if self.design.smt_width() < 2 {
            let why = why_no_siblings(self.machine, cores);
            let why = why.split_once(", and ").map_or(why.as_str(), |(_, why)| why);
            limits.push(Caveat::new(
                "no-siblings",
                format!("The curve is that of cores alone: {why}."),
            ));
        }
        limits.extend(misreported(&curve.orders));
        limits.extend(more_than_all(&curve.orders));
        let mut body = CapacityCurve {
            mix: self.request.mix.clone(),
            source: Source::Measured,
            model: None,
            cores: cores.len() as u32,
            cpus: self.design.cpus(),
            smt_width: self.design.smt_width(),
            answer: None,
            orders: curve.orders,
            levels: curve.levels,
            smt_yield: curve.smt_yield,
            core_use: curve.core_use,
            scaling: curve.scaling,
            reasons: Vec::new(),
            advice: Vec::new(),
            design: Some(CapacityDesign {
                seed: schedule.seed,
                blocks: outcome.blocks,
                warmup: schedule.warmup,
                target: run.target,
                interim_analyses,
                max_time_s: run.max_time.as_secs_f64(),
            }),
            arms: arms.to_vec(),
            observations: curve.observations,
            samples: outcome.samples,
            workload: self.work.workload,
        };
        match caveats::only_waits(&body.arms, &body.samples, mode) {
            Some(why) => limits.insert(0, Caveat::new("waits", format!("No answer: {why}"))),
            None => answer::complete(&mut body),
        }
        let elapsed_s = self.started.elapsed().unwrap_or_default().as_secs_f64();
        let record = Record {
            machine: Some(machine_summary(self.machine, Path::new("/"))),
            ending: outcome.ending,
            caveats: limits,
            ..Record::new(started, elapsed_s, body)
        };
        Ok((record, outcome.failure))
    }
}

/// Ends an experiment when both curves are known well enough at 50 %.
pub struct AtHalf<'a> {
    design: &'a CurveDesign,
    plan: AnalysisPlan,
    target: f64,
}

impl<'a> AtHalf<'a> {
    /// With a fixed number of blocks, or planned interim analyses that look for intervals as narrow as `target`.
    pub fn new(design: &'a CurveDesign, blocks: Option<u32>, target: f64) -> Self {
        let plan = match blocks {
            Some(blocks) => AnalysisPlan::fixed(blocks),
            None => AnalysisPlan::planned(BLOCKS[0], BLOCKS[1]),
        };
        Self { design, plan, target }
    }

    /// The level of intervals after so many blocks.
    pub fn level_after(&self, blocks: u32) -> f64 {
        self.plan.level_after(blocks)
    }

    fn analyses(&self) -> Vec<PlannedAnalysis> {
        let analyses = self.plan.analyses().iter();
        analyses.map(|it| PlannedAnalysis { blocks: it.blocks, level: it.level }).collect()
    }
}

impl Stopping for AtHalf<'_> {
    fn maximum(&self) -> u32 {
        self.plan.maximum()
    }

    fn analyse(&mut self, blocks: u32, samples: &[Sample]) -> Option<String> {
        let analysis = self.plan.at(blocks)?;
        if blocks == self.plan.maximum() {
            return None;
        }
        let used = UsedCapacity::new(self.design, samples, analysis.level);
        let half = f64::from(self.design.cpus()) * HALF;
        let is_narrow = |filling: &Filling| {
            let width = |it: Estimate| (it.high / it.low).ln() / 2.0;
            used.at(*filling, half).is_some_and(|it| width(it) <= self.target.ln_1p())
        };
        ORDERS.iter().all(is_narrow).then(|| {
            format!(
                "the intervals at 50 % were narrower than ± {} at the planned analysis after {blocks} blocks",
                percent(self.target)
            )
        })
    }
}

/// Caveat that the kernel reported another utilisation than the share of CPUs that were to be busy.
fn misreported(orders: &[FillingCurve]) -> Option<Caveat> {
    let points = orders.iter().flat_map(|order| &order.points);
    let apart = points.filter_map(|it| Some((it, it.reported? - it.nominal)));
    let (point, apart) = apart.max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))?;
    (apart.abs() > MISREPORTED).then(|| {
        Caveat::new(
            "other-utilisation",
            format!(
                "With {} of the logical CPUs to be busy the kernel reported {}: {}. The curve is over CPUs that \
                 were to be busy.",
                percent(point.nominal),
                percent(point.reported.unwrap_or(point.nominal)),
                match apart > 0.0 {
                    true => "other programs ran",
                    false => "the program leaves its CPUs idle at times",
                }
            ),
        )
    })
}

/// Caveat that some of the logical CPUs do more than all of them.
fn more_than_all(orders: &[FillingCurve]) -> Option<Caveat> {
    let points = orders.iter().flat_map(|order| &order.points);
    let most = points.max_by(|one, other| one.used.low.total_cmp(&other.used.low))?;
    (most.used.low > 1.0).then(|| {
        Caveat::new(
            "more-than-all",
            format!(
                "{} busy logical CPUs ({}) do {} of the work that all do: 100 % is not the most that this machine can do.",
                most.busy,
                most.arm.as_deref().unwrap_or_default(),
                percent(most.used.value)
            ),
        )
    })
}
