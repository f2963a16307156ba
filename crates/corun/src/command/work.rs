//! Work to run: a command with its environment, or a built-in workload.
//!
//! The options are those of every command that measures a program.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corun_measure::execution::Command;
use corun_measure::{CommandRequest, WorkRequest};
use corun_predict::ProgramRequest;
use corun_trace::ProcessContext;
use regex::Regex;

use super::program::{self, SearchPath};
use crate::options::TIMEOUT;
use crate::problem::Problem;
use crate::standard_input;
use crate::values;
use crate::{help, keeping};

/// The work to run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(super) struct WorkArguments {
    /// The command; `{workers}` in its arguments becomes the number of threads to use
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
    /// Run a built-in workload instead of a command (`corun bench list` shows them)
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(super) workload: Option<String>,
    /// Set a parameter of the workload (repeatable; see `corun bench show NAME`)
    #[arg(long = "param", value_name = "NAME=VALUE", conflicts_with = "command")]
    pub(super) parameters: Vec<String>,
    /// Run a process copy for each worker (the default without `{workers}`), N of them when spread
    #[arg(long, value_name = "N", num_args = 0..=1, conflicts_with = "cores")]
    #[arg(value_parser = values::copies)]
    pub(super) copies: Option<Option<u32>>,
    /// With `{workers}`: whether the command does a fixed total or a share for each worker
    #[arg(long, value_enum, default_value_t = Share::Total, conflicts_with = "workload")]
    pub(super) work: Share,
    /// Start copies again until all have finished, so that no copy is timed beside an idle sibling
    #[arg(long)]
    pub(super) steady: bool,
    /// Run this command before each sample, outside the timing; `{workers}` in it is replaced, too
    #[arg(long, value_name = "COMMAND", value_parser = values::line)]
    pub(super) prepare: Option<String>,
    /// Take throughput from the command's output: the last match of the expression's one group
    #[arg(long, value_name = "REGEX", value_parser = values::one_group)]
    #[arg(conflicts_with_all = ["steady", "workload"])]
    pub(super) throughput: Option<Regex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Share {
    /// A fixed total: X = 1/T
    Total,
    /// A share for each worker: X = N/T
    PerWorker,
}

/// The environment of a command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Environment")]
pub(super) struct ContextArguments {
    /// Set an environment variable (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::assignment)]
    #[arg(conflicts_with = "workload")]
    pub(super) env: Vec<(String, String)>,
    /// Begin with an empty environment
    #[arg(long, conflicts_with = "workload")]
    pub(super) env_clear: bool,
    /// Run in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "workload")]
    pub(super) cwd: Option<PathBuf>,
    /// Read standard input from FILE; every copy reads it from the start (default: empty). `-` is corun's
    /// own standard input, up to 1 GiB, which is read once and kept
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub(super) stdin: Option<PathBuf>,
    #[arg(long, value_name = "TIME", value_parser = values::duration, help = TIMEOUT)]
    pub(super) timeout: Option<Duration>,
    /// Accept this exit status as success
    #[arg(long, value_name = "STATUS", default_value_t = 0, conflicts_with = "workload")]
    #[arg(value_parser = clap::value_parser!(i32).range(0..=255))]
    pub(super) expect_exit: i32,
}

impl WorkArguments {
    /// Work that was typed; reads standard input if that is asked for, and starts nothing.
    ///
    /// # Errors
    /// If neither a command nor a workload is named, if there is no such program, or if standard input cannot be kept.
    pub(super) fn request(
        &self,
        context: &ContextArguments,
        sample_time: Duration,
    ) -> Result<WorkRequest, Problem> {
        if let Some(name) = &self.workload {
            return Ok(WorkRequest::Workload {
                name: name.clone(),
                parameters: self.parameters.clone(),
                copies: self.copies.is_some(),
                sample_time,
                sizes_programs: false,
            });
        }
        if self.command.is_empty() {
            return Err(nothing_to_run());
        }
        let environment = context.environment();
        let argv = program::resolve_on(&self.command, context.search(&environment))?;
        context.check_workers(&argv)?;
        let input = standard_input::file(context.stdin.as_deref())?;
        if input.is_none() {
            standard_input::leave_unread();
        }
        Ok(WorkRequest::Command(CommandRequest {
            argv,
            copies: self.copies.is_some(),
            per_worker: self.work == Share::PerWorker,
            environment,
            directory: context.cwd.clone(),
            input,
            expected_exit: context.expect_exit,
            throughput: self.throughput.clone(),
        }))
    }
}

impl WorkArguments {
    /// The command as a program to trace in these context; without `--stdin` it reads corun's own standard input.
    ///
    /// # Errors
    /// If no command is named, if there is no such program, or if standard input cannot be kept.
    pub(super) fn traced(&self, context: &ContextArguments) -> Result<ProgramRequest, Problem> {
        if self.command.is_empty() {
            return Err(nothing_to_run());
        }
        let environment = context.environment();
        program::check_on(&self.command, context.search(&environment))?;
        context.check_workers(&self.command)?;
        let input = standard_input::file(context.stdin.as_deref())?;
        let directory = context.cwd.clone();
        let environment = Some(environment);
        let context = ProcessContext { environment, directory, input, ..ProcessContext::default() };
        Ok(ProgramRequest::Command { argv: self.command.clone(), context })
    }

    /// The command that runs before each sample, if there is one.
    ///
    /// # Errors
    /// If there is no such program.
    pub(super) fn preparation(
        &self,
        context: &ContextArguments,
    ) -> Result<Option<Command>, Problem> {
        let Some(line) = &self.prepare else { return Ok(None) };
        let environment = context.environment();
        let argv = program::resolve_line(line, context.search(&environment))?;
        context.check_workers(&argv)?;
        Ok(Some(Command {
            argv,
            environment,
            directory: context.cwd.clone(),
            input: None,
            expected_exit: 0,
            throughput: None,
            operations_argument: None,
        }))
    }
}

fn nothing_to_run() -> Problem {
    Problem::usage(
        "expected a command or `--workload NAME`, found neither",
        match help::examples_of(keeping::subcommand()) {
            [example, ..] => format!("For instance: {}", example.line),
            [] => "For instance: corun measure ./job".to_owned(),
        },
    )
}

impl ContextArguments {
    /// Search path of a program in this environment.
    fn search<'a>(&'a self, environment: &'a [(OsString, OsString)]) -> SearchPath<'a> {
        let path = environment.iter().find(|(name, _)| name == "PATH");
        SearchPath {
            path: path.map(|(_, path)| path.as_os_str()),
            directory: self.cwd.as_deref(),
            has_env_option: true,
        }
    }

    /// Checks how the number of workers is spelt in a command and the variables that are set for it.
    ///
    /// # Errors
    /// If it is spelt otherwise than `{workers}`.
    pub(super) fn check_workers(&self, command: &[OsString]) -> Result<(), Problem> {
        let values = self.env.iter().map(|(_, value)| OsStr::new(value));
        program::check_workers(command.iter().map(OsString::as_os_str).chain(values))
    }

    /// The whole environment of a command.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment: Vec<(OsString, OsString)> =
            if self.env_clear { Vec::new() } else { std::env::vars_os().collect() };
        for (name, value) in &self.env {
            environment.retain(|(known, _)| known.as_os_str() != name.as_str());
            environment.push((name.into(), value.into()));
        }
        environment
    }
}
