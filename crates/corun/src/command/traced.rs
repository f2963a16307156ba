//! What a command traces: any program, or a built-in workload as a program of its own.
//!
//! The options are those of every command that traces.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use corun_machine::Machine;
use corun_measure::execution::{names_workers, with_workers};
use corun_measure::{CommandRequest, StandaloneRequest, StandaloneWorkload, WorkRequest, WorkSize};
use corun_record::TracedWorkload;
use corun_trace::{SystemCall, Target};

use super::program;
use crate::problem::{Problem, say};
use crate::{interruption, standard_input, values};

/// The program to trace.
#[derive(Debug, Args)]
pub(super) struct TracedArguments {
    /// Take a built-in workload instead of a command: its work alone, without what prepares it
    /// (`corun bench list` shows them)
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    workload: Option<String>,
    /// Set a parameter of the workload (repeatable; see `corun bench show NAME`)
    #[arg(long = "param", value_name = "NAME=VALUE", requires = "workload")]
    parameters: Vec<String>,
    /// Give the workload N workers, which are threads of one process (default: 1; of a workload whose
    /// workers work together 2)
    #[arg(long, value_name = "N", requires = "workload")]
    workers: Option<NonZeroU32>,
    /// Let each worker do N operations (default: what takes a core of this machine about 20 ms)
    #[arg(long, value_name = "N", value_parser = values::count, requires = "workload")]
    operations: Option<u64>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "workload", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A program that is ready to be traced.
#[derive(Debug)]
pub(super) struct TracedProgram {
    /// The program.
    pub(super) target: Target,
    /// The system call after which what counts begins, if it does not begin with the program.
    pub(super) from: Option<SystemCall>,
    /// What it is, where its command does not say it.
    pub(super) remark: Option<String>,
    /// The built-in workload, if it is one.
    pub(super) workload: Option<TracedWorkload>,
}

/// How long a worker of a traced workload works on this machine, unless its operations are given.
const WORK_TIME: Duration = Duration::from_millis(20);

/// How long a worker of a measured workload works, as `corun measure` has it.
const SAMPLE_TIME: Duration = Duration::from_millis(200);

/// The commands of corun that start programs, and wait for them.
const STARTERS: [&str; 4] = ["bench", "measure", "study", "threads"];

impl TracedArguments {
    /// Whether a built-in workload was asked for, which reads no standard input.
    pub(super) fn is_workload(&self) -> bool {
        self.workload.is_some()
    }

    /// The command, if it takes the number of its threads.
    pub(super) fn with_workers(&self) -> Option<&[OsString]> {
        names_workers(&self.command, &[]).then_some(&self.command[..])
    }

    /// The same program as `corun measure` runs it, with this process's standard input if that is a file.
    pub(super) fn measured(&self, per_worker: bool) -> WorkRequest {
        if let Some(name) = &self.workload {
            // Workers that work together are threads of one process; all others are predicted as copies.
            let is_together = corun_workload::find(name)
                .is_ok_and(|it| it.descriptor().default_mode == corun_workload::Mode::WorkersTotal);
            return WorkRequest::Workload {
                name: name.clone(),
                parameters: self.parameters.clone(),
                copies: !is_together,
                sample_time: SAMPLE_TIME,
                sizes_programs: false,
            };
        }
        WorkRequest::Command(CommandRequest {
            argv: self.command.clone(),
            copies: false,
            per_worker,
            environment: std::env::vars_os().collect(),
            directory: None,
            input: standard_input::own_file(),
            expected_exit: 0,
            throughput: None,
        })
    }

    /// The program that was asked for; a workload whose operations are not given is run for a moment.
    ///
    /// # Errors
    /// If there is no such program or workload, or if it cannot be run here.
    pub(super) fn program(&self) -> Result<TracedProgram, Problem> {
        self.program_of(None)
    }

    /// The same with this number in place of each `{workers}`, if there is one.
    ///
    /// # Errors
    /// As for [`program`](Self::program).
    pub(super) fn program_of(&self, workers: Option<u32>) -> Result<TracedProgram, Problem> {
        let Some(name) = &self.workload else {
            program::check(&self.command)?;
            let completed = workers.map(|workers| with_workers(&self.command, workers));
            let command = completed.as_ref().unwrap_or(&self.command);
            let (program, rest) = command.split_first().expect("clap asks for one");
            let target = Target::find(program, rest)?;
            warn_of_children(&target);
            return Ok(TracedProgram { target, from: None, remark: None, workload: None });
        };
        let request = StandaloneRequest {
            name: name.clone(),
            parameters: self.parameters.clone(),
            workers: self.workers,
            size: self.operations.map_or(WorkSize::Time(WORK_TIME), WorkSize::Operations),
        };
        let machine = Machine::read(Path::new("/"))?;
        let workload =
            StandaloneWorkload::prepare(&request, &machine, interruption::on_signals()?)?;
        let (program, rest) = workload.argv.split_first().expect("a program");
        Ok(TracedProgram {
            target: Target::find(program, rest)?,
            from: workload.begins.map(SystemCall),
            remark: Some(workload.summary),
            workload: Some(TracedWorkload {
                name: name.clone(),
                parameters: workload.parameters.into_iter().collect(),
                workers: workload.workers.get(),
            }),
        })
    }
}

/// corun itself is seldom what is meant to be traced.
fn warn_of_children(target: &Target) {
    let is_corun = std::env::current_exe().is_ok_and(|own| {
        target
            .program
            .canonicalize()
            .is_ok_and(|program| Ok(program) == own.canonicalize().map_err(drop))
    });
    let subcommand = target.arguments.first().and_then(|argument| argument.to_str());
    if let Some(subcommand) = subcommand.filter(|it| is_corun && STARTERS.contains(it)) {
        say(&format!(
            "corun {subcommand} starts what it runs as child processes, which are not traced. To trace a built-in workload: \
             corun trace --workload NAME"
        ));
    }
}
