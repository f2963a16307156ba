//! Request of a measurement, and from that the work to run and its description.
//!
//! Pure but for looking up whether a workload can run here.

mod service;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corun_record::{Actionable, Caveat, Exit, Mode, Placement, Variant, Workload};
use corun_workload::{Job, Parameters, Row, WorkloadError};
use regex::Regex;

use crate::analysis::Workers;
use crate::cores::Core;
use crate::execution::{Command, KernelTask, ServiceError, Task, Work, names_workers};
use crate::experiment::FEWEST_CYCLES;
use crate::layout::ListedArm;
pub use service::ServiceRequest;

/// The operation of a program that says its throughput itself.
pub(crate) const REPORTED: &str = "reported";

/// Request of a measurement.
#[derive(Debug, Clone)]
pub struct Request {
    /// The work.
    pub work: WorkRequest,
    /// C, the cores to use of each core type; by default all.
    pub cores: Option<u32>,
    /// Cores of this type only.
    pub core_type: Option<String>,
    /// The placements wanted; by default every possible one.
    pub placements: Vec<Placement>,
    /// Arms whose logical CPUs are listed; without placements they are the only ones.
    pub listed: Vec<ListedArm>,
    /// Leave out a wanted placement that is not possible, as long as another one is.
    pub skip_impossible: bool,
    /// Start copies again until all have finished a counted window.
    pub steady: bool,
    /// The longest that one sample may take.
    pub timeout: Option<Duration>,
    /// A command that runs before each sample and is not timed.
    pub prepare: Option<Command>,
    /// Switch SMT off and on as an outer factor.
    pub smt_switch: bool,
    /// The wanted half-width of the headline's interval, as a fraction.
    pub target: f64,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// No block is begun that would probably end later, and none at all where the fewest would.
    pub max_time: Duration,
    /// A fixed number of blocks instead of planned interim analyses.
    pub blocks: Option<u32>,
    /// Uncounted runs of each arm before the first block.
    pub warmup: u32,
    /// The seed of every random order; by default a fresh one.
    pub seed: Option<u64>,
}

/// Work of a request.
#[derive(Debug, Clone)]
pub enum WorkRequest {
    /// Any program.
    Command(CommandRequest),
    /// A server and what asks it.
    Service(Box<ServiceRequest>),
    /// A built-in workload.
    Workload {
        /// Name in the registry.
        name: String,
        /// Parameters as typed, `name=value`.
        parameters: Vec<String>,
        /// A process for each worker, whatever the workload's own habit.
        copies: bool,
        /// Time that one run of a kernel should take.
        sample_time: Duration,
        /// Programs, too, are given as much to do as takes that long, unless `parameters` say how much.
        sizes_programs: bool,
    },
}

/// A program with everything around it.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    /// The program and its arguments, perhaps with `{workers}`.
    pub argv: Vec<OsString>,
    /// A process for each worker was asked for.
    pub copies: bool,
    /// With `{workers}`: each worker does a share of its own.
    pub per_worker: bool,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory, if not corun's own.
    pub directory: Option<PathBuf>,
    /// A file for standard input.
    pub input: Option<PathBuf>,
    /// The exit status that counts as success.
    pub expected_exit: i32,
    /// Pattern of its own throughput in the output.
    pub throughput: Option<Regex>,
}

/// A request that is not valid.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// `--copies` and `{workers}` contradict each other.
    #[error("expected either --copies or {{workers}} in the command, found both")]
    CopiesOfWorkers,
    /// Only copies can be restarted.
    #[error("expected process copies with --steady, found one process with threads")]
    SteadyThreads,
    /// Workers that work together are threads of one process.
    #[error(
        "expected `{workload}` as one process, whose workers work together, found it as copies"
    )]
    TogetherOnly {
        /// The workload.
        workload: &'static str,
    },
    /// Workers that are processes of their own cannot be threads of one.
    #[error(
        "expected one worker of `{workload}`, whose workers are processes of their own, found {found}"
    )]
    OneWorkerOnly {
        /// The workload.
        workload: &'static str,
        /// Number asked for.
        found: u32,
    },
    /// A workload that is a program of its own cannot be mixed with others.
    #[error("expected built-in workloads that run inside corun in a mix, found `{}`, a program of its own", corun_record::shown(.0))]
    NotMixed(String),
    /// A share for each worker needs workers.
    #[error("expected {{workers}} in the command with --work per-worker, found none")]
    NoWorkersNamed,
    /// Two listed arms of one name.
    #[error("--arm: expected a name for each arm, found `{0}` twice")]
    SameArm(String),
    /// Options about cores where all arms list theirs.
    #[error(
        "expected --placement beside --cores, --core-type or --copies N, found only arms that list their CPUs (--arm)"
    )]
    NothingOnCores,
    /// A switched experiment needs cycles enough for an interval.
    #[error("expected at least {FEWEST_CYCLES} blocks where SMT is switched, found {0}")]
    TooFewCycles(u32),
    /// A service cannot be asked as wanted.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A workload is unknown, has invalid parameters, or cannot run here.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// corun cannot find itself.
    #[error("could not find corun's own executable: {0}")]
    OwnExecutable(std::io::Error),
}

impl Actionable for RequestError {
    fn exit(&self) -> Exit {
        match self {
            Self::Service(error) => error.exit(),
            Self::Workload(error) => error.exit(),
            Self::OwnExecutable(_) => Exit::Failed,
            _ => Exit::Usage,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::CopiesOfWorkers => {
                "Leave --copies out, or write the number of threads into the command.".to_owned()
            }
            Self::SteadyThreads => "Leave --steady out, or measure copies.".to_owned(),
            Self::TooFewCycles(_) => {
                "Ask for more with --blocks; each is a cycle on, off, off, on.".to_owned()
            }
            Self::SameArm(_) => "Name them apart.".to_owned(),
            Self::NothingOnCores => "Leave that option out, or add placements.".to_owned(),
            Self::TogetherOnly { .. } => "Leave --copies and --steady out.".to_owned(),
            Self::OneWorkerOnly { .. } => {
                "Leave --workers out; corun simulate --placement runs copies of a trace.".to_owned()
            }
            Self::NotMixed(_) => {
                "Name others; `corun bench list` has them. A program alone: --workload NAME."
                    .to_owned()
            }
            Self::NoWorkersNamed => {
                "Write {workers} where the command takes its number of threads.".to_owned()
            }
            Self::Service(error) => error.next_step(),
            Self::Workload(error) => error.next_step(),
            Self::OwnExecutable(_) => "Start corun by its path, with /proc mounted.".to_owned(),
        }
    }
}

/// The work to run, its description, and how to vary it.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub work: Work,
    pub description: Workload,
    /// An extra variant of arms with several workers.
    pub variant: Option<Variant>,
    /// Time that a run should take; `None` for commands, which take what they take.
    pub sample_time: Option<Duration>,
    /// The parameter that is a program's number of operations, where that follows the sample time.
    pub sized_by: Option<&'static str>,
    pub workers: Workers,
    /// The fewest operations of a worker in one run of a kernel.
    pub least_operations: u64,
    /// The row of a published suite that the workload is.
    pub row: Option<Row>,
}

impl Resolved {
    /// The cores that workers get out of these: all, or where they are a service's, those that its load
    /// leaves them, with what that means for the result.
    ///
    /// # Errors
    /// If the CPUs wanted for the load cannot be used.
    pub(crate) fn divide(
        &mut self,
        cores: Vec<Core>,
        server_cores: Option<u32>,
    ) -> Result<(Vec<Core>, Option<Caveat>), RequestError> {
        let split = self.work.divide(cores, server_cores)?;
        if let Some(load) = &mut self.description.load {
            load.cpus = split.load.as_slice().to_vec();
        }
        Ok((split.server, split.caveat))
    }
}

impl Request {
    /// Checks that the request is valid, before anything on the machine is changed.
    ///
    /// # Errors
    /// What [`crate::Measurement::prepare`] would refuse whatever the machine.
    pub fn check(&self) -> Result<(), RequestError> {
        self.resolve().map(drop)
    }

    /// Resolves what to run.
    pub(crate) fn resolve(&self) -> Result<Resolved, RequestError> {
        if let Some(blocks) = self.blocks.filter(|&it| self.smt_switch && it < FEWEST_CYCLES) {
            return Err(RequestError::TooFewCycles(blocks));
        }
        let names: Vec<&str> = self.listed.iter().map(|it| it.name.as_str()).collect();
        if let Some(same) = (1..names.len()).find(|&it| names[..it].contains(&names[it])) {
            return Err(RequestError::SameArm(names[same].to_owned()));
        }
        let asks_for_cores = self.cores.is_some() || self.core_type.is_some();
        if asks_for_cores && !names.is_empty() && self.placements.is_empty() {
            return Err(RequestError::NothingOnCores);
        }
        match &self.work {
            WorkRequest::Command(command) => self.resolve_command(command),
            WorkRequest::Service(service) => self.resolve_service(service),
            WorkRequest::Workload { name, parameters, copies, sample_time, sizes_programs } => {
                let mut resolved =
                    self.resolve_workload(name, parameters, *copies, *sample_time)?;
                if !sizes_programs && resolved.sized_by.is_some() {
                    (resolved.sized_by, resolved.sample_time) = (None, None);
                }
                Ok(resolved)
            }
        }
    }

    fn resolve_command(&self, command: &CommandRequest) -> Result<Resolved, RequestError> {
        let mode = match (names_workers(&command.argv, &command.environment), command.per_worker) {
            (true, _) if command.copies => return Err(RequestError::CopiesOfWorkers),
            (true, _) if self.steady => return Err(RequestError::SteadyThreads),
            (true, false) => Mode::WorkersTotal,
            (true, true) => Mode::WorkersPerWorker,
            (false, true) => return Err(RequestError::NoWorkersNamed),
            (false, false) => Mode::Copies,
        };
        let argv: Vec<String> =
            command.argv.iter().map(|text| text.to_string_lossy().into_owned()).collect();
        let program = argv.first().map_or("", String::as_str);
        let description = Workload {
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            command: argv,
            parameters: Default::default(),
            mode,
            operation: if command.throughput.is_some() { REPORTED } else { "runs" }.to_owned(),
            operations: 1.0,
            steady: self.steady,
            load: None,
            program: None,
            input: None,
            prepare: self.preparation(),
        };
        let task = Task::Command(Command {
            argv: command.argv.clone(),
            environment: command.environment.clone(),
            directory: command.directory.clone(),
            input: command.input.clone(),
            expected_exit: command.expected_exit,
            throughput: command.throughput.clone(),
            operations_argument: None,
        });
        let work = self.work(task, mode, 1.0);
        Ok(Resolved {
            work,
            description,
            variant: None,
            sample_time: None,
            sized_by: None,
            workers: self.alike(),
            least_operations: 1,
            row: None,
        })
    }

    fn resolve_workload(
        &self,
        name: &str,
        given: &[String],
        copies: bool,
        sample_time: Duration,
    ) -> Result<Resolved, RequestError> {
        let workload = corun_workload::find(name)?;
        let descriptor = workload.descriptor();
        let parameters = Parameters::parse(descriptor, given)?;
        let job = workload.prepare(&parameters, std::num::NonZeroUsize::MIN)?;
        let values: Vec<(String, String)> =
            parameters.iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mode = match descriptor.default_mode {
            corun_workload::Mode::WorkersTotal if copies || self.steady => {
                return Err(RequestError::TogetherOnly { workload: descriptor.name });
            }
            corun_workload::Mode::WorkersTotal => Mode::WorkersTotal,
            corun_workload::Mode::Workers if !copies && !self.steady => Mode::WorkersPerWorker,
            _ => Mode::Copies,
        };
        let workers = match mode {
            Mode::WorkersTotal => Workers::Together,
            _ => self.alike(),
        };
        let mut description = Workload {
            name: descriptor.name.to_owned(),
            command: Vec::new(),
            parameters: values.iter().cloned().collect(),
            mode,
            operation: descriptor.counted.to_owned(),
            operations: 0.0,
            steady: self.steady,
            load: None,
            program: None,
            input: None,
            prepare: self.preparation(),
        };
        let shared_line = descriptor.line_sharing.filter(|sharing| {
            mode == Mode::WorkersPerWorker && !is_given(given, sharing.parameter)
        });
        let variant = shared_line.map(|sharing| Variant {
            name: "shared-line".to_owned(),
            parameter: sharing.parameter.to_owned(),
            value: sharing.shared.to_owned(),
        });
        match job {
            Job::Kernels(_) => {
                let task = Task::Kernel(KernelTask {
                    corun: std::env::current_exe().map_err(RequestError::OwnExecutable)?,
                    workload: descriptor.name.to_owned(),
                    parameters: values,
                    operations: 1,
                    others: Default::default(),
                });
                let work = self.work(task, mode, 1.0);
                Ok(Resolved {
                    work,
                    description,
                    variant,
                    sample_time: Some(sample_time),
                    sized_by: None,
                    workers,
                    least_operations: descriptor.least_operations,
                    row: descriptor.row,
                })
            }
            Job::Program(program) => {
                description.operations = program.operations as f64;
                let size = program.size.filter(|size| !is_given(given, size.parameter));
                let argument = size.map(|size| size.argument);
                let task = Task::Command(Command::of_workload(program.argv, argument));
                let work = self.work(task, mode, program.operations as f64);
                Ok(Resolved {
                    work,
                    description,
                    variant: None,
                    sample_time: size.map(|_| sample_time),
                    sized_by: size.map(|size| size.parameter),
                    workers,
                    least_operations: descriptor.least_operations,
                    row: descriptor.row,
                })
            }
        }
    }

    /// Command before each sample, as documents have it.
    fn preparation(&self) -> Option<Vec<String>> {
        let argv = self.prepare.iter().flat_map(|it| &it.argv);
        Some(argv.map(|word| word.to_string_lossy().into_owned()).collect())
    }

    fn alike(&self) -> Workers {
        if self.steady { Workers::Counted } else { Workers::Alike }
    }

    fn work(&self, task: Task, mode: Mode, operations: f64) -> Work {
        let (steady, timeout) = (self.steady, self.timeout);
        Work { task, mode, steady, operations, timeout, prepare: self.prepare.clone() }
    }
}

/// True if the parameter called `name` is among those given, `name=value`.
fn is_given(given: &[String], name: &str) -> bool {
    given.iter().any(|pair| pair.split('=').next() == Some(name))
}
