//! Target that a command traces: any program, or a built-in workload as a program of its own.
//!
//! The options are those of every command that traces.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use corun_measure::{StandaloneRequest, WorkSize};
use corun_predict::ProgramRequest;
use corun_trace::{ProcessContext, Target};

use super::program;
use crate::parse::line_of;
use crate::problem::{Problem, say};
use crate::values::{self, Words};

/// The program to trace.
#[derive(Debug, Args)]
pub(super) struct TracedArguments {
    /// Take a built-in workload instead of a command: its work alone, without what prepares it (`corun bench list` shows
    /// them); its parameters may follow its name in the same argument: "chase size=64M"
    #[arg(long, value_name = "NAME", value_parser = values::words)]
    workload: Vec<Words>,
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
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Time that a worker of a traced workload works on this machine, unless its operations are given.
pub(super) const WORK_TIME: Duration = Duration::from_millis(20);

/// The commands of corun that start programs, and wait for them.
const STARTERS: [&str; 4] = ["bench", "measure", "study", "threads"];

/// A program with its name.
#[derive(Debug, Clone)]
pub(super) struct NamedProgram {
    /// Command or workload, as a line.
    pub(super) name: String,
    /// The option of `corun predict` that names it.
    pub(super) option: [String; 2],
    /// The program.
    pub(super) request: ProgramRequest,
}

impl NamedProgram {
    /// A command in corun's own environment.
    fn command(words: &[OsString]) -> Result<Self, Problem> {
        program::check(words)?;
        let (argv, context) = (words.to_vec(), ProcessContext::default());
        let request = ProgramRequest::Command { argv, context };
        Ok(Self { name: line_of(words), option: ["--program".to_owned(), quoted(words)], request })
    }
}

impl TracedArguments {
    /// True if nothing, or one program, is named.
    pub(super) fn is_one_at_most(&self) -> bool {
        self.workload.len() + usize::from(!self.command.is_empty()) <= 1
    }

    /// The program that was asked for, in corun's own environment.
    ///
    /// # Errors
    /// If there is none, or several are, or the command is one for a shell.
    pub(super) fn request(&self) -> Result<ProgramRequest, Problem> {
        let [one] = &self.programs(&[])?[..] else {
            return Err(Problem::usage(
                "expected one command or workload, found several",
                "`corun predict` takes several programs; everything else takes one.",
            ));
        };
        Ok(one.request.clone())
    }

    /// All programs that were asked for, each once, with those of other options first.
    ///
    /// # Errors
    /// If there is none, or a command is one for a shell.
    pub(super) fn programs(&self, others: &[Words]) -> Result<Vec<NamedProgram>, Problem> {
        if self.workload.len() > 1 && !self.parameters.is_empty() {
            return Err(Problem::usage(
                "expected one workload with --param, found several",
                "Write the parameters behind each name: --workload 'chase size=64M'.",
            ));
        }
        let last = (!self.command.is_empty()).then_some(&self.command);
        let commands = others.iter().map(|Words(words)| words).chain(last);
        let commands = commands.map(|words| NamedProgram::command(words));
        let workloads =
            self.workload.iter().filter_map(|Words(words)| Some(Ok(self.named(words)?)));
        let mut programs = commands.chain(workloads).collect::<Result<Vec<_>, Problem>>()?;
        let mut known: Vec<[String; 2]> = Vec::new();
        programs.retain(|it| {
            let is_new = !known.contains(&it.option);
            known.push(it.option.clone());
            is_new
        });
        match programs.is_empty() {
            false => Ok(programs),
            true => Err(Problem::usage(
                "expected a command or `--workload NAME`, found neither",
                "For instance: -- ./solver input, or --workload chase",
            )),
        }
    }

    /// The options of workloads, as they are typed.
    pub(super) fn workload_options(&self) -> impl Iterator<Item = [String; 2]> {
        let workers = self.workers.map(|it| ["--workers".to_owned(), it.to_string()]);
        let operations = self.operations.map(|it| ["--operations".to_owned(), it.to_string()]);
        workers.into_iter().chain(operations)
    }

    /// A workload with its parameters.
    fn named(&self, words: &[OsString]) -> Option<NamedProgram> {
        let parameters = self.parameters.iter().map(OsString::from);
        let words: Vec<OsString> = words.iter().cloned().chain(parameters).collect();
        let texts: Vec<String> = words.iter().map(|it| it.to_string_lossy().into_owned()).collect();
        let (name, parameters) = texts.split_first()?;
        let request = ProgramRequest::Workload(StandaloneRequest {
            name: name.clone(),
            parameters: parameters.to_vec(),
            workers: self.workers,
            size: self.operations.map_or(WorkSize::Time(WORK_TIME), WorkSize::Operations),
        });
        let option = ["--workload".to_owned(), quoted(&words)];
        Some(NamedProgram { name: line_of(&words), option, request })
    }
}

/// Words as one argument that a shell, and `--program`, split again.
pub(super) fn quoted(words: &[OsString]) -> String {
    shell_words::join(words.iter().map(|it| it.to_string_lossy()))
}

/// corun itself is seldom what is meant to be traced.
pub(super) fn warn_of_children(target: &Target) {
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
