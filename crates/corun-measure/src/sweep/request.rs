//! A sweep from request to document: resolve what to run, lay the grid out, search, and say what follows.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use corun_machine::Machine;
use corun_record::{
    Arm, Candidate, Caveat, Goal, Metric, Mode, Observation, PlannedAnalysis, Record, Sample,
    Source, Standing, SweepDesign, ThreadSweep, Workload,
};

use super::advice::{self, ProcessContext};
use super::answer;
use super::experiment::{
    CONFIDENCE, SweepObserver, SweepSchedule, WorkOfRun, expected_candidates, run_sweep, twin_id,
};
use super::grid::{Family, Grid, Point};
use super::objective::{slowest_p99, wants_most_workers};
use super::outcome::{CandidateOutcome, SweepOutcome};
use super::screening;
use super::search::ANALYSES;
use crate::analysis::on_ratio_scale;
use crate::caveats;
use crate::cores::why_no_siblings;
use crate::cpu_use;
use crate::execution::{ExecutionError, Interrupt, LocalExecutor, calibrate};
use crate::experiment::Executor;
use crate::measurement::{MeasureError, machine_summary};
use crate::prepared::PreparedWork;
use crate::request::{REPORTED, Request};

/// Setting that a program with OpenMP did not get.
const OPENMP_COPIES: &str = "How many threads the program itself should use: copies of it were started, though it uses \
                             OpenMP. `--env OMP_NUM_THREADS={workers}` before the command sweeps its threads.";

/// Request of a sweep.
#[derive(Debug, Clone)]
pub struct SweepRequest {
    /// The run; its placements and blocks are not used.
    pub run: Request,
    /// The time allowed, unless runs take so long that more is needed.
    pub grows: bool,
    /// Goal of the sweep.
    pub goal: Goal,
    /// CPU time that a quota allows in a second, in CPUs, and a sentence on each limit of the CPUs.
    pub quota: Option<f64>,
    /// Limits of the CPUs, a sentence each.
    pub limits: Vec<String>,
    /// Limits of the CPUs that could not be read, a sentence each.
    pub unknown_limits: Vec<String>,
    /// Context of the program, for lines that put the answer into effect.
    pub context: ProcessContext,
}

/// Everything that is ready for a sweep.
pub struct ThreadSearch<'a> {
    request: &'a SweepRequest,
    machine: &'a Machine,
    grid: Grid,
    workload: Workload,
    executor: LocalExecutor,
    /// Time that a run of a built-in kernel should take, and its fewest operations.
    sample_time: Option<(Duration, u64)>,
    caveats: Vec<Caveat>,
    unknown: Vec<String>,
    /// The work of a run.
    work: WorkOfRun,
    started: SystemTime,
}

impl<'a> ThreadSearch<'a> {
    /// Resolves the request on this machine; nothing is run yet.
    ///
    /// # Errors
    /// If the request is not valid, or there is no CPU to use.
    pub fn prepare(
        request: &'a SweepRequest,
        machine: &'a Machine,
        interrupt: Interrupt,
    ) -> Result<Self, MeasureError> {
        let started = SystemTime::now();
        let PreparedWork { cores, workload, executor, caveats, sample_time } =
            PreparedWork::new(&request.run, machine, interrupt)?;
        let mut unknown = unknown(machine, &cores);
        unknown.extend(request.unknown_limits.iter().cloned());
        let mode = workload.mode;
        if request.context.openmp && mode == Mode::Copies {
            unknown.push(OPENMP_COPIES.to_owned());
        }
        let reports = workload.operation == REPORTED;
        let work = match mode {
            Mode::Service => WorkOfRun::Fixed,
            _ if reports || request.run.steady => WorkOfRun::Unknown,
            Mode::WorkersTotal => WorkOfRun::Fixed,
            Mode::Copies | Mode::WorkersPerWorker => WorkOfRun::EachWorker,
        };
        let has_siblings = cores.iter().any(|core| core.cpus.len() > 1);
        Ok(Self {
            request,
            machine,
            workload,
            executor,
            sample_time,
            caveats: before_a_sweep(caveats, has_siblings),
            unknown,
            work,
            grid: Grid::new(cores),
            started,
        })
    }

    /// Sweeps. A failure after the first block comes beside what was finished before it.
    ///
    /// # Errors
    /// If no candidate runs to its end, or the user interrupts before the first block is finished.
    pub fn run(
        mut self,
        observer: &mut dyn SweepObserver,
    ) -> Result<(Record<ThreadSweep>, Option<ExecutionError>), MeasureError> {
        if !self.request.grows {
            self.executor.limit_runs(self.request.run.max_time);
        }
        let calibrated = match self.sample_time {
            Some((time, least)) => {
                let arm = Point { family: Family::Dealt, workers: self.grid.cores() };
                calibrate(
                    &mut self.executor,
                    &self.grid.arm(arm),
                    time.as_secs_f64(),
                    least,
                    Duration::MAX,
                )
            }
            None => Ok(0),
        };
        self.workload.operations = self.executor.operations();
        let run = &self.request.run;
        let schedule = SweepSchedule {
            goal: self.request.goal,
            most_workers: wants_most_workers(self.request.goal, self.workload.mode),
            practical: run.practical,
            work: self.work,
            quota: self.quota(),
            seed: run.seed.unwrap_or_else(|| corun_stats::fresh_seed(self.started)),
            warmup: run.warmup,
            max_time: run.max_time,
            grows: self.request.grows,
        };
        let outcome = match calibrated {
            Ok(_) => {
                observer.sweep_begins(&self.started(), &self.workload);
                run_sweep(&self.grid, &schedule, &mut self.executor, observer)?
            }
            Err(ExecutionError::Timeout { .. }) => {
                let sentence = "one run takes longer than the time allowed".to_owned();
                SweepOutcome::not_begun(sentence, run.max_time)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(self.document(&schedule, outcome))
    }

    /// The numbers of workers that run once first, ascending.
    pub fn numbers(&self) -> Vec<u32> {
        screening::numbers(self.grid.cores(), self.grid.cpus(), self.quota())
    }

    /// The numbers of workers and placements that are probably tried.
    pub fn expected_candidates(&self) -> usize {
        expected_candidates(&self.grid, self.quota())
    }

    /// The workers that a quota has CPU time for.
    fn quota(&self) -> Option<u32> {
        self.request.quota.map(|quota| quota.ceil() as u32)
    }

    /// The logical CPUs that workers may use.
    pub fn cpus(&self) -> u32 {
        self.grid.cpus()
    }

    fn started(&self) -> String {
        humantime::format_rfc3339_seconds(self.started).to_string()
    }

    fn document(
        self,
        schedule: &SweepSchedule,
        mut outcome: SweepOutcome,
    ) -> (Record<ThreadSweep>, Option<ExecutionError>) {
        let started = self.started();
        let failure = outcome.failure.take();
        let cpu_share = cpu_use::share(&with_twins(&outcome), &outcome.samples, self.workload.mode);
        let arms = with_twins(&outcome);
        let answer = answer::of(&self.grid, schedule, &outcome, cpu_share);
        let chosen = answer.as_ref().and_then(|answer| {
            outcome.tried.iter().map(|tried| &tried.arm).find(|arm| arm.id == answer.arm)
        });
        let is_known = answer.as_ref().is_some_and(|answer| answer.verdict.is_answer());
        let advice = chosen
            .filter(|_| is_known)
            .map(|arm| advice::lines(arm, &self.grid, &self.workload, &self.request.context))
            .unwrap_or_default();
        let elapsed_s = self.executor.elapsed().as_secs_f64();
        let sweep = ThreadSweep {
            goal: schedule.goal,
            limits: self.request.limits.clone(),
            unknown: self.unknown,
            observations: observations(&self.grid, schedule.goal, &outcome, chosen, cpu_share),
            advice,
            candidates: candidates(&outcome),
            design: SweepDesign {
                seed: schedule.seed,
                blocks: outcome.blocks,
                runs: outcome.samples.len() as u32,
                full_grid: full_grid(&self.grid, &outcome),
                warmup: schedule.warmup,
                confidence: CONFIDENCE,
                practical: schedule.practical,
                interim_analyses: interim_analyses(compared(&outcome)),
                max_time_s: outcome.allowed.as_secs_f64(),
            },
            answer,
            workload: self.workload,
            samples: outcome.samples,
        };
        let hypervisor = self.machine.hypervisor.as_deref();
        let mut seen = caveats::of(&arms, &sweep.samples, &[], hypervisor);
        seen.extend(cpu_share.and_then(cpu_use::caveat));
        let warmup = self.request.run.warmup;
        seen.extend(self.executor.first_run_caveat(&arms, &sweep.samples, warmup));
        let record = Record {
            machine: Some(machine_summary(self.machine, Path::new("/"))),
            ending: outcome.ending,
            caveats: [self.caveats, seen].concat(),
            ..Record::new(started, elapsed_s, sweep)
        };
        (record, failure)
    }
}

/// The arms that ran, each with the twin that some of its samples are of.
fn with_twins(outcome: &SweepOutcome) -> Vec<Arm> {
    let pair = |arm: &Arm| {
        let twin = Arm { id: twin_id(arm), twin_of: Some(arm.id.clone()), ..arm.clone() };
        [arm.clone(), twin]
    };
    outcome.tried.iter().flat_map(|tried| pair(&tried.arm)).collect()
}

/// The points of the grid, and those beyond it that were tried.
fn full_grid(grid: &Grid, outcome: &SweepOutcome) -> u32 {
    let beyond = outcome.tried.iter().filter(|tried| tried.arm.workers > grid.cpus());
    (grid.points().count() + beyond.count()) as u32
}

fn interim_analyses(candidates: usize) -> Vec<PlannedAnalysis> {
    let shared = corun_stats::best_of_several::SharedLevel {
        confidence: CONFIDENCE,
        analyses: ANALYSES.len() as u32,
    };
    let level = shared.of_one(candidates);
    ANALYSES.into_iter().map(|blocks| PlannedAnalysis { blocks, level }).collect()
}

/// The candidates that ran in blocks.
fn compared(outcome: &SweepOutcome) -> usize {
    outcome.tried.iter().filter(|tried| tried.blocks > 0).count()
}

/// In table order: by placement, then by workers.
fn candidates(outcome: &SweepOutcome) -> Vec<Candidate> {
    let standings = outcome.conclusion.as_ref().map(|conclusion| &conclusion.standings);
    let standing = |index: usize| standings.and_then(|all| all.get(index)).copied();
    let candidate = |(index, tried): (usize, &CandidateOutcome)| Candidate {
        arm: tried.arm.clone(),
        blocks: tried.blocks,
        screening: tried.screening,
        standing: standing(index).unwrap_or(Standing::Undecided),
        failure: tried.failure.clone(),
    };
    let mut candidates: Vec<Candidate> = outcome.tried.iter().enumerate().map(candidate).collect();
    let is_free = |candidate: &Candidate| candidate.arm.cpus.is_empty();
    candidates.sort_by_key(|it| (is_free(it), it.arm.workers, it.arm.placement));
    candidates
}

/// Observations of each candidate: its throughput and time, its energy, and its score beside the chosen one's.
fn observations(
    grid: &Grid,
    goal: Goal,
    outcome: &SweepOutcome,
    chosen: Option<&Arm>,
    cpu_share: Option<f64>,
) -> Vec<Observation> {
    let mut seen = Vec::new();
    let is_sound = |tried: &CandidateOutcome| match chosen {
        Some(chosen) => answer::is_attainable(grid, goal, [chosen, &tried.arm], tried, cpu_share),
        None => true,
    };
    let chosen = chosen.map(|arm| arm.id.as_str());
    for tried in &outcome.tried {
        let logs = |value: &dyn Fn(&Sample) -> Option<f64>| block_means(outcome, &tried.arm, value);
        let mut observe = |metric, unit: &str, against: Option<&str>, estimate| {
            seen.push(Observation {
                metric,
                arm: tried.arm.id.clone(),
                against: against.map(str::to_owned),
                of: None,
                unit: unit.to_owned(),
                estimate,
                bootstrap: None,
                source: Source::Measured,
            });
        };
        let of_samples: [(Metric, &str, Option<Vec<f64>>); 3] = [
            (Metric::Throughput, "operations/s", logs(&|sample| Some(sample.throughput))),
            (Metric::Makespan, "s", logs(&|sample| Some(sample.makespan_s))),
            (Metric::EnergyPerOperation, "J/operation", logs(&Sample::joules_per_operation)),
        ];
        for (metric, unit, logs) in of_samples {
            if let Some(estimate) = logs.and_then(|logs| corun_stats::paired(&logs, 0.95)) {
                observe(metric, unit, None, on_ratio_scale(&estimate));
            }
        }
        let p99 = logs(&|sample| slowest_p99(sample));
        if let Some(estimate) = p99.and_then(|logs| corun_stats::paired(&logs, 0.95)) {
            observe(Metric::Latency, "s", None, on_ratio_scale(&estimate));
        }
        if let Some(beside) = &tried.beside_chosen
            && is_sound(tried)
        {
            observe(Metric::RelativeToChosen, "1", chosen, on_ratio_scale(beside));
        }
    }
    seen.retain(|it| it.estimate.low.is_finite() && it.estimate.high.is_finite());
    seen
}

/// Limits of trust before anything has run. That there are no siblings limits what can be known, not whether it is so.
fn before_a_sweep(mut caveats: Vec<Caveat>, has_siblings: bool) -> Vec<Caveat> {
    caveats.retain(|caveat| has_siblings || caveat.kind != "doctor-smt");
    caveats
}

/// The logarithms of a quantity of an arm, the mean of its samples of each block; `None` where a sample lacks it.
fn block_means(
    outcome: &SweepOutcome,
    arm: &Arm,
    value: &dyn Fn(&Sample) -> Option<f64>,
) -> Option<Vec<f64>> {
    let twin = twin_id(arm);
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in outcome.samples.iter().filter(|it| it.arm == arm.id || it.arm == twin) {
        blocks.entry(sample.block).or_default().push(value(sample)?.ln());
    }
    Some(blocks.values().map(|logs| logs.iter().sum::<f64>() / logs.len() as f64).collect())
}

/// Facts that this machine does not show.
fn unknown(machine: &Machine, cores: &[crate::cores::Core]) -> Vec<String> {
    let mut unknown = Vec::new();
    if cores.iter().all(|core| core.cpus.len() < 2) {
        let why = why_no_siblings(machine, cores);
        let why = why.split_once(", and ").map_or(why.as_str(), |(_, why)| why);
        unknown.push(format!(
            "What a second worker on a core would do, since {why}. `corun predict` says it for a core model."
        ));
    }
    if machine.hypervisor.is_some() {
        unknown.push(
            "Whether two of these logical CPUs share a core of the host: this is a virtual machine. \
             `corun topo --probe` tests it."
                .to_owned(),
        );
    }
    unknown
}
