//! Errors when an arm runs, and advice to the user.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use corun_machine::switch::SwitchError;
use corun_record::{Actionable, Exit};

use super::output::last_lines;
use super::service::ServiceError;

/// Why an arm could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// No such program.
    #[error("expected a program, found nothing called {0:?} on the search path or at that place")]
    NotFound(OsString),
    /// The file is there but may not be executed.
    #[error("expected a program that may be executed, found {0:?} without that permission")]
    NotExecutable(PathBuf),
    /// The file is a directory.
    #[error("expected a program, found the directory {0:?}")]
    IsDirectory(PathBuf),
    /// A command's text cannot be passed on.
    #[error("expected text without NUL bytes, found \"{0}\"")]
    NulByte(String),
    /// The system found the program and will not execute it.
    #[error("could not execute {program:?}: {error}")]
    Execute {
        /// The program as named in the command.
        program: OsString,
        /// The system's answer.
        error: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("could not enter the working directory {path:?}: {error}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// A worker could not be put in its place.
    #[error("could not {stage}: {error}")]
    Start {
        /// Stage of the start.
        stage: String,
        /// The system's answer.
        error: io::Error,
    },
    /// A worker ended otherwise than expected.
    #[error(
        "expected {expected}, found {found} from worker {worker} of arm {arm}{}",
        last_lines(.output)
    )]
    Failed {
        /// The arm that ran.
        arm: String,
        /// The worker, from 0.
        worker: usize,
        /// The expected end.
        expected: String,
        /// The end seen.
        found: String,
        /// The last lines that it wrote.
        output: String,
        /// Advice about such a worker.
        next_step: Box<str>,
    },
    /// A built-in kernel could not be prepared in its process, or not go on.
    #[error("{reason} (worker {worker} of arm {arm})")]
    Unprepared {
        /// The arm that ran, or was to run.
        arm: String,
        /// The worker, from 0.
        worker: usize,
        /// Why not.
        reason: String,
        /// Advice to the user.
        next_step: String,
        /// Exit code.
        exit: Exit,
    },
    /// A worker took longer than allowed.
    #[error("expected arm {arm} to end within {seconds} s, found it still running")]
    Timeout {
        /// The arm that ran.
        arm: String,
        /// The time allowed, in seconds.
        seconds: f64,
    },
    /// The output lacks the figure that was asked for.
    #[error(
        "expected the output of worker {worker} of arm {arm} to match {pattern:?} with a positive number, found {found}"
    )]
    Throughput {
        /// The arm that ran.
        arm: String,
        /// The worker, from 0.
        worker: usize,
        /// The regular expression.
        pattern: String,
        /// Text found instead.
        found: String,
    },
    /// A file for the workers' input cannot be used.
    #[error("could not open {path:?} for the workers' input: {error}")]
    Input {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// A sample does not show what it is wanted for.
    #[error("expected the {0} of each run, found that this machine does not count it")]
    NotCounted(&'static str),
    /// Two workers that did the same work gave different check values.
    #[error(
        "expected the check value {expected:#x}, found {found:#x} from worker {worker} of arm {arm}"
    )]
    Check {
        /// The arm that ran.
        arm: String,
        /// The worker, from 0.
        worker: usize,
        /// The value of the first run.
        expected: u64,
        /// The value seen.
        found: u64,
    },
    /// A service could not be started, asked or stopped.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// SMT could not be switched or brought back.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// The system refused something that corun itself needs.
    #[error("could not {0}: {1}")]
    System(&'static str, io::Error),
    /// The user interrupted.
    #[error("interrupted before the first block was finished; nothing to report")]
    Interrupted,
}

impl Actionable for ExecutionError {
    fn exit(&self) -> Exit {
        match self {
            Self::Switch(error) => error.exit(),
            Self::Service(error) => error.exit(),
            Self::Unprepared { exit, .. } => *exit,
            Self::NotExecutable(_) => Exit::NotPermitted,
            Self::Start { error, .. }
            | Self::Execute { error, .. }
            | Self::Directory { error, .. }
            | Self::Input { error, .. }
            | Self::System(_, error)
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                Exit::NotPermitted
            }
            // Limits are permissions, as they are for the workloads.
            Self::Input { error, .. } | Self::Start { error, .. } | Self::System(_, error)
                if error.kind() == io::ErrorKind::WouldBlock || is_out_of_descriptors(error) =>
            {
                Exit::NotPermitted
            }
            Self::NulByte(_) => Exit::Usage,
            Self::NotCounted(_) => Exit::NotPossible,
            Self::Interrupted => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Switch(error) => return error.next_step(),
            Self::Service(error) => return error.next_step(),
            Self::Unprepared { next_step, .. } => return next_step.clone(),
            Self::Failed { next_step, .. } => &**next_step,
            Self::NotFound(_) => "Check the spelling, or give the program's full path. An alias or a function of a shell is no program.",
            Self::NotExecutable(_) => {
                "Make it executable (chmod +x), or name its interpreter: `-- bash FILE`."
            }
            Self::IsDirectory(_) => "Name a program after `--`; `--cwd DIR` runs it in a directory.",
            Self::NulByte(_) => "Leave the NUL byte out.",
            Self::NotCounted(_) => {
                "Choose another --goal. Energy takes the counters in /sys/class/powercap, and the right to read them."
            }
            Self::Execute { error, .. } if error.raw_os_error() == Some(libc::ENOEXEC) => {
                "A script names its interpreter in its first line (#!/bin/sh), or is run as `-- sh FILE`."
            }
            Self::Execute { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                "Check that the interpreter in its first line, or the loader it asks for, exists."
            }
            Self::Execute { .. } => "Try the command by itself, in the same directory.",
            Self::Directory { .. } => "Name a directory that you may enter with `--cwd`.",
            Self::Start { error, .. } | Self::System(_, error)
                if error.kind() == io::ErrorKind::WouldBlock =>
            {
                "Allow more threads and processes (ulimit -u, pids.max), or use fewer workers."
            }
            Self::Input { error, .. } | Self::Start { error, .. } | Self::System(_, error)
                if is_out_of_descriptors(error) =>
            {
                "Raise the limit on open files (ulimit -n), or use fewer workers."
            }
            Self::Start { .. } => "See what limits this process (a sandbox, a changed cpuset).",
            Self::Timeout { .. } => "Allow more with `--timeout`, or give the command less work.",
            Self::Throughput { .. } => {
                "Try the expression on the command's own output; its one group must catch the number."
            }
            Self::Input { .. } => "Name a readable file with `--stdin`.",
            Self::Check { .. } => {
                "This is a fault of corun or of the machine; run it again and report it."
            }
            Self::System(..) => "See what limits this process (memory, processes, a sandbox).",
            Self::Interrupted => "Let at least one block finish, or use less work.",
        }
        .to_owned()
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
