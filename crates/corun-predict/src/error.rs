//! The errors of a prediction, with what the user can do about each.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use corun_machine::probe::ProbeError;
use corun_model::timing::TableError;
use corun_model::{ModelError, PublishedError};
use corun_record::{Actionable, Exit};
use corun_sim::SimulationError;
use corun_trace::format::FormatError;
use corun_trace::{Ending, NotAlone, Target, TraceError, Traced};

use crate::{Job, PredictRequestError};

/// The error that ends a prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The program could not be traced.
    #[error(transparent)]
    Trace(TraceError),
    /// The trace could not be written.
    #[error("could not write the trace to {}: {source}", corun_record::shown(path))]
    TraceFile {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The trace could not be written where temporary files go.
    #[error(
        "could not write the trace to {}, where temporary files go: {source}",
        corun_record::shown(folder)
    )]
    Temporary {
        /// The folder.
        folder: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The trace cannot be read back.
    #[error("the trace of the program cannot be read: {0}")]
    Format(FormatError),
    /// It could not be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The program died.
    #[error("expected a program that ends by itself, found that `{program}` was {}", Ending::Killed(*signal))]
    Killed {
        /// Name, without the folder.
        program: String,
        /// The signal's number.
        signal: i32,
    },
    /// The program does nothing but prepare for another one.
    #[error(
        "expected a program that does its work itself, found that `{program}` becomes another program (exec), which ran \
         untraced"
    )]
    BecomesAnother {
        /// Name, without the folder.
        program: String,
    },
    /// Processes that the program starts do its work.
    #[error(
        "expected a program that does its work itself, found that processes which `{program}` starts take {:.0} % of the \
         processor time, most of all {}`{other}` with {:.0} %",
        100.0 * share,
        if *is_executed { "" } else { "a copy of " },
        100.0 * of_other
    )]
    OtherProcesses {
        /// Name, without the folder.
        program: String,
        /// The share of all these processes.
        share: f64,
        /// The command line of the one that takes most.
        other: String,
        /// The share of that.
        of_other: f64,
        /// True if it is a program of its own, and no copy of its parent.
        is_executed: bool,
    },
    /// The program becomes one that cannot be started by itself.
    #[error(
        "expected a program that can be run by itself, found that `{program}` becomes `{other}` (exec), and {why}"
    )]
    NotAlone {
        /// Name, without the folder.
        program: String,
        /// The command line of what it becomes.
        other: String,
        /// The reason.
        why: NotAlone,
    },
    /// This machine's memory, as it was found, makes no model.
    #[error("expected memory that a model can have, found: {0}")]
    Memory(ModelError),
    /// There is no such model, or it cannot be changed so.
    #[error(transparent)]
    Model(ModelError),
    /// The timings of a model cannot be read.
    #[error(transparent)]
    Timings(TableError),
    /// The published figures of a model cannot be read.
    #[error(transparent)]
    Published(PublishedError),
    /// The request cannot be predicted as it stands.
    #[error(transparent)]
    Request(#[from] PredictRequestError),
    /// A built-in workload cannot be a program here.
    #[error(transparent)]
    Workload(corun_measure::MeasureError),
    /// It is not known which CPUs are siblings.
    #[error(transparent)]
    Probe(ProbeError),
    /// The CPU time of a simulation cannot be read.
    #[error("could not read the CPU time of a simulation (getrusage): {0}")]
    CpuTime(io::Error),
    /// The system has no descriptors left.
    #[error("could not listen to signals: {0}")]
    Signals(io::Error),
    /// Nothing of the program was recorded.
    #[error("expected instructions to simulate, found none in a run of {total}")]
    TooShort {
        /// Instructions of the whole run.
        total: u64,
    },
    /// The time allowed is over, and nothing is known yet.
    #[error(
        "expected to predict in {}, found that the time was over while the program was {during}",
        humantime::format_duration(*max_time)
    )]
    TimeUp {
        /// The time allowed.
        max_time: Duration,
        /// The stage that was cut.
        during: &'static str,
    },
    /// The user stopped it before there was anything to simulate.
    #[error(
        "interrupted while the program was {during}: nothing was recorded yet that could be simulated"
    )]
    Interrupted {
        /// The stage that was interrupted.
        during: &'static str,
    },
}

impl PredictError {
    /// Fails unless the program did its own work and ended by itself.
    pub(crate) fn check_ending(target: &Target, traced: &Traced) -> Result<(), Self> {
        match traced.ending {
            Ending::Exited(_) if traced.becomes_another => {
                Err(Self::BecomesAnother { program: Self::name(target) })
            }
            Ending::Exited(_) => Ok(()),
            Ending::Killed(signal) => Err(Self::killed(target, signal)),
            Ending::Interrupted => Err(Self::Interrupted { during: "traced" }),
        }
    }

    /// The program died of a signal.
    pub(crate) fn killed(target: &Target, signal: i32) -> Self {
        Self::Killed { program: Self::name(target), signal }
    }

    /// The time of a job is over.
    pub(crate) fn time_up(job: &Job<'_>, during: &'static str) -> Self {
        Self::TimeUp { max_time: job.limit.max_time(), during }
    }

    /// True if the only reason is that the run was to end.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Self::TimeUp { .. } | Self::Interrupted { .. })
    }

    /// A program as a user wrote it or nearly so.
    pub(crate) fn name(target: &Target) -> String {
        let program = &target.program;
        corun_record::shown(program.file_name().unwrap_or(program.as_os_str()))
    }
}

impl Actionable for PredictError {
    fn exit(&self) -> Exit {
        match self {
            Self::Trace(error) => error.exit(),
            Self::TraceFile { source, .. } | Self::Temporary { source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Exit::NotPermitted
            }
            Self::CpuTime(_) => Exit::NotPermitted,
            Self::Interrupted { .. } => Exit::Interrupted,
            Self::Simulation(error) => error.exit(),
            Self::Model(error) => error.exit(),
            Self::Timings(error) => error.exit(),
            Self::Published(error) => error.exit(),
            Self::Request(error) => error.exit(),
            Self::Workload(error) => error.exit(),
            Self::Probe(error) => error.exit(),
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Trace(TraceError::Sink(_)) => no_room(),
            Self::Temporary { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => no_room(),
                _ => "Set TMPDIR to a folder that you may write to, or name a file for the trace with --keep."
                    .to_owned(),
            },
            Self::TraceFile { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => no_room(),
                io::ErrorKind::NotFound => {
                    "Make the folder first, or name another place.".to_owned()
                }
                _ => "Name a file in a folder that you may write to.".to_owned(),
            },
            Self::Trace(TraceError::Failed { tracer, .. }) => {
                let names = corun_trace::all().iter().map(|one| one.name());
                let others: Vec<&str> = names.filter(|name| name != tracer).collect();
                format!(
                    "Give the program itself if this one becomes another (exec), or try another tracer \
                     with --tracer: {}.",
                    others.join(", ")
                )
            }
            Self::Trace(error) => error.next_step(),
            Self::Format(_) => {
                "Make sure that nothing else writes to the trace's folder.".to_owned()
            }
            Self::Simulation(error) => error.next_step(),
            Self::Killed { .. } => {
                "Make the program end by itself first; if it does so without corun, try another \
                 --tracer."
                    .to_owned()
            }
            Self::BecomesAnother { .. } => {
                "Give the program that it becomes, with its arguments: of `env`, `taskset` and the like the command after \
                 their options."
                    .to_owned()
            }
            Self::OtherProcesses { other, is_executed: true, .. } => {
                format!("Give what does the work: `{other}`, where it can run without what starts it.")
            }
            Self::OtherProcesses { .. } => {
                "Let it do its work in one process, or measure it, as `corun measure` does with all its processes."
                    .to_owned()
            }
            Self::NotAlone { other, .. } => {
                format!("Give that program itself: `{other}`, with its input as a file.")
            }
            Self::Model(error) => error.next_step(),
            Self::Timings(error) => error.next_step(),
            Self::Published(error) => error.next_step(),
            Self::Request(error) => error.next_step(),
            Self::Workload(error) => error.next_step(),
            Self::Probe(error) => error.next_step(),
            Self::CpuTime(_) => {
                "Let the sandbox that corun runs in allow the system call getrusage.".to_owned()
            }
            Self::Signals(_) => {
                "See what limits this process (a sandbox, descriptors).".to_owned()
            }
            Self::Memory(_) => "Predict with the model's own memory: --memory model.".to_owned(),
            Self::TooShort { .. } => {
                "Ask for longer windows with --sample, or for the whole run with --whole; with --from-call, \
                 name one that the program makes before its work."
                    .to_owned()
            }
            Self::TimeUp { .. } => {
                "Allow more with --max-time, or simulate less with --sample.".to_owned()
            }
            Self::Interrupted { .. } => {
                "Let it go on; once the program is traced, what was recorded by then is the answer.".to_owned()
            }
        }
    }
}

fn no_room() -> String {
    "Make room there, name another place with --keep or TMPDIR, or simulate less with --sample."
        .to_owned()
}
