//! Interface of every tracer, shared by all back ends.

mod channel;
mod choice;
#[cfg(all(feature = "dynamorio", target_os = "linux", target_arch = "x86_64"))]
mod dynamorio;
mod entries;
mod image;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod java;
mod library;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ptrace;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod qemu;
mod session;
mod trial;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use corun_machine::memory_death;
use corun_record::{Actionable, Exit};
use serde::{Deserialize, Serialize};

use crate::{ProcessContext, Sink, SinkError, SystemCall, TracePlan};

pub(crate) use choice::others;
pub use choice::{TracerSelection, all, choose, choose_for};
#[cfg(all(feature = "dynamorio", target_os = "linux", target_arch = "x86_64"))]
pub use dynamorio::DynamoRio;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use ptrace::{Ptrace, Step};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use qemu::Qemu;

/// A way to see what a program executes.
pub trait Tracer: Sync {
    /// As given to `--tracer`.
    fn name(&self) -> &'static str;

    /// Version, as it gives it.
    fn version(&self) -> String;

    /// Why it is chosen, in one line: what it is good at.
    fn merit(&self) -> &'static str;

    /// Limit of the usual slowdown of a program under it.
    fn slowdown(&self) -> u32;

    /// Why it may fail on this program though it works, to follow a colon.
    fn objection(&self, _target: &Target) -> Option<&'static str> {
        None
    }

    /// Checks that it works here.
    ///
    /// # Errors
    /// What is missing, and the next step.
    fn ready(&self) -> Result<(), Unavailable>;

    /// Runs the program with this process's standard streams, and its environment and folder unless the target has others,
    /// and passes to the sink what the plan asks for. After the last interval the program goes on, not recorded, to its
    /// end. Once `stop` is set, or the sink fails, the program is ended.
    ///
    /// # Errors
    /// If the program cannot be started or the tracer fails; what it recorded up to then is valid.
    fn trace(
        &self,
        target: &Target,
        plan: TracePlan,
        sink: &mut dyn Sink,
        stop: &AtomicBool,
    ) -> Result<Traced, TraceError>;
}

/// A program to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// The file, found already.
    pub program: PathBuf,
    /// Arguments on the command line.
    pub arguments: Vec<OsString>,
    /// Environment, folder and standard input.
    pub context: ProcessContext,
}

impl Target {
    /// The program of a command line, found as a shell would. Of a script that begins with `#!/usr/bin/env NAME` it is NAME,
    /// since `env` becomes that program and does no work of its own.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn find(program: &OsStr, arguments: &[OsString]) -> Result<Self, TraceError> {
        Self::find_in(program, arguments, ProcessContext::default())
    }

    /// Finds the program as one that runs in this context, with its search path and folder.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn find_in(
        program: &OsStr,
        arguments: &[OsString],
        context: ProcessContext,
    ) -> Result<Self, TraceError> {
        let found = context
            .find(program)
            .map_err(|source| TraceError::of_program(program.into(), source))?;
        // One that is missing is reported by env.
        let interpreter = image::started_by_env(&found);
        let interpreter = interpreter.and_then(|name| context.find(&name).ok());
        Ok(match interpreter {
            Some(interpreter) => {
                let script = std::iter::once(found.into_os_string());
                let arguments = script.chain(arguments.iter().cloned()).collect();
                Self { program: interpreter, arguments, context }
            }
            None => Self { program: found, arguments: arguments.to_owned(), context },
        })
    }

    /// Program and arguments as text.
    pub(crate) fn command(&self) -> Vec<String> {
        let arguments = self.arguments.iter().map(|text| text.to_string_lossy().into_owned());
        std::iter::once(self.program.to_string_lossy().into_owned()).chain(arguments).collect()
    }
}

/// Counts of a tracer, and the ending of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// Ending of the program.
    pub ending: Ending,
    /// Instructions of all threads, recorded or not.
    pub instructions: u64,
    /// True if the trace ends where the process became another program, which ran untraced.
    pub becomes_another: bool,
    /// Remarks for the reader on how it was seen, a sentence each.
    pub remarks: Vec<String>,
}

/// Ending of a traced program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal: its number.
    Killed(i32),
    /// The user stopped the tracing.
    Interrupted,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exit code {code}"),
            Self::Killed(signal) => {
                write!(formatter, "killed by signal {signal}")?;
                memory_death(*signal).map_or(Ok(()), |why| write!(formatter, " ({why})"))
            }
            Self::Interrupted => write!(formatter, "interrupted"),
        }
    }
}

/// Why a tracer does not work here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found}")]
pub struct Unavailable {
    /// Expected and found state.
    pub found: String,
    /// Advice to the user.
    pub next_step: String,
}

/// Why a trace is not complete.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// There is no such program.
    #[error(
        "expected a program, found nothing called {program:?} on the search path or at that place"
    )]
    NotFound {
        /// As it was named.
        program: OsString,
    },
    /// The program cannot be run.
    #[error("{} cannot be run: {source}", corun_record::shown(program))]
    Program {
        /// The file.
        program: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The run was to count from a system call that it does not make.
    #[error(
        "expected a program that makes the system call {call}, found none in its run{}",
        with_remarks(remarks)
    )]
    NoCall {
        /// The call.
        call: SystemCall,
        /// Remarks of the tracer on the run.
        remarks: Vec<String>,
    },
    /// Nothing can be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// No tracer has the name asked for.
    #[error("expected the name of a tracer ({}), found {found:?}", names.join(", "))]
    NoTracer {
        /// The names that there are.
        names: Vec<&'static str>,
        /// The name asked for.
        found: String,
    },
    /// No tracer works, or the one asked for does not.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The tracer itself failed.
    #[error("the tracer {tracer} failed: {reason}")]
    Failed {
        /// Name of the tracer.
        tracer: &'static str,
        /// Reason.
        reason: String,
    },
}

/// Remarks as more sentences of an error.
fn with_remarks(remarks: &[String]) -> String {
    remarks.iter().map(|remark| format!(". {}", remark.trim_end_matches('.'))).collect()
}

impl TraceError {
    fn of_program(program: PathBuf, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound { program: program.into() },
            _ => Self::Program { program, source },
        }
    }
}

impl Actionable for TraceError {
    fn next_step(&self) -> String {
        match self {
            Self::NotFound { .. } => {
                "Check the spelling, or give the program's full path. An alias or a function of a shell is no program."
                    .to_owned()
            }
            Self::Program { .. } => "Make it executable (chmod +x), or try the command by itself, in the same directory.".to_owned(),
            Self::NoCall { .. } => {
                "Name a call that the process itself makes, before it becomes another program; strace \
                 without -f shows them. Or leave --from-call out."
                    .to_owned()
            }
            Self::Sink(_) => {
                "Make room, or give another file with -o.".to_owned()
            }
            Self::NoTracer { .. } => {
                "Give one of these names, or none: the best one is chosen.".to_owned()
            }
            Self::Unavailable(unavailable) => unavailable.next_step.clone(),
            Self::Failed { tracer, .. } => {
                format!("Try {}.", others(tracer))
            }
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::NoTracer { .. } => Exit::Usage,
            Self::Program { source, .. } => Exit::of_file(source),
            Self::Unavailable(_) => Exit::NotPossible,
            _ => Exit::Failed,
        }
    }
}
