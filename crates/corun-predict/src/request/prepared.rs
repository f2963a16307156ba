//! A request that is resolved: the program is found, the cores are known, and nothing is traced yet.

use std::sync::atomic::AtomicBool;

use corun_machine::Machine;
use corun_measure::execution::Interrupt;
use corun_record::{Caveat, Prediction, Progress};
use corun_trace::{SystemCall, Target, TracerSelection, choose_for};

use super::cores::ReadyCore;
use super::process::FollowedTarget;
use super::program::TracedProgram;
use super::{Measuring, PART_ON_SIBLINGS, PredictRequest, StandardInput};
use crate::{
    Beside, Core, HostSiblings, Job, MeasureSiblings, PredictError, Sampling, TimeLimit, predict,
};

/// A prediction before its program is traced.
pub struct PreparedPrediction<'a> {
    request: &'a PredictRequest,
    machine: &'a Machine,
    cores: Vec<ReadyCore>,
    subject: Subject,
}

/// The program of a prediction, and how it is recorded.
pub(super) struct Subject {
    pub(super) program: TracedProgram,
    tracer: TracerSelection<'static>,
    sampling: Sampling,
    beside: Beside,
    caveats: Vec<Caveat>,
    is_timed: bool,
    limit: TimeLimit,
}

impl PredictRequest {
    /// Resolves the request; a built-in workload whose operations are not given is run for a moment.
    ///
    /// # Errors
    /// If it is not valid, if there is no such program or core, or if it cannot be predicted here.
    pub fn prepare<'a>(
        &'a self,
        machine: &'a Machine,
        interrupt: &Interrupt,
        stop: &AtomicBool,
    ) -> Result<PreparedPrediction<'a>, PredictError> {
        let beside = self.beside()?;
        let cores = ReadyCore::all(self)?;
        self.check_measured(&cores, &HostSiblings::new(machine, stop))?;
        let subject = self.subject(beside, machine, interrupt, stop)?;
        Ok(PreparedPrediction { request: self, machine, cores, subject })
    }

    pub(super) fn subject(
        &self,
        mut beside: Beside,
        machine: &Machine,
        interrupt: &Interrupt,
        stop: &AtomicBool,
    ) -> Result<Subject, PredictError> {
        let limit = TimeLimit::begin(self.max_time, self.time_to_simulate());
        let workers = beside.workers.is_some().then_some(1);
        let mut program = self.program.prepare(workers, machine, interrupt)?;
        let sampling = self.sampling();
        self.check_standard_input(sampling)?;
        let own = self.followed(program.target, self.from.or(program.from), (&limit, stop))?;
        program.target = own.target;
        let mut caveats = own.caveats;
        if let Some(other) = beside.other.take() {
            let which = ("The other program", None);
            let other = FollowedTarget::of(other, which, limit.survey_ends(), stop)?;
            beside.other = Some(other.target);
            caveats.extend(other.caveats);
        }
        let tracer = choose_for(self.tracer.as_deref(), &program.target);
        let tracer = tracer.map_err(PredictError::Trace)?;
        let is_timed = own.is_timed;
        Ok(Subject { program, tracer, sampling, beside, caveats, is_timed, limit })
    }

    /// The program that does the work of the command; not known of what can run only once.
    fn followed(
        &self,
        target: Target,
        from: Option<SystemCall>,
        (limit, stop): (&TimeLimit, &AtomicBool),
    ) -> Result<FollowedTarget, PredictError> {
        let is_pipe = self.standard_input == StandardInput::Pipe;
        match is_pipe && self.program.reads_standard_input() {
            true => Ok(FollowedTarget::unknown(target)),
            false => FollowedTarget::of(target, ("The program", from), limit.survey_ends(), stop),
        }
    }

    /// The job in one round, without a measurement on siblings and without a trace to keep.
    pub(super) fn job<'a>(
        &self,
        subject: Subject,
        cores: Vec<Core<'a>>,
        machine: &'a Machine,
    ) -> Job<'a> {
        let Subject { program, tracer, sampling, beside, caveats, is_timed, limit } = subject;
        let is_measured = self.measuring != Measuring::Nothing;
        Job {
            target: program.target,
            caveats,
            is_timed,
            workload: program.workload,
            cores,
            beside,
            tracer,
            from: self.from.or(program.from),
            sampling,
            rounds: 1,
            precision: self.target,
            pages: self.pages,
            measure_for: is_measured.then(|| self.time_to_measure()),
            measure_siblings: None,
            keep: None,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            limit,
            machine,
        }
    }
}

impl PreparedPrediction<'_> {
    /// The program that is traced.
    pub fn target(&self) -> &Target {
        &self.subject.program.target
    }

    /// The cores and the tracer, and why they were chosen, a line each.
    pub fn choices(&self) -> Vec<String> {
        let tracer = format!("The tracer: {}.", self.subject.tracer.reason);
        self.cores.iter().map(ReadyCore::line).chain([tracer]).collect()
    }

    /// The reason why the tracer may fail on the program.
    pub fn warning(&self) -> Option<&str> {
        self.subject.tracer.warning.as_deref()
    }

    /// Predicts it on each core; `progress` hears of each stage.
    ///
    /// # Errors
    /// If the program cannot be run, traced or simulated, or `stop` was set.
    pub fn predict(
        self,
        progress: &dyn Progress,
        interrupt: &Interrupt,
        stop: &AtomicBool,
    ) -> Result<Vec<Prediction>, PredictError> {
        let Self { request, machine, cores, subject } = self;
        let siblings = HostSiblings::new(machine, stop);
        let measure_siblings = match request.measuring.measures_siblings() {
            true => Some(MeasureSiblings {
                source: &siblings,
                evidence: siblings.evidence(),
                work: request.program.measured(request.per_worker, &request.standard_input),
                budget: request.max_time / PART_ON_SIBLINGS,
                limit: request.max_time,
                interrupt: interrupt.again().map_err(PredictError::Signals)?,
            }),
            false => None,
        };
        let job = Job {
            rounds: request.rounds(),
            measure_siblings,
            keep: request.keep.clone(),
            ..request.job(subject, cores.iter().map(ReadyCore::core).collect(), machine)
        };
        let predictions = predict(&job, progress, stop)?.into_iter();
        Ok(cores.iter().zip(predictions).map(|(core, it)| core.with_timing_caveat(it)).collect())
    }
}
