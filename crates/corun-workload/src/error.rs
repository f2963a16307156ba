//! Errors between a user's words and a prepared workload.

use std::borrow::Cow;
use std::path::PathBuf;
use std::{fmt, io};

use corun_record::{Actionable, Exit, may_mean};
use rustix::io::Errno;

use crate::descriptor::{Domain, Suite, within_suite};

/// A workload cannot be found, parsed or prepared.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// No workload has this name.
    #[error("no built-in workload is called `{found}`{}", nearest(found, known))]
    UnknownWorkload {
        /// The name asked for.
        found: String,
        /// The names there are, the nearest first.
        known: Vec<&'static str>,
    },
    /// No workload of the suite has one of the tags.
    #[error("no workload of {suite} has the tag `{}`", tags.join("` or `"))]
    NoneTagged {
        /// The suite, as it is chosen.
        suite: &'static str,
        /// The tags.
        tags: Vec<&'static str>,
    },
    /// No tag has this name.
    #[error("no workload has the tag `{found}`; there are: {}", known.join(", "))]
    UnknownTag {
        /// The tag asked for.
        found: String,
        /// The tags there are, the nearest first.
        known: Vec<&'static str>,
    },
    /// A parameter was not given as `name=value`.
    #[error("expected a parameter of `{workload}` as name=value, found `{found}`")]
    NotAPair {
        /// The workload.
        workload: &'static str,
        /// Text that was given.
        found: String,
    },
    /// The workload has no parameter of this name.
    #[error("`{workload}` has no parameter `{found}`; it has: {}", known.join(", "))]
    UnknownParameter {
        /// The workload.
        workload: &'static str,
        /// The name given.
        found: String,
        /// The parameters it has, the nearest first.
        known: Vec<&'static str>,
    },
    /// A parameter was given twice.
    #[error("parameter `{parameter}` of `{workload}` is given more than once")]
    Repeated {
        /// The workload.
        workload: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// A parameter does not take this value.
    #[error("parameter `{parameter}` of `{workload}`: expected {expected}, found `{found}`")]
    BadValue {
        /// The workload.
        workload: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The values it takes.
        expected: Domain,
        /// The value given.
        found: String,
    },
    /// A workload asked for a parameter that the given ones do not hold.
    #[error("the parameters of `{workload}` hold no {domain} called `{parameter}`")]
    NotDeclared {
        /// The workload that the parameters were parsed for.
        workload: &'static str,
        /// The kind of value asked for.
        domain: &'static str,
        /// The parameter asked for.
        parameter: &'static str,
    },
    /// The workload cannot run on this machine.
    #[error("workload `{workload}` cannot run here: {reason}")]
    Unavailable {
        /// The workload.
        workload: &'static str,
        /// Why not, as one sentence without its full stop.
        reason: String,
    },
    /// The system does not give the memory.
    #[error("workload `{workload}` needs {} of memory: {source}", crate::quantity::format_size(*bytes))]
    NoMemory {
        /// The workload.
        workload: &'static str,
        /// The memory asked for, in bytes.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder of the workload's own cannot be made, or a file in it.
    #[error("workload `{workload}` needs a file of its own below {folder:?}: {source}")]
    NoScratch {
        /// The workload.
        workload: &'static str,
        /// Folder of the missing file.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file system has no room for what the workload writes.
    #[error(
        "workload `{workload}` writes up to {} below {folder:?}, where {} are free",
        crate::quantity::format_size(*bytes), crate::quantity::format_size(*free)
    )]
    NoRoom {
        /// The workload.
        workload: &'static str,
        /// Folder it would write to.
        folder: PathBuf,
        /// Limit of what it writes, in bytes.
        bytes: u64,
        /// Free space, in bytes.
        free: u64,
    },
    /// This process may not write files as long as the workload does.
    #[error(
        "workload `{workload}` writes up to {}, and files are limited to {} here",
        crate::quantity::format_size(*bytes), crate::quantity::format_size(*limit)
    )]
    FileSizeLimit {
        /// The workload.
        workload: &'static str,
        /// Limit of what a worker writes, in bytes.
        bytes: u64,
        /// The limit on the size of a file, in bytes.
        limit: u64,
    },
    /// This process may open no more files.
    #[error("workload `{workload}` needs more open files than it may have: {source}")]
    NoDescriptors {
        /// The workload.
        workload: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refuses during a run what it gave before.
    #[error("workload `{workload}` cannot go on, because {what}: {source}")]
    Ended {
        /// The workload.
        workload: &'static str,
        /// The refusal, as a clause.
        what: Cow<'static, str>,
        /// The system's reason.
        source: io::Error,
    },
    /// The system starts no more processes.
    #[error("workload `{workload}` needs more processes, {processes} for each worker: {source}")]
    NoProcesses {
        /// The workload.
        workload: &'static str,
        /// The processes that each of its workers starts.
        processes: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// A load file cannot be read.
    #[error("workload `{workload}` cannot read its load {path:?}: {source}")]
    UnreadableLoad {
        /// The workload.
        workload: &'static str,
        /// The load file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A load file has a line that is no request.
    #[error("line {line} of the load {path:?}: expected {expected}, found `{found}`")]
    BrokenLoad {
        /// The workload.
        workload: &'static str,
        /// The load file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Allowed text.
        expected: String,
        /// Text found.
        found: String,
    },
    /// A load file has a line that says otherwise than its request will end.
    #[error("{0}")]
    MistakenLoad(LoadMismatch),
    /// A request of a load has ended otherwise than its line says.
    #[error("{0}")]
    RequestFailed(LoadMismatch),
    /// This machine does not talk to itself over the network.
    #[error("workload `{workload}` needs the loopback interface (127.0.0.1): {source}")]
    NoLoopback {
        /// The workload.
        workload: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The system does not give as many threads.
    #[error("workload `{workload}` needs {needed} threads, and {free} can be had here")]
    NoThreads {
        /// The workload.
        workload: &'static str,
        /// The threads of all workers.
        needed: u64,
        /// The threads that can still be started.
        free: u64,
    },
    /// The system does not allow a system call that the workload consists of.
    #[error("workload `{workload}` calls {call}, which the system refuses: {source}")]
    CallRefused {
        /// The workload.
        workload: &'static str,
        /// The system call.
        call: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// A request that ends otherwise than its line of a load says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadMismatch {
    /// The load: a file's path, or `own`.
    pub load: String,
    /// The line, from 1.
    pub line: u32,
    /// The request, as the line names it.
    pub request: &'static str,
    /// Expected end.
    pub expected: String,
    /// Found end.
    pub found: String,
}

impl fmt::Display for LoadMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { load, line, request, expected, found } = self;
        write!(
            formatter,
            "line {line} of the load {load:?} ({request}): expected {expected}, found {found}"
        )
    }
}

/// Remedy for an error of the system.
enum Remedy {
    Processes,
    Descriptors,
    Room,
    Memory,
    Unknown,
}

impl Remedy {
    fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::AGAIN) => Self::Processes,
            Some(Errno::MFILE | Errno::NFILE) => Self::Descriptors,
            Some(Errno::NOSPC | Errno::DQUOT) => Self::Room,
            Some(Errno::NOMEM | Errno::NOBUFS) => Self::Memory,
            _ => Self::Unknown,
        }
    }
}

/// True if a workload of this name, or a row of a suite, may be meant.
fn is_near(found: &str, name: &str) -> bool {
    may_mean(found, within_suite(name))
}

/// The nearest names, unless not even the first may be meant.
fn nearest(found: &str, known: &[&str]) -> String {
    match known.first() {
        Some(first) if is_near(found, first) => {
            format!("; the nearest are: {}", known.join(", "))
        }
        _ => String::new(),
    }
}

impl Actionable for WorkloadError {
    fn exit(&self) -> Exit {
        match self {
            Self::UnknownWorkload { .. }
            | Self::NoneTagged { .. }
            | Self::UnknownTag { .. }
            | Self::NotAPair { .. }
            | Self::UnknownParameter { .. }
            | Self::Repeated { .. }
            | Self::BadValue { .. } => Exit::Usage,
            Self::UnreadableLoad { source, .. } => Exit::of_file(source),
            Self::Unavailable { .. }
            | Self::NoMemory { .. }
            | Self::NoRoom { .. }
            | Self::NoLoopback { .. }
            | Self::CallRefused { .. } => Exit::NotPossible,
            Self::FileSizeLimit { .. }
            | Self::NoDescriptors { .. }
            | Self::NoProcesses { .. }
            | Self::NoThreads { .. } => Exit::NotPermitted,
            Self::NoScratch { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => Exit::NotPermitted,
                _ => Exit::NotPossible,
            },
            Self::Ended { source, .. } => match Remedy::of(source) {
                Remedy::Processes | Remedy::Descriptors => Exit::NotPermitted,
                Remedy::Room | Remedy::Memory => Exit::NotPossible,
                Remedy::Unknown => Exit::Failed,
            },
            Self::BrokenLoad { .. }
            | Self::MistakenLoad(_)
            | Self::NotDeclared { .. }
            | Self::RequestFailed(_) => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::UnknownWorkload { found, .. } if Suite::ALL.iter().any(|it| it.name() == found) => {
                format!("That is a suite: --suite {found} runs its rows.")
            }
            Self::NoneTagged { .. } => "`corun bench list` shows the tags of each workload.".into(),
            Self::UnknownWorkload { found, known } => match known.first() {
                Some(nearest) if is_near(found, nearest) => format!("Did you mean `{nearest}`?"),
                _ => "`corun bench list` shows all of them.".into(),
            },
            Self::UnknownTag { found, known } | Self::UnknownParameter { found, known, .. } => {
                match known.first() {
                    Some(nearest) if may_mean(found, nearest) => {
                        format!("Did you mean `{nearest}`?")
                    }
                    Some(_) => "Use one of these names.".into(),
                    None => "Leave it out.".into(),
                }
            }
            Self::NotAPair { .. } => "Write the name, an equals sign and the value.".into(),
            Self::Repeated { .. } => "Keep the one that you mean.".into(),
            Self::BadValue { parameter, .. } => {
                format!("Give `{parameter}` such a value, or leave it out to get the default.")
            }
            Self::NotDeclared { workload, .. } => {
                format!(
                    "This is a mistake in corun, not in what you typed; please report it with the parameters of `{workload}` that you gave."
                )
            }
            Self::Unavailable { .. } => "Provide what is missing, or use another workload.".into(),
            Self::NoMemory { .. } => "Ask for a smaller size or fewer workers.".into(),
            Self::NoScratch { source, .. } if source.kind() != io::ErrorKind::StorageFull => {
                "Set TMPDIR to a folder that you may write to.".into()
            }
            Self::NoScratch { .. } | Self::NoRoom { .. } => {
                "Free some room there, or set TMPDIR to a folder that has more.".into()
            }
            Self::FileSizeLimit { .. } => "Raise the limit (ulimit -f).".into(),
            Self::NoDescriptors { .. } => {
                "Raise the limit (ulimit -n), or ask for fewer workers.".into()
            }
            Self::NoProcesses { .. } => {
                "Raise the limit (ulimit -u), or ask for fewer processes or workers.".into()
            }
            Self::Ended { source, .. } => match Remedy::of(source) {
                Remedy::Processes => "Raise the limits (ulimit -u, pids.max), or ask for fewer workers.",
                Remedy::Descriptors => "Raise the limit (ulimit -n), or ask for fewer workers.",
                Remedy::Room => "Free some room there, or set TMPDIR to a folder that has more.",
                Remedy::Memory => "Ask for fewer workers, or end other programs.",
                Remedy::Unknown => {
                    "See what limits this process or removes its files, and run it again."
                }
            }
            .into(),
            Self::UnreadableLoad { .. } => {
                "Name a file that you may read, or leave `load` out to get corun's own.".into()
            }
            Self::BrokenLoad { .. } => "Correct this line of the file, or begin it with #.".into(),
            Self::MistakenLoad(_) => {
                "Correct this line's end, or the lines before it that make it end otherwise.".into()
            }
            Self::RequestFailed(_) => {
                "See what the load cannot decide (room on the disk, limits, other processes), and run it again.".into()
            }
            Self::NoLoopback { .. } => "Set the interface up (ip link set lo up).".into(),
            Self::NoThreads { .. } => {
                "Raise the limits (ulimit -u, pids.max), or ask for fewer workers.".into()
            }
            Self::CallRefused { .. } => {
                "Run outside of the sandbox that forbids it, or choose another workload.".into()
            }
        }
    }
}
