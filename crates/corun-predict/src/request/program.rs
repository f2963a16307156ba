//! The program of a request: a command with its context, or a built-in workload as a program of its own.

use std::ffi::OsString;
use std::time::Duration;

use corun_machine::Machine;
use corun_measure::execution::{Interrupt, environment_with_workers, names_workers, with_workers};
use corun_measure::{
    CommandRequest, StandaloneRequest, StandaloneWorkload, WorkRequest, works_together,
};
use corun_record::TracedWorkload;
use corun_trace::{ProcessContext, SystemCall, Target, TraceError};

use super::StandardInput;
use crate::PredictError;

/// The time that a worker of a measured workload works, as `corun measure` has it.
const SAMPLE_TIME: Duration = Duration::from_millis(200);

/// A program that is wanted.
#[derive(Debug, Clone)]
pub enum ProgramRequest {
    /// A command, perhaps with `{workers}` where it takes its number of threads.
    Command {
        /// The program and its arguments.
        argv: Vec<OsString>,
        /// Environment, folder and standard input.
        context: ProcessContext,
    },
    /// A built-in workload: its work alone, without what prepares it.
    Workload(StandaloneRequest),
}

/// A program that is ready to be traced.
#[derive(Debug)]
pub struct TracedProgram {
    /// The program.
    pub target: Target,
    /// The system call after which what counts begins, if it does not begin with the program.
    pub from: Option<SystemCall>,
    /// A sentence on what it is, where its command does not say it.
    pub remark: Option<String>,
    /// The built-in workload, if it is one.
    pub workload: Option<TracedWorkload>,
}

impl ProgramRequest {
    /// The program with this number of workers in place of each `{workers}`, if there is one; a workload whose operations are
    /// not given is run for a moment.
    ///
    /// # Errors
    /// If there is no such program or workload, or if it cannot be run here.
    pub fn prepare(
        &self,
        workers: Option<u32>,
        machine: &Machine,
        interrupt: &Interrupt,
    ) -> Result<TracedProgram, PredictError> {
        let request = match self {
            Self::Command { argv, context } => {
                let target = command_target(argv, context, workers);
                let target = target.map_err(PredictError::Trace)?;
                return Ok(TracedProgram { target, from: None, remark: None, workload: None });
            }
            Self::Workload(request) => request,
        };
        let interrupt = interrupt.again().map_err(PredictError::Signals)?;
        let workload = StandaloneWorkload::prepare(request, machine, interrupt)
            .map_err(PredictError::Workload)?;
        let own = ProcessContext::default();
        let target = command_target(&workload.argv, &own, None).map_err(PredictError::Trace)?;
        Ok(TracedProgram {
            target,
            from: workload.begins.map(SystemCall),
            remark: Some(workload.summary),
            workload: Some(TracedWorkload {
                name: request.name.clone(),
                parameters: workload.parameters.into_iter().collect(),
                workers: workload.workers.get(),
            }),
        })
    }

    /// True if the command names `{workers}`.
    pub(crate) fn names_workers(&self) -> bool {
        match self {
            Self::Command { argv, context } => {
                names_workers(argv, context.environment.as_deref().unwrap_or_default())
            }
            Self::Workload(_) => false,
        }
    }

    /// True if the program reads the standard input of corun.
    pub(super) fn reads_standard_input(&self) -> bool {
        matches!(self, Self::Command { context, .. } if context.input.is_none())
    }

    /// The program as `corun measure` runs it, with this process's standard input if that is a file.
    pub(super) fn measured(&self, per_worker: bool, standard_input: &StandardInput) -> WorkRequest {
        let own_file = || match standard_input {
            StandardInput::File(file) => Some(file.clone()),
            StandardInput::Pipe | StandardInput::Other => None,
        };
        match self {
            Self::Command { argv, context } => WorkRequest::Command(CommandRequest {
                argv: argv.clone(),
                copies: false,
                per_worker,
                environment: (context.environment.clone())
                    .unwrap_or_else(|| std::env::vars_os().collect()),
                directory: context.directory.clone(),
                input: context.input.clone().or_else(own_file),
                expected_exit: 0,
                throughput: None,
            }),
            Self::Workload(request) => WorkRequest::Workload {
                name: request.name.clone(),
                parameters: request.parameters.clone(),
                // Workers that work together are threads of one process; all others are predicted as copies.
                copies: !works_together(&request.name),
                sample_time: SAMPLE_TIME,
                sizes_programs: false,
            },
        }
    }
}

/// A command as a program to trace, with this number of workers in place of each `{workers}`.
pub(crate) fn command_target(
    argv: &[OsString],
    context: &ProcessContext,
    workers: Option<u32>,
) -> Result<Target, TraceError> {
    let mut context = context.clone();
    let argv = match workers {
        Some(workers) => {
            let environment = context.environment.iter_mut();
            environment.for_each(|it| *it = environment_with_workers(it, workers));
            with_workers(argv, workers)
        }
        None => argv.to_vec(),
    };
    let (program, arguments) = argv.split_first().expect("a command has a program");
    Target::find_in(program, arguments, context)
}
