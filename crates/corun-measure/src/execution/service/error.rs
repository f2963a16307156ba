//! Errors of a service, and advice to the user.

use std::io;
use std::path::PathBuf;

use corun_machine::CpuSet;
use corun_record::{Actionable, Exit, shown};

use super::StopSignal;
use crate::execution::output::last_lines;

/// Why a service could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Another program has the server's place.
    #[error("expected nothing at {place} before the server starts, found something that answers")]
    AlreadyAnswers {
        /// Address of the server.
        place: String,
    },
    /// The server ended before it was ready.
    #[error("expected the server to become ready, found that it ended with {found}{}", last_lines(.output))]
    EndedEarly {
        /// Description of its end.
        found: String,
        /// The last lines that it wrote.
        output: String,
    },
    /// The server was not ready in time.
    #[error("expected {awaited} within {seconds} s, found none{}", last_lines(.output))]
    NeverReady {
        /// Condition that was waited for.
        awaited: String,
        /// The time allowed, in seconds.
        seconds: f64,
        /// The last lines that the server wrote.
        output: String,
    },
    /// The server ended while the load asked it.
    #[error("expected the server to run until the load ends, found that it ended with {found}{}", last_lines(.output))]
    EndedUnderLoad {
        /// Description of its end.
        found: String,
        /// The last lines that it wrote.
        output: String,
    },
    /// The server did not stop in time.
    #[error("expected the server to stop within {seconds} s of SIG{}, found it still running", .signal.name())]
    NotStopped {
        /// The signal that it was sent.
        signal: StopSignal,
        /// The time allowed, in seconds.
        seconds: f64,
    },
    /// The load failed.
    #[error("expected exit status 0 of the {which}, found {found}{}", last_lines(.output))]
    LoadFailed {
        /// The load or what comes before it.
        which: &'static str,
        /// Description of its end.
        found: String,
        /// The last lines that it wrote.
        output: String,
    },
    /// The load did not report what it was to report.
    #[error("expected {what} from the load: {place}, found {found}{}", last_lines(.output))]
    NoFigure {
        /// The figure.
        what: String,
        /// Place of the number.
        place: String,
        /// Text that was there.
        found: String,
        /// The last lines that the load wrote.
        output: String,
    },
    /// The load's file cannot be read.
    #[error("could not read {} for the load's figures: {error}", shown(.path))]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// The CPUs for the load cannot be used.
    #[error("expected CPUs for the load out of {usable}, found \"{wanted}\"")]
    LoadCpus {
        /// CPUs asked for.
        wanted: CpuSet,
        /// CPUs that this process may use.
        usable: CpuSet,
    },
    /// The load would have every core.
    #[error("expected a core for the server beside the load's CPU {load}, found none")]
    NoServerCore {
        /// The load's CPUs.
        load: CpuSet,
    },
    /// It is not known where the load says its throughput.
    #[error(
        "expected a load generator that corun knows ({known}) or where to read its throughput, found {found}"
    )]
    UnknownGenerator {
        /// The program.
        found: String,
        /// The generators that are known.
        known: String,
    },
}

impl Actionable for ServiceError {
    fn exit(&self) -> Exit {
        match self {
            Self::LoadCpus { .. } | Self::NoServerCore { .. } | Self::UnknownGenerator { .. } => {
                Exit::Usage
            }
            Self::File { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => {
                Exit::NotPermitted
            }
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::AlreadyAnswers { .. } => {
                "End what listens there, or give the server another port and name it in `--ready` and `--load`."
            }
            Self::EndedEarly { .. } => {
                "Make it start by itself first, and keep it in the foreground (nginx -g 'daemon off;', redis-server --daemonize no)."
            }
            Self::NeverReady { .. } => {
                "Compare `--ready` with where the server listens or what it writes; `--ready-limit TIME` allows more."
            }
            Self::EndedUnderLoad { .. } => "Try server and load by themselves, with the same options.",
            Self::NotStopped { .. } => {
                "Allow more with `--stop-limit TIME`, or send another signal: `--stop-signal INT`, QUIT or KILL."
            }
            Self::LoadFailed { .. } => {
                "Try the load by itself against the running server; its ports and the server's must agree."
            }
            Self::NoFigure { .. } | Self::UnknownGenerator { .. } => {
                "Say where it stands: `--throughput REGEX` and `--latency p99=REGEX` for the load's output, `--load-json NAME=POINTER` for JSON."
            }
            Self::File { .. } => "Name the file that the load writes, as seen from where corun runs.",
            Self::LoadCpus { .. } => "Name CPUs that this process may use; `corun topo` shows them.",
            Self::NoServerCore { .. } => {
                "Give the load fewer cores: siblings of its CPUs are not given to the server."
            }
        }
        .to_owned()
    }
}
